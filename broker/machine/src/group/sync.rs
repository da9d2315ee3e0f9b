//! SyncGroup: the leader's assignment goes to everyone, and to the log.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::membership::Phase;
use super::{Error, MemberId, Reply, Sync, Synced, Ticket};

impl Draft<'_> {
    pub(super) fn sync(&mut self, ticket: Ticket, sync: Sync) {
        if let Err(error) = self.take_sync(ticket, sync) {
            self.refuse_sync(Some(ticket), error);
        }
    }

    fn take_sync(&mut self, ticket: Ticket, sync: Sync) -> Result<(), Error> {
        self.check_group_id()?;
        let id = &sync.member_id;
        self.group.validate(id, sync.instance_id.as_ref())?;
        if sync.generation != self.group.generation {
            return Err(Error::IllegalGeneration);
        }
        let differs = |asked: &Option<_>, ours: &Option<_>| asked.is_some() && asked != ours;
        if differs(&sync.protocol_type, &self.group.protocol_type)
            || differs(&sync.protocol, &self.group.protocol)
        {
            return Err(Error::InconsistentProtocol);
        }
        match self.group.phase {
            Phase::Empty => Err(Error::UnknownMember),
            Phase::PreparingRebalance { .. } => Err(Error::RebalanceInProgress),
            Phase::CompletingRebalance { deadline_ms } => {
                self.await_assignment(ticket, id);
                if self.group.is_leader(id) {
                    self.assign(sync.assignments, deadline_ms);
                }
                Ok(())
            }
            Phase::Stable { .. } => {
                self.synced(id);
                let synced = self.assignment(id);
                self.reply(ticket, Reply::Sync(Ok(synced)));
                Ok(())
            }
        }
    }

    fn await_assignment(&mut self, ticket: Ticket, id: &MemberId) {
        self.group.unsynced.remove(id);
        if let Some(member) = self.group.members.get_mut(id) {
            let superseded = member.awaiting_sync.replace(ticket);
            self.refuse_sync(superseded, Error::RebalanceInProgress);
        }
    }

    fn synced(&mut self, id: &MemberId) {
        self.group.unsynced.remove(id);
        if let Some(member) = self.group.members.get_mut(id) {
            member.keep_alive(self.now_ms);
        }
        if let Phase::Stable { deadline_ms } = &mut self.group.phase
            && self.group.unsynced.is_empty()
        {
            *deadline_ms = None;
        }
    }

    /// Members that the leader left out get an empty assignment.
    fn assign(&mut self, assignments: Vec<(MemberId, bytes::Bytes)>, deadline_ms: i64) {
        let mut assignments: BTreeMap<_, _> = assignments.into_iter().collect();
        let ids: Vec<_> = self.group.members.keys().cloned().collect();
        for id in &ids {
            if let Some(member) = self.group.members.get_mut(id) {
                member.assignment = assignments.remove(id).unwrap_or_default();
            }
        }
        self.group.since_ms = Some(self.now_ms);
        self.group.phase = Phase::Stable {
            deadline_ms: (!self.group.unsynced.is_empty()).then_some(deadline_ms),
        };
        self.record_group();
        for id in &ids {
            let waiting = self.group.members.get_mut(id);
            let Some((member, ticket)) =
                waiting.and_then(|m| m.awaiting_sync.take().map(|ticket| (m, ticket)))
            else {
                continue;
            };
            member.keep_alive(self.now_ms);
            let synced = self.assignment(id);
            self.reply(ticket, Reply::Sync(Ok(synced)));
        }
    }

    fn assignment(&self, id: &MemberId) -> Synced {
        Synced {
            protocol_type: self.group.protocol_type.clone(),
            protocol: self.group.protocol.clone(),
            assignment: self
                .group
                .members
                .get(id)
                .map(|m| m.assignment.clone())
                .unwrap_or_default(),
        }
    }
}

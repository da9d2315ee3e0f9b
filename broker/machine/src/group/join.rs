//! JoinGroup: who may come in, and when its coming means a new generation.

use std::sync::Arc;

use bytes::Bytes;

use super::config::NEW_MEMBER_JOIN_TIMEOUT_MS;
use super::draft::Draft;
use super::member::Member;
use super::membership::Phase;
use super::{Error, Join, MemberId, Reply, Ticket};

impl Draft<'_> {
    pub(super) fn join(&mut self, ticket: Ticket, join: Join) {
        match self.admit(ticket, join) {
            Ok(()) => self.record_if_new(),
            Err(Error::MemberIdRequired(id)) => {
                self.record_if_new();
                self.refuse_join(Some(ticket), Error::MemberIdRequired(id));
            }
            Err(error) => self.refuse_join(Some(ticket), error),
        }
    }

    /// A group is known by its record from its first member on, so that it is listed after a fail-over.
    fn record_if_new(&mut self) {
        if !self.exists && self.records.is_empty() {
            self.records.push(super::Record::Group {
                group: self.id.clone(),
                value: Some(super::Generation {
                    protocol_type: None,
                    generation: 0,
                    protocol: None,
                    leader: None,
                    since_ms: Some(self.now_ms),
                    members: Vec::new(),
                }),
            });
        }
    }

    fn admit(&mut self, ticket: Ticket, join: Join) -> Result<(), Error> {
        self.check_group_id()?;
        let limits = self.config.session_timeout_min_ms..=self.config.session_timeout_max_ms;
        if !limits.contains(&join.session_timeout_ms) {
            return Err(Error::InvalidSessionTimeout);
        }
        if !self.exists && !join.member_id.is_empty() {
            return Err(Error::UnknownMember);
        }
        if !self.has_room_for(&join.member_id) {
            self.drop_member(&join.member_id);
            return Err(Error::GroupFull);
        }
        if !self.group.supports(&join.protocol_type, &join.protocols) {
            return Err(Error::InconsistentProtocol);
        }
        if join.member_id.is_empty() {
            self.first_join(ticket, join)
        } else {
            self.rejoin(ticket, join)
        }
    }

    fn has_room_for(&self, id: &MemberId) -> bool {
        let members = &self.group.members;
        match self.group.phase {
            Phase::Empty => true,
            // Only as many as can take part: members that stay away do not hold a place.
            Phase::PreparingRebalance { .. } => {
                let awaiting = |m: &Member| m.awaiting_join.is_some();
                members.get(id).is_some_and(awaiting)
                    || members.values().filter(|m| awaiting(m)).count() < self.config.size_max
            }
            Phase::CompletingRebalance { .. } | Phase::Stable { .. } => {
                members.contains_key(id) || members.len() < self.config.size_max
            }
        }
    }

    fn first_join(&mut self, ticket: Ticket, join: Join) -> Result<(), Error> {
        let id = join.fresh_member_id.clone();
        if let Some(instance) = &join.instance_id {
            if let Some(holder) = self.group.statics.get(instance).cloned() {
                self.take_over(ticket, join, &holder);
            } else {
                self.add_member(ticket, join, id);
            }
            return Ok(());
        }
        if join.id_required_first {
            let lapses_ms = self.now_ms + i64::from(join.session_timeout_ms);
            self.group.pending.insert(id.clone(), lapses_ms);
            return Err(Error::MemberIdRequired(id));
        }
        self.add_member(ticket, join, id);
        Ok(())
    }

    fn rejoin(&mut self, ticket: Ticket, join: Join) -> Result<(), Error> {
        let id = join.member_id.clone();
        if self.group.pending.contains_key(&id) && join.instance_id.is_none() {
            self.add_member(ticket, join, id);
            return Ok(());
        }
        self.group.validate(&id, join.instance_id.as_ref())?;
        let same = self
            .group
            .members
            .get(&id)
            .is_some_and(|m| m.protocols[..] == join.protocols[..]);
        let answer_again = match self.group.phase {
            Phase::Empty => return Err(Error::UnknownMember),
            Phase::PreparingRebalance { .. } => false,
            // It may have missed the answer to its first join.
            Phase::CompletingRebalance { .. } => same,
            // The leader rejoins to make the group assign again, for instance after new partitions.
            Phase::Stable { .. } => same && !self.group.is_leader(&id),
        };
        if answer_again {
            let joined = self.joined(&id, false);
            self.reply(ticket, Reply::Join(Ok(joined)));
        } else {
            self.update_member(ticket, &join, &id);
            self.rebalance();
        }
        Ok(())
    }

    fn add_member(&mut self, ticket: Ticket, join: Join, id: MemberId) {
        if let Phase::PreparingRebalance {
            initial: Some(initial),
            ..
        } = &mut self.group.phase
        {
            initial.member_added = true;
        }
        let member = Member {
            id,
            instance_id: join.instance_id,
            client_id: join.client_id,
            client_host: join.client_host,
            rebalance_timeout_ms: join.rebalance_timeout_ms,
            session_timeout_ms: join.session_timeout_ms,
            protocols: join.protocols.into(),
            assignment: Bytes::new(),
            awaiting_join: Some(ticket),
            awaiting_sync: None,
            joining: true,
            deadline_ms: Some(self.now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS),
        };
        self.group.add(member, &join.protocol_type);
        self.rebalance();
    }

    fn update_member(&mut self, ticket: Ticket, join: &Join, id: &MemberId) {
        let Some(member) = self.group.members.get_mut(id) else {
            return;
        };
        member.protocols = join.protocols.clone().into();
        member.rebalance_timeout_ms = join.rebalance_timeout_ms;
        member.session_timeout_ms = join.session_timeout_ms;
        let superseded = member.awaiting_join.replace(ticket);
        let abandoned = member.awaiting_sync.take();
        self.refuse_join(superseded, Error::RebalanceInProgress);
        self.refuse_sync(abandoned, Error::RebalanceInProgress);
    }

    /// A static member is back, perhaps on another machine, without the id it had.
    fn take_over(&mut self, ticket: Ticket, join: Join, holder: &MemberId) {
        let id = join.fresh_member_id.clone();
        let old_leader = self.group.leader.clone();
        let [waiting_join, waiting_sync] = self.group.replace(holder, &id);
        self.refuse_join(waiting_join, Error::FencedInstance);
        self.refuse_sync(waiting_sync, Error::FencedInstance);
        self.update_member(ticket, &join, &id);
        if let Some(member) = self.group.members.get_mut(&id) {
            member.client_id = join.client_id.clone();
            member.client_host = join.client_host.clone();
            member.keep_alive(self.now_ms);
        }
        let unchanged = matches!(self.group.phase, Phase::Stable { .. })
            && self.group.select_protocol() == self.group.protocol;
        if unchanged {
            self.resume(ticket, &join, &id, old_leader);
        } else {
            self.rebalance();
        }
    }

    /// The group does not notice: the member goes on with the assignment it had.
    fn resume(&mut self, ticket: Ticket, join: &Join, id: &MemberId, old_leader: Option<Arc<str>>) {
        if let Some(member) = self.group.members.get_mut(id) {
            member.awaiting_join = None;
        }
        self.record_group();
        let mut joined = self.joined(id, false);
        if join.can_skip_assignment {
            joined.skip_assignment = self.group.is_leader(id);
        } else {
            // An older client that heard it leads would assign anew and upset the others.
            joined.members.clear();
            joined.leader = old_leader.unwrap_or_else(|| "".into());
        }
        self.reply(ticket, Reply::Join(Ok(joined)));
    }
}

//! From one generation to the next: wait for members, choose leader and protocol, wait for the
//! assignment.

use super::draft::Draft;
use super::member::Member;
use super::membership::{InitialDelay, Phase};
use super::{Error, Joined, JoinedMember, Reply};

impl Draft<'_> {
    /// Something changed that the current generation does not know of.
    pub(super) fn rebalance(&mut self) {
        match self.group.phase {
            Phase::PreparingRebalance { .. } => self.complete_join_if_all_are_here(),
            Phase::CompletingRebalance { .. } => {
                self.send_waiting_syncs_back();
                self.prepare();
            }
            Phase::Empty | Phase::Stable { .. } => self.prepare(),
        }
    }

    fn prepare(&mut self) {
        let was_empty = self.group.phase == Phase::Empty;
        let timeout_ms = self.group.rebalance_timeout_ms();
        let delay_ms = self.config.initial_rebalance_delay_ms;
        self.group.since_ms = Some(self.now_ms);
        self.group.unsynced.clear();
        if was_empty {
            self.group.phase = Phase::PreparingRebalance {
                deadline_ms: self.now_ms + delay_ms,
                initial: Some(InitialDelay {
                    delay_ms,
                    remaining_ms: (timeout_ms - delay_ms).max(0),
                    member_added: false,
                }),
            };
        } else {
            self.group.phase = Phase::PreparingRebalance {
                deadline_ms: self.now_ms + timeout_ms,
                initial: None,
            };
            self.complete_join_if_all_are_here();
        }
    }

    /// A group that was empty waits its initial delay out, whoever has come.
    pub(super) fn complete_join_if_all_are_here(&mut self) {
        if let Phase::PreparingRebalance { initial: None, .. } = self.group.phase
            && self.group.all_joined()
        {
            self.complete_join();
        }
    }

    /// The join phase has waited long enough.
    pub(super) fn join_deadline(&mut self) {
        if let Phase::PreparingRebalance {
            deadline_ms,
            initial: Some(initial),
        } = &mut self.group.phase
            && initial.member_added
            && initial.remaining_ms > 0
        {
            let next_ms = self
                .config
                .initial_rebalance_delay_ms
                .min(initial.remaining_ms);
            initial.remaining_ms = (initial.remaining_ms - initial.delay_ms).max(0);
            initial.delay_ms = next_ms;
            initial.member_added = false;
            *deadline_ms = self.now_ms + next_ms;
            return;
        }
        self.complete_join();
    }

    fn complete_join(&mut self) {
        self.drop_absent_members();
        if !self.group.elect_leader() && !self.group.members.is_empty() {
            // Only static members that are away: they keep their places until their sessions end.
            let deadline = self.now_ms + self.group.rebalance_timeout_ms().max(1);
            if let Phase::PreparingRebalance { deadline_ms, .. } = &mut self.group.phase {
                *deadline_ms = deadline;
            }
            return;
        }
        self.group.generation = self.group.generation.checked_add(1).unwrap_or(1);
        self.group.since_ms = Some(self.now_ms);
        self.group.unsynced.clear();
        self.group.protocol = self.group.select_protocol();
        self.group.topics = self.group.subscribed_topics();
        if self.group.members.is_empty() {
            self.group.phase = Phase::Empty;
            self.group.leader = None;
            self.record_group();
            return;
        }
        self.group.phase = Phase::CompletingRebalance {
            deadline_ms: self.now_ms + self.group.rebalance_timeout_ms(),
        };
        self.announce_generation();
    }

    /// Dynamic members that did not rejoin are out; static ones may be restarting.
    fn drop_absent_members(&mut self) {
        let absent: Vec<_> = self
            .group
            .members
            .values()
            .filter(|m| m.awaiting_join.is_none() && m.instance_id.is_none())
            .map(|m| m.id.clone())
            .collect();
        for id in absent {
            self.group.remove(&id);
        }
    }

    fn announce_generation(&mut self) {
        let ids: Vec<_> = self.group.members.keys().cloned().collect();
        for id in ids {
            self.group.unsynced.insert(id.clone());
            let Some(member) = self.group.members.get_mut(&id) else {
                continue;
            };
            member.joining = false;
            member.keep_alive(self.now_ms);
            if let Some(ticket) = member.awaiting_join.take() {
                let joined = self.joined(&id, false);
                self.reply(ticket, Reply::Join(Ok(joined)));
            }
        }
    }

    /// The current generation as this member sees it: the leader also sees the others.
    pub(super) fn joined(&self, id: &super::MemberId, skip_assignment: bool) -> Joined {
        let members = if self.group.is_leader(id) {
            self.joined_members()
        } else {
            Vec::new()
        };
        Joined {
            member_id: id.clone(),
            generation: self.group.generation,
            protocol_type: self.group.protocol_type.clone(),
            protocol: self.group.protocol.clone(),
            leader: self.group.leader.clone().unwrap_or_else(|| "".into()),
            members,
            skip_assignment,
        }
    }

    fn joined_members(&self) -> Vec<JoinedMember> {
        let protocol = self.group.protocol.as_deref().unwrap_or_default();
        let seen = |m: &Member| JoinedMember {
            member_id: m.id.clone(),
            instance_id: m.instance_id.clone(),
            metadata: m.metadata(protocol),
        };
        self.group.members.values().map(seen).collect()
    }

    fn send_waiting_syncs_back(&mut self) {
        let ids: Vec<_> = self.group.members.keys().cloned().collect();
        for id in ids {
            let Some(member) = self.group.members.get_mut(&id) else {
                continue;
            };
            member.assignment = bytes::Bytes::new();
            if let Some(ticket) = member.awaiting_sync.take() {
                member.keep_alive(self.now_ms);
                self.refuse_sync(Some(ticket), Error::RebalanceInProgress);
            }
        }
    }

    /// Members that took part in the join and never asked for their assignment are out.
    pub(super) fn sync_deadline(&mut self) {
        let late: Vec<_> = self.group.unsynced.iter().cloned().collect();
        if late.is_empty() {
            if let Phase::Stable { deadline_ms } = &mut self.group.phase {
                *deadline_ms = None;
            }
            return;
        }
        for id in late {
            self.group.remove(&id);
        }
        self.rebalance();
    }
}

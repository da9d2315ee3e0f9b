//! Staying in a group and getting out of it: heartbeats, leaving, time-outs.

use super::draft::Draft;
use super::membership::Phase;
use super::{Error, Heartbeat, Leave, Leaving, Left, MemberId};

impl Draft<'_> {
    pub(super) fn heartbeat(&mut self, heartbeat: &Heartbeat) -> Result<(), Error> {
        self.check_group_id()?;
        let id = &heartbeat.member_id;
        self.group.validate(id, heartbeat.instance_id.as_ref())?;
        if heartbeat.generation != self.group.generation {
            return Err(Error::IllegalGeneration);
        }
        if self.group.phase == Phase::Empty {
            return Err(Error::UnknownMember);
        }
        self.hear_from(id);
        match self.group.phase {
            Phase::PreparingRebalance { .. } => Err(Error::RebalanceInProgress),
            // Heartbeats may begin right after the join, before the assignment is out.
            _ => Ok(()),
        }
    }

    /// Any sign of life restarts the member's session.
    pub(super) fn hear_from(&mut self, id: &MemberId) {
        if let Some(member) = self.group.members.get_mut(id) {
            member.keep_alive(self.now_ms);
        }
    }

    pub(super) fn leave(&mut self, leave: Leave) -> Result<Vec<Left>, Error> {
        self.check_group_id()?;
        let mut left = Vec::with_capacity(leave.members.len());
        for member in leave.members {
            let result = self.leave_one(&member);
            left.push(Left { member, result });
        }
        if left.iter().any(|l| l.result.is_ok()) {
            self.react_to_removal();
        }
        Ok(left)
    }

    fn leave_one(&mut self, leaving: &Leaving) -> Result<(), Error> {
        let id = if leaving.member_id.is_empty() {
            leaving
                .instance_id
                .as_ref()
                .and_then(|instance| self.group.statics.get(instance))
                .cloned()
                .ok_or(Error::UnknownMember)?
        } else {
            leaving.member_id.clone()
        };
        if self.group.pending.remove(&id).is_some() {
            return Ok(());
        }
        self.group.validate(&id, leaving.instance_id.as_ref())?;
        self.drop_member(&id);
        Ok(())
    }

    /// Whatever it waited for is answered: it may still be alive and must start over.
    pub(super) fn drop_member(&mut self, id: &MemberId) {
        if let Some(member) = self.group.remove(id) {
            self.refuse_join(member.awaiting_join, Error::UnknownMember);
            self.refuse_sync(member.awaiting_sync, Error::UnknownMember);
        }
    }

    fn react_to_removal(&mut self) {
        match self.group.phase {
            Phase::Empty => {}
            Phase::PreparingRebalance { .. } => self.complete_join_if_all_are_here(),
            Phase::CompletingRebalance { .. } | Phase::Stable { .. } => self.rebalance(),
        }
    }

    pub(super) fn elapse(&mut self) {
        if self.drop_lapsed_ids() {
            self.complete_join_if_all_are_here();
        }
        if self.drop_silent_members() {
            self.react_to_removal();
        }
        let now_ms = self.now_ms;
        match self.group.phase {
            Phase::PreparingRebalance { deadline_ms, .. } if deadline_ms <= now_ms => {
                self.join_deadline();
            }
            Phase::CompletingRebalance { deadline_ms }
            | Phase::Stable {
                deadline_ms: Some(deadline_ms),
            } if deadline_ms <= now_ms => self.sync_deadline(),
            _ => {}
        }
    }

    fn drop_lapsed_ids(&mut self) -> bool {
        let now_ms = self.now_ms;
        let pending = &mut self.group.pending;
        let due = |(id, lapses_ms): (&MemberId, &i64)| (*lapses_ms <= now_ms).then(|| id.clone());
        let lapsed: Vec<_> = pending.iter().filter_map(due).collect();
        for id in &lapsed {
            pending.remove(id);
        }
        !lapsed.is_empty()
    }

    fn drop_silent_members(&mut self) -> bool {
        let now_ms = self.now_ms;
        let due: Vec<_> = self
            .group
            .members
            .values()
            .filter(|m| m.deadline_ms.is_some_and(|d| d <= now_ms))
            .map(|m| m.id.clone())
            .collect();
        let mut dropped = false;
        for id in due {
            let Some(member) = self.group.members.get_mut(&id) else {
                continue;
            };
            let waits = member.awaiting_join.is_some() || member.awaiting_sync.is_some();
            if waits && !member.joining {
                // Who waits for the group can't be expected to heartbeat; the answer restarts the session.
                member.deadline_ms = None;
            } else {
                self.drop_member(&id);
                dropped = true;
            }
        }
        dropped
    }
}

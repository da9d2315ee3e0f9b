//! The members of one group and the phase they are in: state and its small consistent changes. What
//! causes what is decided in `join`, `sync`, `session` and `rebalance`.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use imbl::{OrdMap, OrdSet};

use super::member::{Member, Protocol};
use super::record::Generation;
use super::{Condition, Error, MemberId, Ticket, subscription};

/// Cheap to clone: maps share structure, so that a decision is made on a copy.
#[derive(Clone, Debug)]
pub(super) struct Membership {
    pub(super) phase: Phase,
    /// When the current phase began; `None` when loaded from a record that does not tell.
    pub(super) since_ms: Option<i64>,
    pub(super) generation: i32,
    /// Set by the first member; `None` for a group that only stores offsets.
    pub(super) protocol_type: Option<Arc<str>>,
    pub(super) protocol: Option<Arc<str>>,
    pub(super) leader: Option<MemberId>,
    pub(super) members: OrdMap<MemberId, Member>,
    /// Instance id to the member that holds it now.
    pub(super) statics: OrdMap<Arc<str>, MemberId>,
    /// Ids given out and not joined with yet, with the time they lapse.
    pub(super) pending: OrdMap<MemberId, i64>,
    /// Members of this generation that have not asked for their assignment yet.
    pub(super) unsynced: OrdSet<MemberId>,
    /// Topics of all members; `None` when unknown (no consumer protocol, or unreadable).
    pub(super) topics: Option<Arc<BTreeSet<Arc<str>>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Empty,
    PreparingRebalance {
        /// When those who have not rejoined are given up.
        deadline_ms: i64,
        /// The group was empty before: it waits for company rather than for known members.
        initial: Option<InitialDelay>,
    },
    CompletingRebalance {
        deadline_ms: i64,
    },
    Stable {
        /// When those who have not synced are given up; `None` once all have.
        deadline_ms: Option<i64>,
    },
}

/// The wait of a group that was empty (KIP-134).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InitialDelay {
    /// Length of the wait that runs now.
    pub(super) delay_ms: i64,
    /// How much longer it may become in all.
    pub(super) remaining_ms: i64,
    /// A member came during this wait, so it is worth another one.
    pub(super) member_added: bool,
}

impl Default for Membership {
    fn default() -> Self {
        Self {
            phase: Phase::Empty,
            since_ms: None,
            generation: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            members: OrdMap::new(),
            statics: OrdMap::new(),
            pending: OrdMap::new(),
            unsynced: OrdSet::new(),
            topics: None,
        }
    }
}

impl Membership {
    /// What a loaded record says, with nobody waiting and no session running.
    pub(super) fn restored(record: &Generation) -> Self {
        let mut restored = Self {
            phase: if record.members.is_empty() {
                Phase::Empty
            } else {
                Phase::Stable { deadline_ms: None }
            },
            since_ms: record.since_ms,
            generation: record.generation,
            protocol_type: record.protocol_type.clone(),
            protocol: record.protocol.clone(),
            leader: record.leader.clone(),
            ..Self::default()
        };
        for stored in &record.members {
            let member = Member::restored(stored, record.protocol.as_ref());
            if let Some(instance) = &member.instance_id {
                restored.statics.insert(instance.clone(), member.id.clone());
            }
            restored.members.insert(member.id.clone(), member);
        }
        restored.topics = restored.subscribed_topics();
        restored
    }

    pub(super) fn record(&self) -> Generation {
        let protocol = self.protocol.as_deref();
        Generation {
            protocol_type: self.protocol_type.clone(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            since_ms: self.since_ms,
            members: self.members.values().map(|m| m.stored(protocol)).collect(),
        }
    }

    pub(super) fn condition(&self) -> Condition {
        match self.phase {
            Phase::Empty => Condition::Empty,
            Phase::PreparingRebalance { .. } => Condition::PreparingRebalance,
            Phase::CompletingRebalance { .. } => Condition::CompletingRebalance,
            Phase::Stable { .. } => Condition::Stable,
        }
    }

    pub(super) fn is_leader(&self, member: &str) -> bool {
        self.leader.as_deref() == Some(member)
    }

    /// Is this who it says it is? A static member whose instance id has a newer holder is fenced.
    pub(super) fn validate(&self, member: &str, instance: Option<&Arc<str>>) -> Result<(), Error> {
        if let Some(instance) = instance {
            match self.statics.get(instance) {
                None => return Err(Error::UnknownMember),
                Some(holder) if **holder != *member => return Err(Error::FencedInstance),
                Some(_) => {}
            }
        }
        if self.members.contains_key(member) {
            Ok(())
        } else {
            Err(Error::UnknownMember)
        }
    }

    /// Can a member with these protocols join the ones that are here?
    pub(super) fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if self.phase == Phase::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols
                .iter()
                .any(|p| self.members.values().all(|m| m.supports(&p.name)))
    }

    pub(super) fn add(&mut self, member: Member, protocol_type: &Arc<str>) {
        if self.members.is_empty() {
            self.protocol_type = Some(protocol_type.clone());
        }
        self.leader.get_or_insert_with(|| member.id.clone());
        self.pending.remove(&member.id);
        if let Some(instance) = &member.instance_id {
            self.statics.insert(instance.clone(), member.id.clone());
        }
        self.members.insert(member.id.clone(), member);
    }

    /// Forgets a member or a pending id. Answering what the member waited for is the caller's.
    pub(super) fn remove(&mut self, id: &str) -> Option<Member> {
        self.pending.remove(id);
        self.unsynced.remove(id);
        let member = self.members.remove(id)?;
        if let Some(instance) = &member.instance_id
            && self.statics.get(instance).is_some_and(|held| **held == *id)
        {
            self.statics.remove(instance);
        }
        if self.is_leader(id) {
            self.leader = self.members.keys().next().cloned();
        }
        Some(member)
    }

    /// A static member has come back under a new id: it keeps its place, its assignment and, if it
    /// had it, the lead. Returns what its old self waited for.
    pub(super) fn replace(&mut self, old: &str, new: &MemberId) -> [Option<Ticket>; 2] {
        let was_leader = self.is_leader(old);
        let unsynced = self.unsynced.remove(old).is_some();
        let Some(mut member) = self.members.remove(old) else {
            return [None, None];
        };
        let waited = [member.awaiting_join.take(), member.awaiting_sync.take()];
        member.id = new.clone();
        if let Some(instance) = &member.instance_id {
            self.statics.insert(instance.clone(), new.clone());
        }
        if was_leader {
            self.leader = Some(new.clone());
        }
        if unsynced {
            self.unsynced.insert(new.clone());
        }
        self.members.insert(new.clone(), member);
        waited
    }

    pub(super) fn all_joined(&self) -> bool {
        self.pending.is_empty() && self.members.values().all(|m| m.awaiting_join.is_some())
    }

    /// How long a rebalance may take: the most patient member's word.
    pub(super) fn rebalance_timeout_ms(&self) -> i64 {
        self.members
            .values()
            .map(|m| i64::from(m.rebalance_timeout_ms))
            .max()
            .unwrap_or(0)
    }

    /// Keeps the leader if it has rejoined, else takes a member that has. False when nobody has.
    pub(super) fn elect_leader(&mut self) -> bool {
        let joined = |m: &Member| m.awaiting_join.is_some();
        if let Some(leader) = &self.leader
            && self.members.get(leader).is_some_and(joined)
        {
            return true;
        }
        let Some(next) = self.members.values().find(|m| joined(m)) else {
            return false;
        };
        self.leader = Some(next.id.clone());
        true
    }

    /// The protocol most members prefer among those that all of them know. Ties go to the one the
    /// leader (else the first member) prefers: any choice is correct, but it must be the same each time.
    pub(super) fn select_protocol(&self) -> Option<Arc<str>> {
        let first = self
            .leader
            .as_ref()
            .and_then(|leader| self.members.get(leader))
            .or_else(|| self.members.values().next())?;
        let known = |name: &str| self.members.values().all(|m| m.supports(name));
        let mut best: Option<(usize, &Arc<str>)> = None;
        for candidate in first.protocols.iter().filter(|p| known(&p.name)) {
            let votes = self
                .members
                .values()
                .filter_map(|m| m.votes_for(known))
                .filter(|vote| vote.name == candidate.name)
                .count();
            if best.is_none_or(|(most, _)| votes > most) {
                best = Some((votes, &candidate.name));
            }
        }
        best.map(|(_, name)| name.clone())
    }

    pub(super) fn is_consumer(&self) -> bool {
        self.protocol_type.as_deref() == Some(subscription::CONSUMER)
    }

    /// Union of what the members subscribe to under the chosen protocol.
    pub(super) fn subscribed_topics(&self) -> Option<Arc<BTreeSet<Arc<str>>>> {
        if !self.is_consumer() {
            return None;
        }
        let mut all = BTreeSet::new();
        if let Some(protocol) = &self.protocol {
            for member in self.members.values() {
                let metadata: Bytes = member.metadata(protocol);
                all.extend(subscription::topics(&metadata)?);
            }
        }
        Some(Arc::new(all))
    }

    /// Unknown subscriptions of consumers protect every topic.
    pub(super) fn subscribes_to(&self, topic: &str) -> bool {
        match &self.topics {
            Some(topics) => topics.contains(topic),
            None => self.is_consumer() && self.phase != Phase::Empty,
        }
    }

    /// The next moment at which something is due if nothing is heard until then.
    pub(super) fn next_deadline_ms(&self) -> Option<i64> {
        let phase = match self.phase {
            Phase::Empty => None,
            Phase::PreparingRebalance { deadline_ms, .. }
            | Phase::CompletingRebalance { deadline_ms } => Some(deadline_ms),
            Phase::Stable { deadline_ms } => deadline_ms,
        };
        phase
            .into_iter()
            .chain(self.pending.values().copied())
            .chain(self.members.values().filter_map(|m| m.deadline_ms))
            .min()
    }
}

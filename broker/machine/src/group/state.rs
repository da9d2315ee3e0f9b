//! All groups of one partition of `__consumer_offsets`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::draft::Draft;
use super::membership::Membership;
use super::offsets::{Committed, Offsets};
use super::record::Record;
use super::{Command, Config, Description, GroupId, Listed, Reply, Ticket};

/// What has been decided, committed or on its way to the log.
#[derive(Debug)]
pub struct State {
    config: Config,
    groups: BTreeMap<GroupId, Group>,
    /// When each group has something due next, and the same by group.
    due: BTreeSet<(i64, GroupId)>,
    due_of: BTreeMap<GroupId, i64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) membership: Membership,
    pub(super) offsets: Offsets,
}

/// The answer to one command: what to write, whom to answer once it is written, and the group as it
/// will be. Dropping it instead of accepting it leaves no trace.
#[derive(Debug)]
#[must_use]
pub struct Decision {
    pub(super) group: GroupId,
    pub(super) membership: Membership,
    pub records: Vec<Record>,
    pub replies: Vec<(Ticket, Reply)>,
}

impl State {
    pub fn new(config: Config) -> Self {
        Self {
            config,
            groups: BTreeMap::new(),
            due: BTreeSet::new(),
            due_of: BTreeMap::new(),
        }
    }

    /// What `command` means now. `ticket` names the request: it is answered in this decision or, when
    /// it has to wait for the group, in a later one.
    pub fn decide(
        &self,
        group: &GroupId,
        ticket: Ticket,
        command: Command,
        now_ms: i64,
    ) -> Decision {
        Draft::new(&self.config, group, self.groups.get(group), now_ms).run(ticket, command)
    }

    /// Moves on to what was decided. Records and replies stay with the caller.
    pub fn accept(&mut self, decision: &Decision) {
        let mut exists = self.groups.contains_key(&decision.group);
        for record in &decision.records {
            match record {
                Record::Offset { .. } => self.apply(record),
                Record::Group { value, .. } => exists = value.is_some(),
            }
            exists |= matches!(record, Record::Offset { value: Some(_), .. });
        }
        if !exists {
            self.groups.remove(&decision.group);
            self.set_due(&decision.group, None);
            return;
        }
        let group = self.groups.entry(decision.group.clone()).or_default();
        group.membership = decision.membership.clone();
        let due = group.membership.next_deadline_ms();
        self.set_due(&decision.group, due);
    }

    /// Takes in a record from the log.
    pub fn apply(&mut self, record: &Record) {
        match record {
            Record::Offset {
                key,
                value: Some(committed),
            } => {
                let group = self.groups.entry(key.group.clone()).or_default();
                group
                    .offsets
                    .entry(key.topic.clone())
                    .or_default()
                    .insert(key.partition, committed.clone());
            }
            Record::Offset { key, value: None } => {
                if let Some(group) = self.groups.get_mut(&key.group)
                    && let Some(partitions) = group.offsets.get_mut(&key.topic)
                {
                    partitions.remove(&key.partition);
                    if partitions.is_empty() {
                        group.offsets.remove(&key.topic);
                    }
                }
            }
            Record::Group {
                group,
                value: Some(generation),
            } => {
                let restored = Membership::restored(generation);
                self.groups.entry(group.clone()).or_default().membership = restored;
            }
            Record::Group { group, value: None } => {
                self.groups.remove(group);
                self.set_due(group, None);
            }
        }
    }

    /// The log has been taken in and this broker coordinates from now on: sessions start afresh, for
    /// nobody could have heartbeated here before.
    pub fn lead(&mut self, now_ms: i64) {
        let mut due = Vec::new();
        for (id, group) in &mut self.groups {
            let membership = &mut group.membership;
            let ids: Vec<_> = membership.members.keys().cloned().collect();
            for member in ids {
                if let Some(member) = membership.members.get_mut(&member) {
                    member.keep_alive(now_ms);
                }
            }
            due.push((id.clone(), membership.next_deadline_ms()));
        }
        for (id, at) in due {
            self.set_due(&id, at);
        }
    }

    /// When to come back with [`Command::Elapse`] for the groups of [`State::due`].
    pub fn next_deadline_ms(&self) -> Option<i64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Groups that may have something due.
    pub fn due(&self, now_ms: i64) -> Vec<GroupId> {
        self.due
            .iter()
            .take_while(|(at, _)| *at <= now_ms)
            .map(|(_, group)| group.clone())
            .collect()
    }

    pub fn groups(&self) -> impl Iterator<Item = &GroupId> {
        self.groups.keys()
    }

    pub fn list(&self) -> impl Iterator<Item = Listed> {
        self.groups
            .iter()
            .map(|(id, group)| group.membership.listed(id))
    }

    /// `None` when there is no such group.
    pub fn describe(&self, group: &str) -> Option<Description> {
        self.groups.get(group).map(|g| g.membership.describe())
    }

    /// `None` when the group never committed there, or the offset is gone.
    pub fn committed(&self, group: &str, topic: &str, partition: i32) -> Option<&Committed> {
        self.groups.get(group)?.offsets.get(topic)?.get(&partition)
    }

    /// All offsets of a group; none when there is no such group.
    pub fn offsets(&self, group: &str) -> impl Iterator<Item = (&Arc<str>, i32, &Committed)> {
        self.groups
            .get(group)
            .into_iter()
            .flat_map(|g| g.offsets.iter())
            .flat_map(|(topic, of)| of.iter().map(move |(partition, c)| (topic, *partition, c)))
    }

    /// Tickets that still wait. When the coordinator moves away they have to be answered by it.
    pub fn waiting(&self) -> Vec<Ticket> {
        self.groups
            .values()
            .flat_map(|g| g.membership.members.values())
            .flat_map(|m| [m.awaiting_join, m.awaiting_sync])
            .flatten()
            .collect()
    }

    fn set_due(&mut self, group: &GroupId, at: Option<i64>) {
        let old = match at {
            Some(at) => self.due_of.insert(group.clone(), at),
            None => self.due_of.remove(group),
        };
        if let Some(old) = old {
            self.due.remove(&(old, group.clone()));
        }
        if let Some(at) = at {
            self.due.insert((at, group.clone()));
        }
    }
}

//! Committed offsets: who may commit, how long they are kept.

use std::sync::Arc;

use imbl::OrdMap;
use model::TopicId;

use super::draft::Draft;
use super::membership::Phase;
use super::{Commit, CommitPartition, Error, OffsetKey, Record};

/// How far a group has read one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The next offset to read.
    pub offset: i64,
    /// Of the record before it; -1 when the client did not say.
    pub leader_epoch: i32,
    /// Whatever the client wants to find again.
    pub metadata: Arc<str>,
    /// When the coordinator took the commit.
    pub commit_ms: i64,
    /// Set only when an old client asked for a retention of its own.
    pub expire_ms: Option<i64>,
    /// Nil when not known. An offset of a topic that has since been recreated is not one of the new
    /// topic (KIP-848's topic ids in offset records).
    pub topic_id: TopicId,
}

/// Offsets of one group by topic and partition. Cheap to clone.
pub(super) type Offsets = OrdMap<Arc<str>, OrdMap<i32, Committed>>;

impl Draft<'_> {
    pub(super) fn commit(&mut self, commit: Commit) -> Result<Vec<Result<(), Error>>, Error> {
        self.validate_commit(&commit)?;
        if matches!(
            self.group.phase,
            Phase::Stable { .. } | Phase::PreparingRebalance { .. }
        ) {
            self.hear_from(&commit.member_id);
        }
        let expire_ms = commit.retention_ms.map(|ms| self.now_ms.saturating_add(ms));
        let results = commit
            .partitions
            .into_iter()
            .map(|p| self.commit_one(p, expire_ms))
            .collect();
        Ok(results)
    }

    fn validate_commit(&self, commit: &Commit) -> Result<(), Error> {
        if !self.exists {
            // -1: a consumer without group management, or a tool. Its first commit makes the group.
            return if commit.generation < 0 {
                Ok(())
            } else {
                Err(Error::GroupNotFound)
            };
        }
        let empty = self.group.phase == Phase::Empty;
        if commit.generation < 0 && empty {
            return Ok(());
        }
        let anonymous =
            commit.generation < 0 && commit.member_id.is_empty() && commit.instance_id.is_none();
        if anonymous {
            return Err(Error::UnknownMember);
        }
        self.group
            .validate(&commit.member_id, commit.instance_id.as_ref())?;
        if commit.generation != self.group.generation {
            return Err(Error::IllegalGeneration);
        }
        if matches!(self.group.phase, Phase::CompletingRebalance { .. }) {
            return Err(Error::RebalanceInProgress);
        }
        Ok(())
    }

    fn commit_one(
        &mut self,
        partition: CommitPartition,
        expire_ms: Option<i64>,
    ) -> Result<(), Error> {
        if partition.metadata.len() > self.config.offset_metadata_max_bytes {
            return Err(Error::OffsetMetadataTooLarge);
        }
        self.records.push(Record::Offset {
            key: OffsetKey {
                group: self.id.clone(),
                topic: partition.topic,
                partition: partition.partition,
            },
            value: Some(Committed {
                offset: partition.offset,
                leader_epoch: partition.leader_epoch,
                metadata: partition.metadata,
                commit_ms: self.now_ms,
                expire_ms,
                topic_id: partition.topic_id,
            }),
        });
        Ok(())
    }

    pub(super) fn delete(&mut self) -> Result<(), Error> {
        if !self.exists {
            return Err(Error::GroupNotFound);
        }
        if self.group.phase != Phase::Empty {
            return Err(Error::NonEmptyGroup);
        }
        let all = self.offset_keys(|_, _| true);
        self.remove_offsets(all);
        self.remove_group();
        Ok(())
    }

    pub(super) fn delete_offsets(
        &mut self,
        partitions: Vec<(Arc<str>, i32)>,
    ) -> Result<Vec<Result<(), Error>>, Error> {
        self.check_group_id()?;
        if !self.exists {
            return Err(Error::GroupNotFound);
        }
        if self.group.phase != Phase::Empty && !self.group.is_consumer() {
            // Nobody can tell what members of other kinds still need.
            return Err(Error::NonEmptyGroup);
        }
        let results = partitions
            .into_iter()
            .map(|(topic, partition)| {
                if self.group.subscribes_to(&topic) {
                    return Err(Error::SubscribedToTopic);
                }
                let keys = self.offset_keys(|t, p| *t == topic && p.0 == partition);
                self.remove_offsets(keys);
                Ok(())
            })
            .collect();
        Ok(results)
    }

    pub(super) fn forget_topics(&mut self, gone: &[(Arc<str>, TopicId)]) {
        let unknown = TopicId::default();
        let keys = self.offset_keys(|topic, (_, committed)| {
            gone.iter().any(|(name, id)| {
                name == topic && (committed.topic_id == *id || committed.topic_id == unknown)
            })
        });
        self.remove_offsets(keys);
    }

    /// KIP-211: the clock of a group's offsets starts when the group becomes empty; that of a group
    /// without members ever, and of topics that nobody reads any more, at the commit.
    pub(super) fn expire_offsets(&mut self) {
        let group = &self.group;
        let empty = group.phase == Phase::Empty;
        let stable = matches!(group.phase, Phase::Stable { .. });
        let retention_ms = self.config.offsets_retention_ms;
        let now_ms = self.now_ms;
        let since = |topic: &Arc<str>, committed: &Committed| match &group.protocol_type {
            None => Some(committed.commit_ms),
            Some(_) if empty => Some(group.since_ms.unwrap_or(committed.commit_ms)),
            Some(_) if stable && group.is_consumer() && !group.subscribes_to(topic) => {
                Some(committed.commit_ms)
            }
            Some(_) => None,
        };
        let expired = self.offset_keys(|topic, (_, committed)| {
            since(topic, committed).is_some_and(|since_ms| match committed.expire_ms {
                Some(expire_ms) => expire_ms <= now_ms,
                None => now_ms.saturating_sub(since_ms) >= retention_ms,
            })
        });
        let kept: usize = self.offsets.values().map(OrdMap::len).sum();
        let all_gone = expired.len() == kept;
        self.remove_offsets(expired);
        if self.exists && empty && all_gone && self.group.pending.is_empty() {
            self.remove_group();
        }
    }

    fn offset_keys(&self, chosen: impl Fn(&Arc<str>, (i32, &Committed)) -> bool) -> Vec<OffsetKey> {
        let mut keys = Vec::new();
        for (topic, partitions) in &self.offsets {
            for (partition, committed) in partitions {
                if chosen(topic, (*partition, committed)) {
                    keys.push(OffsetKey {
                        group: self.id.clone(),
                        topic: topic.clone(),
                        partition: *partition,
                    });
                }
            }
        }
        keys
    }

    fn remove_offsets(&mut self, keys: Vec<OffsetKey>) {
        let removed = keys
            .into_iter()
            .map(|key| Record::Offset { key, value: None });
        self.records.extend(removed);
    }

    fn remove_group(&mut self) {
        self.records.push(Record::Group {
            group: self.id.clone(),
            value: None,
        });
    }
}

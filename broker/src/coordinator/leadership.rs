//! Starts a shard with each leadership of a partition of `__consumer_offsets` and ends it with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use machine::group::State;
use machine::metadata::image::Image;
use model::{TopicId, TopicPartition};
use tokio::sync::mpsc;

use super::shard::{self, FindGone, Gone, MAILBOX_MAX, Request, Settings};
use super::{Inner, Slot, journal, offsets_topic};
use crate::metadata;
use crate::partition::{Handle, Role};

/// Runs until the coordinators are dropped.
pub(super) async fn follow(coordinators: Weak<Inner>) {
    let Some(inner) = coordinators.upgrade() else {
        return;
    };
    let mut roles = inner.roster.changes();
    let mut images = inner.metadata.watch();
    drop(inner);
    let mut names = Names::new();
    loop {
        let Some(inner) = coordinators.upgrade() else {
            return;
        };
        let image = images.borrow_and_update().clone();
        roles.mark_unchanged();
        inner.align(&image);
        let gone = names.follow(&image);
        if !gone.is_empty() {
            inner.forget(gone).await;
        }
        drop(inner);
        let closed = tokio::select! {
            changed = roles.changed() => changed.is_err(),
            changed = images.changed() => changed.is_err(),
        };
        if closed {
            return;
        }
    }
}

impl Inner {
    fn align(self: &Arc<Self>, image: &Image) {
        let led = self.led(image);
        let mut shards = self.shards.write();
        shards.retain(|partition, slot| {
            led.get(partition)
                .is_some_and(|handle| handle.status().leader_epoch == slot.epoch)
        });
        for (partition, handle) in led {
            shards
                .entry(partition)
                .or_insert_with(|| self.coordinate(handle));
        }
    }

    /// Partitions of the offsets topic that this broker's replica leads by now.
    fn led(&self, image: &Image) -> BTreeMap<i32, Handle> {
        let Some(topic) = offsets_topic::topic(image) else {
            return BTreeMap::new();
        };
        (0..)
            .zip(&topic.partitions)
            .filter_map(|(partition, _)| {
                let place = TopicPartition {
                    topic: topic.id,
                    partition,
                };
                let handle = self.roster.get(place)?;
                (handle.status().role == Role::Leader).then_some((partition, handle))
            })
            .collect()
    }

    fn coordinate(&self, handle: Handle) -> Slot {
        let (requests, mailbox) = mpsc::channel(MAILBOX_MAX);
        let ready = Arc::default();
        let epoch = handle.status().leader_epoch;
        let settings = Settings {
            group: self.config.group.clone(),
            sweep_every: self.config.sweep_every,
        };
        let journal = journal::OfPartition::new(handle, epoch, self.config.append_timeout);
        let task = tokio::spawn(shard::run(
            Arc::new(journal),
            settings,
            mailbox,
            Arc::clone(&ready),
            find_gone(self.metadata.clone()),
        ));
        Slot {
            epoch,
            requests,
            ready,
            task,
        }
    }

    async fn forget(&self, gone: Gone) {
        let mailboxes: Vec<_> = self
            .shards
            .read()
            .values()
            .map(|slot| slot.requests.clone())
            .collect();
        for mailbox in mailboxes {
            // A shard that ends meanwhile has a successor that looks by itself.
            let _ended = mailbox.send(Request::Forget(Arc::clone(&gone))).await;
        }
    }
}

/// Topics of the last image seen.
struct Names(BTreeMap<TopicId, Arc<str>>);

impl Names {
    fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// What has gone since the last call.
    fn follow(&mut self, image: &Image) -> Gone {
        let now: BTreeMap<TopicId, Arc<str>> = image
            .topics
            .iter()
            .map(|(id, topic)| (*id, Arc::clone(&topic.name)))
            .collect();
        let before = std::mem::replace(&mut self.0, now);
        before
            .into_iter()
            .filter(|(id, _)| !self.0.contains_key(id))
            .map(|(id, name)| (name, id))
            .collect()
    }
}

/// A topic may have gone while nobody coordinated. The image here is at least as new as this broker's
/// leadership, and every offset in the log was committed for a topic that existed before it.
fn find_gone(metadata: metadata::Handle) -> FindGone {
    Arc::new(move |state: &State| {
        let image = metadata.image();
        let mut gone = BTreeSet::new();
        for group in state.groups() {
            for (topic, _, committed) in state.offsets(group) {
                let unknown = committed.topic_id == TopicId::default();
                let exists = if unknown {
                    image.topic_names.contains_key(topic)
                } else {
                    image.topics.contains_key(&committed.topic_id)
                };
                if !exists {
                    gone.insert((Arc::clone(topic), committed.topic_id));
                }
            }
        }
        gone.into_iter().collect()
    })
}

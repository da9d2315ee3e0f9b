//! Which replicas this broker has: the metadata image says which it should have, the drivers open and
//! close them.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Arc,
};

use api::config::topic;
use imbl::ordmap::DiffItem;
use machine::{
    metadata::image::{ConfigResource, Image, Partition, Topic},
    replica::Membership,
};
use model::{BrokerId, TopicPartition};
use parking_lot::RwLock;
use tokio::sync::watch;

use super::{
    Config, Handle, Pool,
    driver::{Job, Mailbox},
    peers::Throttles,
    settings::Settings,
};
use crate::config::effective::layered;

/// The replicas of this broker. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Roster(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    replicas: RwLock<HashMap<TopicPartition, Handle>>,
    changes: watch::Sender<u64>,
    readers: Pool,
}

impl Default for Roster {
    /// A broker without replicas.
    fn default() -> Self {
        Self::new(Pool::new(Config::default().readers))
    }
}

impl Roster {
    pub(super) fn new(readers: Pool) -> Self {
        Self(Arc::new(Inner {
            replicas: RwLock::default(),
            changes: watch::channel(0).0,
            readers,
        }))
    }

    /// Where logs are read that may have to wait for the disk.
    pub fn readers(&self) -> &Pool {
        &self.0.readers
    }

    /// The replica of `partition` on this broker, once it is open.
    pub fn get(&self, partition: TopicPartition) -> Option<Handle> {
        self.0.replicas.read().get(&partition).cloned()
    }

    /// Every open replica, in no order.
    pub fn all(&self) -> Vec<(TopicPartition, Handle)> {
        let replicas = self.0.replicas.read();
        replicas.iter().map(|(k, h)| (*k, h.clone())).collect()
    }

    /// Raised whenever a replica was opened, closed, changed its role or takes records again: coordinators
    /// look anew.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    pub(super) fn opened(&self, handle: Handle) {
        let partition = handle.partition();
        self.0.replicas.write().insert(partition, handle);
    }

    pub(super) fn closed(&self, partition: TopicPartition) {
        self.0.replicas.write().remove(&partition);
        self.changed();
    }

    pub(super) fn changed(&self) {
        self.0.changes.send_modify(|n| *n += 1);
    }
}

/// Brings the drivers in line with each new image.
pub(super) struct Follower {
    pub this: BrokerId,
    pub drivers: Vec<Mailbox>,
    /// Keys of the properties file.
    pub file: std::collections::BTreeMap<String, String>,
    pub throttles: Arc<Throttles>,
    /// What the drivers were told last.
    pub told: Image,
}

impl Follower {
    /// Follows until the metadata is gone.
    pub(super) async fn run(mut self, mut images: watch::Receiver<Arc<Image>>) {
        loop {
            let image = images.borrow_and_update().clone();
            self.follow(&image);
            if images.changed().await.is_err() {
                return;
            }
        }
    }

    /// Tells the drivers what differs between this image and the last.
    pub(super) fn follow(&mut self, image: &Image) {
        for difference in self.told.topics.diff(&image.topics) {
            match difference {
                DiffItem::Add(_, topic) => self.topic(image, None, topic),
                DiffItem::Update {
                    old: (_, old),
                    new: (_, new),
                } => self.topic(image, Some(old), new),
                DiffItem::Remove(_, topic) => {
                    for (partition, replicas) in partitions(topic) {
                        if replicas.replicas.contains(&self.this) {
                            self.tell(partition, Job::Remove { partition });
                        }
                    }
                }
            }
        }
        self.reconfigure(image);
        self.throttles.adopt(image, self.this);
        self.told = image.clone();
    }

    fn topic(&self, image: &Image, before: Option<&Arc<Topic>>, topic: &Arc<Topic>) {
        let mut settings = None;
        for (partition, agreed) in partitions(topic) {
            let known = before.and_then(|t| {
                let number = usize::try_from(partition.partition).ok()?;
                t.partitions.get(number)
            });
            if known.is_some_and(|known| Arc::ptr_eq(known, agreed)) {
                continue;
            }
            if agreed.replicas.contains(&self.this) {
                let settings =
                    settings.get_or_insert_with(|| Arc::new(self.settings(image, &topic.name)));
                self.assign(partition, topic, agreed, settings);
            } else if known.is_some_and(|known| known.replicas.contains(&self.this)) {
                self.tell(partition, Job::Remove { partition });
            }
        }
    }

    /// Topics whose own configs changed, or all when those of the brokers did.
    fn reconfigure(&self, image: &Image) {
        let mut all = self.told.in_sync_default != image.in_sync_default;
        let mut named = Vec::new();
        for difference in self.told.configs.diff(&image.configs) {
            let resource = match difference {
                DiffItem::Add(resource, _)
                | DiffItem::Remove(resource, _)
                | DiffItem::Update {
                    new: (resource, _), ..
                } => resource,
            };
            match resource {
                ConfigResource::Topic(name) => named.push(name.clone()),
                ConfigResource::Broker(id) => all |= *id == self.this,
                ConfigResource::BrokerDefault => all = true,
                ConfigResource::Group(_) => {}
            }
        }
        let ids = named.iter().filter_map(|name| image.topic_names.get(name));
        let named = ids.filter_map(|id| image.topics.get(id));
        let topics: Vec<&Arc<Topic>> = if all {
            image.topics.values().collect()
        } else {
            named.collect()
        };
        for topic in topics {
            let settings = Arc::new(self.settings(image, &topic.name));
            for (partition, agreed) in partitions(topic) {
                if agreed.replicas.contains(&self.this) {
                    self.assign(partition, topic, agreed, &settings);
                }
            }
        }
    }

    fn assign(
        &self,
        partition: TopicPartition,
        topic: &Topic,
        agreed: &Partition,
        settings: &Arc<Settings>,
    ) {
        let job = Job::Assign {
            partition,
            topic: topic.name.clone(),
            membership: Membership {
                leader: agreed.leader,
                leader_epoch: agreed.leader_epoch,
                partition_epoch: agreed.partition_epoch,
                replicas: agreed.replicas.clone(),
                in_sync: agreed.isr.clone(),
                eligible: agreed.elr.clone(),
            },
            settings: settings.clone(),
        };
        self.tell(partition, job);
    }

    fn settings(&self, image: &Image, name: &Arc<str>) -> Settings {
        let id = image.topic_names.get(name);
        let internal = id
            .and_then(|id| image.topics.get(id))
            .is_some_and(|t| t.internal);
        let topic = ConfigResource::Topic(name.clone());
        let resolved = layered(
            self.this,
            &self.file,
            image,
            &topic,
            topic::Settings::resolve,
        );
        // No watermark may move where the elections count on its standing still.
        let in_sync_min = image.in_sync_min(name);
        Settings::new(topic::Settings {
            min_insync_replicas: resolved.min_insync_replicas.max(in_sync_min),
            // The coordinators read what they have just written.
            delivery_delay_ms: if internal {
                0
            } else {
                resolved.delivery_delay_ms
            },
            ..resolved
        })
    }

    fn tell(&self, partition: TopicPartition, job: Job) {
        if let Some(driver) = driver_of(&self.drivers, partition) {
            driver.send(job);
        }
    }
}

fn partitions(topic: &Topic) -> impl Iterator<Item = (TopicPartition, &Arc<Partition>)> {
    let id = topic.id;
    (0..)
        .zip(&topic.partitions)
        .map(move |(partition, agreed)| {
            let partition = TopicPartition {
                topic: id,
                partition,
            };
            (partition, agreed)
        })
}

/// A partition stays with its driver for the life of the process.
fn driver_of(drivers: &[Mailbox], partition: TopicPartition) -> Option<&Mailbox> {
    let mut hasher = DefaultHasher::new();
    partition.topic.hash(&mut hasher);
    // Neighbours of a topic are spread evenly whatever its identifier.
    let hash = hasher
        .finish()
        .wrapping_add(partition.partition.cast_unsigned().into());
    let number = hash.checked_rem(drivers.len() as u64)?;
    drivers.get(usize::try_from(number).ok()?)
}

//! Which replicas this broker has.

use std::{collections::HashMap, sync::Arc};

use model::TopicPartition;
use parking_lot::RwLock;
use tokio::sync::watch;

use super::Handle;

/// The replicas of this broker. Cheap to clone.
#[derive(Clone)]
pub struct Roster(Arc<Inner>);

struct Inner {
    replicas: RwLock<HashMap<TopicPartition, Handle>>,
    changes: watch::Sender<u64>,
}

impl Default for Roster {
    /// A broker without replicas.
    fn default() -> Self {
        Self(Arc::new(Inner {
            replicas: RwLock::default(),
            changes: watch::channel(0).0,
        }))
    }
}

impl Roster {
    /// The replica of `partition` on this broker, once it is open.
    pub fn get(&self, partition: TopicPartition) -> Option<Handle> {
        self.0.replicas.read().get(&partition).cloned()
    }

    /// Every open replica, in no order.
    pub fn all(&self) -> Vec<(TopicPartition, Handle)> {
        let replicas = self.0.replicas.read();
        replicas.iter().map(|(k, h)| (*k, h.clone())).collect()
    }

    /// Raised whenever a replica was opened, closed or changed its role: coordinators look anew.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }
}

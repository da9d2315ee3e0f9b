//! Bodies of a shard, by position, and what they weigh.

use std::sync::Arc;

use imbl::OrdMap;

use crate::queue::message::Message;

/// Cheap to clone: shared with snapshots that are being written.
#[derive(Clone, Default)]
pub(super) struct Bodies {
    by_position: OrdMap<u64, Arc<Message>>,
    bytes: usize,
}

impl Bodies {
    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.by_position.len()
    }

    /// In order of their positions.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&u64, &Arc<Message>)> {
        self.by_position.iter()
    }

    pub(super) fn get(&self, position: u64) -> Option<&Arc<Message>> {
        self.by_position.get(&position)
    }

    pub(super) fn insert(&mut self, position: u64, message: Arc<Message>) {
        self.bytes += message.memory_bytes();
        if let Some(former) = self.by_position.insert(position, message) {
            self.bytes -= former.memory_bytes();
        }
    }

    pub(super) fn remove(&mut self, position: u64) -> Option<Arc<Message>> {
        let message = self.by_position.remove(&position)?;
        self.bytes -= message.memory_bytes();
        Some(message)
    }
}

//! Who owns exclusive queues: connections of this broker, which is the home of theirs.
//!
//! An exclusive queue whose owner is not here is deleted as soon as it is: its connection has ended while
//! its declaration was still under way, or in an earlier life of the broker.

use std::collections::HashSet;
use std::sync::Arc;

use machine::metadata::image::Queue;
use parking_lot::RwLock;
use uuid::Uuid;

/// The owners of this broker. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Owners(Arc<RwLock<HashSet<Uuid>>>);

/// A connection as the owner of its exclusive queues.
pub struct Owner {
    id: Uuid,
    all: Owners,
}

impl Owners {
    pub(super) fn enter(&self) -> Owner {
        let id = Uuid::new_v4();
        self.0.write().insert(id);
        Owner {
            id,
            all: self.clone(),
        }
    }

    /// Is it exclusive to somebody who is gone?
    pub(super) fn have_left(&self, queue: &Queue) -> bool {
        queue
            .exclusive
            .is_some_and(|owner| !self.0.read().contains(&owner))
    }
}

impl Owner {
    /// What the metadata calls it.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// Owns nothing any more: queues of its own that are made from now on are deleted. Those that are there
    /// already are its front's to delete.
    pub fn leave(&self) {
        self.all.0.write().remove(&self.id);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.leave();
    }
}

//! What this life of the broker submits: a number for each command, so that one that is offered again
//! takes effect once ([`machine::metadata::submission`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use machine::metadata::submission::{OPEN_MAX, RequestId};
use model::BrokerId;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use uuid::Uuid;

#[cfg(test)]
mod tests;

/// Commands under way at once; more wait. Below what the machine remembers, which may hear late of those
/// that are settled.
const UNDER_WAY_MAX: usize = OPEN_MAX / 2;

pub(super) struct Submissions {
    broker: BrokerId,
    life: Uuid,
    room: Semaphore,
    numbers: Arc<Mutex<Numbers>>,
}

#[derive(Default)]
struct Numbers {
    next: u64,
    open: BTreeSet<u64>,
}

/// One command under way; its number is settled when this is dropped.
pub(super) struct Open<'a> {
    pub(super) id: RequestId,
    numbers: Arc<Mutex<Numbers>>,
    _room: Option<SemaphorePermit<'a>>,
}

impl Submissions {
    pub(super) fn new(broker: BrokerId) -> Self {
        Self {
            broker,
            life: Uuid::new_v4(),
            room: Semaphore::new(UNDER_WAY_MAX),
            numbers: Arc::default(),
        }
    }

    /// Numbers a command, once there is room.
    pub(super) async fn begin(&self) -> Open<'_> {
        // Never closed.
        let room = self.room.acquire().await.ok();
        let mut numbers = self.numbers.lock();
        let number = numbers.next;
        numbers.next += 1;
        numbers.open.insert(number);
        let settled_below = numbers.open.first().copied().unwrap_or(number);
        drop(numbers);
        Open {
            id: RequestId {
                broker: self.broker,
                life: self.life,
                number,
                settled_below,
            },
            numbers: Arc::clone(&self.numbers),
            _room: room,
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.numbers.lock().open.remove(&self.id.number);
    }
}

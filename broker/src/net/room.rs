//! Memory that the connections of a front share, for bytes that depend on clients: requests that are
//! coming in, replies that wait to be read.
//!
//! Who holds such bytes counts them through a [`Claim`], step by step. While the room is full nobody
//! takes a step but one at a time, so that something moves always; and clients that do not move their
//! bytes meanwhile ([`Progress`]) are let go, so that slow ones do not hold up all others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::Instant;

/// Bytes that count as progress, and less if they are all there is to move.
const PROGRESS_BYTES: usize = 64 << 10;

/// The count and its bound, which is passed by no more than one step of each thread and one holder that
/// is let in beyond it.
#[derive(Debug)]
pub struct Room {
    bytes_max: AtomicUsize,
    used: AtomicUsize,
    /// Somebody was let in though the room is full.
    beyond: AtomicBool,
    /// Those who wait, in order. The first of them hears of `freed`.
    turn: Mutex<()>,
    freed: Notify,
    filled: Notify,
}

/// Bytes of one holder; given back when dropped.
#[derive(Debug)]
pub struct Claim {
    room: Arc<Room>,
    bytes: usize,
    beyond: bool,
}

/// Since when the other side owes its next bytes.
#[derive(Debug, Default)]
pub struct Progress {
    since: Option<Instant>,
    bytes: usize,
}

// === impl Room ===

impl Room {
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes_max: AtomicUsize::new(bytes_max),
            used: AtomicUsize::new(0),
            beyond: AtomicBool::new(false),
            turn: Mutex::new(()),
            freed: Notify::new(),
            filled: Notify::new(),
        })
    }

    pub fn claim(self: &Arc<Self>) -> Claim {
        Claim {
            room: self.clone(),
            bytes: 0,
            beyond: false,
        }
    }

    pub fn is_full(&self) -> bool {
        self.free_bytes() == 0
    }

    pub fn free_bytes(&self) -> usize {
        self.bytes_max()
            .saturating_sub(self.used.load(Ordering::Acquire))
    }

    pub fn bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// Sets another bound. What is claimed beyond a lower one stays until it is given back.
    pub fn resize(&self, bytes_max: usize) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
        self.freed.notify_one();
        if self.is_full() {
            self.filled.notify_waiters();
        }
    }

    /// Waits until the room is full.
    pub async fn filled(&self) {
        let filled = self.filled.notified();
        tokio::pin!(filled);
        filled.as_mut().enable();
        if !self.is_full() {
            filled.await;
        }
    }
}

// === impl Claim ===

impl Claim {
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Waits until the holder may take its next step: the room is not full, or this is the one that is
    /// let in beyond. Cancel-safe.
    pub async fn admit(&mut self) {
        if self.try_admit() {
            return;
        }
        let room = self.room.clone();
        let _turn = room.turn.lock().await;
        loop {
            let freed = room.freed.notified();
            if self.try_admit() {
                return;
            }
            freed.await;
        }
    }

    /// As [`Self::admit`] without waiting.
    pub fn try_admit(&mut self) -> bool {
        if self.beyond || !self.room.is_full() {
            return true;
        }
        self.beyond = !self.room.beyond.swap(true, Ordering::AcqRel);
        self.beyond
    }

    /// What the holder holds now. More than before is a step, which wants to be admitted first.
    pub fn set(&mut self, bytes: usize) {
        let room = &self.room;
        if bytes > self.bytes {
            let more = bytes - self.bytes;
            let before = room.used.fetch_add(more, Ordering::AcqRel);
            let bytes_max = room.bytes_max();
            if before < bytes_max && before + more >= bytes_max {
                room.filled.notify_waiters();
            }
        } else {
            let less = self.bytes - bytes;
            let before = room.used.fetch_sub(less, Ordering::AcqRel);
            let bytes_max = room.bytes_max();
            let freed = before >= bytes_max && before - less < bytes_max;
            let leaves = bytes == 0 && std::mem::take(&mut self.beyond);
            if leaves {
                room.beyond.store(false, Ordering::Release);
            }
            if freed || leaves {
                room.freed.notify_one();
            }
        }
        self.bytes = bytes;
    }

    /// Takes over what another holder of the same room has.
    pub fn merge(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
        self.beyond |= std::mem::take(&mut other.beyond);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.set(0);
    }
}

// === impl Progress ===

impl Progress {
    /// The time from which the next bytes are awaited: the first call's, or that of the last progress.
    pub fn since(&mut self, now: Instant) -> Instant {
        *self.since.get_or_insert(now)
    }

    pub fn moved(&mut self, bytes: usize, now: Instant) {
        self.bytes += bytes;
        if self.bytes >= PROGRESS_BYTES {
            self.bytes = 0;
            self.since = Some(now);
        }
    }

    /// Nothing is owed at the moment.
    pub fn rest(&mut self) {
        *self = Self::default();
    }

    pub fn is_late(&self, now: Instant, patience: Duration) -> bool {
        self.since
            .is_some_and(|since| now.saturating_duration_since(since) >= patience)
    }
}

#[cfg(test)]
mod tests;

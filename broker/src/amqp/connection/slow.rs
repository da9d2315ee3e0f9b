//! Clients that are slow: messages that they have begun to send, output that they do not take.
//!
//! What has come of messages is counted over all connections in a [`Room`](crate::net::Room), what queues
//! gave to be sent in the memory of the queues. When either is used up, a client that does not go on is
//! let go.

use std::io;

use tokio::time::Instant;

use super::Connection;
use crate::net::{Claim, Progress};

/// Bytes that are claimed ahead of what has come.
const STEP_BYTES: usize = 256 << 10;

/// Frames and messages of one connection that have not come whole.
pub(super) struct Contents {
    bytes: usize,
    claim: Claim,
    progress: Progress,
}

impl Contents {
    pub(super) fn new(claim: Claim) -> Self {
        Self {
            bytes: 0,
            claim,
            progress: Progress::default(),
        }
    }

    /// May more come?
    pub(super) fn has_room(&self) -> bool {
        self.bytes == 0 || self.bytes < self.claim.bytes()
    }

    /// Waits for room to go on. Cancel-safe.
    pub(super) async fn admit(&mut self) {
        self.claim.admit().await;
        self.step();
    }

    fn step(&mut self) {
        self.claim.set(self.bytes + STEP_BYTES);
        // That it had to wait is not the client's doing.
        self.progress.rest();
    }

    fn set(&mut self, bytes: usize) {
        if bytes == 0 {
            self.progress.rest();
        } else {
            self.progress
                .moved(bytes.saturating_sub(self.bytes), Instant::now());
        }
        let claimed = if bytes == 0 { 0 } else { self.claim.bytes() };
        self.bytes = bytes;
        self.claim.set(claimed.max(bytes));
        if !self.has_room() && self.claim.try_admit() {
            self.step();
        }
    }
}

impl Connection {
    /// Counts what has come in part.
    pub(super) fn count_contents(&mut self) {
        self.socket.trim_input();
        let bytes = self.wire.unfinished_bytes() + self.socket.input.len();
        self.contents.set(bytes);
    }

    /// When to look whether the client has become too slow.
    pub(super) fn slow_deadline(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let front = &self.client.front;
        let look_again = now + front.config.full_stall;
        let mut deadline = None;
        if self.wire.output().is_empty() {
            self.unread.rest();
        } else {
            self.unread.since(now);
            deadline = Some(look_again);
        }
        if self.contents.bytes == 0 || !self.listens() {
            self.contents.progress.rest();
            return deadline;
        }
        let patience = if front.contents.is_full() {
            front.config.full_stall
        } else {
            front.config.contents_stall
        };
        let due = self.contents.progress.since(now) + patience;
        Some(due.min(look_again))
    }

    /// Why the client is given up, if it is.
    pub(super) fn too_slow(&self) -> Option<io::Error> {
        let now = Instant::now();
        let front = &self.client.front;
        let config = &front.config;
        let late = |text| Some(io::Error::new(io::ErrorKind::TimedOut, text));
        let contents = &self.contents.progress;
        if contents.is_late(now, config.contents_stall)
            || (contents.is_late(now, config.full_stall) && front.contents.is_full())
        {
            return late("the client stopped in the middle of a message");
        }
        if self.unread.is_late(now, config.full_stall) && front.queues.is_short_of_memory() {
            return late("the client does not take what is sent to it, and memory is short");
        }
        None
    }
}

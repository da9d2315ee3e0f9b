//! Replies on their way out.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use crate::net::{Claim, Progress, Room};

/// Pieces handed to one write.
const SLICES_MAX: usize = 64;

/// Pieces of replies in order, none of them copied.
#[derive(Debug)]
pub(super) struct Outbox {
    pieces: VecDeque<Bytes>,
    len: usize,
    /// Bytes of the first piece that are gone; it stays in memory until all are.
    gone: usize,
    claim: Claim,
    progress: Progress,
}

impl Outbox {
    pub(super) fn new(room: &Arc<Room>) -> Self {
        Self {
            pieces: VecDeque::new(),
            len: 0,
            gone: 0,
            claim: room.claim(),
            progress: Progress::default(),
        }
    }

    /// Bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The client has taken next to nothing for so long, though something waits.
    pub(super) fn is_unread_for(&self, time: Duration) -> bool {
        self.progress.is_late(Instant::now(), time)
    }

    /// A reply; `claim` is what was counted for it before.
    pub(super) fn push(&mut self, pieces: Vec<Bytes>, claim: Option<Claim>) {
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            self.len += piece.len();
            self.pieces.push_back(piece);
        }
        if let Some(claim) = claim {
            self.claim.merge(claim);
        }
        self.claim.set(self.len + self.gone);
        self.progress.since(Instant::now());
    }

    /// Hands as much to the socket as it takes in one write. Safe to cancel.
    pub(super) async fn write(&mut self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(piece);
            count += 1;
        }
        let written = to
            .write_vectored(slices.get(..count).unwrap_or_default())
            .await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.advance(written);
        Ok(())
    }

    fn advance(&mut self, written: usize) {
        self.len -= written;
        let mut left = written;
        while let Some(front) = self.pieces.front_mut() {
            if front.len() > left {
                front.advance(left);
                self.gone += left;
                break;
            }
            left -= front.len();
            self.gone = 0;
            self.pieces.pop_front();
        }
        self.claim.set(self.len + self.gone);
        if self.is_empty() {
            self.progress.rest();
        } else {
            self.progress.moved(written, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;

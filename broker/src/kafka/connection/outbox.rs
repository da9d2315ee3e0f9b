//! Replies on their way out.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::WriteHalf;

/// Pieces handed to one write.
const SLICES_MAX: usize = 64;

/// Pieces of replies in order, none of them copied.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl Outbox {
    /// Bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn push(&mut self, pieces: Vec<Bytes>) {
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            self.len += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// Hands as much to the socket as it takes in one write. Safe to cancel.
    pub(super) async fn write(&mut self, to: &mut WriteHalf<'_>) -> io::Result<()> {
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

    fn advance(&mut self, mut written: usize) {
        self.len -= written;
        while let Some(front) = self.pieces.front_mut() {
            if front.len() > written {
                front.advance(written);
                return;
            }
            written -= front.len();
            self.pieces.pop_front();
        }
    }
}

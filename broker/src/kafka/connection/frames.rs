//! Frames off a socket, within bounds: four bytes of length, then as many bytes.
//!
//! What a client announces costs nothing before it comes: room is claimed in steps, ahead of what has
//! arrived by a step. A client that brings too little for too long is let go.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::net::tcp::ReadHalf;
use tokio::time::{Instant, timeout_at};

use crate::kafka::limits::Limits;
use crate::net::{Claim, Progress, Room};

/// Room for what is read before the length of a frame is known. Not counted: `max.connections` bounds it.
const READ_BYTES: usize = 16 << 10;
const LENGTH_BYTES: usize = 4;

/// Bytes that are claimed ahead of what has come: the larger step while there is plenty of room.
const STEP_BYTES_MIN: usize = 16 << 10;
const STEP_BYTES_MAX: usize = 1 << 20;

/// Why no further frame can be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("frame of {0} bytes")]
    Length(i32),
    #[error("the client stopped in the middle of a request")]
    Stalled,
    #[error("socket: {0}")]
    Socket(#[from] io::Error),
}

/// One request as it came, and its share of the memory for requests.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) bytes: Bytes,
    /// Held until the request is answered, or parked.
    _claim: Claim,
}

pub(super) struct Frames<'a> {
    from: ReadHalf<'a>,
    buf: BytesMut,
    room: Arc<Room>,
    /// For the frame whose beginning is in `buf`.
    claim: Claim,
    progress: Progress,
    frame_bytes_max: usize,
    stall: Duration,
    full_stall: Duration,
}

impl<'a> Frames<'a> {
    pub(super) fn new(from: ReadHalf<'a>, room: &Arc<Room>, limits: &Limits) -> Self {
        Self {
            from,
            buf: BytesMut::new(),
            room: room.clone(),
            claim: room.claim(),
            progress: Progress::default(),
            frame_bytes_max: limits.frame_bytes_max,
            stall: limits.stall,
            full_stall: limits.full_stall,
        }
    }

    /// The next frame; `None` when the client has closed. Safe to cancel: what was read is kept.
    pub(super) async fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            let Some(len) = self.len()? else {
                if !self.read_beginning().await? {
                    return Ok(None);
                }
                continue;
            };
            let whole = LENGTH_BYTES + len;
            let here = self.buf.len().min(whole);
            if here >= self.claim.bytes() && self.claim.bytes() < whole {
                self.claim.admit().await;
                self.claim.set(whole.min(here + step(here, &self.room)));
                // That it had to wait is not the client's doing.
                self.progress.rest();
            }
            if here == whole {
                return Ok(Some(self.cut(len)));
            }
            if self.read(self.claim.bytes() - here).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Memory is claimed for a request that has begun to come.
    pub(super) fn holds_room(&self) -> bool {
        self.claim.bytes() > 0
    }

    /// The client owes nothing while it is not listened to.
    pub(super) fn rest(&mut self) {
        self.progress.rest();
    }

    /// Length of the frame at the front of the buffer, once it is there.
    fn len(&self) -> Result<Option<usize>, FrameError> {
        let Some(length) = self.buf.first_chunk() else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(*length);
        match usize::try_from(length) {
            Ok(len) if len <= self.frame_bytes_max => Ok(Some(len)),
            _ => Err(FrameError::Length(length)),
        }
    }

    /// Reads at least a part of a length; false when the client has closed. A connection between
    /// requests holds no buffer, and its client may be silent as long as it likes.
    async fn read_beginning(&mut self) -> Result<bool, FrameError> {
        while self.buf.is_empty() {
            self.from.readable().await?;
            self.buf.reserve(READ_BYTES);
            let mut to = (&mut self.buf).limit(READ_BYTES);
            match self.from.try_read_buf(&mut to) {
                Ok(read) => return Ok(read > 0),
                // A socket of which all was read by the last byte still counts as readable.
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.buf = BytesMut::new(),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(self.read(READ_BYTES).await? > 0)
    }

    /// Reads what there is, `bytes_max` at most; 0 when the client has closed.
    async fn read(&mut self, bytes_max: usize) -> Result<usize, FrameError> {
        self.buf.reserve(bytes_max);
        loop {
            let now = Instant::now();
            let patience = if self.room.is_full() {
                self.full_stall
            } else {
                self.stall
            };
            // The room may fill up meanwhile.
            let look_again = now + self.full_stall.min(self.stall);
            let due = self.progress.since(now) + patience;
            let mut to = (&mut self.buf).limit(bytes_max);
            match timeout_at(due.min(look_again), self.from.read_buf(&mut to)).await {
                Ok(read) => {
                    let read = read?;
                    self.progress.moved(read, Instant::now());
                    return Ok(read);
                }
                Err(_) if due <= look_again => return Err(FrameError::Stalled),
                Err(_) => {}
            }
        }
    }

    fn cut(&mut self, len: usize) -> Frame {
        self.progress.rest();
        self.buf.advance(LENGTH_BYTES);
        let bytes = self.buf.split_to(len).freeze();
        if self.buf.is_empty() {
            // An empty remainder would keep the memory of the whole.
            self.buf = BytesMut::new();
        }
        Frame {
            bytes,
            _claim: std::mem::replace(&mut self.claim, self.room.claim()),
        }
    }
}

/// How much more to claim when `here` bytes of a frame have come.
fn step(here: usize, room: &Room) -> usize {
    if room.free_bytes() > room.bytes_max() / 2 {
        STEP_BYTES_MAX
    } else {
        here.clamp(STEP_BYTES_MIN, STEP_BYTES_MAX)
    }
}

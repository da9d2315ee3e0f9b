//! Frames off a socket, within bounds: four bytes of length, then as many bytes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::net::tcp::ReadHalf;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::kafka::limits::{Limits, UNIT_BYTES};

/// Room for what is read before the length of a frame is known.
const READ_BYTES: usize = 16 << 10;
const LENGTH_BYTES: usize = 4;

/// Why no further frame can be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("frame of {0} bytes")]
    Length(i32),
    #[error("the client fell silent in the middle of a request")]
    Stalled,
    #[error("socket: {0}")]
    Socket(#[from] io::Error),
}

/// One request as it came, and its share of the memory for requests.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) bytes: Bytes,
    /// Held until the request is answered.
    _claim: OwnedSemaphorePermit,
}

pub(super) struct Frames<'a> {
    from: ReadHalf<'a>,
    buf: BytesMut,
    /// Room for the frame whose beginning is in `buf`.
    claim: Option<OwnedSemaphorePermit>,
    inflight: Arc<Semaphore>,
    frame_bytes_max: usize,
    stall: Duration,
}

impl<'a> Frames<'a> {
    pub(super) fn new(from: ReadHalf<'a>, inflight: Arc<Semaphore>, limits: &Limits) -> Self {
        Self {
            from,
            buf: BytesMut::new(),
            claim: None,
            inflight,
            frame_bytes_max: limits.frame_bytes_max,
            stall: limits.stall,
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
            if self.claim.is_none() {
                let units = u32::try_from(len.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
                let claim = self.inflight.clone().acquire_many_owned(units).await;
                // The semaphore is never closed.
                self.claim = claim.ok();
            }
            let missing = (LENGTH_BYTES + len).saturating_sub(self.buf.len());
            if missing == 0 {
                return Ok(self.cut(len));
            }
            self.buf.reserve(missing);
            match timeout(self.stall, self.from.read_buf(&mut self.buf)).await {
                Ok(Ok(0)) => return Ok(None),
                Ok(read) => drop(read?),
                Err(_) => return Err(FrameError::Stalled),
            }
        }
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
    /// requests holds no buffer.
    async fn read_beginning(&mut self) -> Result<bool, FrameError> {
        if self.buf.is_empty() {
            self.buf = BytesMut::new();
            self.from.readable().await?;
        }
        self.buf.reserve(READ_BYTES);
        Ok(self.from.read_buf(&mut self.buf).await? > 0)
    }

    fn cut(&mut self, len: usize) -> Option<Frame> {
        let claim = self.claim.take()?;
        self.buf.advance(LENGTH_BYTES);
        Some(Frame {
            bytes: self.buf.split_to(len).freeze(),
            _claim: claim,
        })
    }
}

//! One TCP connection between two brokers: greets, then moves frames both ways. Which side opened
//! it decides what the frames mean; see [`super::link`] and [`super::listener`].

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::frame::{self, GREETING_BYTES_MAX, Greeting, HEADER_BYTES, Header, Kind};

/// Frames gathered into one vectored write.
const FRAMES_PER_WRITE: usize = 256;
/// What one read asks for; frames are sliced out of it.
const READ_BYTES: usize = 256 << 10;
/// Unit of the queue's byte budget: semaphores count in 32 bits.
const BUDGET_UNIT_BYTES: usize = 1024;
/// How long either side may take to greet.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);

struct Frame {
    header: [u8; HEADER_BYTES],
    payload: Bytes,
    _budget: Option<OwnedSemaphorePermit>,
}

/// Where frames wait to be written. Cheap to clone.
#[derive(Clone)]
pub(super) struct Outbox {
    frames: mpsc::UnboundedSender<Frame>,
    budget: Arc<Semaphore>,
    budget_units: u32,
}

/// The connection is gone, or (for [`Outbox::try_put`]) its queue is full.
#[derive(Debug)]
pub(super) struct Rejected {
    pub(super) full: bool,
}

impl Outbox {
    /// Starts the writer of a connection; it ends with the socket or when all outboxes are gone.
    pub(super) fn start(writer: OwnedWriteHalf, queue_bytes_max: usize) -> Self {
        let units = u32::try_from(queue_bytes_max / BUDGET_UNIT_BYTES)
            .unwrap_or(u32::MAX >> 4)
            .max(1);
        let (frames, waiting) = mpsc::unbounded_channel();
        tokio::spawn(write_all(writer, waiting));
        Self {
            frames,
            budget: Arc::new(Semaphore::new(units as usize)),
            budget_units: units,
        }
    }

    /// Queues a frame, waiting for room.
    pub(super) async fn put(
        &self,
        kind: Kind,
        service: u8,
        correlation: u64,
        payload: Bytes,
    ) -> Result<(), Rejected> {
        let permit = Arc::clone(&self.budget)
            .acquire_many_owned(self.units(payload.len()))
            .await
            .map_err(|_| Rejected { full: false })?;
        self.queue(kind, service, correlation, payload, Some(permit))
    }

    /// Queues a frame if there is room.
    pub(super) fn try_put(
        &self,
        kind: Kind,
        service: u8,
        correlation: u64,
        payload: Bytes,
    ) -> Result<(), Rejected> {
        let permit = Arc::clone(&self.budget)
            .try_acquire_many_owned(self.units(payload.len()))
            .map_err(|_| Rejected { full: true })?;
        self.queue(kind, service, correlation, payload, Some(permit))
    }

    /// Queues a sign of life; these are empty, so they need no room.
    pub(super) fn put_sign(&self, kind: Kind) -> Result<(), Rejected> {
        self.queue(kind, 0, 0, Bytes::new(), None)
    }

    fn queue(
        &self,
        kind: Kind,
        service: u8,
        correlation: u64,
        payload: Bytes,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Rejected> {
        let header = Header {
            payload_len: u32::try_from(payload.len()).map_err(|_| Rejected { full: true })?,
            kind,
            service,
            correlation,
        };
        let frame = Frame {
            header: header.encode(),
            payload,
            _budget: permit,
        };
        self.frames
            .send(frame)
            .map_err(|_| Rejected { full: false })
    }

    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes / BUDGET_UNIT_BYTES + 1)
            .unwrap_or(u32::MAX)
            .min(self.budget_units)
    }
}

async fn write_all(mut writer: OwnedWriteHalf, mut waiting: mpsc::UnboundedReceiver<Frame>) {
    let mut frames = Vec::with_capacity(FRAMES_PER_WRITE);
    while waiting.recv_many(&mut frames, FRAMES_PER_WRITE).await > 0 {
        if write_frames(&mut writer, &frames).await.is_err() {
            return; // The reader of this connection sees the end too and reports it.
        }
        frames.clear();
    }
}

async fn write_frames(writer: &mut OwnedWriteHalf, frames: &[Frame]) -> io::Result<()> {
    let mut parts = Vec::with_capacity(frames.len() * 2);
    for frame in frames {
        parts.push(IoSlice::new(&frame.header));
        if !frame.payload.is_empty() {
            parts.push(IoSlice::new(&frame.payload));
        }
    }
    let mut rest = parts.as_mut_slice();
    while !rest.is_empty() {
        let written = writer.write_vectored(rest).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut rest, written);
    }
    Ok(())
}

/// The reading half: yields frames whose payloads share the read buffer.
pub(super) struct Inbox {
    reader: OwnedReadHalf,
    buffer: BytesMut,
    frame_bytes_max: usize,
}

impl Inbox {
    pub(super) fn new(reader: OwnedReadHalf, frame_bytes_max: usize) -> Self {
        Self {
            reader,
            buffer: BytesMut::new(),
            frame_bytes_max,
        }
    }

    /// The next frame if it is in the buffer already.
    pub(super) fn buffered(&mut self) -> io::Result<Option<(Header, Bytes)>> {
        match frame::take(&mut self.buffer, self.frame_bytes_max) {
            Ok(Ok(frame)) => Ok(Some(frame)),
            Ok(Err(missing)) => {
                // Never far ahead of what has arrived, whatever length the header claims.
                let ahead = missing.min(READ_BYTES.max(self.buffer.len()));
                if self.buffer.capacity() - self.buffer.len() < ahead {
                    self.buffer.reserve(ahead.max(READ_BYTES));
                }
                Ok(None)
            }
            Err(malformed) => Err(io::Error::new(io::ErrorKind::InvalidData, malformed)),
        }
    }

    /// Reads what there is. Safe to drop half-way: nothing is lost.
    pub(super) async fn fill(&mut self) -> io::Result<()> {
        match self.reader.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Sends `ours` and reads theirs, within [`GREETING_TIMEOUT`].
pub(super) async fn greet(stream: &mut TcpStream, ours: &Greeting) -> io::Result<Greeting> {
    let exchange = async {
        stream.set_nodelay(true)?;
        stream.write_all(&ours.encode()).await?;
        read_greeting(stream).await
    };
    tokio::time::timeout(GREETING_TIMEOUT, exchange)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// The accepting side listens first, so that it says nothing to a stranger.
pub(super) async fn await_greeting(stream: &mut TcpStream) -> io::Result<Greeting> {
    stream.set_nodelay(true)?;
    tokio::time::timeout(GREETING_TIMEOUT, read_greeting(stream))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

async fn read_greeting(stream: &mut TcpStream) -> io::Result<Greeting> {
    let len = usize::from(stream.read_u16().await?);
    if len > GREETING_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            frame::Malformed::Greeting,
        ));
    }
    let mut body = vec![0; len];
    stream.read_exact(&mut body).await?;
    Greeting::decode(&body).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

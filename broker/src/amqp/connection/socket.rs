//! The socket of a connection and its input buffer.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::net::TcpStream;

/// Bytes taken off a socket at once.
const READ_LEN: usize = 64 * 1024;

/// How long a closed connection is drained, so that the client can read why.
const DRAIN: Duration = Duration::from_millis(500);

thread_local! {
    /// One per thread of the runtime: input is copied out of it at its real size, so a connection
    /// without traffic holds no buffer, and a kept message holds no more than what came with it.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_LEN].into_boxed_slice());
}

pub(super) struct Socket {
    stream: TcpStream,
    pub(super) input: BytesMut,
}

/// Does the other side still send?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Some,
    /// Woken without data.
    Nothing,
    End,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot switch off Nagle's algorithm");
        }
        Self {
            stream,
            input: BytesMut::new(),
        }
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        self.stream.readable().await
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        self.stream.writable().await
    }

    /// Appends what is there to the input. Never waits.
    pub(super) fn try_read(&mut self) -> io::Result<Read> {
        SCRATCH.with_borrow_mut(|scratch| match self.stream.try_read(scratch) {
            Ok(0) => Ok(Read::End),
            Ok(len) => {
                self.input
                    .extend_from_slice(scratch.get(..len).unwrap_or_default());
                Ok(Read::Some)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Read::Nothing),
            Err(error) => Err(error),
        })
    }

    /// A small rest of the input does not hold on to all that was read with it.
    pub(super) fn trim_input(&mut self) {
        if self.input.is_empty() {
            self.input = BytesMut::new();
        } else if self.input.len() < READ_LEN / 4 {
            self.input = BytesMut::from(&self.input[..]);
        }
    }

    /// Writes as much of `output` as the socket takes. Never waits; `true` if anything went out.
    pub(super) fn try_write(&mut self, output: &mut BytesMut) -> io::Result<bool> {
        let mut wrote = false;
        while !output.is_empty() {
            match self.stream.try_write(output) {
                Ok(len) => {
                    output.advance(len);
                    wrote |= len > 0;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(wrote),
                Err(error) => return Err(error),
            }
        }
        // A buffer that grew for a burst is not kept.
        if output.capacity() > READ_LEN {
            *output = BytesMut::new();
        }
        Ok(wrote)
    }

    /// Waits until all of `output` is written.
    pub(super) async fn write_all(&mut self, output: &mut BytesMut) -> io::Result<()> {
        while !output.is_empty() {
            self.try_write(output)?;
            if !output.is_empty() {
                self.writable().await?;
            }
        }
        Ok(())
    }

    /// Says the end and reads away what still comes: a socket that is closed with unread input is
    /// reset, and the client would never see our last frame.
    pub(super) async fn finish(mut self, mut output: BytesMut) {
        let drain = async {
            self.write_all(&mut output).await?;
            socket2::SockRef::from(&self.stream).shutdown(std::net::Shutdown::Write)?;
            loop {
                self.readable().await?;
                self.input.clear();
                if self.try_read()? == Read::End {
                    return io::Result::Ok(());
                }
            }
        };
        if let Ok(Err(error)) = tokio::time::timeout(DRAIN, drain).await {
            tracing::trace!(%error, "connection ended before its last bytes were read");
        }
    }
}

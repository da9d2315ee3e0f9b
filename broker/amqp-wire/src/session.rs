//! One server-side connection without its socket: bytes in, [`Event`]s out, answers into one output
//! buffer. Time is passed in as milliseconds on any clock that never goes back.
//!
//! Owns what the protocol says of any broker: handshake, negotiated limits, heartbeats, which frames
//! may follow which, content assembly, closing, and being deaf to a channel that is being closed. It
//! never decides what a method of the classes exchange, queue, basic, confirm or tx means: those are
//! handed out in the order in which they came.
//!
//! ```text
//! bytes -> receive() -> Event -> (the broker) -> send() / deliver() / fail() -> output() -> bytes
//! ```

mod channel;
mod channel_zero;
mod channels;
mod config;
mod handshake;
mod heartbeat;
mod output;
mod sasl;

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};

use crate::content::Content;
use crate::exception::{Exception, ReplyCode};
use crate::field::ShortStr;
use crate::frame;
use crate::method::{Method, basic};
use crate::table::{Table, Value};
use channel::Channel;
pub use config::{Config, FRAME_MIN};
pub use handshake::LOGIN_REFUSED_LINGER_MS;
use heartbeat::Heartbeat;
pub use sasl::Credentials;

/// Something for the broker to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Answer with [`Session::accept_login`] or [`Session::refuse_login`].
    Login(Credentials),
    /// Answer with [`Session::accept_open`] or [`Session::fail`].
    Open {
        vhost: ShortStr,
    },
    ChannelOpened {
        channel: u16,
    },
    /// The client closes it, and is deaf to it: give up what it holds, then answer with
    /// [`Session::close_channel_ok`].
    ChannelClose {
        channel: u16,
    },
    /// After an error, which the client has confirmed. The number is free again.
    ChannelClosed {
        channel: u16,
    },
    /// A method of class exchange, queue, basic, confirm or tx without content.
    Method {
        channel: u16,
        method: Method,
    },
    Publish {
        channel: u16,
        publish: basic::Publish,
        content: Content,
    },
    /// What came on a channel is wrong; it is deaf from now on. Answer with [`Session::fail`], behind the
    /// answers to what came before.
    ChannelError {
        channel: u16,
        error: Exception,
    },
    /// A channel got an error and is deaf now: its consumers and unacked messages are to be given up.
    ChannelFailed {
        channel: u16,
        error: Exception,
    },
    /// The client closes the connection and says nothing more: give up what it holds, then answer with
    /// [`Session::close_ok`].
    Close {
        code: u16,
        text: String,
    },
    /// `connection.update-secret`; the answer is sent already.
    SecretUpdated {
        secret: Bytes,
    },
    /// Nothing more will come: write what is in the output and close the socket, at once or, if
    /// `linger_ms` is not 0, after that time (a wrong login is answered late, to slow guessing).
    Closed {
        reason: Closed,
        linger_ms: u64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Closed {
    ByClient {
        code: u16,
        text: String,
    },
    ByServer(Exception),
    /// Not AMQP 0-9-1.
    WrongProtocol,
    /// Two heartbeat intervals without a byte.
    HeartbeatMissed,
    LoginRefused,
}

#[derive(Debug, PartialEq)]
enum Phase {
    Header,
    StartOk,
    /// The broker is judging a login or a vhost.
    Login,
    TuneOk,
    Open,
    OpenAnswer,
    Running,
    /// The client's close waits for its answer.
    Leaving,
    /// The connection is to be closed with this, behind the answers to what came before. `lost`: where the
    /// next frame begins is not known, so not even close-ok can be heard.
    Failing {
        error: Exception,
        lost: bool,
    },
    /// A close was sent: only close-ok (or the client's own close) is heard.
    Closing(Exception),
    Closed,
}

#[derive(Debug)]
pub struct Session {
    config: Config,
    phase: Phase,
    /// Bytes of the largest frame, once negotiated.
    frame_max: u32,
    channel_max: u16,
    channels: HashMap<u16, Channel>,
    heartbeat: Heartbeat,
    client_properties: Table,
    mechanism: ShortStr,
    output: BytesMut,
}

// === impl Session ===

impl Session {
    #[must_use]
    pub fn new(config: Config, now_ms: u64) -> Self {
        Self {
            frame_max: config.handshake_frame_max,
            channel_max: config.channel_max,
            phase: Phase::Header,
            channels: HashMap::new(),
            heartbeat: Heartbeat::new(now_ms),
            client_properties: Table::default(),
            mechanism: ShortStr::default(),
            output: BytesMut::new(),
            config,
        }
    }

    /// What is to be written to the socket. Take it (`split`), write it, and call
    /// [`Session::sent`].
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    /// Bytes of the largest frame in both directions.
    #[must_use]
    pub fn frame_max(&self) -> usize {
        usize::try_from(self.frame_max).unwrap_or(usize::MAX)
    }

    /// The handshake is over and no close was sent or answered.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(
            self.phase,
            Phase::Running | Phase::Leaving | Phase::Failing { .. }
        )
    }

    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    #[must_use]
    pub fn client_properties(&self) -> &Table {
        &self.client_properties
    }

    /// Did the client claim this capability in its properties?
    #[must_use]
    pub fn client_can(&self, capability: &str) -> bool {
        match self.client_properties.get("capabilities") {
            Some(Value::Table(table)) => table.get(capability) == Some(&Value::Bool(true)),
            _ => false,
        }
    }

    /// May something be sent on this channel?
    #[must_use]
    pub fn is_open(&self, channel: u16) -> bool {
        self.is_running() && self.channels.get(&channel).is_some_and(Channel::is_open)
    }

    // --- input ---

    /// Bytes came from the socket.
    pub fn received(&mut self, now_ms: u64) {
        self.heartbeat.received(now_ms);
    }

    /// Takes whole frames off `input` until one of them is an event; `None` when more bytes are
    /// needed. Call it until then.
    pub fn receive(&mut self, input: &mut BytesMut) -> Option<Event> {
        loop {
            match self.phase {
                Phase::Closed
                | Phase::Login
                | Phase::OpenAnswer
                | Phase::Leaving
                | Phase::Failing { .. } => return None,
                Phase::Header => match self.receive_header(input) {
                    Some(true) => {}
                    Some(false) => return Some(self.closed(Closed::WrongProtocol, 0)),
                    None => return None,
                },
                _ => match frame::split(input, self.frame_max()) {
                    Ok(None) => return None,
                    Ok(Some(frame)) => match self.frame(frame) {
                        Ok(Some(event)) => return Some(event),
                        Ok(None) => {}
                        Err((channel, error)) => {
                            if let Some(event) = self.refuse(channel, error) {
                                return Some(event);
                            }
                        }
                    },
                    Err(invalid) => {
                        let error = Exception::new(ReplyCode::FrameError, invalid.to_string());
                        if self.phase == Phase::Running {
                            self.phase = Phase::Failing { error, lost: true };
                            return None;
                        }
                        // The stream cannot be followed: the client's close-ok neither.
                        if !matches!(self.phase, Phase::Closing(_)) {
                            self.send_close(&error);
                        }
                        return Some(self.closed(Closed::ByServer(error), 0));
                    }
                },
            }
        }
    }

    /// Bytes of contents that have not come whole, over all channels. They do not hold on to any input
    /// afterwards but to those bytes.
    pub fn unfinished_bytes(&mut self) -> usize {
        let channels = self.channels.values_mut();
        channels.map(Channel::unfinished_bytes).sum()
    }

    // --- time ---

    /// Bytes went out: no heartbeat is needed for a while.
    pub fn sent(&mut self, now_ms: u64) {
        self.heartbeat.sent(now_ms);
    }

    /// When [`Session::tick`] wants to be called; `None` without heartbeats.
    #[must_use]
    pub fn deadline_ms(&self) -> Option<u64> {
        self.heartbeat.deadline_ms()
    }

    /// Sends a heartbeat if one is due, and finds out whether the client is dead.
    pub fn tick(&mut self, now_ms: u64) -> Option<Event> {
        if matches!(self.phase, Phase::Closed) {
            return None;
        }
        if self.heartbeat.is_dead(now_ms) {
            return Some(self.closed(Closed::HeartbeatMissed, 0));
        }
        if self.heartbeat.is_due(now_ms) {
            frame::write_heartbeat(&mut self.output);
            self.heartbeat.sent(now_ms);
        }
        None
    }
}

#[cfg(test)]
mod tests;

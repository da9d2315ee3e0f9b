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
mod heartbeat;
mod sasl;

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};

use crate::content::{self, Content, Header};
use crate::exception::{Exception, ReplyCode, Scope};
use crate::field::ShortStr;
use crate::frame::{self, Frame, Kind};
use crate::method::{self, Encode, Method, access, basic, connection};
use crate::table::{Table, Value};
use channel::{Channel, Step};
use heartbeat::Heartbeat;
pub use sasl::Credentials;

/// What a session offers and enforces.
#[derive(Clone, Debug)]
pub struct Config {
    /// Channels open at once; 1 to 65,535.
    pub channel_max: u16,
    /// Bytes of the largest frame, its overhead included; at least [`FRAME_MIN`].
    pub frame_max: u32,
    /// Seconds between heartbeats that are offered; 0 offers none.
    pub heartbeat_s: u16,
    /// Bytes of the largest message body.
    pub message_bytes_max: u64,
    /// Bytes of the largest frame before tuning.
    pub handshake_frame_max: u32,
    pub product: String,
    pub version: String,
    /// More entries of the server properties: `platform`, `cluster_name` and the like.
    pub about: Vec<(String, String)>,
}

/// A client may not ask for smaller frames than this (section 4.2.3).
pub const FRAME_MIN: u32 = 4096;

impl Default for Config {
    /// RabbitMQ's limits. The product name and version are what clients look for before they use
    /// RabbitMQ's extensions.
    fn default() -> Self {
        Self {
            channel_max: 2047,
            frame_max: 131_072,
            heartbeat_s: 60,
            message_bytes_max: 16 << 20,
            handshake_frame_max: 8192,
            product: "RabbitMQ".into(),
            version: "4.2.0".into(),
            about: Vec::new(),
        }
    }
}

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
    /// By the client, or after an error that the client has confirmed. The number is free again.
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
    /// A channel got an error and is deaf now: its consumers and unacked messages are to be given up.
    ChannelFailed {
        channel: u16,
        error: Exception,
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
    /// A close was sent: only close-ok (or the client's own close) is heard.
    Closing(Exception),
    Closed,
}

/// How long a client with a wrong login waits for the end of its connection, like RabbitMQ's.
pub const LOGIN_REFUSED_LINGER_MS: u64 = 3000;

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

    /// The handshake is over and no close was begun.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
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
                Phase::Closed | Phase::Login | Phase::OpenAnswer => return None,
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
                            if let Some(event) = self.fail(channel, error) {
                                return Some(event);
                            }
                        }
                    },
                    Err(invalid) => {
                        // The stream cannot be followed: the client's close-ok neither.
                        let error = Exception::new(ReplyCode::FrameError, invalid.to_string());
                        if !matches!(self.phase, Phase::Closing(_)) {
                            self.send_close(&error);
                        }
                        return Some(self.closed(Closed::ByServer(error), 0));
                    }
                },
            }
        }
    }

    /// `Some(true)`: the header is right and a start was sent.
    fn receive_header(&mut self, input: &mut BytesMut) -> Option<bool> {
        let expected = &frame::PROTOCOL_HEADER;
        // 1.1.0.9 is what clients of the draft send; both mean 0-9-1.
        let draft = b"AMQP\x01\x01\x00\x09";
        let seen = input.len().min(expected.len());
        let head = input.get(..seen).unwrap_or_default();
        if !expected.starts_with(head) && !draft.starts_with(head) {
            self.output.extend_from_slice(expected);
            return Some(false);
        }
        if seen < expected.len() {
            return None;
        }
        let _header = input.split_to(seen);
        let start = connection::Start {
            version_major: 0,
            version_minor: 9,
            server_properties: self.server_properties(),
            mechanisms: Bytes::from_static(sasl::MECHANISMS),
            locales: Bytes::from_static(b"en_US"),
        };
        method::write(&mut self.output, 0, &start);
        self.phase = Phase::StartOk;
        Some(true)
    }

    fn server_properties(&self) -> Table {
        const CAPABILITIES: [&str; 9] = [
            "publisher_confirms",
            "exchange_exchange_bindings",
            "basic.nack",
            "consumer_cancel_notify",
            "connection.blocked",
            "consumer_priorities",
            "authentication_failure_close",
            "per_consumer_qos",
            "direct_reply_to",
        ];
        let capabilities = CAPABILITIES
            .iter()
            .map(|name| (ShortStr::from(*name), Value::Bool(true)))
            .collect();
        let mut entries = vec![
            ("capabilities".into(), Value::Table(Table(capabilities))),
            ("product".into(), self.config.product.clone().into()),
            ("version".into(), self.config.version.clone().into()),
        ];
        for (name, value) in &self.config.about {
            entries.push((ShortStr::from(name.as_str()), value.clone().into()));
        }
        Table(entries)
    }

    fn frame(&mut self, frame: Frame) -> Result<Option<Event>, (u16, Exception)> {
        let channel = frame.channel;
        if frame.kind == Kind::Heartbeat {
            if channel != 0 {
                let text = format!("heartbeat frame on channel {channel}");
                return Err((0, Exception::new(ReplyCode::UnexpectedFrame, text)));
            }
            return Ok(None);
        }
        if channel == 0 {
            return self.connection_frame(frame).map_err(|error| (0, error));
        }
        if self.phase != Phase::Running {
            // While closing everything but the connection's own methods is dropped.
            if matches!(self.phase, Phase::Closing(_)) {
                return Ok(None);
            }
            let text = format!("frame on channel {channel} before the connection is open");
            return Err((0, Exception::new(ReplyCode::ChannelError, text)));
        }
        self.channel_frame(frame).map_err(|error| (channel, error))
    }

    fn connection_frame(&mut self, frame: Frame) -> Result<Option<Event>, Exception> {
        let closing = matches!(self.phase, Phase::Closing(_));
        if frame.kind != Kind::Method {
            if closing {
                return Ok(None);
            }
            let text = "content frame on channel 0";
            return Err(Exception::new(ReplyCode::UnexpectedFrame, text));
        }
        let method = match Method::parse(frame.payload) {
            Ok(method) => method,
            Err(_) if closing => return Ok(None),
            Err(invalid) => return Err(unreadable(&invalid)),
        };
        let ids = method.ids();
        self.connection_method(method)
            .map_err(|error| error.caused_by_ids(ids.0, ids.1))
    }

    fn connection_method(&mut self, method: Method) -> Result<Option<Event>, Exception> {
        use connection::Method as M;
        let name = method.name();
        let Method::Connection(method) = method else {
            if matches!(self.phase, Phase::Closing(_)) {
                return Ok(None);
            }
            let text = format!("'{name}' on channel 0");
            return Err(Exception::new(ReplyCode::ChannelError, text));
        };
        match (&self.phase, method) {
            (Phase::StartOk, M::StartOk(start_ok)) => self.start_ok(start_ok).map(Some),
            (Phase::TuneOk, M::TuneOk(tune_ok)) => {
                self.tune_ok(&tune_ok)?;
                Ok(None)
            }
            (Phase::Open, M::Open(open)) => {
                self.phase = Phase::OpenAnswer;
                Ok(Some(Event::Open {
                    vhost: open.virtual_host,
                }))
            }
            (Phase::Closing(error), M::CloseOk(_)) => {
                let reason = Closed::ByServer(error.clone());
                Ok(Some(self.closed(reason, 0)))
            }
            (_, M::Close(close)) => {
                method::write(&mut self.output, 0, &connection::CloseOk {});
                let reason = match std::mem::replace(&mut self.phase, Phase::Closed) {
                    Phase::Closing(error) => Closed::ByServer(error),
                    _ => Closed::ByClient {
                        code: close.reply_code,
                        text: close.reply_text.as_str().to_owned(),
                    },
                };
                Ok(Some(self.closed(reason, 0)))
            }
            (Phase::Closing(_), _) => Ok(None),
            (Phase::Running, M::UpdateSecret(update)) => {
                method::write(&mut self.output, 0, &connection::UpdateSecretOk {});
                Ok(Some(Event::SecretUpdated {
                    secret: update.new_secret,
                }))
            }
            (phase, _) => {
                let text = format!("unexpected method '{name}' in connection state {phase:?}");
                Err(Exception::new(ReplyCode::ChannelError, text))
            }
        }
    }

    fn start_ok(&mut self, start_ok: connection::StartOk) -> Result<Event, Exception> {
        self.client_properties = start_ok.client_properties;
        self.mechanism = start_ok.mechanism.clone();
        match Credentials::parse(&start_ok.mechanism, start_ok.response) {
            Ok(credentials) => {
                self.phase = Phase::Login;
                Ok(Event::Login(credentials))
            }
            Err(sasl::Invalid::UnknownMechanism) => {
                Ok(self.closed(Closed::LoginRefused, LOGIN_REFUSED_LINGER_MS))
            }
            Err(invalid) => Err(Exception::new(ReplyCode::SyntaxError, invalid.to_string())),
        }
    }

    fn tune_ok(&mut self, tune_ok: &connection::TuneOk) -> Result<(), Exception> {
        let refuse = |what: &str, asked: u64, bound: &str, limit: u64| {
            let text = format!("negotiated {what} = {asked} is {bound} than the limit ({limit})");
            Exception::new(ReplyCode::NotAllowed, text)
        };
        let (frame_max, channel_max) = (tune_ok.frame_max, tune_ok.channel_max);
        let (frame_limit, channel_limit) = (self.config.frame_max, self.config.channel_max);
        // 0 asks for no limit at all.
        if frame_max == 0 || frame_max > frame_limit {
            return Err(refuse(
                "frame_max",
                frame_max.into(),
                "higher",
                frame_limit.into(),
            ));
        }
        if frame_max < FRAME_MIN {
            return Err(refuse(
                "frame_max",
                frame_max.into(),
                "lower",
                FRAME_MIN.into(),
            ));
        }
        if channel_max == 0 || channel_max > channel_limit {
            return Err(refuse(
                "channel_max",
                channel_max.into(),
                "higher",
                channel_limit.into(),
            ));
        }
        self.frame_max = frame_max;
        self.channel_max = channel_max;
        self.heartbeat.set_interval_s(tune_ok.heartbeat);
        self.phase = Phase::Open;
        Ok(())
    }

    fn channel_frame(&mut self, frame: Frame) -> Result<Option<Event>, Exception> {
        let number = frame.channel;
        match frame.kind {
            Kind::Method => {
                let closing = self.channels.get(&number).is_some_and(|c| !c.is_open());
                let method = match Method::parse(frame.payload) {
                    Ok(method) => method,
                    Err(_) if closing => return Ok(None),
                    Err(invalid) => return Err(unreadable(&invalid)),
                };
                let ids = method.ids();
                self.channel_method(number, method)
                    .map_err(|error| error.caused_by_ids(ids.0, ids.1))
            }
            Kind::Header | Kind::Body => {
                let Some(channel) = self.channels.get_mut(&number) else {
                    let text = "expected 'channel.open'";
                    return Err(Exception::new(ReplyCode::ChannelError, text));
                };
                let step = if frame.kind == Kind::Header {
                    let header = Header::parse(frame.payload).map_err(|invalid| {
                        let text = format!("content header: {invalid}");
                        Exception::new(ReplyCode::FrameError, text)
                    })?;
                    channel.header(header, self.config.message_bytes_max)
                } else {
                    channel.body(frame.payload)
                };
                match step? {
                    Step::Wait => Ok(None),
                    Step::Publish(publish, content) => Ok(Some(Event::Publish {
                        channel: number,
                        publish,
                        content,
                    })),
                }
            }
            Kind::Heartbeat => Ok(None),
        }
    }

    fn channel_method(&mut self, number: u16, method: Method) -> Result<Option<Event>, Exception> {
        use method::channel::{self, Method as M};
        if matches!(method, Method::Connection(_)) {
            let text = format!("'{}' on channel {number}", method.name());
            return Err(Exception::new(ReplyCode::CommandInvalid, text));
        }
        let Some(channel) = self.channels.get_mut(&number) else {
            return match method {
                Method::Channel(M::Open(_)) => self.open_channel(number).map(Some),
                // The answer to a close that crossed the client's own.
                Method::Channel(M::CloseOk(_)) => Ok(None),
                _ => {
                    let text = "expected 'channel.open'";
                    Err(Exception::new(ReplyCode::ChannelError, text))
                }
            };
        };
        if !channel.is_open() {
            match method {
                Method::Channel(M::CloseOk(_)) => {}
                // Both closed at once: the client's close is answered, and ends it as well.
                Method::Channel(M::Close(_)) => {
                    method::write(&mut self.output, number, &channel::CloseOk {});
                }
                _ => return Ok(None),
            }
            self.channels.remove(&number);
            return Ok(Some(Event::ChannelClosed { channel: number }));
        }
        channel.expect_method(&method)?;
        match method {
            Method::Channel(M::Close(_)) => {
                method::write(&mut self.output, number, &channel::CloseOk {});
                self.channels.remove(&number);
                Ok(Some(Event::ChannelClosed { channel: number }))
            }
            Method::Channel(M::Open(_)) => {
                let text = "second 'channel.open' seen";
                Err(Exception::new(ReplyCode::ChannelError, text))
            }
            Method::Channel(M::Flow(flow)) if flow.active => {
                let flow_ok = channel::FlowOk { active: true };
                method::write(&mut self.output, number, &flow_ok);
                Ok(None)
            }
            Method::Channel(M::Flow(_)) => {
                let text = "active=false";
                Err(Exception::new(ReplyCode::NotImplemented, text))
            }
            Method::Channel(M::FlowOk(_) | M::CloseOk(_)) => Ok(None),
            Method::Access(access::Method::Request(_)) => {
                let ok = access::RequestOk { reserved_1: 1 };
                method::write(&mut self.output, number, &ok);
                Ok(None)
            }
            Method::Basic(basic::Method::Publish(publish)) => {
                if publish.immediate {
                    let text = "immediate=true";
                    return Err(Exception::new(ReplyCode::NotImplemented, text));
                }
                channel.publish(publish);
                Ok(None)
            }
            method if is_request(&method) => Ok(Some(Event::Method {
                channel: number,
                method,
            })),
            method => {
                let text = format!("'{}' is not for a client to send", method.name());
                Err(Exception::new(ReplyCode::CommandInvalid, text))
            }
        }
    }

    fn open_channel(&mut self, number: u16) -> Result<Event, Exception> {
        // Numbers may be sparse: the count is what is limited.
        let (count, max) = (self.channels.len(), self.channel_max);
        if count >= usize::from(max) {
            let text = format!(
                "number of channels opened ({count}) has reached the negotiated channel_max ({max})"
            );
            return Err(Exception::new(ReplyCode::NotAllowed, text));
        }
        self.channels.insert(number, Channel::default());
        method::write(
            &mut self.output,
            number,
            &method::channel::OpenOk::default(),
        );
        Ok(Event::ChannelOpened { channel: number })
    }

    // --- answers ---

    /// The login is right: offers the limits.
    pub fn accept_login(&mut self) {
        if self.phase != Phase::Login {
            return;
        }
        let tune = connection::Tune {
            channel_max: self.config.channel_max,
            frame_max: self.config.frame_max,
            heartbeat: self.config.heartbeat_s,
        };
        method::write(&mut self.output, 0, &tune);
        self.phase = Phase::TuneOk;
    }

    /// The login is wrong. A client that understands `authentication_failure_close` gets 403, which
    /// does not say what was wrong; others lose the connection after a while.
    pub fn refuse_login(&mut self) -> Option<Event> {
        if !self.client_can("authentication_failure_close") {
            return Some(self.closed(Closed::LoginRefused, LOGIN_REFUSED_LINGER_MS));
        }
        let text = format!(
            "Login was refused using authentication mechanism {}. For details see the broker logfile.",
            self.mechanism
        );
        let error = Exception::new(ReplyCode::AccessRefused, text).on_connection();
        self.fail(0, error)
    }

    /// The vhost is there and the user may enter.
    pub fn accept_open(&mut self) {
        if self.phase == Phase::OpenAnswer {
            method::write(&mut self.output, 0, &connection::OpenOk::default());
            self.phase = Phase::Running;
        }
    }

    /// Sends a method without content. Does nothing on a channel that is closed or being closed.
    pub fn send<M: Encode>(&mut self, channel: u16, method: &M) {
        if self.is_open(channel) || (channel == 0 && self.is_running()) {
            method::write(&mut self.output, channel, method);
        }
    }

    /// Sends a method with content (`basic.deliver`, `basic.return`, `basic.get-ok`).
    pub fn send_content<M: Encode>(
        &mut self,
        channel: u16,
        method: &M,
        properties: &[u8],
        body: &[u8],
    ) {
        if self.is_open(channel) {
            let frame_max = self.frame_max();
            content::write(
                &mut self.output,
                channel,
                frame_max,
                method,
                properties,
                body,
            );
        }
    }

    /// Closes the channel or the connection, as `error.scope` says. The event tells what has to be
    /// given up now; `None` when it was closing already.
    pub fn fail(&mut self, channel: u16, error: Exception) -> Option<Event> {
        if matches!(self.phase, Phase::Closing(_) | Phase::Closed) {
            return None;
        }
        if error.scope == Scope::Channel && channel != 0 {
            let open = self.channels.get_mut(&channel).filter(|c| c.is_open())?;
            open.close();
            let close = method::channel::Close {
                reply_code: error.code.number(),
                reply_text: error.reply_text(),
                class_id: error.class_id,
                method_id: error.method_id,
            };
            method::write(&mut self.output, channel, &close);
            return Some(Event::ChannelFailed { channel, error });
        }
        self.send_close(&error);
        self.phase = Phase::Closing(error);
        None
    }

    fn send_close(&mut self, error: &Exception) {
        let close = connection::Close {
            reply_code: error.code.number(),
            reply_text: error.reply_text(),
            class_id: error.class_id,
            method_id: error.method_id,
        };
        method::write(&mut self.output, 0, &close);
    }

    fn closed(&mut self, reason: Closed, linger_ms: u64) -> Event {
        self.phase = Phase::Closed;
        self.channels.clear();
        Event::Closed { reason, linger_ms }
    }

    /// Is a close waiting for the client's close-ok?
    #[must_use]
    pub fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing(_))
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

/// An exception for a method frame that cannot be read.
fn unreadable(invalid: &method::Invalid) -> Exception {
    let (code, ids) = match invalid {
        method::Invalid::Unknown {
            class_id,
            method_id,
        } => (ReplyCode::CommandInvalid, (*class_id, *method_id)),
        method::Invalid::Fields {
            class_id,
            method_id,
            source,
            ..
        } => {
            let code = match source {
                crate::field::Invalid::UnknownTag { .. } | crate::field::Invalid::TooDeep => {
                    ReplyCode::SyntaxError
                }
                _ => ReplyCode::FrameError,
            };
            (code, (*class_id, *method_id))
        }
        method::Invalid::NoIds(_) => (ReplyCode::FrameError, (0, 0)),
    };
    Exception::new(code, invalid.to_string()).caused_by_ids(ids.0, ids.1)
}

/// Methods that a client may send on an open channel, beyond those answered here.
fn is_request(method: &Method) -> bool {
    use method::{confirm, exchange, queue, tx};
    matches!(
        method,
        Method::Exchange(
            exchange::Method::Declare(_)
                | exchange::Method::Delete(_)
                | exchange::Method::Bind(_)
                | exchange::Method::Unbind(_)
        ) | Method::Queue(
            queue::Method::Declare(_)
                | queue::Method::Bind(_)
                | queue::Method::Purge(_)
                | queue::Method::Delete(_)
                | queue::Method::Unbind(_)
        ) | Method::Basic(
            basic::Method::Qos(_)
                | basic::Method::Consume(_)
                | basic::Method::Cancel(_)
                | basic::Method::CancelOk(_)
                | basic::Method::Get(_)
                | basic::Method::Ack(_)
                | basic::Method::Reject(_)
                | basic::Method::RecoverAsync(_)
                | basic::Method::Recover(_)
                | basic::Method::Nack(_)
        ) | Method::Confirm(confirm::Method::Select(_))
            | Method::Tx(tx::Method::Select(_) | tx::Method::Commit(_) | tx::Method::Rollback(_))
    )
}

#[cfg(test)]
mod tests;

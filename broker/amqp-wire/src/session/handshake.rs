//! From the protocol header to the open virtual host: login, and the limits that both sides keep.

use bytes::{Bytes, BytesMut};

use super::config::FRAME_MIN;
use super::sasl::{self, Credentials};
use super::{Closed, Event, Phase, Session};
use crate::exception::{Exception, ReplyCode};
use crate::field::ShortStr;
use crate::frame;
use crate::method::{self, connection};
use crate::table::{Table, Value};

/// How long a client with a wrong login waits for the end of its connection, like RabbitMQ's.
pub const LOGIN_REFUSED_LINGER_MS: u64 = 3000;

impl Session {
    /// `Some(true)`: the header is right and a start was sent.
    pub(super) fn receive_header(&mut self, input: &mut BytesMut) -> Option<bool> {
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

    pub(super) fn start_ok(&mut self, start_ok: connection::StartOk) -> Result<Event, Exception> {
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

    pub(super) fn tune_ok(&mut self, tune_ok: &connection::TuneOk) -> Result<(), Exception> {
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
}

//! Frames of channel 0, and which channel a frame is for.

use super::{Closed, Event, Phase, Session};
use crate::exception::{Exception, ReplyCode};
use crate::frame::{Frame, Kind};
use crate::method::{self, Method, connection};

impl Session {
    pub(super) fn frame(&mut self, frame: Frame) -> Result<Option<Event>, (u16, Exception)> {
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
            Err(invalid) => return Err((&invalid).into()),
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
            // What the connection holds is given up before the answer: that is the broker's.
            (Phase::Running, M::Close(close)) => {
                self.phase = Phase::Leaving;
                Ok(Some(Event::Close {
                    code: close.reply_code,
                    text: close.reply_text.as_str().to_owned(),
                }))
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
}

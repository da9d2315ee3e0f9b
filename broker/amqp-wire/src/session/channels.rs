//! Frames of the channels: opening, closing, content, and what is handed to the broker.

use super::channel::{Channel, Step};
use super::{Event, Session};
use crate::content::Header;
use crate::exception::{Exception, ReplyCode};
use crate::frame::{Frame, Kind};
use crate::method::{self, Method, access, basic};

impl Session {
    pub(super) fn channel_frame(&mut self, frame: Frame) -> Result<Option<Event>, Exception> {
        let number = frame.channel;
        match frame.kind {
            Kind::Method => {
                let closing = self.channels.get(&number).is_some_and(|c| !c.hears());
                let method = match Method::parse(frame.payload) {
                    Ok(method) => method,
                    Err(_) if closing => return Ok(None),
                    Err(invalid) => return Err((&invalid).into()),
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
        if channel.is_open() && !channel.hears() {
            if matches!(method, Method::Channel(M::Close(_))) {
                // Answered with the error that is on its way.
                channel.leave();
            }
            return Ok(None);
        }
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
                channel.leave();
                Ok(Some(Event::ChannelClose { channel: number }))
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

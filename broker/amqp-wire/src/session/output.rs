//! What the broker says: answers, deliveries, closes.

use super::channel::Channel;
use super::{Closed, Event, Phase, Session};
use crate::content;
use crate::exception::{Exception, Scope};
use crate::method::{self, Encode, Method, connection};

impl Session {
    /// Sends a method without content. Does nothing on a channel that is closed or being closed.
    pub fn send<M: Encode>(&mut self, channel: u16, method: &M) {
        if self.is_open(channel) || (channel == 0 && self.is_running()) {
            method::write(&mut self.output, channel, method);
        }
    }

    /// As [`Self::send`], for a method whose type is not known beforehand.
    pub fn send_method(&mut self, channel: u16, method: &Method) {
        if self.is_open(channel) {
            method.write(&mut self.output, channel);
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

    /// Answers [`Event::ChannelClose`]: the number is free again.
    pub fn close_channel_ok(&mut self, channel: u16) {
        if self.channels.get(&channel).is_some_and(Channel::is_leaving) {
            self.send(channel, &method::channel::CloseOk {});
            self.channels.remove(&channel);
        }
    }

    /// Answers [`Event::Close`]; nothing can be said afterwards.
    pub fn close_ok(&mut self) {
        if self.phase == Phase::Leaving {
            method::write(&mut self.output, 0, &connection::CloseOk {});
            self.phase = Phase::Closed;
            self.channels.clear();
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
            let leaving = open.is_leaving();
            open.close();
            let close = method::channel::Close {
                reply_code: error.code.number(),
                reply_text: error.reply_text(),
                class_id: error.class_id,
                method_id: error.method_id,
            };
            method::write(&mut self.output, channel, &close);
            if leaving {
                // Both closed at once: the client's close is answered, and ends it as well.
                method::write(&mut self.output, channel, &method::channel::CloseOk {});
                self.channels.remove(&channel);
            }
            return Some(Event::ChannelFailed { channel, error });
        }
        if self.phase == Phase::Leaving {
            // The client has closed already and waits for the answer only.
            return None;
        }
        self.send_close(&error);
        self.phase = Phase::Closing(error);
        None
    }

    pub(super) fn send_close(&mut self, error: &Exception) {
        let close = connection::Close {
            reply_code: error.code.number(),
            reply_text: error.reply_text(),
            class_id: error.class_id,
            method_id: error.method_id,
        };
        method::write(&mut self.output, 0, &close);
    }

    pub(super) fn closed(&mut self, reason: Closed, linger_ms: u64) -> Event {
        self.phase = Phase::Closed;
        self.channels.clear();
        Event::Closed { reason, linger_ms }
    }

    /// Is a close waiting for the client's close-ok?
    #[must_use]
    pub fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing(_))
    }
}

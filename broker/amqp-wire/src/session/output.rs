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

    /// Closes the channel, or has the connection closed, as `error.scope` says. The event tells what has to
    /// be given up now. The first error of a connection counts; its close is sent at once in the handshake,
    /// later by [`Self::close`].
    pub fn fail(&mut self, channel: u16, error: Exception) -> Option<Event> {
        if matches!(self.phase, Phase::Closing(_) | Phase::Closed) {
            return None;
        }
        if error.scope == Scope::Channel && channel != 0 {
            return self.fail_channel(channel, error);
        }
        match self.phase {
            Phase::Running => self.phase = Phase::Failing { error, lost: false },
            // The client has closed already and waits for the answer only.
            Phase::Leaving | Phase::Failing { .. } => {}
            _ => {
                self.send_close(&error);
                self.phase = Phase::Closing(error);
            }
        }
        None
    }

    fn fail_channel(&mut self, channel: u16, error: Exception) -> Option<Event> {
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
        Some(Event::ChannelFailed { channel, error })
    }

    /// What came on `channel` is wrong: the broker says so once it has answered what came before.
    pub(super) fn refuse(&mut self, channel: u16, error: Exception) -> Option<Event> {
        let on_channel = error.scope == Scope::Channel && channel != 0;
        if on_channel && let Some(open) = self.channels.get_mut(&channel) {
            open.turn_deaf();
            return Some(Event::ChannelError { channel, error });
        }
        self.fail(channel, error)
    }

    /// Is there a close to be sent, behind the answers to what came before?
    #[must_use]
    pub fn is_failing(&self) -> bool {
        matches!(self.phase, Phase::Failing { .. })
    }

    /// Sends the close of a connection that [`Self::is_failing`]: nothing else is sent afterwards. The event
    /// when the client's close-ok cannot be heard.
    pub fn close(&mut self) -> Option<Event> {
        match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Failing { error, lost } => {
                self.send_close(&error);
                if lost {
                    return Some(self.closed(Closed::ByServer(error), 0));
                }
                self.phase = Phase::Closing(error);
            }
            other => self.phase = other,
        }
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

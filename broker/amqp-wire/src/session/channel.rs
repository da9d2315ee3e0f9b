//! One channel of a session: open, leaving or closing, and the content that is being put together.

use bytes::{Bytes, BytesMut};

use crate::content::{Content, Header};
use crate::exception::{Exception, ReplyCode};
use crate::method::{Method, basic};

/// Bytes reserved for a body before they have come, at most.
const RESERVE_AHEAD_MAX: usize = 256 * 1024;

/// What a content under way counts beside the bytes of its body.
const CONTENT_BYTES: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Channel {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Open,
    /// `basic.publish` was seen.
    Header(basic::Publish),
    Body {
        publish: basic::Publish,
        properties: Bytes,
        /// Bytes that the header promised.
        size: usize,
        received: BytesMut,
    },
    /// What came is wrong, which the client hears in its turn.
    Deaf,
    /// The client's close waits for its answer.
    Leaving,
    /// Waits for close-ok, deaf to everything else.
    Closing,
}

pub(super) enum Step {
    Wait,
    Publish(basic::Publish, Content),
}

impl Channel {
    /// May something be sent? Until a close is sent or answered.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, State::Closing)
    }

    /// Is what comes taken? Until a close is sent or received, or something wrong is.
    pub(super) fn hears(&self) -> bool {
        !matches!(self.state, State::Closing | State::Leaving | State::Deaf)
    }

    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.state, State::Leaving)
    }

    pub(super) fn turn_deaf(&mut self) {
        self.state = State::Deaf;
    }

    pub(super) fn leave(&mut self) {
        self.state = State::Leaving;
    }

    pub(super) fn close(&mut self) {
        self.state = State::Closing;
    }

    /// Refuses a method in the middle of content.
    pub(super) fn expect_method(&self, method: &Method) -> Result<(), Exception> {
        let expected = match self.state {
            State::Open | State::Deaf | State::Leaving | State::Closing => return Ok(()),
            State::Header(_) => "header",
            State::Body { .. } => "body",
        };
        let text = format!(
            "expected content {expected} for class {}, got method '{}' instead",
            basic::CLASS_ID,
            method.name()
        );
        Err(Exception::new(ReplyCode::UnexpectedFrame, text))
    }

    /// Bytes of a content that has not come whole; it does not hold on to the input that it came in
    /// afterwards.
    pub(super) fn unfinished_bytes(&mut self) -> usize {
        let own = |publish: &mut basic::Publish| {
            publish.exchange = publish.exchange.as_str().into();
            publish.routing_key = publish.routing_key.as_str().into();
        };
        match &mut self.state {
            State::Header(publish) => {
                own(publish);
                CONTENT_BYTES
            }
            State::Body {
                publish,
                properties,
                received,
                ..
            } => {
                own(publish);
                *properties = Bytes::copy_from_slice(properties);
                CONTENT_BYTES + properties.len() + received.len()
            }
            State::Open | State::Deaf | State::Leaving | State::Closing => 0,
        }
    }

    pub(super) fn publish(&mut self, publish: basic::Publish) {
        self.state = State::Header(publish);
    }

    pub(super) fn header(&mut self, header: Header, bytes_max: u64) -> Result<Step, Exception> {
        let publish = match std::mem::take(&mut self.state) {
            State::Header(publish) => publish,
            deaf @ (State::Deaf | State::Leaving | State::Closing) => {
                self.state = deaf;
                return Ok(Step::Wait);
            }
            State::Open => return Err(unexpected("expected method frame, got content header")),
            State::Body { .. } => {
                return Err(unexpected("expected content body, got content header"));
            }
        };
        if header.class_id != basic::CLASS_ID {
            return Err(unexpected(&format!(
                "expected content header for class {}, got one for class {} instead",
                basic::CLASS_ID,
                header.class_id
            )));
        }
        if header.body_size > bytes_max {
            // A channel error: the body frames that follow are dropped while it is closing.
            let text = format!(
                "message size {} is larger than configured max size {bytes_max}",
                header.body_size
            );
            let error = Exception::new(ReplyCode::PreconditionFailed, text);
            return Err(error.caused_by_ids(basic::CLASS_ID, 40));
        }
        let size = usize::try_from(header.body_size).unwrap_or(usize::MAX);
        if size == 0 {
            return Ok(Step::Publish(
                publish,
                Content {
                    properties: header.properties,
                    body: Bytes::new(),
                },
            ));
        }
        self.state = State::Body {
            publish,
            properties: header.properties,
            size,
            received: BytesMut::new(),
        };
        Ok(Step::Wait)
    }

    pub(super) fn body(&mut self, payload: Bytes) -> Result<Step, Exception> {
        let (publish, properties, size, mut received) = match std::mem::take(&mut self.state) {
            State::Body {
                publish,
                properties,
                size,
                received,
            } => (publish, properties, size, received),
            deaf @ (State::Deaf | State::Leaving | State::Closing) => {
                self.state = deaf;
                return Ok(Step::Wait);
            }
            State::Open => return Err(unexpected("expected method frame, got content body")),
            State::Header(_) => {
                return Err(unexpected("expected content header, got content body"));
            }
        };
        let total = received.len() + payload.len();
        if total > size {
            let text =
                format!("body of {total} bytes is longer than the {size} that were declared");
            let error = Exception::new(ReplyCode::FrameError, text);
            return Err(error.caused_by_ids(basic::CLASS_ID, 40));
        }
        if total == size && received.is_empty() {
            // The usual case: one frame, no copy.
            let body = payload;
            return Ok(Step::Publish(publish, Content { properties, body }));
        }
        if received.capacity() == received.len() {
            received.reserve((size - received.len()).min(RESERVE_AHEAD_MAX));
        }
        received.extend_from_slice(&payload);
        if total == size {
            let body = received.freeze();
            return Ok(Step::Publish(publish, Content { properties, body }));
        }
        self.state = State::Body {
            publish,
            properties,
            size,
            received,
        };
        Ok(Step::Wait)
    }
}

fn unexpected(text: &str) -> Exception {
    Exception::new(ReplyCode::UnexpectedFrame, text).caused_by_ids(basic::CLASS_ID, 40)
}

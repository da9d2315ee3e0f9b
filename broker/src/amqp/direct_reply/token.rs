//! The names that stand for a requester: `amq.rabbitmq.reply-to.<broker>.<key>`.

use std::fmt;

use model::BrokerId;
use uuid::Uuid;

/// The pseudo queue that requesters consume from, and their requests' `reply_to`.
pub(in crate::amqp) const NAME: &str = "amq.rabbitmq.reply-to";

/// The address of one requester. Its key is drawn at random, so who has not seen a request cannot name
/// its requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::amqp) struct Token {
    pub(super) broker: BrokerId,
    pub(super) key: Uuid,
}

impl Token {
    pub(super) fn draw(broker: BrokerId) -> Self {
        Self {
            broker,
            key: Uuid::new_v4(),
        }
    }

    /// `None` for anything that [`Token`]'s display would not write.
    pub(in crate::amqp) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(NAME)?.strip_prefix('.')?;
        let (broker, key) = rest.split_once('.')?;
        let token = Self {
            broker: BrokerId(broker.parse().ok()?),
            key: Uuid::try_parse(key).ok()?,
        };
        (token.to_string() == text).then_some(token)
    }

    pub(in crate::amqp) fn has_key(&self, key: Uuid) -> bool {
        self.key == key
    }

    pub(in crate::amqp) fn broker(&self) -> BrokerId {
        self.broker
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}.{}.{}", self.broker.0, self.key.simple())
    }
}

/// Is this the name of a pseudo queue, whether or not it is a token?
pub(in crate::amqp) fn is_pseudo(name: &str) -> bool {
    name.starts_with(NAME)
}

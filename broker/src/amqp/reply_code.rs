//! The only place where inner errors become AMQP reply codes (rabbitmq.md section 3.1: codes and texts
//! as RabbitMQ's).

use amqp_wire::{Exception, ReplyCode};
use machine::metadata::command::Refusal;

use super::{consume, publish, topology, transaction, unacked};
use crate::metadata;
use crate::queue;

/// Whatever can go wrong while a method is carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Topology(#[from] topology::Error),
    #[error(transparent)]
    Publish(#[from] publish::Error),
    #[error(transparent)]
    Consume(#[from] consume::Error),
    #[error(transparent)]
    UnknownTag(#[from] unacked::UnknownTag),
    #[error(transparent)]
    Transaction(#[from] transaction::Error),
    #[error(transparent)]
    Queue(#[from] queue::Error),
    #[error(transparent)]
    Metadata(#[from] metadata::Unavailable),
}

impl Error {
    pub(super) fn exception(&self) -> Exception {
        Exception::new(self.code(), self.to_string())
    }

    fn code(&self) -> ReplyCode {
        match self {
            Self::Topology(error) => topology_code(error),
            Self::Publish(error) => publish_code(error),
            Self::Consume(error) => consume_code(error),
            Self::UnknownTag(_) => ReplyCode::PreconditionFailed,
            Self::Transaction(error) => transaction_code(*error),
            Self::Queue(error) => queue_code(error),
            Self::Metadata(_) => ReplyCode::InternalError,
        }
    }
}

fn topology_code(error: &topology::Error) -> ReplyCode {
    use topology::Error as E;
    match error {
        E::NoQueue { .. } | E::NoExchange { .. } | E::NoQueueDeclared => ReplyCode::NotFound,
        E::Reserved { .. } | E::DefaultExchange | E::SystemExchange { .. } => {
            ReplyCode::AccessRefused
        }
        E::Locked { .. } => ReplyCode::ResourceLocked,
        E::InvalidArgument(_)
        | E::InvalidProperty { .. }
        | E::UnknownKind { .. }
        | E::ServerNamed { .. }
        | E::ExchangeInUse { .. }
        | E::QueueInUse { .. }
        | E::QueueNotEmpty { .. } => ReplyCode::PreconditionFailed,
        E::Refused(Refusal::NotFound(_)) => ReplyCode::NotFound,
        E::Refused(Refusal::Locked(_)) => ReplyCode::ResourceLocked,
        E::Refused(_) => ReplyCode::PreconditionFailed,
        E::Queue(error) => queue_code(error),
        E::Metadata(_) => ReplyCode::InternalError,
    }
}

fn publish_code(error: &publish::Error) -> ReplyCode {
    use publish::Error as E;
    match error {
        E::NoExchange { .. } => ReplyCode::NotFound,
        E::InternalExchange { .. } => ReplyCode::AccessRefused,
        E::UserId { .. } | E::Expiration { .. } | E::SenderSelected { .. } => {
            ReplyCode::PreconditionFailed
        }
        // Undecodable properties cost the connection; RabbitMQ says 541 too.
        E::Properties(_) => ReplyCode::InternalError,
    }
}

fn consume_code(error: &consume::Error) -> ReplyCode {
    use consume::Error as E;
    match error {
        E::TagInUse(_) | E::TooManyConsumers(_) => ReplyCode::NotAllowed,
        E::ExclusiveUse { .. } => ReplyCode::AccessRefused,
        E::PriorityArgument(_) => ReplyCode::PreconditionFailed,
        E::PrefetchSize(_) | E::RecoverWithoutRequeue => ReplyCode::NotImplemented,
        E::HeldTooMany(_) => ReplyCode::ResourceError,
        E::Queue(error) => queue_code(error),
    }
}

fn transaction_code(error: transaction::Error) -> ReplyCode {
    use transaction::Error as E;
    match error {
        E::Committing => ReplyCode::ChannelError,
        _ => ReplyCode::PreconditionFailed,
    }
}

fn queue_code(error: &queue::Error) -> ReplyCode {
    match error {
        queue::Error::NotFound(_) => ReplyCode::NotFound,
        queue::Error::Unavailable(_) => ReplyCode::InternalError,
        queue::Error::SingleActiveConsumer(_) => ReplyCode::ResourceLocked,
    }
}

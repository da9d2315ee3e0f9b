//! The only place where inner errors become AMQP reply codes (codes and texts
//! as RabbitMQ's, from the `protocol_error` calls of `rabbit_channel` and `rabbit_amqqueue`).

use amqp_wire::{Exception, ReplyCode};
use machine::metadata::command::Refusal;

use super::outage::Outage;
use super::{consume, publish, topology, transaction, unacked};

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
    Outage(#[from] Outage),
}

impl Error {
    pub(super) fn exception(&self) -> Exception {
        Exception::new(self.code(), self.to_string())
    }

    /// The metadata group did not carry out what it was asked.
    pub(super) fn is_metadata(&self) -> bool {
        matches!(self, Self::Topology(topology::Error::Metadata(_)))
    }

    fn code(&self) -> ReplyCode {
        match self {
            Self::Topology(error) => topology_code(error),
            Self::Publish(error) => publish_code(error),
            Self::Consume(error) => consume_code(error),
            Self::UnknownTag(_) => ReplyCode::PreconditionFailed,
            Self::Transaction(error) => transaction_code(*error),
            Self::Outage(outage) => outage_code(outage),
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
        E::Outage(outage) => outage_code(outage),
        E::Metadata(_) => ReplyCode::InternalError,
    }
}

fn publish_code(error: &publish::Error) -> ReplyCode {
    use publish::Error as E;
    match error {
        E::NoExchange { .. } => ReplyCode::NotFound,
        E::InternalExchange { .. } => ReplyCode::AccessRefused,
        E::UserId { .. } | E::Expiration { .. } | E::SenderSelected { .. } | E::NoReplyConsumer => {
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
        E::PriorityArgument(_) | E::ReplyConsumerAcks | E::ReplyConsumerSet => {
            ReplyCode::PreconditionFailed
        }
        E::PrefetchSize(_) | E::RecoverWithoutRequeue => ReplyCode::NotImplemented,
        E::HeldTooMany(_) => ReplyCode::ResourceError,
        E::Outage(outage) => outage_code(outage),
    }
}

fn transaction_code(error: transaction::Error) -> ReplyCode {
    use transaction::Error as E;
    match error {
        E::Committing => ReplyCode::ChannelError,
        _ => ReplyCode::PreconditionFailed,
    }
}

/// 541 costs the connection, as it does there.
fn outage_code(outage: &Outage) -> ReplyCode {
    match outage {
        Outage::NoQueue { .. }
        | Outage::HomeDown { .. }
        | Outage::HomeSlow { .. }
        | Outage::Crashed { .. } => ReplyCode::NotFound,
        Outage::SingleActiveConsumer { .. } => ReplyCode::ResourceLocked,
        Outage::NoMajority { .. }
        | Outage::DeclareQueue { .. }
        | Outage::DeleteQueue
        | Outage::DeclareExchange { .. }
        | Outage::DeleteExchange { .. }
        | Outage::Binding { .. } => ReplyCode::InternalError,
    }
}

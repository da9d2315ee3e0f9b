//! What a method could not be done with, because a queue or the metadata group did not answer. Texts
//! are those of RabbitMQ (`absent` of `rabbit_amqqueue`, `consume_error` of `rabbit_quorum_queue`, the
//! timeouts in `rabbit_channel`), and so is what they cost: the channel where a classic queue is out of
//! reach, the connection where a majority is.

use std::sync::Arc;

use machine::metadata::image::{Queue, QueueKind};
use model::BrokerId;

use crate::queue;

#[derive(Debug, thiserror::Error)]
pub(super) enum Outage {
    /// Deleted while it was asked.
    #[error("no queue '{name}' in vhost '{vhost}'")]
    NoQueue { name: Arc<str>, vhost: Arc<str> },
    #[error(
        "cannot obtain access to locked queue '{name}' in vhost '{vhost}'. basic.get operations are not supported by quorum queues with single active consumer"
    )]
    SingleActiveConsumer { name: Arc<str>, vhost: Arc<str> },
    #[error("home node '{home}' of {kind}queue '{name}' in vhost '{vhost}' is down or inaccessible", kind = if *durable { "durable " } else { "" })]
    HomeDown {
        home: BrokerId,
        durable: bool,
        name: Arc<str>,
        vhost: Arc<str>,
    },
    #[error("queue '{name}' in vhost '{vhost}' has crashed and failed to restart")]
    Crashed { name: Arc<str>, vhost: Arc<str> },
    #[error("failed to perform operation on queue '{name}' in vhost '{vhost}' due to timeout")]
    HomeSlow { name: Arc<str>, vhost: Arc<str> },
    #[error("timed out {doing} quorum queue '{name}' in vhost '{vhost}'")]
    NoMajority {
        doing: &'static str,
        name: Arc<str>,
        vhost: Arc<str>,
    },
    #[error(
        "Could not declare queue '{name}' in vhost '{vhost}' because the metadata store operation timed out"
    )]
    DeclareQueue { name: String, vhost: Arc<str> },
    #[error("The operation to delete the queue from the metadata store timed out")]
    DeleteQueue,
    #[error(
        "failed to declare exchange '{name}' in vhost '{vhost}' because the operation timed out"
    )]
    DeclareExchange { name: String, vhost: Arc<str> },
    #[error("failed to delete exchange '{name}' in vhost '{vhost}' due to a timeout")]
    DeleteExchange { name: String, vhost: Arc<str> },
    #[error("Could not {action} binding due to timeout")]
    Binding { action: &'static str },
}

impl Outage {
    /// A queue that answered with an error; `doing` is "consuming from" or the like.
    pub(super) fn of(queue: &Queue, doing: &'static str, error: &queue::Error) -> Self {
        let (name, vhost) = (queue.name.clone(), queue.vhost.clone());
        match (error, queue.kind) {
            (queue::Error::NotFound(_), _) => Self::NoQueue { name, vhost },
            (queue::Error::Crashed(_), _) => Self::Crashed { name, vhost },
            (queue::Error::SingleActiveConsumer(_), _) => {
                Self::SingleActiveConsumer { name, vhost }
            }
            (queue::Error::Unavailable(_), QueueKind::Classic { home }) => Self::HomeDown {
                home,
                durable: queue.durable,
                name,
                vhost,
            },
            (queue::Error::TimedOut(_) | queue::Error::Unavailable(_), _) => {
                Self::late(queue, doing)
            }
        }
    }

    /// A queue that did not answer in time.
    pub(super) fn late(queue: &Queue, doing: &'static str) -> Self {
        let (name, vhost) = (queue.name.clone(), queue.vhost.clone());
        match queue.kind {
            QueueKind::Classic { .. } => Self::HomeSlow { name, vhost },
            QueueKind::Quorum { .. } => Self::NoMajority { doing, name, vhost },
        }
    }
}

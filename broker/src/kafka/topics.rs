//! `CreateTopics`, `DeleteTopics` and `CreatePartitions`, and creation on first use.

mod create;
mod delete;
mod partitions;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use kafka_wire::ErrorCode;
use machine::metadata::command::{Assignment, Command, Refusal, Reply};
use model::TopicId;
use parking_lot::Mutex;
use uuid::Uuid;

use super::{Front, error_code};
use crate::config::effective::broker_value;

pub(super) use machine::metadata::check_topic_name as check_name;

/// Why one topic of a request was left as it was: code and text for the client.
pub(super) struct Failure {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(error_code::refusal(&refusal), refusal.to_string())
    }
}

/// Has the cluster carry out `command` within the client's patience; with `validate_only` only says
/// what would come of it, by the image this broker has.
pub(super) async fn submit(
    front: &Front,
    command: Command,
    timeout_ms: i32,
    validate_only: bool,
) -> Result<Reply, Failure> {
    let reply = if validate_only {
        let mut trial = (*front.metadata.image()).clone();
        let index = trial.index.saturating_add(1);
        trial.apply(command, 0, index)
    } else {
        let patience = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or_default());
        match tokio::time::timeout(patience, front.metadata.submit(command)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(unavailable)) => {
                let text = unavailable.to_string();
                return Err(Failure::new(error_code::unavailable(unavailable), text));
            }
            Err(_) => {
                return Err(Failure::new(
                    ErrorCode::RequestTimedOut,
                    "The request timed out; it may still be carried out.",
                ));
            }
        }
    };
    match reply {
        Reply::Refused(refusal) => Err(refusal.into()),
        reply => Ok(reply),
    }
}

/// `num.partitions` and `default.replication.factor`.
fn defaults(front: &Front) -> (i32, i16) {
    let image = front.metadata.image();
    (
        broker_value(&front.config, &image, "num.partitions").unwrap_or(1),
        broker_value(&front.config, &image, "default.replication.factor").unwrap_or(1),
    )
}

/// Topics that are being created because a client asked for them.
#[derive(Debug, Default)]
pub(super) struct Creations(Mutex<HashSet<String>>);

/// At most so many at once; clients ask for the others again.
const CREATIONS_MAX: usize = 64;

impl Creations {
    /// False when the topic is being created already, or too many are.
    fn begin(&self, name: &str) -> bool {
        let mut names = self.0.lock();
        names.len() < CREATIONS_MAX && names.insert(name.to_owned())
    }

    fn end(&self, name: &str) {
        self.0.lock().remove(name);
    }
}

/// Begins to create a topic that a client has asked for, if `auto.create.topics.enable`. Returns at
/// once; asking again while it is under way does nothing.
pub(super) fn create_on_first_use(front: &Arc<Front>, name: &str) {
    let enabled = broker_value(
        &front.config,
        &front.metadata.image(),
        "auto.create.topics.enable",
    );
    if enabled == Some(false) || !front.creations.begin(name) {
        return;
    }
    let (partitions, replication_factor) = defaults(front);
    let command = Command::CreateTopic {
        name: name.to_owned(),
        id: TopicId(Uuid::new_v4()),
        assignment: Assignment::Spread {
            partitions,
            replication_factor,
        },
        configs: Vec::new(),
    };
    let (front, name) = (front.clone(), name.to_owned());
    tokio::spawn(async move {
        match front.metadata.submit(command).await {
            Ok(Reply::Refused(Refusal::TopicExists(_))) => {}
            Ok(Reply::Refused(refusal)) => {
                tracing::warn!(topic = name, %refusal, "a topic was not created on first use");
            }
            Ok(_) => tracing::info!(topic = name, partitions, "topic created on first use"),
            Err(error) => {
                tracing::warn!(topic = name, %error, "a topic was not created on first use");
            }
        }
        front.creations.end(&name);
    });
}

#[cfg(test)]
mod tests;

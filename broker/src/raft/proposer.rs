//! Turns waiting commands into entries: one entry in flight per group, the next gathers meanwhile.
//!
//! An idle group proposes at once. A busy one proposes no earlier than the pace after the last
//! proposal, which halves the cost of a command for a little of its delay.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use openraft::errors::{ClientWriteError, RaftError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

use super::applier::Applier;
use super::types::{Payload, Replies, broker_id};
use super::{Config, Proposal, ProposeError, Raft, codec};

/// A leader whose term is not committed yet, or whose lease has run out, refuses writes; it is asked
/// again for this long.
const NEW_LEADER_PATIENCE: Duration = Duration::from_millis(500);
const NEW_LEADER_RETRY: Duration = Duration::from_millis(1);

type Reply = oneshot::Sender<Result<Bytes, ProposeError>>;

pub(super) async fn run(
    raft: Raft,
    applier: Applier,
    config: Arc<Config>,
    mut waiting: mpsc::Receiver<Proposal>,
) {
    let mut last: Option<Instant> = None;
    let mut clock_ms = 0;
    // A command that did not fit into the last entry.
    let mut held: Option<Proposal> = None;
    loop {
        let Some(first) = (match held.take() {
            Some(held) => Some(held),
            None => waiting.recv().await,
        }) else {
            return;
        };
        if let Some(last) = last {
            sleep_until(last + config.pace).await;
        }
        last = Some(Instant::now());
        let (commands, replies) = gather(first, &mut waiting, &mut held, &config);
        clock_ms = system_clock_ms().max(clock_ms).max(applier.clock_ms());
        let payload = codec::encode_commands(clock_ms, &commands);
        let outcome = write(&raft, payload).await;
        answer(outcome, replies);
    }
}

fn gather(
    first: Proposal,
    waiting: &mut mpsc::Receiver<Proposal>,
    held: &mut Option<Proposal>,
    config: &Config,
) -> (Vec<Bytes>, Vec<Reply>) {
    let mut bytes = first.command.len();
    let mut commands = vec![first.command];
    let mut replies = vec![first.reply];
    while commands.len() < config.entry_commands_max {
        let Ok(next) = waiting.try_recv() else {
            break;
        };
        bytes += next.command.len();
        if bytes > config.entry_bytes_max {
            *held = Some(next);
            break;
        }
        commands.push(next.command);
        replies.push(next.reply);
    }
    (commands, replies)
}

async fn write(raft: &Raft, payload: Payload) -> Result<Replies, ProposeError> {
    let patience = Instant::now() + NEW_LEADER_PATIENCE;
    loop {
        let hint = match raft.client_write(payload.clone()).await {
            Ok(written) => return Ok(written.data),
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(forward))) => {
                forward.leader_id
            }
            Err(RaftError::APIError(_)) => return Err(ProposeError::Unknown),
            Err(RaftError::Fatal(_)) => return Err(ProposeError::Stopped),
        };
        // An idle leader has not heard from its voters for a while (there are no heartbeats), and
        // openraft lets only a leader with a fresh majority write: ask the voters.
        if raft.is_leader() && raft.trigger().heartbeat().await.is_err() {
            return Err(ProposeError::Stopped);
        }
        let about_to_lead = raft.is_leader() || hint == Some(*raft.node_id());
        if !about_to_lead || Instant::now() > patience {
            return Err(ProposeError::NotLeader {
                hint: hint.map(broker_id).filter(|_| !about_to_lead),
            });
        }
        sleep(NEW_LEADER_RETRY).await;
    }
}

fn answer(outcome: Result<Replies, ProposeError>, replies: Vec<Reply>) {
    match outcome {
        Ok(Replies(outcomes)) => {
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                // The proposer may have gone away.
                let _gone = reply.send(Ok(outcome));
            }
        }
        Err(error) => {
            for reply in replies {
                let _gone = reply.send(Err(error.clone()));
            }
        }
    }
}

pub(super) fn system_clock_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        })
}

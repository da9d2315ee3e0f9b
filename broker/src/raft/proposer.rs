//! Turns waiting commands into entries: one entry in flight per group, the next gathers meanwhile.
//!
//! An idle group proposes at once. A busy one proposes no earlier than the pace after the last
//! proposal, which halves the cost of a command for a little of its delay.
//!
//! Nothing is proposed that the disk here has no room for, nor while too much waits to be written: the
//! other members would commit it, and what this one still has to write would grow without bound.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use openraft::errors::{ClientWriteError, RaftError};
use openraft::rt::WatchReceiver;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::applier::Applier;
use super::group::Proposal;
use super::types::{Payload, Replies, broker_id};
use super::wal::Wal;
use super::{Config, GroupId, ProposeError, Raft, codec};
use crate::clock::wall_ms;

/// A leader whose term is not committed yet, or whose lease has run out, refuses writes; it is asked
/// again for this long.
const NEW_LEADER_PATIENCE: Duration = Duration::from_millis(500);
/// Voters that did not answer in this time are asked again, the first time and at most.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(160));

type Reply = oneshot::Sender<Result<Bytes, ProposeError>>;

/// What a proposer stands on.
pub(super) struct Parts {
    pub(super) group: GroupId,
    pub(super) raft: Raft,
    pub(super) applier: Applier,
    pub(super) wal: Wal,
    pub(super) config: Arc<Config>,
}

pub(super) async fn run(parts: Parts, mut waiting: mpsc::Receiver<Proposal>) {
    let Parts {
        group,
        raft,
        applier,
        wal,
        config,
    } = parts;
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
        if !wal.admits(group).await {
            answer(Err(ProposeError::NoRoom), replies);
            continue;
        }
        clock_ms = wall_ms().max(clock_ms).max(applier.clock_ms());
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
    let mut metrics = raft.metrics();
    let mut pause = ASK_AGAIN.0;
    loop {
        // Before the try: a change after it is not missed.
        drop(metrics.borrow_and_update());
        let hint = match raft.client_write(payload.clone()).await {
            Ok(written) => return Ok(written.data),
            // Refused before the entry was in the log: surely without effect.
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(forward))) => {
                forward.leader_id
            }
            // The entry was in the log, and another leader's took its place there. It may have been
            // committed before, or be yet.
            Err(RaftError::APIError(_)) => return Err(ProposeError::Unknown),
            Err(RaftError::Fatal(_)) => return Err(ProposeError::Stopped),
        };
        let leads = raft.is_leader();
        let about_to_lead = leads || hint == Some(*raft.node_id());
        if !about_to_lead || Instant::now() > patience {
            return Err(ProposeError::NotLeader {
                hint: hint.map(broker_id).filter(|_| !about_to_lead),
            });
        }
        // An idle leader has not heard from its voters for a while (there are no heartbeats), and
        // openraft lets only a leader with a fresh majority write: ask the voters.
        if leads && raft.trigger().heartbeat().await.is_err() {
            return Err(ProposeError::Stopped);
        }
        // Their answers show in the metrics, and so does a leadership that has begun or is over.
        if let Ok(Err(_)) = timeout(pause, metrics.changed()).await {
            return Err(ProposeError::Stopped);
        }
        pause = (pause * 2).min(ASK_AGAIN.1);
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

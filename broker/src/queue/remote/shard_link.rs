//! The way to whoever leads a shard. One batch is under way at a time and is sent again, under its
//! number, until some leader has answered it: a publish without majority waits, unconfirmed and not
//! refused, and takes effect once. What does not fit one command is split; a single request that does
//! not is refused here.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use machine::metadata::image::QueueKind;
use model::{BrokerId, ShardId};
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;

use super::frame::{Frame, Proposed};
use super::{Remote, Sent, gather};
use crate::peer::Service;
use crate::queue::links::{Links, unavailable};
use crate::queue::protocol::codec::{self, Malformed};
use crate::queue::protocol::{Op, Response, SessionKey};
use crate::queue::quorum::command::{Batches, Origin, encode_batch};

/// Between two tries while no leader answers.
const RETRY: Duration = Duration::from_millis(25);

pub(super) async fn run(
    remote: Remote,
    shard: ShardId,
    mut waiting: mpsc::UnboundedReceiver<Sent>,
    resume: Arc<Notify>,
) {
    let links = remote.0.links.clone();
    let mut origin = Origin {
        broker: links.broker(),
        boot: remote.0.boot,
        seq: 0,
    };
    let mut leader = None;
    // The first batch is empty: the shard learns of this life and forgets consumers of the last.
    let mut greeting = true;
    let mut leaders = remote.0.shards.leader(shard);
    loop {
        let mut batches: Batches = Vec::new();
        let mut first = None;
        if !greeting {
            tokio::select! {
                biased;
                () = resume.notified() => batches = resumes(&links, shard),
                batch = waiting.recv() => match batch {
                    Some(batch) => first = Some(batch),
                    None => return,
                },
                changed = leaders.changed() => {
                    if changed.is_err() {
                        leaders = remote.0.shards.leader(shard);
                        sleep(RETRY).await;
                    }
                    let now = *leaders.borrow_and_update();
                    if now.is_none() || now == leader {
                        continue;
                    }
                    batches = resumes(&links, shard);
                }
            }
        }
        let gathered = gather(first, &mut waiting);
        batches.extend(gathered.batches);
        for (_, requests) in &mut batches {
            // Quorum consumers are bounded by what they hold, not by what is unwritten.
            requests.retain(|request| !matches!(request.op, Op::Written { .. }));
        }
        batches.retain(|(_, requests)| !requests.is_empty());
        if batches.is_empty() && !greeting {
            continue;
        }
        greeting = false;
        let mut parts = vec![batches];
        while let Some(part) = parts.pop() {
            let next = Origin {
                seq: origin.seq + 1,
                ..origin
            };
            let command = encode_batch(next, &part);
            if command.len() > remote.0.shards.command_bytes_max() {
                match halves(part) {
                    Ok((first, second)) => parts.extend([second, first]),
                    Err(single) => refuse(&links, shard, single),
                }
                continue;
            }
            origin = next;
            let (answered_by, reply) = propose(&remote, shard, &command, leader).await;
            match reply.map(|reply| answer(&links, reply)) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::error!(%shard, %error, "reply of a shard is malformed");
                }
                Err(TooLarge) => refuse(&links, shard, part),
            }
            if leader.is_some_and(|before| before != answered_by) {
                // What the former leader pushed may be lost.
                resume.notify_one();
            }
            leader = Some(answered_by);
        }
        drop(gathered.permits);
    }
}

/// The leader can never take the command.
struct TooLarge;

/// Two parts of about as many requests, in order; or what has one request only.
fn halves(batches: Batches) -> Result<(Batches, Batches), Batches> {
    let requests = batches.iter().map(|(_, requests)| requests.len());
    let mut room = match requests.sum::<usize>() {
        0 | 1 => return Err(batches),
        count => count / 2,
    };
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (session, mut requests) in batches {
        let later = requests.split_off(room.min(requests.len()));
        room -= requests.len();
        if !requests.is_empty() {
            first.push((session, requests));
        }
        if !later.is_empty() {
            second.push((session, later));
        }
    }
    Ok((first, second))
}

fn refuse(links: &Links, shard: ShardId, batches: Batches) {
    tracing::warn!(%shard, "requests refused that are too large for a shard's log; raise millrace.wal.file.bytes");
    for (number, requests) in batches {
        let session = SessionKey {
            broker: links.broker(),
            number,
        };
        links.respond(session, unavailable(requests));
    }
}

/// Until a leader has applied it, or said that none can.
async fn propose(
    remote: &Remote,
    shard: ShardId,
    command: &Bytes,
    leader: Option<BrokerId>,
) -> (BrokerId, Result<Bytes, TooLarge>) {
    let here = remote.0.links.broker();
    let mut target = leader;
    let mut turn = 0;
    loop {
        let to = target
            .take()
            .or_else(|| *remote.0.shards.leader(shard).borrow());
        let to = to.or_else(|| {
            turn += 1;
            remote.0.shards.member(shard, turn)
        });
        let Some(to) = to else {
            // The shard is not in the image here yet.
            sleep(RETRY).await;
            continue;
        };
        let proposed = if to == here {
            remote.0.shards.propose(shard, command.clone()).await
        } else {
            let frame = Frame::Shard(shard, command.clone()).encode();
            let answer = remote.0.mesh.call(to, Service::Queue, frame).await;
            match answer {
                Ok(answer) => Proposed::decode(answer).unwrap_or(Proposed::Unknown),
                Err(_) => Proposed::Unknown,
            }
        };
        match proposed {
            Proposed::Applied(reply) => return (to, Ok(reply)),
            Proposed::TooLarge => return (to, Err(TooLarge)),
            Proposed::Elsewhere(Some(hint)) if hint != to => target = Some(hint),
            Proposed::Elsewhere(_) | Proposed::Unknown => {
                turn += 1;
                target = remote.0.shards.member(shard, turn);
                sleep(RETRY).await;
            }
        }
    }
}

fn answer(links: &Links, mut reply: Bytes) -> Result<(), Malformed> {
    for _ in 0..codec::count(&mut reply)? {
        let session: SessionKey = codec::session(&mut reply)?;
        let responses: Vec<Response> = codec::response::responses(&mut reply)?;
        links.respond(session, responses);
    }
    Ok(())
}

fn resumes(links: &Links, shard: ShardId) -> Batches {
    let kind = QueueKind::Quorum { shard };
    let sessions = links.sessions();
    let batches = sessions.iter().map(|session| {
        let requests = session.resumes(|queue| queue.kind == kind);
        (session.key().number, requests)
    });
    batches
        .filter(|(_, requests)| !requests.is_empty())
        .collect()
}

//! The way to whoever leads a shard. One batch is under way at a time and is sent again, under its
//! number, until some leader has answered it: a publish without majority waits, unconfirmed and not
//! refused, and takes effect once.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use machine::metadata::image::QueueKind;
use model::{BrokerId, ShardId};
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;

use super::frame::{Frame, Proposed};
use super::{Remote, gather};
use crate::peer::Service;
use crate::queue::links::{Batch, Links};
use crate::queue::protocol::codec::{self, Malformed};
use crate::queue::protocol::{Op, Response, SessionKey};
use crate::queue::quorum::command::{Batches, Origin, encode_batch};

/// Between two tries while no leader answers.
const RETRY: Duration = Duration::from_millis(25);

pub(super) async fn run(
    remote: Remote,
    shard: ShardId,
    mut waiting: mpsc::UnboundedReceiver<Batch>,
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
        let (gathered, permits) = gather(first, &mut waiting);
        batches.extend(gathered);
        for (_, requests) in &mut batches {
            // Quorum consumers are bounded by what they hold, not by what is unwritten.
            requests.retain(|request| !matches!(request.op, Op::Written { .. }));
        }
        batches.retain(|(_, requests)| !requests.is_empty());
        if batches.is_empty() && !greeting {
            continue;
        }
        greeting = false;
        origin.seq += 1;
        let command = encode_batch(origin, &batches);
        let (answered_by, reply) = propose(&remote, shard, &command, leader).await;
        if let Err(error) = answer(&links, reply) {
            tracing::error!(%shard, %error, "reply of a shard is malformed");
        }
        drop(permits);
        if leader.is_some_and(|before| before != answered_by) {
            // What the former leader pushed may be lost.
            resume.notify_one();
        }
        leader = Some(answered_by);
    }
}

/// Until a leader has applied it.
async fn propose(
    remote: &Remote,
    shard: ShardId,
    command: &Bytes,
    leader: Option<BrokerId>,
) -> (BrokerId, Bytes) {
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
            Proposed::Applied(reply) => return (to, reply),
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
        let responses: Vec<Response> = codec::responses(&mut reply)?;
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

//! The leader's side of copying: one session per follower; see the broker's `peers::sessions`.

use std::collections::{BTreeMap, BTreeSet};

use model::{Offset, TopicPartition};
use replica::{Answer, Looked, Source, Standing};

use crate::{
    event::{Call, Event, Job, NodeId, Request, Response},
    world::World,
};

/// How long a request waits for something to answer.
const WAIT_MS: u64 = 100;
/// Of one partition in one answer: a few batches.
const BYTES_MAX: usize = 3_000;

#[derive(Debug, Default)]
pub(crate) struct Session {
    number: u64,
    entries: BTreeMap<TopicPartition, Entry>,
    /// To be looked at when the next answer is put together.
    ready: BTreeSet<TopicPartition>,
    /// The request that waits, and until when.
    pending: Option<(Call, u64)>,
}

#[derive(Debug)]
struct Entry {
    standing: Standing,
    /// Records were sent and the follower has not said what became of them.
    sent: bool,
    /// The machine knows the standing.
    reported: bool,
    /// Watermark that the follower was told last.
    told: Offset,
}

impl World {
    /// A follower's request arrives.
    pub(crate) fn requested(&mut self, call: Call, request: Request) {
        let n = call.leader;
        if request.full {
            let fresh = Session {
                number: request.session,
                ..Session::default()
            };
            let before = self.nodes[n].sessions.insert(call.follower, fresh);
            // The one before is over, and whoever waits in it hears so.
            if let Some((older, _)) = before.and_then(|s| s.pending) {
                self.respond(older, Response::Partitions(Vec::new()));
            }
        }
        let session = self.nodes[n].sessions.get_mut(&call.follower);
        let Some(session) = session.filter(|s| s.number == request.session) else {
            self.respond(call, Response::UnknownSession);
            return;
        };
        for partition in request.removed {
            session.entries.remove(&partition);
        }
        for (partition, standing) in request.changed {
            let told = session
                .entries
                .get(&partition)
                .map_or(Offset::UNKNOWN, |e| e.told);
            let entry = Entry {
                standing,
                sent: false,
                reported: false,
                told,
            };
            session.entries.insert(partition, entry);
            session.ready.insert(partition);
        }
        let until = self.now_us + WAIT_MS * 1000;
        let before = session.pending.replace((call, until));
        if let Some((older, _)) = before {
            self.respond(older, Response::Partitions(Vec::new()));
        }
        let life = self.nodes[n].life;
        self.at(until, Event::Answer(n, life, call.follower));
        // Acknowledgements count at once; the answer may be put together later.
        self.report(n, call.follower);
        self.answer_later(n, call.follower);
    }

    fn answer_later(&mut self, n: NodeId, follower: NodeId) {
        let life = self.nodes[n].life;
        let after = self.plan.dice.between(5, 300);
        self.later(after, Event::Answer(n, life, follower));
    }

    /// There may be more to say of a partition led here, or another leads.
    pub(crate) fn look_everywhere(&mut self, n: NodeId, partition: TopicPartition) {
        let followers: Vec<NodeId> = self.nodes[n].sessions.keys().copied().collect();
        for follower in followers {
            let session = self.nodes[n].sessions.get_mut(&follower).unwrap();
            let wanted = session.entries.get(&partition).is_some_and(|e| !e.sent);
            if wanted && session.ready.insert(partition) && session.pending.is_some() {
                self.answer_later(n, follower);
            }
        }
    }

    /// Tells the machines how far the follower has come.
    fn report(&mut self, n: NodeId, follower: NodeId) {
        let mut jobs = Vec::new();
        let node = &mut self.nodes[n];
        let Some(mut session) = node.sessions.remove(&follower) else {
            return;
        };
        for partition in &session.ready {
            let Some(entry) = session.entries.get_mut(partition) else {
                continue;
            };
            if entry.reported {
                continue;
            }
            let Some(hosted) = node.leads(*partition, entry.standing.epoch) else {
                continue;
            };
            let parted = replica::is_diverging(hosted.local.reader(), &entry.standing);
            if !parted {
                entry.reported = true;
                jobs.push(Job::FollowerAt {
                    partition: *partition,
                    from: follower,
                    epoch: entry.standing.epoch,
                    partition_epoch: entry.standing.partition_epoch.unwrap_or(-1),
                    position: entry.standing.position,
                });
            }
        }
        node.sessions.insert(follower, session);
        for job in jobs {
            self.job(n, job);
        }
    }

    /// Answers the request that waits, if there is something to say or it has waited long enough.
    pub(crate) fn answer(&mut self, n: NodeId, follower: NodeId) {
        self.report(n, follower);
        let now_us = self.now_us;
        let node = &mut self.nodes[n];
        let Some(mut session) = node.sessions.remove(&follower) else {
            return;
        };
        let Some((call, until)) = session.pending else {
            node.sessions.insert(follower, session);
            return;
        };
        let mut found = Vec::new();
        for partition in std::mem::take(&mut session.ready) {
            let Some(entry) = session.entries.get_mut(&partition).filter(|e| !e.sent) else {
                continue;
            };
            let epoch = entry.standing.epoch;
            let Some(hosted) = node.leads(partition, epoch) else {
                continue;
            };
            let watermark = hosted.shown.high_watermark;
            let reader = hosted.local.reader();
            let looked = replica::look(reader, &entry.standing, BYTES_MAX, Source::Disk, || {
                watermark
            });
            match looked {
                Looked::Answer(answer) => {
                    entry.sent = true;
                    if let Answer::Records { high_watermark, .. } = &answer {
                        entry.told = *high_watermark;
                    }
                    found.push((partition, epoch, answer));
                }
                Looked::Nothing | Looked::Cold => {}
                Looked::Unreadable(error) => {
                    self.ledger
                        .broken(format!("node {n} cannot read what it leads: {error}"));
                }
            }
        }
        if found.is_empty() && now_us >= until {
            found = watermarks(node, &mut session);
        } else if found.is_empty() {
            node.sessions.insert(follower, session);
            return;
        }
        session.pending = None;
        node.sessions.insert(follower, session);
        self.respond(call, Response::Partitions(found));
    }

    fn respond(&mut self, call: Call, response: Response) {
        self.note(|| format!("{call:?} is answered: {}", brief(&response)));
        self.send(
            call.leader,
            call.follower,
            Event::Response {
                call,
                response: Some(response),
            },
        );
    }
}

/// Watermarks that moved since the follower was told, without records.
fn watermarks(
    node: &crate::node::Node,
    session: &mut Session,
) -> Vec<(TopicPartition, model::Epoch, Answer)> {
    let mut found = Vec::new();
    for (partition, entry) in &mut session.entries {
        let epoch = entry.standing.epoch;
        if entry.sent {
            continue;
        }
        let Some(hosted) = node.leads(*partition, epoch) else {
            continue;
        };
        let high_watermark = hosted.shown.high_watermark;
        if high_watermark > entry.told {
            entry.told = high_watermark;
            entry.sent = true;
            let answer = Answer::Records {
                from: entry.standing.position.next,
                high_watermark,
                log_start: hosted.local.reader().start_offset(),
                batches: Vec::new(),
            };
            found.push((*partition, epoch, answer));
        }
    }
    found
}

fn brief(response: &Response) -> String {
    let Response::Partitions(partitions) = response else {
        return "unknown session".into();
    };
    let parts = partitions.iter().map(|(p, epoch, answer)| match answer {
        Answer::Records {
            from,
            high_watermark,
            log_start,
            ..
        } => format!(
            "{} epoch {epoch}: {} bytes from {from}, start {log_start}, watermark {high_watermark}",
            p.partition,
            answer.size_bytes()
        ),
        other => format!("{} epoch {epoch}: {other:?}", p.partition),
    });
    parts.collect::<Vec<_>>().join("; ")
}

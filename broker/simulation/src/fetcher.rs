//! The follower's side of copying: one session per leader; see the broker's `peers::fetchers`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::TopicPartition;
use replica::Standing;

use crate::{
    event::{Call, Event, Job, NodeId, Request, Response},
    plan::Promise,
    world::World,
};

/// Requests under way to one leader: one that waits for news and one that brings them.
const REQUESTS_MAX: usize = 2;
/// Before a leader that cannot be reached is tried again.
const BACKOFF_US: u64 = 50_000;
/// Before a partition is asked for again whose answer could not be used.
const ASK_AGAIN_US: u64 = 1_000_000;

#[derive(Debug, Default)]
pub(crate) struct Fetcher {
    following: BTreeSet<TopicPartition>,
    /// What the leader does not know yet.
    changed: BTreeSet<TopicPartition>,
    removed: BTreeSet<TopicPartition>,
    resting: BTreeMap<TopicPartition, u64>,
    session: u64,
    /// The leader has not heard of the session.
    fresh: bool,
    /// Under way, oldest first, with the answers that came out of turn.
    calls: VecDeque<(u64, Option<Response>)>,
    /// Parts of the last answer that the driver has not applied yet.
    applying: usize,
    /// Not before this time.
    rests_until_us: u64,
}

impl Fetcher {
    /// What is under way.
    pub(crate) fn calls(
        &self,
        follower: NodeId,
        life: u32,
        leader: NodeId,
    ) -> impl Iterator<Item = Call> {
        self.calls.iter().map(move |(number, _)| Call {
            follower,
            life,
            leader,
            number: *number,
        })
    }
}

impl World {
    /// The replica follows another leader, or none, or is to report again.
    pub(crate) fn follow(&mut self, n: NodeId, partition: TopicPartition) {
        let wanted = self.leader_node(n, partition);
        let hosted = self.nodes[n].hosted.get_mut(&partition).unwrap();
        let before = std::mem::replace(&mut hosted.following, wanted);
        if let Some(before) = before
            && wanted != Some(before)
            && let Some(fetcher) = self.nodes[n].fetchers.get_mut(&before)
        {
            fetcher.changed.remove(&partition);
            fetcher.resting.remove(&partition);
            if fetcher.following.remove(&partition) {
                fetcher.removed.insert(partition);
            }
            self.fetch_later(n, before);
        }
        if let Some(leader) = wanted {
            self.report_to(n, leader, partition);
        }
    }

    /// Tells the leader anew where the replica stands.
    pub(crate) fn report_to(&mut self, n: NodeId, leader: NodeId, partition: TopicPartition) {
        let session = self.plan.dice.roll(u64::MAX);
        let fetcher = self.nodes[n]
            .fetchers
            .entry(leader)
            .or_insert_with(|| Fetcher {
                session,
                fresh: true,
                ..Fetcher::default()
            });
        fetcher.removed.remove(&partition);
        fetcher.resting.remove(&partition);
        fetcher.changed.insert(partition);
        fetcher.following.insert(partition);
        self.fetch_later(n, leader);
    }

    fn fetch_later(&mut self, n: NodeId, leader: NodeId) {
        let life = self.nodes[n].life;
        let after = self.plan.dice.between(5, 300);
        self.later(after, Event::Fetch(n, life, leader));
    }

    /// Sends what is new, if it may.
    pub(crate) fn fetch(&mut self, n: NodeId, leader: NodeId) {
        let now_us = self.now_us;
        let life = self.nodes[n].life;
        let node = &mut self.nodes[n];
        let Some(fetcher) = node.fetchers.get_mut(&leader) else {
            return;
        };
        if fetcher.rests_until_us > now_us {
            let at = fetcher.rests_until_us;
            self.at(at, Event::Fetch(n, life, leader));
            return;
        }
        let Fetcher {
            resting, changed, ..
        } = fetcher;
        resting.retain(|partition, until| {
            let over = *until <= now_us;
            if over {
                changed.insert(*partition);
            }
            !over
        });
        let wakes = fetcher.resting.values().min().copied();
        let idle = fetcher.following.is_empty() && fetcher.removed.is_empty();
        let news = !fetcher.changed.is_empty() || !fetcher.removed.is_empty();
        let may = fetcher.calls.is_empty() || (news && fetcher.calls.len() < REQUESTS_MAX);
        if fetcher.applying == 0 && !idle && may {
            self.request(n, leader);
        }
        if let Some(at) = wakes {
            self.at(at, Event::Fetch(n, life, leader));
        }
    }

    fn request(&mut self, n: NodeId, leader: NodeId) {
        let synced_only = self.plan.promise == Promise::Synced;
        let node = &mut self.nodes[n];
        let number = node.next_call;
        node.next_call += 1;
        let fetcher = node.fetchers.get_mut(&leader).unwrap();
        let changed = std::mem::take(&mut fetcher.changed);
        let hosted = &node.hosted;
        let standings = changed.into_iter().filter_map(|partition| {
            let replica = hosted.get(&partition)?;
            let reader = replica.local.reader();
            let standing = Standing {
                partition_epoch: Some(replica.local.machine().membership().partition_epoch),
                ..Standing::of(reader, replica.shown.epoch, synced_only)
            };
            Some((partition, standing))
        });
        let request = Request {
            session: fetcher.session,
            full: std::mem::take(&mut fetcher.fresh),
            changed: standings.collect(),
            removed: std::mem::take(&mut fetcher.removed).into_iter().collect(),
        };
        fetcher.calls.push_back((number, None));
        let call = Call {
            follower: n,
            life: node.life,
            leader,
            number,
        };
        self.note(|| format!("{call:?} asks {:?}", request.changed));
        self.send(n, leader, Event::Request { call, request });
    }

    /// An answer has come, or none will.
    pub(crate) fn responded(&mut self, call: Call, response: Option<Response>) {
        let (n, leader) = (call.follower, call.leader);
        let Some(fetcher) = self.nodes[n].fetchers.get_mut(&leader) else {
            return;
        };
        let Some(place) = fetcher.calls.iter().position(|c| c.0 == call.number) else {
            return;
        };
        let Some(response) = response else {
            fetcher.rests_until_us = self.now_us + BACKOFF_US;
            self.begin_anew(n, leader);
            return;
        };
        fetcher.calls[place].1 = Some(response);
        self.take_in_turn(n, leader);
    }

    /// Forgets the session: the next request names everything.
    fn begin_anew(&mut self, n: NodeId, leader: NodeId) {
        let session = self.plan.dice.roll(u64::MAX);
        let fetcher = self.nodes[n].fetchers.get_mut(&leader).unwrap();
        fetcher.calls.clear();
        fetcher.session = session;
        fetcher.fresh = true;
        fetcher.removed.clear();
        fetcher.resting.clear();
        fetcher.changed = fetcher.following.clone();
        self.fetch_later(n, leader);
    }

    /// Hands the parts of the oldest answer to the driver; the next one waits until all are written.
    fn take_in_turn(&mut self, n: NodeId, leader: NodeId) {
        let fetcher = self.nodes[n].fetchers.get_mut(&leader).unwrap();
        if fetcher.applying > 0 || fetcher.calls.front().is_none_or(|c| c.1.is_none()) {
            return;
        }
        let Some((_, Some(response))) = fetcher.calls.pop_front() else {
            return;
        };
        let Response::Partitions(partitions) = response else {
            self.begin_anew(n, leader);
            return;
        };
        let session = fetcher.session;
        let mut jobs = Vec::new();
        for (partition, epoch, answer) in partitions {
            if fetcher.following.contains(&partition) {
                jobs.push(Job::Fetched {
                    partition,
                    leader,
                    session,
                    epoch,
                    answer,
                });
            }
        }
        fetcher.applying = jobs.len();
        if jobs.is_empty() {
            self.take_in_turn(n, leader);
            self.fetch_later(n, leader);
        }
        for job in jobs {
            self.job(n, job);
        }
    }

    /// The driver is through with one part of an answer.
    pub(crate) fn applied(
        &mut self,
        n: NodeId,
        leader: NodeId,
        session: u64,
        partition: TopicPartition,
        used: bool,
    ) {
        let until = self.now_us + ASK_AGAIN_US;
        let Some(fetcher) = self.nodes[n].fetchers.get_mut(&leader) else {
            return;
        };
        fetcher.applying = fetcher.applying.saturating_sub(1);
        if fetcher.session == session && fetcher.following.contains(&partition) {
            if used {
                fetcher.changed.insert(partition);
            } else {
                fetcher.resting.insert(partition, until);
            }
        }
        if fetcher.applying == 0 {
            self.take_in_turn(n, leader);
            self.fetch_later(n, leader);
        }
    }
}

//! Fetch sessions (KIP-227): what a client fetches is remembered, so that it states changes only and
//! is told changes only.
//!
//! Knows partitions as the client names them and what was last told of each; reads nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use kafka_wire::messages::fetch::{FetchPartition, Request};
use kafka_wire::{ErrorCode, Str};
use parking_lot::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

/// A session used within this time is not evicted for another one
/// (`min.incremental.fetch.session.eviction.ms`).
const EVICTABLE_AFTER: Duration = Duration::from_secs(120);
/// Session epoch of a request that opens a session, and of one that wants none or ends it.
const INITIAL_EPOCH: i32 = 0;
const FINAL_EPOCH: i32 = -1;
const TOPIC_IDS_FROM: i16 = 13;

/// A partition as the client names it: by topic name, or by id from version 13 on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) topic: Str,
    pub(super) topic_id: Uuid,
    pub(super) partition: i32,
}

/// What is fetched of one partition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) key: Key,
    pub(super) from: FetchPartition,
}

/// What a response says of one partition, as far as it decides whether to say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// It has records or an error, and must be said at any rate.
    pub(super) has_news: bool,
    pub(super) high_watermark: i64,
    pub(super) log_start: i64,
}

/// A request with its session resolved.
#[derive(Debug)]
pub(super) struct Begun {
    /// 0 when there is no session.
    pub(super) session_id: i32,
    /// Only changes are to be told.
    pub(super) incremental: bool,
    /// In the order they are to be read.
    pub(super) wanted: Vec<Wanted>,
}

/// Every session of this broker.
#[derive(Debug)]
pub(in crate::kafka) struct Sessions {
    slots_max: usize,
    open: Mutex<HashMap<i32, Session>>,
}

#[derive(Debug)]
struct Session {
    /// That the next request must state.
    epoch: i32,
    uses_topic_ids: bool,
    partitions: BTreeMap<Key, Remembered>,
    /// Where the next reading begins, so that no partition is always the last to get room.
    turn: usize,
    used: Instant,
}

#[derive(Debug)]
struct Remembered {
    from: FetchPartition,
    /// What the client knows; `None` before it was told anything.
    told: Option<Told>,
}

impl Sessions {
    pub(in crate::kafka) fn new(slots_max: usize) -> Self {
        Self {
            slots_max,
            open: Mutex::default(),
        }
    }

    /// Resolves the session of a request and takes over its changes.
    ///
    /// # Errors
    /// `FETCH_SESSION_ID_NOT_FOUND`, `INVALID_FETCH_SESSION_EPOCH` or `FETCH_SESSION_TOPIC_ID_ERROR`:
    /// the client opens a new session.
    pub(super) fn begin(
        &self,
        request: &Request,
        version: i16,
        now: Instant,
    ) -> Result<Begun, ErrorCode> {
        let mut open = self.open.lock();
        let id = request.session_id;
        if let INITIAL_EPOCH | FINAL_EPOCH = request.session_epoch {
            if id != 0 {
                open.remove(&id);
            }
            let session_id = match request.session_epoch {
                INITIAL_EPOCH => self.open(&mut open, request, version, now),
                _ => 0,
            };
            return Ok(Begun {
                session_id,
                incremental: false,
                wanted: stated(request).collect(),
            });
        }
        let Some(session) = open.get_mut(&id) else {
            return Err(ErrorCode::FetchSessionIdNotFound);
        };
        if session.epoch != request.session_epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.uses_topic_ids != (version >= TOPIC_IDS_FROM) {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        session.update(request);
        session.epoch = next_epoch(session.epoch);
        session.used = now;
        Ok(Begun {
            session_id: id,
            incremental: true,
            wanted: session.in_turn(),
        })
    }

    /// 0 when every slot is taken by a session in use.
    fn open(
        &self,
        open: &mut HashMap<i32, Session>,
        request: &Request,
        version: i16,
        now: Instant,
    ) -> i32 {
        if open.len() >= self.slots_max {
            let oldest = open.iter().min_by_key(|(_, session)| session.used);
            match oldest.map(|(id, session)| (*id, session.used)) {
                Some((id, used)) if now.duration_since(used) >= EVICTABLE_AFTER => {
                    open.remove(&id);
                }
                _ => return 0,
            }
        }
        let id = loop {
            let id = (Uuid::new_v4().as_u128() & 0x7fff_ffff) as i32;
            if id != 0 && !open.contains_key(&id) {
                break id;
            }
        };
        let mut session = Session {
            epoch: next_epoch(INITIAL_EPOCH),
            uses_topic_ids: version >= TOPIC_IDS_FROM,
            partitions: BTreeMap::new(),
            turn: 0,
            used: now,
        };
        session.update(request);
        open.insert(id, session);
        id
    }

    /// Notes what a response is about to say and answers which of its lines to keep, one each.
    pub(super) fn tell(&self, begun: &Begun, lines: &[(Key, Told)]) -> Vec<bool> {
        let mut open = self.open.lock();
        let mut session = open.get_mut(&begun.session_id);
        lines
            .iter()
            .map(|(key, told)| {
                let remembered = session
                    .as_mut()
                    .and_then(|session| session.partitions.get_mut(key));
                let Some(remembered) = remembered else {
                    return true;
                };
                let moved = |known: Told| {
                    (known.high_watermark, known.log_start) != (told.high_watermark, told.log_start)
                };
                let news = told.has_news || remembered.told.is_none_or(moved);
                remembered.told = Some(*told);
                news || !begun.incremental
            })
            .collect()
    }
}

impl Session {
    fn update(&mut self, request: &Request) {
        for topic in &request.forgotten_topics_data {
            for partition in &topic.partitions {
                self.partitions.remove(&Key {
                    topic: topic.topic.clone(),
                    topic_id: topic.topic_id,
                    partition: *partition,
                });
            }
        }
        for Wanted { key, from } in stated(request) {
            match self.partitions.get_mut(&key) {
                Some(known) => known.from = from,
                None => drop(self.partitions.insert(key, Remembered { from, told: None })),
            }
        }
    }

    fn in_turn(&mut self) -> Vec<Wanted> {
        let mut wanted: Vec<Wanted> = self
            .partitions
            .iter()
            .map(|(key, remembered)| Wanted {
                key: key.clone(),
                from: remembered.from.clone(),
            })
            .collect();
        if !wanted.is_empty() {
            self.turn = (self.turn + 1) % wanted.len();
            wanted.rotate_left(self.turn);
        }
        wanted
    }
}

fn stated(request: &Request) -> impl Iterator<Item = Wanted> {
    request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| Wanted {
            key: Key {
                topic: topic.topic.clone(),
                topic_id: topic.topic_id,
                partition: partition.partition,
            },
            from: partition.clone(),
        })
    })
}

/// Wraps to 1: 0 opens a session.
fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

#[cfg(test)]
mod tests;

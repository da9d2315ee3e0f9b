//! The leader's side: who follows what from here, and how far each has come.

mod draft;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use machine::replica::nearby;
use model::{BrokerId, Epoch, Offset, TopicPartition};
use parking_lot::{Mutex, RwLock};
use replica::{Answer, Standing};
use tokio::{sync::Notify, time::Instant};

use self::draft::{Draft, Found, Look};
use super::{
    Throttles,
    frame::{Request, Response},
};
use crate::{
    partition::{Config, Handle, Roster, Source, driver::Job, handle::Role},
    peer,
};

/// Pause before a log that could not be read is tried again.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Sessions of the followers of this broker. Cheap to clone.
#[derive(Clone)]
pub(in crate::partition) struct Sessions(Arc<Inner>);

struct Inner {
    this: BrokerId,
    throttles: Arc<Throttles>,
    roster: Roster,
    wait: Duration,
    partition_bytes_max: usize,
    response_bytes_max: usize,
    by_follower: RwLock<HashMap<BrokerId, Arc<Session>>>,
    /// Consumers have read from some follower: watermarks may have to be told at once.
    nearby: AtomicBool,
}

struct Session {
    number: u64,
    follower: BrokerId,
    state: Mutex<State>,
    /// Something to say, or a newer request.
    news: Notify,
}

#[derive(Default)]
struct State {
    /// Broker epoch of the follower, if it said.
    life: Option<i64>,
    entries: HashMap<TopicPartition, Entry>,
    /// Partitions to look at; looked at when the next answer is put together.
    ready: BTreeSet<TopicPartition>,
    /// Partitions whose watermark the follower may not have been told.
    moved: HashSet<TopicPartition>,
    /// Requests so far: an older one that still waits gives way.
    turn: u64,
    /// Partitions whose follower is behind what is in memory.
    cold: BTreeSet<TopicPartition>,
    /// Some of them are being read.
    reading: bool,
    /// What was read, until an answer takes it: as much as one answer holds.
    read: Vec<Found>,
    /// Partitions that could not be read or are held up by a throttle, and when to look at them again.
    resting: BTreeMap<TopicPartition, Instant>,
}

struct Entry {
    standing: Standing,
    /// Records were sent from here and the follower has not said what became of them.
    sent: bool,
    /// The machine knows the standing.
    reported: bool,
    /// Watermark that the follower was told last.
    told: Offset,
}

// === impl Sessions ===

impl Sessions {
    pub(in crate::partition) fn new(
        this: BrokerId,
        config: &Config,
        roster: Roster,
        throttles: Arc<Throttles>,
    ) -> Self {
        Self(Arc::new(Inner {
            this,
            throttles,
            roster,
            wait: Duration::from_millis(config.fetch_wait_ms),
            partition_bytes_max: config.fetch_bytes_max,
            response_bytes_max: config.response_bytes_max,
            by_follower: RwLock::default(),
            nearby: AtomicBool::new(false),
        }))
    }

    /// The log of a partition led here has more.
    pub(in crate::partition) fn grown(&self, partition: TopicPartition, replicas: &[BrokerId]) {
        let by_follower = self.0.by_follower.read();
        for replica in replicas {
            if let Some(session) = by_follower.get(replica) {
                session.look_at(partition);
            }
        }
    }

    /// The watermark of a partition led here moved. Followers that consumers read from are told at once, the
    /// others with the next records, or when a long poll is over.
    pub(in crate::partition) fn watermark_moved(
        &self,
        partition: TopicPartition,
        replicas: &[BrokerId],
    ) {
        let nearby = self.0.nearby.load(Ordering::Relaxed);
        let by_follower = self.0.by_follower.read();
        for replica in replicas {
            if let Some(session) = by_follower.get(replica) {
                session.state.lock().moved.insert(partition);
                if nearby {
                    session.look_at(partition);
                }
            }
        }
    }

    /// This broker began or ceased to lead a partition.
    pub(in crate::partition) fn role_changed(&self, partition: TopicPartition) {
        for session in self.0.by_follower.read().values() {
            session.look_at(partition);
        }
    }

    /// Takes a request in; order among the requests of a session is that of the calls.
    fn take(&self, from: BrokerId, request: Request) -> Option<(Arc<Session>, u64)> {
        let session = if request.full {
            let session = Arc::new(Session {
                number: request.session,
                follower: from,
                state: Mutex::default(),
                news: Notify::new(),
            });
            let before = self.0.by_follower.write().insert(from, session.clone());
            if let Some(before) = before {
                before.state.lock().turn += 1;
                before.news.notify_waiters();
            }
            session
        } else {
            let session = self.0.by_follower.read().get(&from).cloned()?;
            if session.number != request.session {
                return None;
            }
            session
        };
        let turn = {
            let mut state = session.state.lock();
            state.life = request.life;
            for partition in request.removed {
                state.entries.remove(&partition);
            }
            for (partition, standing) in request.changed {
                let told = state
                    .entries
                    .get(&partition)
                    .map_or(Offset::UNKNOWN, |e| e.told);
                let entry = Entry {
                    standing,
                    sent: false,
                    reported: false,
                    told,
                };
                if standing.is_read {
                    self.0.nearby.store(true, Ordering::Relaxed);
                }
                state.entries.insert(partition, entry);
                state.ready.insert(partition);
                state.moved.insert(partition);
            }
            state.turn += 1;
            state.turn
        };
        session.news.notify_waiters();
        // Acknowledgements count at once, whenever the answer is put together.
        self.report(&session);
        Some((session, turn))
    }

    /// Tells the machines of partitions led here how far the follower has come.
    fn report(&self, session: &Session) {
        let mut state = session.state.lock();
        let State {
            life,
            entries,
            ready,
            ..
        } = &mut *state;
        for partition in ready.iter() {
            if let Some(entry) = entries.get_mut(partition)
                && !entry.reported
                && let Some(handle) = self.leading(*partition, entry.standing.epoch)
                && !replica::is_diverging(&handle.0.reader, &entry.standing)
            {
                entry.reported = true;
                let Standing {
                    position, start, ..
                } = entry.standing;
                if let Some(start) = start {
                    let follower = nearby::Follower {
                        id: session.follower,
                        start,
                        end: position.next,
                    };
                    handle
                        .0
                        .nearby
                        .report(entry.standing.epoch, *life, follower);
                }
                handle.0.mailbox.send(Job::FollowerAt {
                    partition: *partition,
                    from: session.follower,
                    epoch: entry.standing.epoch,
                    partition_epoch: entry.standing.partition_epoch.unwrap_or(-1),
                    position: entry.standing.position,
                });
            }
        }
    }

    fn leading(&self, partition: TopicPartition, epoch: Epoch) -> Option<Handle> {
        let handle = self.0.roster.get(partition)?;
        let leads = {
            let now = handle.0.snapshot.read();
            now.role == Role::Leader && now.leader_epoch == epoch
        };
        leads.then_some(handle)
    }

    async fn answer(self, session: Arc<Session>, turn: u64) -> Response {
        let over = tokio::time::sleep(self.0.wait);
        tokio::pin!(over);
        loop {
            let news = session.news.notified();
            tokio::pin!(news);
            // From here on no news is missed.
            news.as_mut().enable();
            self.report(&session);
            let (found, superseded) = self.collect(&session, turn);
            if !found.is_empty() || superseded {
                return Response::Partitions(found);
            }
            tokio::select! {
                () = news => {}
                () = &mut over => return Response::Partitions(self.watermarks(&session)),
            }
        }
    }

    /// What there is to say now, up to the bound of an answer; and whether a newer request waits. Never
    /// waits for the disk: what only that has is read meanwhile and found the next time, so that a slow
    /// or failing log holds up no other.
    fn collect(
        &self,
        session: &Arc<Session>,
        turn: u64,
    ) -> (Vec<(TopicPartition, Epoch, Answer)>, bool) {
        let (read, looks) = {
            let mut state = session.state.lock();
            if state.turn != turn {
                return (Vec::new(), true);
            }
            state.wake();
            let ready = std::mem::take(&mut state.ready);
            let read = std::mem::take(&mut state.read);
            (read, self.looks(session, &state, ready))
        };
        let mut draft = Draft::new(self, read);
        for look in looks {
            draft.take(self, look, Source::Memory);
        }
        // The follower may have moved on while nobody held the lock.
        let mut state = session.state.lock();
        let found = draft.found.into_iter().filter_map(|found| {
            let entry = state.entries.get_mut(&found.partition)?;
            if entry.sent || entry.standing != found.standing {
                return None;
            }
            entry.sent = true;
            if let Answer::Records { high_watermark, .. } = &found.answer {
                entry.told = *high_watermark;
            }
            Some((found.partition, found.standing.epoch, found.answer))
        });
        let found = found.collect();
        let beyond = !draft.beyond.is_empty();
        state.ready.extend(draft.beyond);
        state.cold.extend(draft.cold);
        state.rest(draft.unreadable, READ_AGAIN);
        state.rest(draft.paused, draft.pause);
        let begin = !state.cold.is_empty() && !state.reading && state.read.is_empty();
        state.reading |= begin;
        drop(state);
        if beyond {
            session.news.notify_waiters();
        }
        if begin {
            tokio::spawn(self.clone().read_cold(session.clone()));
        }
        (found, false)
    }

    /// Reads once what is cold, as much as one answer holds.
    async fn read_cold(self, session: Arc<Session>) {
        let looks = {
            let mut state = session.state.lock();
            let cold = std::mem::take(&mut state.cold);
            self.looks(&session, &state, cold)
        };
        let partitions: Vec<_> = looks.iter().map(|look| look.partition).collect();
        let sessions = self.clone();
        let read = self.0.roster.readers().run(move || {
            let mut draft = Draft::new(&sessions, Vec::new());
            for look in looks {
                draft.take(&sessions, look, Source::Disk);
            }
            draft
        });
        let Some(draft) = read.await else {
            // The reader panicked, or the broker stops: the follower is not to wait for it for ever.
            let mut state = session.state.lock();
            state.reading = false;
            state.rest(partitions, READ_AGAIN);
            return;
        };
        {
            let mut state = session.state.lock();
            state.reading = false;
            state.read = draft.found;
            // Looked at when the next answer is put together, and found cold again.
            state.ready.extend(draft.beyond);
            state.rest(draft.unreadable, READ_AGAIN);
            state.rest(draft.paused, draft.pause);
        }
        session.news.notify_waiters();
    }

    /// Those of `partitions` that are led here and whose follower waits for an answer.
    fn looks(
        &self,
        session: &Session,
        state: &State,
        partitions: BTreeSet<TopicPartition>,
    ) -> Vec<Look> {
        let looks = partitions.into_iter().filter_map(|partition| {
            let entry = state.entries.get(&partition).filter(|e| !e.sent)?;
            // Looked at again when the role changes.
            let handle = self.leading(partition, entry.standing.epoch)?;
            Some(Look {
                partition,
                standing: entry.standing,
                told: entry.told,
                throttled: self.is_throttled(&handle, session.follower),
                handle,
            })
        });
        looks.collect()
    }

    fn is_throttled(&self, handle: &Handle, follower: BrokerId) -> bool {
        let settings = handle.0.settings.load();
        settings.throttles_leader(handle.partition(), self.0.this)
            && !handle.0.snapshot.read().isr.contains(&follower)
    }

    /// Watermarks that moved since the followers were told, without records.
    fn watermarks(&self, session: &Session) -> Vec<(TopicPartition, Epoch, Answer)> {
        let mut state = session.state.lock();
        let State { entries, moved, .. } = &mut *state;
        let mut found = Vec::new();
        // One whose answer is under way comes back with the next request.
        for partition in std::mem::take(moved) {
            let Some(entry) = entries.get_mut(&partition).filter(|e| !e.sent) else {
                continue;
            };
            let epoch = entry.standing.epoch;
            let Some(handle) = self.leading(partition, epoch) else {
                // It may be about to lead here.
                moved.insert(partition);
                continue;
            };
            let high_watermark = handle.0.snapshot.read().high_watermark;
            if high_watermark > entry.told {
                entry.told = high_watermark;
                entry.sent = true;
                let answer = Answer::Records {
                    from: entry.standing.position.next,
                    high_watermark,
                    log_start: handle.0.reader.start_offset(),
                    batches: Vec::new(),
                };
                found.push((partition, epoch, answer));
            }
        }
        found
    }
}

impl peer::Handler for Sessions {
    fn call(&self, from: BrokerId, request: Bytes) -> BoxFuture<'static, Bytes> {
        let taken = match Request::decode(request) {
            Ok(request) => self.take(from, request),
            Err(malformed) => {
                tracing::warn!(broker = %from, %malformed, "follower's request is ignored");
                None
            }
        };
        let sessions = self.clone();
        async move {
            match taken {
                Some((session, turn)) => sessions.answer(session, turn).await,
                None => Response::UnknownSession,
            }
            .encode()
        }
        .boxed()
    }
}

// === impl State ===

impl State {
    /// Looks again at what has rested long enough.
    fn wake(&mut self) {
        if self.resting.is_empty() {
            return;
        }
        let now = Instant::now();
        let Self { resting, ready, .. } = self;
        resting.retain(|partition, until| {
            let over = *until <= now;
            if over {
                ready.insert(*partition);
            }
            !over
        });
    }

    fn rest(&mut self, partitions: Vec<TopicPartition>, pause: Duration) {
        let until = Instant::now() + pause;
        self.resting
            .extend(partitions.into_iter().map(|p| (p, until)));
    }
}

// === impl Session ===

impl Session {
    fn look_at(&self, partition: TopicPartition) {
        let mut state = self.state.lock();
        let wanted = state.entries.get(&partition).is_some_and(|e| !e.sent)
            && !state.resting.contains_key(&partition);
        if wanted && state.ready.insert(partition) {
            drop(state);
            self.news.notify_waiters();
        }
    }
}

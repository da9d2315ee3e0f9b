//! Threads that compact logs, the one with the largest new part first.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use commitlog::{Codec, Compaction, Means};
use model::{Offset, TopicPartition, batch::Batch};
use parking_lot::{Condvar, Mutex};

use super::{
    deflate,
    driver::{Job, Mailbox},
    inflate, threads,
};

/// A log to be compacted, and who wants to know.
pub(super) struct Pending {
    pub compaction: Compaction,
    /// Last offset of each idempotent producer.
    pub producers: HashMap<i64, Offset>,
    /// Set when the log is not to be compacted any more; tells this compaction from others.
    pub stop: Arc<AtomicBool>,
    pub mailbox: Mailbox,
    pub partition: TopicPartition,
}

/// Cheap to clone. The threads end with the last clone, once they have done what they are at.
#[derive(Clone)]
pub(super) struct Cleaner(Arc<Owner>);

struct Owner(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    pending: Vec<Pending>,
    /// Logs that a thread is at. One that was stopped ends later than its log may be opened and compacted
    /// anew, and two write the same files.
    busy: HashSet<TopicPartition>,
    /// Threads that there should be, and those that there are, by number.
    wanted: usize,
    alive: BTreeSet<usize>,
    /// Bytes of keys that all threads hold together.
    keys_bytes_max: usize,
    closed: bool,
}

struct Payloads;

impl Cleaner {
    /// `keys_bytes_max`: memory for keys of all threads together.
    pub(super) fn start(threads: usize, keys_bytes_max: usize) -> io::Result<Self> {
        let cleaner = Self(Arc::new(Owner(Arc::new(Queue::default()))));
        cleaner.resize(threads, keys_bytes_max)?;
        Ok(cleaner)
    }

    /// Has so many threads with so much memory from now on. One that is at a log finishes it first.
    pub(super) fn resize(&self, threads: usize, keys_bytes_max: usize) -> io::Result<()> {
        let queue = &self.0.0;
        let missing: Vec<usize> = {
            let mut state = queue.state.lock();
            state.wanted = threads;
            state.keys_bytes_max = keys_bytes_max;
            let missing = (0..threads).filter(|number| !state.alive.contains(number));
            let missing: Vec<usize> = missing.collect();
            state.alive.extend(&missing);
            missing
        };
        queue.filled.notify_all();
        for (n, number) in missing.iter().copied().enumerate() {
            let worker = queue.clone();
            threads::spawn(format!("log-cleaner-{number}"), move || worker.work(number))
                .inspect_err(|_| {
                    let mut state = queue.state.lock();
                    for unborn in missing.iter().skip(n) {
                        state.alive.remove(unborn);
                    }
                })?;
        }
        Ok(())
    }

    /// At most one compaction of a log is pending at a time, which bounds the queue by the number of
    /// logs.
    pub(super) fn run(&self, pending: Pending) {
        let queue = &self.0.0;
        queue.state.lock().pending.push(pending);
        queue.filled.notify_one();
    }
}

impl Queue {
    fn work(&self, number: usize) {
        while let Some((pending, keys_bytes_max)) = self.next(number) {
            // One that was stopped while it waited touches nothing, and ends as every other does.
            let stopped = pending.stop.load(Ordering::Relaxed);
            let means = Means {
                codec: &Payloads,
                keys_bytes_max,
                producers: pending.producers,
                stop: &pending.stop,
            };
            let outcome = if stopped {
                Ok(None)
            } else {
                pending.compaction.run(&means)
            };
            self.state.lock().busy.remove(&pending.partition);
            self.filled.notify_all();
            pending.mailbox.send(Job::Compacted {
                partition: pending.partition,
                stop: pending.stop,
                outcome,
            });
        }
    }

    /// The next log and the memory for its keys; `None` when this thread is not wanted any more.
    fn next(&self, number: usize) -> Option<(Pending, usize)> {
        let mut state = self.state.lock();
        loop {
            if state.closed || number >= state.wanted {
                state.alive.remove(&number);
                return None;
            }
            let dirtiest = state
                .pending
                .iter()
                .enumerate()
                .filter(|(_, pending)| !state.busy.contains(&pending.partition))
                .max_by(|(_, a), (_, b)| {
                    let ratio = |p: &Pending| p.compaction.dirty_ratio();
                    ratio(a).total_cmp(&ratio(b))
                })
                .map(|(i, _)| i);
            if let Some(i) = dirtiest {
                let pending = state.pending.swap_remove(i);
                state.busy.insert(pending.partition);
                return Some((pending, state.keys_bytes_max / state.wanted.max(1)));
            }
            self.filled.wait(&mut state);
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.state.lock().closed = true;
        self.0.filled.notify_all();
    }
}

impl Codec for Payloads {
    fn inflate(&self, batch: &Batch) -> io::Result<Bytes> {
        match batch.header.compression() {
            0 => Ok(batch.payload()),
            codec => {
                let bytes_max = inflate::bytes_max(batch.bytes.len());
                inflate::inflate(codec, &batch.payload(), bytes_max).map_err(io::Error::other)
            }
        }
    }

    fn deflate(&self, codec: u8, payload: &[u8]) -> io::Result<Bytes> {
        deflate::deflate(codec, deflate::Levels::default(), payload)
    }
}

//! Threads that compact logs, the one with the largest new part first.

use std::{
    collections::{HashMap, HashSet},
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
    closed: bool,
}

struct Payloads;

impl Cleaner {
    /// `keys_bytes_max`: memory of each thread for keys.
    pub(super) fn start(threads: usize, keys_bytes_max: usize) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        for number in 0..threads {
            let queue = queue.clone();
            threads::spawn(format!("log-cleaner-{number}"), move || {
                queue.work(keys_bytes_max);
            })?;
        }
        Ok(Self(Arc::new(Owner(queue))))
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
    fn work(&self, keys_bytes_max: usize) {
        while let Some(pending) = self.next() {
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

    fn next(&self) -> Option<Pending> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
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
                return Some(pending);
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
        deflate::deflate(codec, payload)
    }
}

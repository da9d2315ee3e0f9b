//! The thread that reads logs again in the background, one at a time and no faster than it is told, to
//! find what a disk has changed before it is the last copy.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use commitlog::Scrub;
use model::TopicPartition;
use parking_lot::{Condvar, Mutex};

use super::{
    driver::{Job, Mailbox},
    metrics::Metrics,
    threads,
};

/// A log to be read, and who wants to know.
pub(super) struct Pending {
    pub scrub: Scrub,
    /// Set when the log is gone; tells this scrub from others.
    pub stop: Arc<AtomicBool>,
    pub mailbox: Mailbox,
    pub partition: TopicPartition,
}

/// Cheap to clone. The thread ends with the last clone, in the middle of a log if need be.
#[derive(Clone)]
pub(super) struct Scrubber(Arc<Owner>);

struct Owner(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Pending>,
    closed: bool,
}

impl Scrubber {
    pub(super) fn start(bytes_per_second: u64, metrics: Metrics) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let works = queue.clone();
        threads::spawn("log-scrubber".to_owned(), move || {
            works.work(bytes_per_second.max(1), &metrics);
        })?;
        Ok(Self(Arc::new(Owner(queue))))
    }

    /// At most one scrub of a log is pending at a time, which bounds the queue by the number of logs.
    pub(super) fn run(&self, pending: Pending) {
        let queue = &self.0.0;
        queue.state.lock().pending.push_back(pending);
        queue.changed.notify_one();
    }
}

impl Queue {
    fn work(&self, bytes_per_second: u64, metrics: &Metrics) {
        // When what was read so far may have been read.
        let mut paid = Instant::now();
        while let Some(pending) = self.next() {
            let outcome = pending.scrub.run(|bytes| {
                metrics.scrubbed(bytes);
                let nanos = u128::from(bytes as u64) * 1_000_000_000 / u128::from(bytes_per_second);
                let cost = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
                let due = std::mem::replace(&mut paid, Instant::now()).max(Instant::now());
                paid = due.checked_add(cost).unwrap_or(due);
                self.wait_until(due) && !pending.stop.load(Ordering::Relaxed)
            });
            pending.mailbox.send(Job::Scrubbed {
                partition: pending.partition,
                stop: pending.stop,
                outcome,
            });
        }
    }

    /// False when the broker stops meanwhile.
    fn wait_until(&self, due: Instant) -> bool {
        let mut state = self.state.lock();
        while !state.closed && Instant::now() < due {
            self.changed.wait_until(&mut state, due);
        }
        !state.closed
    }

    fn next(&self) -> Option<Pending> {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(pending) = state.pending.pop_front() {
                return Some(pending);
            }
            self.changed.wait(&mut state);
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.state.lock().closed = true;
        self.0.changed.notify_all();
    }
}

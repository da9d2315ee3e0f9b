//! Threads that wait for the disk so that drivers do not. Syncs of several logs at once share the
//! journal's commits.

use std::{collections::VecDeque, sync::Arc};

use commitlog::SyncTask;
use model::TopicPartition;
use parking_lot::{Condvar, Mutex};

use super::{
    driver::{Job, Mailbox},
    threads,
};

/// A sync to be done, and who wants to know.
pub(super) struct Pending {
    pub task: SyncTask,
    pub mailbox: Mailbox,
    pub partition: TopicPartition,
}

/// Cheap to clone. The threads end with the last clone.
#[derive(Clone)]
pub(super) struct Syncers(Arc<Owner>);

struct Owner(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Pending>,
    closed: bool,
}

impl Syncers {
    pub(super) fn start(threads: usize) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::default());
        for number in 0..threads {
            let queue = queue.clone();
            threads::spawn(format!("log-sync-{number}"), move || queue.work())?;
        }
        Ok(Self(Arc::new(Owner(queue))))
    }

    /// At most one sync of a log is pending at a time, which bounds the queue by the number of logs.
    pub(super) fn run(&self, pending: Pending) {
        let queue = &self.0.0;
        queue.state.lock().pending.push_back(pending);
        queue.filled.notify_one();
    }
}

impl Queue {
    fn work(&self) {
        while let Some(pending) = self.next() {
            pending.mailbox.send(Job::Synced {
                partition: pending.partition,
                outcome: pending.task.run(),
            });
        }
    }

    fn next(&self) -> Option<Pending> {
        let mut state = self.state.lock();
        loop {
            if let Some(pending) = state.pending.pop_front() {
                return Some(pending);
            }
            if state.closed {
                return None;
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

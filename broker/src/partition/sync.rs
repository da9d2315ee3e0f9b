//! Threads that wait for the disk so that drivers do not. A few logs are synced each by itself, several at
//! once; when many wait, all of them with one call.

use std::{collections::VecDeque, sync::Arc};

use commitlog::{FileSystem, SyncTask};
use model::TopicPartition;
use parking_lot::{Condvar, Mutex};

use super::{
    driver::{Job, Mailbox},
    threads,
};

/// Logs waiting at once that are synced together: as many take longer one by one.
const TOGETHER_MIN: usize = 32;

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

struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    /// That of all logs.
    file_system: Arc<FileSystem>,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Pending>,
    /// Many are being synced: what comes meanwhile waits, to be the next many.
    together: bool,
    closed: bool,
}

enum Work {
    One(Pending),
    Many(Vec<Pending>),
}

impl Syncers {
    pub(super) fn start(threads: usize, file_system: Arc<FileSystem>) -> std::io::Result<Self> {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            filled: Condvar::new(),
            file_system,
        });
        for number in 0..threads {
            let queue = queue.clone();
            threads::spawn(format!("log-sync-{number}"), move || queue.work())?;
        }
        Ok(Self(Arc::new(Owner(queue))))
    }

    /// At most one sync of a log is pending at a time, which bounds the queue by the number of logs.
    pub(super) fn run(&self, pending: Pending) {
        let queue = &self.0.0;
        let mut state = queue.state.lock();
        state.pending.push_back(pending);
        if !state.together {
            queue.filled.notify_one();
        }
    }
}

impl Queue {
    fn work(&self) {
        while let Some(work) = self.next() {
            match work {
                Work::One(Pending {
                    task,
                    mailbox,
                    partition,
                }) => mailbox.send(Job::Synced {
                    partition,
                    outcome: task.run(),
                }),
                Work::Many(many) => {
                    self.run_all(many);
                    self.state.lock().together = false;
                    self.filled.notify_all();
                }
            }
        }
    }

    fn run_all(&self, many: Vec<Pending>) {
        let mut tasks = Vec::with_capacity(many.len());
        let mut owners = Vec::with_capacity(many.len());
        for pending in many {
            tasks.push(pending.task);
            owners.push((pending.mailbox, pending.partition));
        }
        let outcomes = commitlog::run_all(tasks, &self.file_system);
        for ((mailbox, partition), outcome) in owners.into_iter().zip(outcomes) {
            mailbox.send(Job::Synced { partition, outcome });
        }
    }

    fn next(&self) -> Option<Work> {
        let mut state = self.state.lock();
        loop {
            if !state.together {
                if state.pending.len() >= TOGETHER_MIN && self.file_system.is_synced_whole() {
                    state.together = true;
                    return Some(Work::Many(state.pending.drain(..).collect()));
                }
                if let Some(pending) = state.pending.pop_front() {
                    return Some(Work::One(pending));
                }
                if state.closed {
                    return None;
                }
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

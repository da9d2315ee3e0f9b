//! Makes appended messages durable: one thread syncs what all drivers have written since its last
//! round, then says so to the publishers. No timer: a round begins when the one before is over.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use commitlog::SyncTask;

use super::outbox::Outbox;
use super::links::Links;
use super::protocol::SessionKey;

/// One log to sync, and the publishes that wait for it.
pub(crate) struct Job {
    pub(crate) task: SyncTask,
    pub(crate) publishes: Vec<(SessionKey, u64)>,
}

/// Queues jobs; dropping all of them ends the thread.
#[derive(Clone)]
pub(crate) struct Syncer(Sender<Job>);

impl Syncer {
    pub(crate) fn start(links: Arc<Links>) -> std::io::Result<Self> {
        let (sender, jobs) = mpsc::channel();
        thread::Builder::new()
            .name("queue-sync".to_owned())
            .spawn(move || run(&jobs, &links))?;
        Ok(Self(sender))
    }

    /// Gives the job back when the thread has ended.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Job> {
        self.0.send(job).map_err(|refused| refused.0)
    }
}

fn run(jobs: &Receiver<Job>, links: &Links) {
    while let Ok(first) = jobs.recv() {
        let mut outbox = Outbox::default();
        let round = std::iter::once(first).chain(jobs.try_iter());
        let round: Vec<Job> = round.collect();
        for job in round {
            let synced = job.task.run();
            if let Err(error) = &synced {
                // The log is poisoned: its queue refuses from now on.
                tracing::error!(%error, "sync of a queue's log failed");
            }
            for (session, publish) in job.publishes {
                if synced.is_ok() {
                    outbox.confirm(session, publish);
                } else {
                    outbox.refuse(session, publish);
                }
            }
        }
        links.answer(&mut outbox);
    }
}

//! Makes appended messages durable: one thread syncs what all drivers have written since its last
//! round, then says so to the publishers. No timer: a round begins when the one before is over.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::thread;

use commitlog::SyncTask;

use super::classic::Input;
use super::links::Links;
use super::outbox::Outbox;
use super::protocol::{QueueId, SessionKey};

/// One log to sync, and the publishes that wait for it.
pub(crate) struct Job {
    pub(crate) queue: QueueId,
    pub(crate) task: SyncTask,
    pub(crate) waiting: Vec<Unsynced>,
}

/// A publish that is confirmed once the disk has it.
pub(crate) struct Unsynced {
    pub(crate) session: SessionKey,
    pub(crate) publish: u64,
    pub(crate) position: u64,
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
    pub(crate) fn submit(&self, job: Job) -> Result<(), Box<Job>> {
        self.0.send(job).map_err(|refused| Box::new(refused.0))
    }
}

fn run(jobs: &Receiver<Job>, links: &Links) {
    while let Ok(first) = jobs.recv() {
        let mut outbox = Outbox::default();
        let round = std::iter::once(first).chain(jobs.try_iter());
        let round: Vec<Job> = round.collect();
        for job in round {
            match job.task.run() {
                Ok(_) => {
                    for unsynced in job.waiting {
                        outbox.confirm(unsynced.session, unsynced.publish);
                    }
                }
                Err(error) => not_synced(links, job.queue, job.waiting, error, &mut outbox),
            }
        }
        links.answer(&mut outbox);
    }
}

/// Tells the driver: the log is poisoned, its queue has to open it anew. Or the queue was deleted
/// meanwhile, with its files, and nothing is wrong.
fn not_synced(
    links: &Links,
    queue: QueueId,
    unsynced: Vec<Unsynced>,
    error: commitlog::Error,
    outbox: &mut Outbox,
) {
    let input = Input::NotSynced {
        queue,
        unsynced,
        error,
    };
    let driver = links.drivers().get(links.driver_of(queue));
    let refused = match driver {
        Some(driver) => driver.send(input).err().map(|SendError(input)| input),
        None => Some(input),
    };
    if let Some(Input::NotSynced { unsynced, .. }) = refused {
        for unsynced in unsynced {
            outbox.refuse(unsynced.session, unsynced.publish);
        }
    }
}

//! The write-ahead log of a node, shared by all its groups: entries, votes, truncations and purges
//! are records in one queue, and one write with one `fdatasync` covers all that wait (group commit).
//!
//! ```text
//! store -> queue -> writer thread: gather, pwritev, fdatasync, then every callback
//! ```
//! Files are allocated at once, filled, and used again when no group needs an entry in them. The
//! groups' indexes ([`log::Log`]) say what is live; a file that only a few old entries hold is freed
//! by writing those again.
//!
//! After a failed write or sync the log is poisoned: everything fails until the process starts anew
//! and finds out by reading what is on disk.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::GroupId;
use log::Log;
pub(super) use record::{Kind, Record};

mod file;
pub(super) mod log;
mod record;
mod recovery;
#[cfg(test)]
mod tests;
mod writer;

/// Bounds of the log on disk.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Size of one file; a record that does not fit into one is refused.
    pub(super) file_bytes: usize,
    /// More files than this, and the oldest is freed by writing its live entries again.
    pub(super) files_max: usize,
}

/// Called by the writer thread once the records are durable, or will never be.
pub(super) type Done = Box<dyn FnOnce(io::Result<()>) + Send>;

enum Request {
    Write { records: Vec<Record>, done: Done },
    Stop,
}

type Logs = RwLock<BTreeMap<GroupId, Arc<Mutex<Log>>>>;
/// Files that hold live entries or are being written, by sequence number.
type Files = RwLock<BTreeMap<u64, Arc<File>>>;

/// Handle to the log. The writer ends when all are gone or with [`Wal::stop`].
#[derive(Clone)]
pub(super) struct Wal {
    /// Unbounded: what waits is bounded by the groups, which have one entry in flight each. Not so on a
    /// leader whose disk is full: the other members commit its entries, and they gather here.
    requests: mpsc::Sender<Request>,
    logs: Arc<Logs>,
    files: Arc<Files>,
    failed: watch::Receiver<bool>,
    stopping: Arc<AtomicBool>,
}

impl Wal {
    /// Recovers what is in `dir` and starts the writer. `keep` is released when it has ended.
    pub(super) fn open(
        dir: &Path,
        config: Config,
        keep: impl Send + 'static,
    ) -> io::Result<(Self, JoinHandle<()>)> {
        let recovered = recovery::recover(dir, &config)?;
        let logs: Arc<Logs> = Arc::new(RwLock::new(
            recovered
                .logs
                .into_iter()
                .map(|(group, log)| (group, Arc::new(Mutex::new(log))))
                .collect(),
        ));
        let files: Arc<Files> = Arc::new(RwLock::new(recovered.files));
        let (requests, waiting) = mpsc::channel();
        let (failing, failed) = watch::channel(false);
        let stopping = Arc::new(AtomicBool::new(false));
        let mut writer = writer::Writer::new(
            dir,
            config,
            Arc::clone(&logs),
            Arc::clone(&files),
            recovered.end,
            Arc::clone(&stopping),
        )?;
        let thread = std::thread::Builder::new()
            .name("wal".to_owned())
            .spawn(move || {
                writer.run(&waiting, &failing);
                drop(keep);
            })?;
        let wal = Self {
            requests,
            logs,
            files,
            failed,
            stopping,
        };
        Ok((wal, thread))
    }

    /// The index of a group, empty if nothing was ever written for it.
    pub(super) fn log(&self, group: GroupId) -> Arc<Mutex<Log>> {
        Arc::clone(self.logs.write().entry(group).or_default())
    }

    /// Groups that the log has something of.
    #[cfg(test)]
    pub(super) fn groups(&self) -> Vec<GroupId> {
        self.logs.read().keys().copied().collect()
    }

    /// Queues records; `done` runs on the writer's thread.
    pub(super) fn write(&self, records: Vec<Record>, done: Done) {
        let request = Request::Write { records, done };
        if let Err(mpsc::SendError(Request::Write { done, .. })) = self.requests.send(request) {
            done(Err(stopped()));
        }
    }

    /// As [`Wal::write`], and waits.
    pub(super) async fn write_durably(&self, records: Vec<Record>) -> io::Result<()> {
        let (done, outcome) = tokio::sync::oneshot::channel();
        self.write(
            records,
            Box::new(move |result| {
                // Whoever waited may be gone.
                let _gone = done.send(result);
            }),
        );
        outcome.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Ends the writer once everything queued before is durable.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        // It may have ended already.
        let _ended = self.requests.send(Request::Stop);
    }

    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// Turns true when the log is poisoned: the process must stop.
    pub(super) fn failed(&self) -> watch::Receiver<bool> {
        self.failed.clone()
    }
}

/// The file system has no room or no quota left: it may have again.
pub(super) fn is_out_of_space(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

fn stopped() -> io::Error {
    io::Error::other("the write-ahead log has stopped")
}

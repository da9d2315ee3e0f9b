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
//! The next file is made before it is needed. While the disk has no room for it, the log still takes
//! what fits into the present one, and says so ([`room::Room`]): the groups keep away what can wait.
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
use room::{Backlog, Room};

mod file;
pub(super) mod log;
mod record;
mod recovery;
pub(super) mod room;
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
    /// While more bytes than this wait to be written, proposals wait.
    pub(super) waiting_bytes_max: usize,
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
    /// Unbounded: its content is bounded by [`Config::waiting_bytes_max`] and one entry more of each group
    /// that is led here ([`Wal::admits`]), and by the appends that leaders have in flight to this broker.
    requests: mpsc::Sender<Request>,
    backlog: Arc<Backlog>,
    room: watch::Receiver<Room>,
    waiting_bytes_max: usize,
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
        let (room, room_seen) = watch::channel(Room::Ample);
        let backlog = Arc::new(Backlog::default());
        let waiting_bytes_max = config.waiting_bytes_max;
        let stopping = Arc::new(AtomicBool::new(false));
        let mut writer = writer::Writer::new(
            dir,
            config,
            Arc::clone(&logs),
            Arc::clone(&files),
            recovered.end,
            Arc::clone(&stopping),
            (room, Arc::clone(&backlog)),
        )?;
        let thread = std::thread::Builder::new()
            .name("wal".to_owned())
            .spawn(move || {
                writer.run(&waiting, &failing);
                drop(keep);
            })?;
        let wal = Self {
            requests,
            backlog,
            room: room_seen,
            waiting_bytes_max,
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
        self.backlog.add(bytes_of(&records));
        let request = Request::Write { records, done };
        if let Err(mpsc::SendError(Request::Write { done, .. })) = self.requests.send(request) {
            done(Err(stopped()));
        }
    }

    /// What the disk has left for the log.
    pub(super) fn room(&self) -> watch::Receiver<Room> {
        self.room.clone()
    }

    /// Whether a group may begin a new entry here. Waits while too much does: the other members of a group
    /// commit without this disk, and nothing else would hold a leader back. False when there is no room:
    /// the metadata may have what is left of the last file.
    pub(super) async fn admits(&self, group: GroupId) -> bool {
        let mut room = self.room.clone();
        loop {
            let drained = self.backlog.drained.notified();
            tokio::pin!(drained);
            // Before the look at the backlog: what drains after it is not missed.
            drained.as_mut().enable();
            match *room.borrow_and_update() {
                Room::Ample => {}
                Room::Last if group == GroupId::METADATA => {}
                Room::Last | Room::Nothing => return false,
            }
            if self.backlog.bytes() <= self.waiting_bytes_max {
                return true;
            }
            tokio::select! {
                () = drained => {}
                changed = room.changed() => {
                    if changed.is_err() {
                        // The writer has ended: it refuses.
                        return true;
                    }
                }
            }
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

/// Bytes that records take in a file.
fn bytes_of(records: &[Record]) -> usize {
    records.iter().map(Record::len).sum()
}

fn stopped() -> io::Error {
    io::Error::other("the write-ahead log has stopped")
}

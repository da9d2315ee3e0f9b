//! A group's machine as openraft sees it: applies committed entries, answers proposers, takes and
//! installs snapshots, and tells the machine when it begins and ceases to lead.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::{Stream, StreamExt};
use openraft::OptionalSend;
use openraft::storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine, Snapshot};
use openraft::type_config::alias::SnapshotOf;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::halt::Halt;
use super::snapshot::{Preamble, Shelf, Stored};
use super::types::{
    EntryPayload, LogId, Replies, SnapshotMeta, StoredMembership, TypeConfig, node_id, term,
};
use super::wal::is_out_of_space;
use super::wal::log::Log;
use super::{Entry, GroupId, StateMachine, UnknownCommand, codec};
use model::BrokerId;

/// Between two tries to write a snapshot to a full disk.
const ROOM_AGAIN: Duration = Duration::from_secs(5);

/// The machine with what openraft keeps beside it. Shared with the watcher of leadership.
#[derive(Clone)]
pub(super) struct Applier(Arc<Shared>);

/// What an applier stands on.
pub(super) struct Parts {
    pub(super) group: GroupId,
    pub(super) this: BrokerId,
    pub(super) log: Arc<Mutex<Log>>,
    pub(super) shelf: Arc<Shelf>,
    /// Told why, when the machine cannot go on.
    pub(super) halt: Halt,
}

struct Shared {
    parts: Parts,
    state: Mutex<State>,
    applied: watch::Sender<u64>,
    /// The group stops: no snapshot is tried again.
    stopped: AtomicBool,
}

struct State {
    machine: Box<dyn StateMachine>,
    applied: Option<LogId>,
    membership: StoredMembership,
    /// Highest time that an entry carried.
    clock_ms: i64,
    /// Term in which the machine was told that it leads.
    leading: Option<u64>,
}

impl Applier {
    /// Brings the machine to the group's snapshot, if there is one.
    /// Reads files.
    pub(super) fn open(parts: Parts, machine: Box<dyn StateMachine>) -> io::Result<Self> {
        let mut state = State {
            machine,
            applied: None,
            membership: StoredMembership::default(),
            clock_ms: 0,
            leading: None,
        };
        if let Some(stored) = parts.shelf.get(parts.group)? {
            state.restore(&stored)?;
        }
        let applied = state.applied.map_or(0, |id| id.index);
        Ok(Self(Arc::new(Shared {
            parts,
            state: Mutex::new(state),
            applied: watch::channel(applied).0,
            stopped: AtomicBool::new(false),
        })))
    }

    /// The group stops on this broker.
    pub(super) fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Leadership of an earlier term is over.
    pub(super) fn follow(&self) {
        let mut state = self.0.state.lock();
        if let Some(term) = state.leading.take() {
            state.machine.leadership(false, term);
        }
    }

    /// Index of the last entry applied here.
    pub(super) fn applied(&self) -> watch::Receiver<u64> {
        self.0.applied.subscribe()
    }

    /// The highest time that an applied entry carried.
    pub(super) fn clock_ms(&self) -> i64 {
        self.0.state.lock().clock_ms
    }

    fn leads_in(&self, entry_term: u64) -> bool {
        let Parts { log, this, .. } = &self.0.parts;
        log.lock().vote().is_some_and(|vote| {
            vote.committed
                && vote.leader_id.term == entry_term
                && vote.leader_id.voted_for == node_id(*this)
        })
    }

    fn apply_one(&self, entry: super::types::Entry) -> io::Result<Replies> {
        let entry_term = term(&entry.log_id);
        let leads = self.leads_in(entry_term);
        let mut state = self.0.state.lock();
        if leads && state.leading != Some(entry_term) {
            state.leading = Some(entry_term);
            state.machine.leadership(true, entry_term);
        }
        let replies = match entry.payload {
            EntryPayload::Blank => Replies::default(),
            EntryPayload::Membership(membership) => {
                state.membership = StoredMembership::new(Some(entry.log_id), membership);
                Replies::default()
            }
            EntryPayload::Normal(payload) => {
                let (now_ms, commands) = codec::decode_commands(&payload).map_err(|malformed| {
                    let unknown = UnknownCommand(malformed.to_string());
                    self.halt(entry.log_id.index, &unknown)
                })?;
                state.clock_ms = state.clock_ms.max(now_ms);
                let entry = Entry {
                    index: entry.log_id.index,
                    term: entry_term,
                    now_ms: state.clock_ms,
                    commands,
                    leading: state.leading.is_some(),
                };
                let applied = state.machine.apply(&entry);
                let replies = applied.map_err(|unknown| self.halt(entry.index, &unknown))?;
                debug_assert_eq!(replies.len(), entry.commands.len(), "one reply per command");
                Replies(replies)
            }
        };
        state.applied = Some(entry.log_id);
        Ok(replies)
    }

    /// The state here has come apart from the entries: nothing more may be applied, or answered.
    fn halt(&self, index: u64, unknown: &UnknownCommand) -> io::Error {
        let group = self.0.parts.group.0;
        let why = format!(
            "entry {index} of raft group {group} holds a command that this build does not know ({unknown}); start this broker with the newest build that the cluster runs"
        );
        self.0.parts.halt.because(why.clone());
        io::Error::other(why)
    }

    fn capture(&self) -> Builder {
        let state = self.0.state.lock();
        Builder {
            applier: self.clone(),
            captured: Mutex::new(Some((
                Preamble {
                    meta: SnapshotMeta {
                        last_log_id: state.applied,
                        last_membership: state.membership.clone(),
                    },
                    clock_ms: state.clock_ms,
                },
                state.machine.snapshot(),
            ))),
        }
    }
}

impl State {
    fn restore(&mut self, stored: &Stored) -> io::Result<()> {
        let (preamble, mut reader) = stored.read()?;
        self.machine.restore(&mut reader)?;
        self.applied = preamble.meta.last_log_id;
        self.membership = preamble.meta.last_membership;
        self.clock_ms = preamble.clock_ms;
        Ok(())
    }
}

impl RaftStateMachine<TypeConfig> for Applier {
    type SnapshotData = Stored;
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), io::Error> {
        let state = self.0.state.lock();
        Ok((state.applied, state.membership.clone()))
    }

    async fn apply<Strm>(&mut self, mut entries: Strm) -> Result<(), io::Error>
    where
        Strm: Stream<Item = Result<EntryResponder<TypeConfig>, io::Error>> + Unpin + OptionalSend,
    {
        while let Some(item) = entries.next().await {
            let (entry, responder) = item?;
            let index = entry.log_id.index;
            let replies = self.apply_one(entry)?;
            self.0.applied.send_replace(index);
            if let Some(responder) = responder {
                responder.send(replies);
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        self.capture()
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: Stored,
    ) -> Result<(), io::Error> {
        let applier = self.clone();
        let meta = meta.clone();
        blocking(move || {
            let shared = &applier.0;
            let mut state = shared.state.lock();
            state.restore(&snapshot)?;
            if state.applied != meta.last_log_id {
                return Err(io::Error::other("the snapshot is not the one announced"));
            }
            shared.parts.shelf.put(shared.parts.group, &snapshot)?;
            if let Some(last) = state.applied {
                shared.applied.send_replace(last.index);
            }
            Ok(())
        })
        .await
    }

    async fn get_current_snapshot(
        &mut self,
    ) -> Result<Option<SnapshotOf<TypeConfig, Stored>>, io::Error> {
        let shared = Arc::clone(&self.0);
        blocking(move || {
            let Some(stored) = shared.parts.shelf.get(shared.parts.group)? else {
                return Ok(None);
            };
            let meta = stored.read()?.0.meta;
            Ok(Some(Snapshot {
                meta,
                snapshot: stored,
            }))
        })
        .await
    }
}

/// A captured state, to be written away from the path of entries.
pub(super) struct Builder {
    applier: Applier,
    /// In a mutex only to be `Sync`, which openraft asks for.
    captured: Mutex<Option<(Preamble, super::Snapshot)>>,
}

impl RaftSnapshotBuilder<TypeConfig> for Builder {
    type SnapshotData = Stored;

    async fn build_snapshot(&mut self) -> Result<SnapshotOf<TypeConfig, Stored>, io::Error> {
        let captured = self
            .captured
            .lock()
            .take()
            .ok_or_else(|| io::Error::other("this snapshot was built already"))?;
        let shared = Arc::clone(&self.applier.0);
        blocking(move || shared.write(&captured)).await
    }
}

impl Shared {
    /// Writes a snapshot; while the disk is full, again and again. To give up would stop the group for
    /// good, and it can do without: only its log grows.
    fn write(
        &self,
        (preamble, state): &(Preamble, super::Snapshot),
    ) -> io::Result<SnapshotOf<TypeConfig, Stored>> {
        loop {
            match self.write_once(preamble, state) {
                Ok(snapshot) => {
                    return Ok(Snapshot {
                        meta: preamble.meta.clone(),
                        snapshot,
                    });
                }
                Err(error) => {
                    if !is_out_of_space(&error) || self.stopped.load(Ordering::Relaxed) {
                        return Err(error);
                    }
                    let group = self.parts.group.0;
                    tracing::error!(group, %error, "no room for a snapshot, and the log grows meanwhile; free space on the disk");
                    std::thread::sleep(ROOM_AGAIN);
                }
            }
        }
    }

    fn write_once(&self, preamble: &Preamble, state: &super::Snapshot) -> io::Result<Stored> {
        let Parts { group, shelf, .. } = &self.parts;
        // A full disk may have no room for the name of a file either.
        let mut stored = shelf.temporary(*group)?;
        let written = stored.write(preamble, state);
        match written.and_then(|()| shelf.put(*group, &stored)) {
            Ok(()) => Ok(stored),
            Err(error) => {
                stored.discard();
                Err(error)
            }
        }
    }
}

/// Runs file work on a thread for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}

//! What stops a group against its will, and the broker with it: a member that has stopped neither votes
//! nor applies, and the others cannot tell it from a slow one. A broker that starts again finds out from
//! its disk what it has. That goes for a queue shard as for the metadata: the broker is the unit that
//! fails, is seen to, and is restarted.

use openraft::errors::Fatal;
use openraft::rt::WatchReceiver;
use tokio::sync::watch;

use super::{GroupId, Raft};

/// Why the broker must stop; the first reason stays.
#[derive(Clone)]
pub(super) struct Halt(watch::Sender<Option<String>>);

impl Default for Halt {
    fn default() -> Self {
        Self(watch::channel(None).0)
    }
}

impl Halt {
    pub(super) fn because(&self, why: String) {
        self.0.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(why);
            first
        });
    }

    pub(super) fn seen(&self) -> watch::Receiver<Option<String>> {
        self.0.subscribe()
    }
}

/// Watches one group for as long as it runs.
pub(super) async fn watch(group: GroupId, raft: Raft, halt: Halt) {
    // Changes rarely, and ends with the group.
    let mut running = raft.server_metrics();
    while running.changed().await.is_ok() {}
    let state = raft.metrics().borrow_watched().running_state.clone();
    let why = match state {
        Err(Fatal::Stopped) => return,
        Err(fatal) => fatal.to_string(),
        Ok(()) => "it panicked".to_owned(),
    };
    halt.because(format!(
        "raft group {} of this broker has stopped ({why}); check the disk, then start the broker again",
        group.0
    ));
}

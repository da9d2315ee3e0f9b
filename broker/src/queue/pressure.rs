//! Whether publishers have to wait: some broker is short of memory for bodies, or of disk.
//!
//! As in RabbitMQ a shortage anywhere holds publishers back everywhere, and only publishers: a session
//! that has published since the shortage began is blocked, one that consumes goes on. A shortage of
//! memory is told by `budget`, one of disk by a look at the data directory every few seconds; the other
//! brokers hear of it through `remote`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use model::BrokerId;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::budget::Budget;
use super::classic::Input;
use super::links::Links;
use super::metrics::Metrics;

/// Between two looks at the free space of the disk.
const DISK_LOOK_EVERY: Duration = Duration::from_secs(2);

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    Memory,
    Disk,
    Both,
}

impl Shortage {
    /// RabbitMQ's reason in `connection.blocked`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "low on memory",
            Self::Disk => "low on disk",
            Self::Both => "low on memory & disk",
        }
    }

    /// Memory, disk.
    fn new(memory: bool, disk: bool) -> Option<Self> {
        match (memory, disk) {
            (false, false) => None,
            (true, false) => Some(Self::Memory),
            (false, true) => Some(Self::Disk),
            (true, true) => Some(Self::Both),
        }
    }

    fn has_memory(self) -> bool {
        self != Self::Disk
    }

    fn has_disk(self) -> bool {
        self != Self::Memory
    }

    /// On the mesh: bit 0 memory, bit 1 disk.
    pub(crate) fn to_bits(shortage: Option<Self>) -> u8 {
        shortage.map_or(0, |shortage| {
            u8::from(shortage.has_memory()) | (u8::from(shortage.has_disk()) << 1)
        })
    }

    pub(crate) fn of_bits(bits: u8) -> Option<Self> {
        Self::new(bits & 1 != 0, bits & 2 != 0)
    }
}

/// The shortages of all brokers, as this one knows them.
pub(crate) struct Pressure {
    known: Mutex<Known>,
    /// This broker's own.
    here: watch::Sender<Option<Shortage>>,
    /// Anybody's.
    anywhere: watch::Sender<Option<Shortage>>,
    /// Raised when a shortage begins and when it ends: odd while there is one.
    episode: AtomicU64,
}

#[derive(Default)]
struct Known {
    here: Option<Shortage>,
    others: BTreeMap<BrokerId, Shortage>,
}

impl Default for Pressure {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            here: watch::channel(None).0,
            anywhere: watch::channel(None).0,
            episode: AtomicU64::new(0),
        }
    }
}

impl Pressure {
    /// Number of the shortage that there is now, if any.
    pub(crate) fn episode(&self) -> Option<u64> {
        let episode = self.episode.load(Ordering::Relaxed);
        (episode % 2 == 1).then_some(episode)
    }

    pub(crate) fn anywhere(&self) -> watch::Receiver<Option<Shortage>> {
        self.anywhere.subscribe()
    }

    pub(crate) fn here(&self) -> watch::Receiver<Option<Shortage>> {
        self.here.subscribe()
    }

    pub(crate) fn set_here(&self, shortage: Option<Shortage>) {
        let mut known = self.known.lock();
        if known.here == shortage {
            return;
        }
        match shortage {
            Some(shortage) => tracing::warn!(
                reason = shortage.as_str(),
                "publishers of queues wait until there is room again"
            ),
            None => tracing::info!("publishers of queues may go on"),
        }
        known.here = shortage;
        self.here.send_replace(shortage);
        self.combine(&known);
    }

    /// Another broker has said so, or does not answer any more (`None`).
    pub(crate) fn set_other(&self, broker: BrokerId, shortage: Option<Shortage>) {
        let mut known = self.known.lock();
        match shortage {
            Some(shortage) => known.others.insert(broker, shortage),
            None => known.others.remove(&broker),
        };
        self.combine(&known);
    }

    fn combine(&self, known: &Known) {
        let all = || known.here.into_iter().chain(known.others.values().copied());
        let now = Shortage::new(
            all().any(Shortage::has_memory),
            all().any(Shortage::has_disk),
        );
        let before = *self.anywhere.borrow();
        if before.is_some() != now.is_some() {
            self.episode.fetch_add(1, Ordering::Relaxed);
        }
        if before != now {
            self.anywhere.send_replace(now);
        }
    }
}

/// Where the disk is looked at, and how much of it has to stay free.
pub(crate) struct Disk {
    pub(crate) dir: PathBuf,
    pub(crate) free_bytes_min: u64,
}

/// Watches memory and disk for as long as there are queues.
pub(crate) async fn watch(links: Weak<Links>, budget: Arc<Budget>, disk: Disk, metrics: Metrics) {
    let mut looks = tokio::time::interval(DISK_LOOK_EVERY);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut memory, mut full) = (false, false);
    loop {
        let passed = tokio::select! {
            () = budget.passed() => true,
            _ = looks.tick() => {
                full = disk.is_short(full).await;
                false
            }
        };
        let Some(links) = links.upgrade() else {
            return;
        };
        memory = budget.is_short(memory);
        metrics.set_memory(budget.used_bytes());
        links.pressure().set_here(Shortage::new(memory, full));
        if passed && budget.is_tight() {
            for driver in links.drivers() {
                // A driver that has ended has no caches.
                drop(driver.send(Input::Shrink));
            }
        }
    }
}

impl Disk {
    async fn is_short(&self, was: bool) -> bool {
        let dir = self.dir.clone();
        let looked = tokio::task::spawn_blocking(move || crate::disk::Disk::holding(&dir));
        match looked.await {
            Ok(Ok(disk)) => disk.free_bytes < self.free_bytes_min,
            Ok(Err(error)) => {
                tracing::warn!(dir = %self.dir.display(), %error, "free disk space cannot be read");
                was
            }
            // The runtime goes down.
            Err(_) => was,
        }
    }
}

#[cfg(test)]
mod tests;

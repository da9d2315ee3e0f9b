//! A broker: its disk, its place in the cluster, its replicas.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
    sync::Arc,
};

use commitlog::Shutdown;
use machine::replica::{Refusal, Token};
use model::{BrokerId, Epoch, Offset, TopicPartition};
use replica::{Local, Watermarks};
use uuid::Uuid;

use crate::{
    disk::Disk,
    event::{Asked, Attempt, Event, Job, NodeId},
    fetcher::Fetcher,
    session::Session,
};

/// What a broker is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Down,
    /// Started, and the quorum has not answered.
    Registering,
    /// Its logs are open, as of this registration.
    Serving,
}

pub(crate) struct Node {
    pub id: NodeId,
    pub place: Place,
    /// Raised at each start.
    pub life: u32,
    pub incarnation: Uuid,
    pub root: PathBuf,
    pub disk: Arc<Disk>,
    /// How the process before left its logs.
    pub left: Shutdown,
    pub skew_ms: i64,
    pub paused_until_us: u64,
    /// What came while it was paused.
    pub deferred: Vec<Event>,
    /// It hands over and then stops.
    pub closing: bool,

    /// Entries of the metadata log that it has applied. The log is on its disk.
    pub applied: usize,
    pub registered: Option<i64>,
    pub next_submission: u64,
    pub asked: BTreeMap<u64, Asked>,
    /// Versions that the driver was told.
    pub told: BTreeMap<TopicPartition, i32>,

    pub hosted: BTreeMap<TopicPartition, Hosted>,
    pub jobs: VecDeque<Job>,
    /// When the driver looks next, as far as that is on the agenda.
    pub drive_at_us: u64,
    pub sweep_at_ms: i64,
    pub watermarks: Arc<Watermarks>,
    pub watermarks_at_ms: i64,
    pub sessions: BTreeMap<NodeId, Session>,
    pub fetchers: BTreeMap<NodeId, Fetcher>,
    pub next_call: u64,
}

/// A replica on its driver.
pub(crate) struct Hosted {
    pub local: Local,
    pub shown: Shown,
    pub waiting: BTreeMap<Token, (Attempt, Offset)>,
    pub next_token: Token,
    /// Told when readers can see what they speak of.
    pub answers: Vec<(Attempt, Result<Offset, Refusal>)>,
    pub following: Option<NodeId>,
}

/// What a driver shows to readers and sessions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    pub leading: bool,
    pub epoch: Epoch,
    pub high_watermark: Offset,
}

impl Node {
    pub(crate) fn new(id: NodeId, root: &Path, lies: bool, skew_ms: i64) -> Self {
        let root = root.join(format!("node-{id}"));
        std::fs::create_dir_all(&root).unwrap();
        let watermarks = Arc::new(Watermarks::load(&root));
        Self {
            id,
            place: Place::Down,
            life: 0,
            incarnation: Uuid::from_u128(id as u128 + 1),
            root,
            disk: Arc::new(Disk::new(lies)),
            left: Shutdown::Unclean,
            skew_ms,
            paused_until_us: 0,
            deferred: Vec::new(),
            closing: false,
            applied: 0,
            registered: None,
            next_submission: 0,
            asked: BTreeMap::new(),
            told: BTreeMap::new(),
            hosted: BTreeMap::new(),
            jobs: VecDeque::new(),
            drive_at_us: u64::MAX,
            sweep_at_ms: 0,
            watermarks,
            watermarks_at_ms: i64::MAX,
            sessions: BTreeMap::new(),
            fetchers: BTreeMap::new(),
            next_call: 0,
        }
    }

    pub(crate) fn broker(&self) -> BrokerId {
        BrokerId(i32::try_from(self.id).unwrap() + 1)
    }

    pub(crate) fn is_up(&self) -> bool {
        self.place != Place::Down
    }

    pub(crate) fn is_paused(&self, now_us: u64) -> bool {
        now_us < self.paused_until_us
    }

    /// Of the registration of this life.
    pub(crate) fn epoch(&self) -> Option<i64> {
        self.registered.filter(|_| self.place == Place::Serving)
    }

    pub(crate) fn now_ms(&self, now_us: u64) -> i64 {
        1_700_000_000_000 + i64::try_from(now_us / 1000).unwrap() + self.skew_ms
    }

    /// The process is gone, and with it all that it had in memory.
    pub(crate) fn stop(&mut self) {
        self.place = Place::Down;
        self.life += 1;
        self.registered = None;
        self.closing = false;
        self.next_submission = 0;
        self.asked.clear();
        self.told.clear();
        self.hosted.clear();
        self.jobs.clear();
        self.drive_at_us = u64::MAX;
        self.watermarks_at_ms = i64::MAX;
        self.sessions.clear();
        self.fetchers.clear();
        self.deferred.clear();
        self.paused_until_us = 0;
    }

    pub(crate) fn log_directory(&self, partition: TopicPartition) -> PathBuf {
        self.root.join(format!("p{}", partition.partition))
    }

    /// As what is left of their file says, in a directory of its own: a loss of power takes it by its parts.
    pub(crate) fn load_watermarks(&mut self) {
        let directory = self.root.join("watermarks");
        std::fs::create_dir_all(&directory).unwrap();
        self.watermarks = Arc::new(Watermarks::load(&directory));
    }

    /// Writes down those that moved, `after_ms` later.
    pub(crate) fn store_watermarks(&mut self, now_ms: i64, after_ms: i64) {
        if now_ms >= self.watermarks_at_ms {
            self.watermarks_at_ms = i64::MAX;
            self.watermarks.store();
        }
        if self.watermarks_at_ms == i64::MAX && self.watermarks.have_changed() {
            self.watermarks_at_ms = now_ms + after_ms;
        }
    }

    /// Whether a driver has this replica open, as a leader of that epoch.
    pub(crate) fn leads(&self, partition: TopicPartition, epoch: Epoch) -> Option<&Hosted> {
        let hosted = self.hosted.get(&partition)?;
        (hosted.shown.leading && hosted.shown.epoch == epoch).then_some(hosted)
    }

    /// Directories that were set aside as damaged.
    pub(crate) fn damaged(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(&self.root).unwrap();
        entries
            .filter_map(|e| e.ok()?.file_name().into_string().ok())
            .filter(|name| name.contains("damaged"))
            .collect()
    }
}

//! Coordinators without partitions: their logs are in memory.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::BoxFuture;
use model::{Epoch, Offset, batch};
use tokio::sync::{Semaphore, mpsc};

use super::journal::{AppendFailed, Journal, ReadFailed};
use super::shard::{self, FindGone, MAILBOX_MAX, Settings};
use super::{Config, Coordinators, Inner, Slot, offsets_topic};
use crate::peer::Mesh;
use crate::{metadata, partition};

/// Coordinators of a broker alone in its cluster, ready for every group.
pub(crate) async fn coordinators(metadata: metadata::Handle) -> Coordinators {
    let config = Config {
        partitions: 1,
        group: machine::group::Config {
            initial_rebalance_delay_ms: 1,
            ..machine::group::Config::default()
        },
        ..Config::default()
    };
    offsets_topic::ensure(&metadata, &config).await.unwrap();
    let (requests, mailbox) = mpsc::channel(MAILBOX_MAX);
    let ready = Arc::default();
    let settings = Settings {
        group: config.group.clone(),
        sweep_every: config.sweep_every,
    };
    let nothing_gone: FindGone = Arc::new(|_| Arc::from([]));
    let task = tokio::spawn(shard::run(
        Memory::open(),
        settings,
        mailbox,
        Arc::clone(&ready),
        nothing_gone,
    ));
    let slot = Slot {
        epoch: Epoch(0),
        requests,
        ready,
        task,
    };
    while slot.mailbox().is_err() {
        tokio::task::yield_now().await;
    }
    let this = metadata.this_broker();
    let inner = Inner {
        config,
        metadata,
        roster: partition::Roster::default(),
        mesh: Mesh::alone(this),
        shards: parking_lot::RwLock::default(),
        report: tokio::sync::watch::Sender::default(),
    };
    inner.shards.write().insert(0, slot);
    Coordinators(Arc::new(inner))
}

/// A log in memory whose appends wait for a permit each, and can be made to fail.
pub(super) struct Memory {
    batches: Mutex<Vec<Bytes>>,
    permits: Arc<Semaphore>,
    failure: Mutex<Option<AppendFailed>>,
}

impl Memory {
    /// Appends wait for [`Memory::permit`].
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            batches: Mutex::default(),
            permits: Arc::new(Semaphore::new(0)),
            failure: Mutex::default(),
        })
    }

    pub(super) fn open() -> Arc<Self> {
        let memory = Self::new();
        memory.permit(1 << 20);
        memory
    }

    pub(super) fn permit(&self, appends: usize) {
        self.permits.add_permits(appends);
    }

    pub(super) fn fail_next(&self, failure: AppendFailed) {
        *self.failure.lock().unwrap() = Some(failure);
    }

    pub(super) fn appends(&self) -> usize {
        self.batches.lock().unwrap().len()
    }
}

impl Journal for Memory {
    fn append(&self, bytes: Bytes) -> BoxFuture<'static, Result<(), AppendFailed>> {
        let failure = self.failure.lock().unwrap().take();
        if failure.is_none() {
            let at = self.end();
            let placed = batch::place(bytes, at, Epoch(1));
            self.batches.lock().unwrap().push(placed);
        }
        let permits = Arc::clone(&self.permits);
        Box::pin(async move {
            permits.acquire().await.unwrap().forget();
            failure.map_or(Ok(()), Err)
        })
    }

    fn read(&self, from: Offset) -> Result<Vec<Bytes>, ReadFailed> {
        let batches = self.batches.lock().unwrap();
        let after = |b: &&Bytes| batch::Header::parse(b).unwrap().base_offset >= from;
        Ok(batches.iter().filter(after).take(2).cloned().collect())
    }

    fn start(&self) -> Offset {
        Offset(0)
    }

    fn end(&self) -> Offset {
        let batches = self.batches.lock().unwrap();
        batches.last().map_or(Offset(0), |b| {
            batch::Header::parse(b).unwrap().next_offset()
        })
    }

    fn committed(&self, _end: Offset) -> BoxFuture<'static, bool> {
        Box::pin(async { true })
    }
}

//! Replicas of topic partitions on this broker: their logs, their roles, and the copying between
//! brokers.
//!
//! Owns the driver threads, the followers' fetching and the roster that follows the metadata image.
//! Decides nothing about replication itself: that is [`machine::replica`]. Speaks no client protocol:
//! fronts and coordinators use [`Handle`].
//!
//! ```text
//! fronts, coordinators ── Handle::append ──> mailbox ──> driver thread ──> commitlog
//!                      ── Handle::read ───────────────────────────────────────┘ (no queue)
//! metadata image ──> roster ── assign, remove ──> driver
//! driver: replica machine decides ──> write, answer, propose in-sync set, wake followers' sessions
//! ```
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod append;
mod blocking;
mod cleaner;
mod config;
mod deflate;
mod driver;
mod handle;
mod inflate;
mod metrics;
mod nearby;
mod peers;
mod proposals;
mod read;
mod recompress;
mod roster;
mod scrubber;
mod settings;
mod space;
mod strays;
mod sync;
#[cfg(test)]
mod tests;
mod threads;
mod tuning;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use commitlog::{Budget, Descriptors, FileSystem, Resources, Shutdown};
use machine::metadata::image::Image;
use parking_lot::Mutex;
use tokio::{
    runtime,
    sync::{Semaphore, oneshot},
    task::JoinHandle,
};

pub use append::{Acks, Append, AppendError, Appended, Origin};
pub use blocking::Pool;
pub use config::Config;
pub use handle::{DeleteError, Handle, Progress, Role, Status};
pub use read::{Limit, Read, ReadData, ReadError, TimedOffset};
pub use replica::Source;
pub use roster::Roster;
pub use tuning::Tuner;

use driver::{Context, Job, Mailbox};

use crate::{
    clock, metadata,
    peer::{Mesh, Service},
    telemetry::Telemetry,
};

/// Where the logs of a data directory are.
const PARTITIONS: &str = "partitions";

/// What the partitions of a broker stand on.
pub struct Parts {
    pub config: Config,
    /// Keys of the properties file: the layer under what is changed at run time.
    pub settings: BTreeMap<String, String>,
    /// The locked data directory.
    pub directory: PathBuf,
    /// How it was left.
    pub left: Shutdown,
    pub metadata: metadata::Handle,
    pub mesh: Mesh,
    pub telemetry: Telemetry,
}

/// The running partitions of a broker.
pub struct Partitions {
    roster: Roster,
    tuner: Tuner,
    drivers: Vec<Mailbox>,
    /// What keeps up with the image and with the peers.
    following: Mutex<Vec<JoinHandle<()>>>,
}

/// Opens what the metadata image names and keeps up with it. Must be called inside a runtime.
///
/// # Errors
/// When a thread cannot be started.
pub fn start(parts: Parts) -> std::io::Result<Partitions> {
    let Parts {
        config,
        settings,
        directory,
        left,
        metadata,
        mesh,
        telemetry,
    } = parts;
    let runtime = runtime::Handle::current();
    let image = metadata.image();
    match strays::sort_out(&directory.join(PARTITIONS), &image, mesh.this_broker()) {
        Ok(removed) => strays::remove_later(removed, config.remove_after, &runtime),
        Err(error) => tracing::error!(%error, "logs of no replica of this broker are left"),
    }
    let roster = Roster::new(Pool::new(config.readers));
    let metrics = metrics::Metrics::default();
    metrics.register(&telemetry, &roster, &metadata, directory.clone());
    let this = mesh.this_broker();
    let alive = mesh.alive();
    let throttles = Arc::new(peers::Throttles::new(config.throttle_window_seconds));
    let sessions = peers::Sessions::new(this, &config, roster.clone(), throttles.clone());
    mesh.serve(Service::Replica, Arc::new(sessions.clone()));
    let tuner = Tuner {
        tuning: Arc::new(tuning::Tuning::new(&config)),
        cleaner: cleaner::Cleaner::start(config.cleaners, config.cleaner_keys_bytes_max)?,
    };
    let lender = peers::Lender {
        this,
        roster: roster.clone(),
    };
    mesh.serve(Service::Refetch, Arc::new(lender));
    let space = space::Space::watch(directory.clone(), config.disk_free_bytes_min, &telemetry);
    let logs = directory.join(PARTITIONS);
    std::fs::create_dir_all(&logs)?;
    let file_system = Arc::new(FileSystem::holding(&logs)?);
    let context = Arc::new(Context {
        this,
        watermarks: Arc::new(replica::Watermarks::load(&directory)),
        directory,
        opened_after: left,
        resources: Resources {
            descriptors: Arc::new(Descriptors::new(config.open_files_max)),
            tail: Arc::new(Budget::new(config.tails_bytes_max)),
            ..Resources::default()
        },
        clock: clock::Clock::start(),
        roster: roster.clone(),
        sessions,
        refetch: peers::Refetch::new(mesh.clone(), runtime.clone()),
        fetchers: peers::Fetchers::new(
            mesh,
            metadata.clone(),
            runtime.clone(),
            config.fetch_backoff_ms,
            throttles.clone(),
        ),
        proposals: proposals::Proposals {
            this,
            metadata: metadata.clone(),
            runtime: runtime.clone(),
        },
        syncers: sync::Syncers::start(config.syncers, file_system.clone())?,
        file_system,
        tuning: tuner.tuning.clone(),
        cleaner: tuner.cleaner.clone(),
        scrubber: scrubber::Scrubber::start(config.scrub_bytes_per_second, metrics.clone())?,
        space,
        metrics,
        inflaters: Pool::new(config.inflaters),
        room: Arc::new(Semaphore::new(
            config.queue_bytes_max.min(Semaphore::MAX_PERMITS),
        )),
        config,
    });
    let drivers: Vec<Mailbox> = (0..context.config.drivers)
        .map(|_| Mailbox::default())
        .collect();
    for (number, mailbox) in drivers.iter().enumerate() {
        driver::start(context.clone(), mailbox.clone(), number)?;
    }
    let mut follower = roster::Follower {
        this,
        drivers: drivers.clone(),
        file: settings,
        throttles,
        told: Image::default(),
    };
    // Told before anything can stop it: a log that no driver heard of would count as closed.
    follower.follow(&image);
    let following = vec![
        runtime.spawn(follower.run(metadata.watch())),
        runtime.spawn(driver::watch_peers(alive, drivers.clone())),
    ];
    Ok(Partitions {
        roster,
        tuner,
        drivers,
        following: Mutex::new(following),
    })
}

impl Partitions {
    pub fn roster(&self) -> Roster {
        self.roster.clone()
    }

    /// What changes the configuration of running partitions.
    pub fn tuner(&self) -> Tuner {
        self.tuner.clone()
    }

    /// Answers what waits with [`AppendError::Stopping`], syncs and closes every log. The data
    /// directory may be marked clean only when this says true: otherwise a log is to be read through
    /// at the next start.
    pub async fn stop(&self) -> bool {
        for following in self.following.lock().drain(..) {
            following.abort();
        }
        let mut closed = Vec::with_capacity(self.drivers.len());
        for driver in &self.drivers {
            let (done, stopped) = oneshot::channel();
            driver.send(Job::Stop { done });
            closed.push(stopped);
        }
        // A driver that is gone has failed and closed nothing.
        let closed = futures::future::join_all(closed).await;
        closed.into_iter().all(|driver| driver == Ok(true))
    }
}

//! Composition root: builds every part in dependency order, runs them, drains them.
//!
//! ```text
//! sockets -> admin probes -> data directory -> mesh -> raft groups -> metadata: registers
//!         -> partitions -> coordinators -> queues -> fronts: is let in once it has caught up
//! ```

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use commitlog::{DataDir, Shutdown};
use machine::metadata::image::Listener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::Config;
use crate::admin;
use crate::metadata::{self, Registration};
use crate::peer::{self, Mesh};
use crate::raft::Groups;
use crate::telemetry::Telemetry;
use identity::Identity;
use serving::Serving;
pub use sockets::Sockets;

mod identity;
mod life;
mod metrics;
mod reconfigure;
mod serving;
mod sockets;

/// How long a stopping broker waits for its leaderships to be taken over.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a broker that has stopped waits for admin requests to be answered.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(2);
/// A cluster that stops as a whole need not wait for itself.
const QUORUM_LOST_AFTER: Duration = Duration::from_millis(500);

/// One running broker.
pub struct Node {
    config: Arc<Config>,
    data_dir: Arc<DataDir>,
    telemetry: Telemetry,
    mesh: Mesh,
    groups: Groups,
    metadata: metadata::Handle,
    registration: watch::Receiver<Option<Registration>>,
    /// Registers, starts what serves clients and stays in; ends only with a failure.
    joining: JoinHandle<anyhow::Error>,
    serving: Arc<Mutex<Option<Serving>>>,
    admin: JoinHandle<()>,
    /// Tells what serves clients to stop.
    stop: CancellationToken,
    /// Tells the admin listener to stop, which is heard until the end.
    stop_admin: CancellationToken,
}

/// Runs one broker until it is told to stop or cannot go on.
///
/// # Errors
/// When it cannot start, its disk fails, or its id was taken by another process.
pub async fn run(config: Config) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    for unknown in &config.unknown {
        let meant = unknown.nearest.unwrap_or("no key of that kind");
        tracing::warn!(
            key = unknown.key,
            meant,
            "unknown configuration key is ignored"
        );
    }
    let sockets = Sockets::bind(&config).await?;
    let mut node = tokio::select! {
        node = Node::start(config, sockets) => node?,
        // Nothing is written yet that would have to be closed.
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        failure = node.failed() => return Err(failure),
    }
    tracing::info!("broker stops");
    node.drain().await;
    node.stop().await
}

/// Reads the write-ahead log on a thread for it.
async fn open_groups(
    config: &Config,
    mesh: &Mesh,
    data_dir: &Arc<DataDir>,
) -> anyhow::Result<Groups> {
    let (raft, mesh, data_dir) = (config.raft.clone(), mesh.clone(), Arc::clone(data_dir));
    let open = move || {
        let dir = data_dir.path().join("raft");
        Groups::open(&dir, raft, mesh, data_dir)
    };
    Ok(tokio::task::spawn_blocking(open).await??)
}

impl Node {
    /// Builds and starts every part. Returns before the broker has joined; see [`Node::joined`].
    pub async fn start(config: Config, sockets: Sockets) -> anyhow::Result<Self> {
        let config = Arc::new(config);
        let telemetry = Telemetry::default();
        let endpoints = sockets.advertised(&config);
        let mut sockets = sockets;
        let opening = admin::Opening::default();
        let stop = CancellationToken::new();
        let stop_admin = CancellationToken::new();
        let unless_started = (stop.clone().drop_guard(), stop_admin.clone().drop_guard());
        let admin = tokio::spawn(admin::serve(
            sockets.take(Listener::Admin),
            opening.clone(),
            stop_admin,
        ));
        let data_dir = Arc::new(DataDir::lock(&config.log_dir)?);
        let identity = Identity::open(data_dir.path(), &config)?;

        let mesh = Mesh::start(
            peer::Identity {
                broker: config.node_id,
                cluster_id: config.cluster_id.clone(),
                incarnation: identity.incarnation,
            },
            config.peer.clone(),
            sockets.take(Listener::Peer),
        );
        let groups = open_groups(&config, &mesh, &data_dir)
            .await
            .context("cannot open the write-ahead log")?;
        let metadata = metadata::Handle::start(
            &groups,
            mesh.clone(),
            &config.voters,
            metadata::Config::of(&config),
        )
        .await
        .context("cannot start the metadata group")?;
        opening.join(metadata.clone(), mesh.alive());

        metrics::register(&telemetry, &metadata);

        let (joined, registration) = watch::channel(None);
        let serving = Arc::new(Mutex::new(None));
        let joining = {
            let parts = serving::Parts {
                config: Arc::clone(&config),
                telemetry: telemetry.clone(),
                data_dir: Arc::clone(&data_dir),
                mesh: mesh.clone(),
                groups: groups.clone(),
                metadata: metadata.clone(),
                opening,
                stop: stop.clone(),
            };
            let serving = Arc::clone(&serving);
            let registering = Registration::register(
                metadata.clone(),
                identity.incarnation,
                life::ended_in_order(&data_dir),
                config.rack.clone(),
                endpoints,
            );
            tokio::spawn(async move {
                let registration = registering.await;
                tracing::info!(epoch = registration.epoch(), "broker registered");
                life::note(parts.data_dir.path(), registration.epoch());
                match Serving::start(parts, sockets) {
                    Ok(started) => *serving.lock().await = Some(started),
                    Err(error) => return error,
                }
                joined.send_replace(Some(registration.clone()));
                registration.keep().await.into()
            })
        };
        let (stop, stop_admin) = unless_started;
        Ok(Self {
            config,
            data_dir,
            telemetry,
            mesh,
            groups,
            metadata,
            registration,
            joining,
            serving,
            admin,
            stop: stop.disarm(),
            stop_admin: stop_admin.disarm(),
        })
    }

    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    pub fn metadata(&self) -> &metadata::Handle {
        &self.metadata
    }

    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// Waits until the broker is registered and let in.
    pub async fn joined(&self) {
        let mut registration = self.registration.clone();
        let mut image = self.metadata.watch();
        if registration.wait_for(Option::is_some).await.is_err() {
            return;
        }
        let is_in = || {
            self.registration
                .borrow()
                .as_ref()
                .is_some_and(Registration::is_in)
        };
        // The channel outlives this borrow of the node.
        let _image = image.wait_for(|_| is_in()).await;
    }

    /// Waits for what ends a broker against its will.
    pub async fn failed(&mut self) -> anyhow::Error {
        let mut failed = self.groups.failed();
        let mut halted = self.groups.halted();
        tokio::select! {
            Ok(why) = halted.wait_for(Option::is_some) => {
                anyhow::anyhow!(why.clone().unwrap_or_default())
            }
            ended = &mut self.joining => match ended {
                Ok(failure) => failure,
                Err(error) => error.into(),
            },
            Ok(_) = failed.wait_for(|failed| *failed) => anyhow::anyhow!(
                "the disk under {} failed; check it, then start the broker again",
                self.config.log_dir.display()
            ),
        }
    }

    /// Hands leaderships over, so that the stop is no failure.
    pub async fn drain(&self) {
        let registration = self.registration.borrow().clone();
        let leave = async {
            if let Some(registration) = registration {
                registration.leave().await;
            }
            self.groups.hand_over().await;
        };
        tokio::select! {
            left = timeout(DRAIN_TIMEOUT, leave) => {
                if left.is_err() {
                    tracing::warn!("stopping without having handed over everything");
                }
            }
            () = self.quorum_lost() => {
                tracing::info!("stopping without handing over: most voters are gone");
            }
        }
    }

    /// Waits until most voters have been out of reach for a while: nobody is left to hand over to.
    async fn quorum_lost(&self) {
        let voters = self.metadata.voters();
        let mut alive = self.mesh.alive();
        loop {
            let up = |alive: &peer::Alive| {
                let this = self.config.node_id;
                let up = voters
                    .iter()
                    .filter(|id| **id == this || alive.is_alive(**id));
                up.count() * 2 > voters.len()
            };
            if alive.wait_for(|alive| !up(alive)).await.is_err() {
                return;
            }
            if timeout(QUORUM_LOST_AFTER, alive.wait_for(up))
                .await
                .is_err()
            {
                return;
            }
        }
    }

    /// Stops every part in reverse order, what tells of them last, and, when every log was closed well, marks
    /// the data directory as cleanly left.
    ///
    /// # Errors
    /// When the mark cannot be written; the next start then looks at everything.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.joining.abort();
        self.stop.cancel();
        let serving = self.serving.lock().await.take();
        let clean = match serving {
            Some(serving) => serving.stop().await,
            // No log was opened: all is as it was found.
            None => self.data_dir.left() == Shutdown::Clean,
        };
        self.groups.close().await;
        self.mesh.close();
        self.stop_admin.cancel();
        if timeout(ADMIN_TIMEOUT, &mut self.admin).await.is_err() {
            tracing::warn!("admin requests cut that did not end in time");
            self.admin.abort();
        }
        drop(self.groups);
        match Arc::try_unwrap(self.data_dir) {
            Ok(data_dir) if clean => data_dir.mark_clean()?,
            Ok(_) => tracing::warn!("a log was not closed: the next start looks at everything"),
            Err(_) => {
                tracing::warn!("a part still holds the data directory: left as after a crash")
            }
        }
        Ok(())
    }
}

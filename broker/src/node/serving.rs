//! What serves clients: partitions, coordinators, queues and the fronts on them. Started once the
//! broker is registered, since what is in the image then is of an earlier life.

use std::sync::Arc;
use std::time::Duration;

use commitlog::DataDir;
use machine::metadata::image::Listener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Sockets, reconfigure};
use crate::coordinator::{self, Coordinators};
use crate::partition::{self, Partitions};
use crate::peer::Mesh;
use crate::queue::{self, Queues};
use crate::raft::Groups;
use crate::telemetry::Telemetry;
use crate::{Config, admin, amqp, kafka, metadata};

/// How long connections may take to end what they are at.
const FRONTS_TIMEOUT: Duration = Duration::from_secs(10);

/// What it stands on.
pub(super) struct Parts {
    pub(super) config: Arc<Config>,
    pub(super) telemetry: Telemetry,
    pub(super) data_dir: Arc<DataDir>,
    pub(super) mesh: Mesh,
    pub(super) groups: Groups,
    pub(super) metadata: metadata::Handle,
    pub(super) opening: admin::Opening,
    pub(super) stop: CancellationToken,
}

pub(super) struct Serving {
    partitions: Partitions,
    queues: Queues,
    fronts: JoinSet<()>,
}

impl Serving {
    /// Starts every part and accepts clients. Must be called inside a runtime.
    pub(super) fn start(parts: Parts, mut sockets: Sockets) -> anyhow::Result<Self> {
        let Parts {
            config,
            telemetry,
            data_dir,
            mesh,
            groups,
            metadata,
            opening,
            stop,
        } = parts;
        let partitions = partition::start(partition::Parts {
            config: partition::Config::of(&config),
            settings: config.settings.clone(),
            directory: data_dir.path().to_owned(),
            left: data_dir.left(),
            metadata: metadata.clone(),
            mesh: mesh.clone(),
            telemetry: telemetry.clone(),
        })?;
        let coordinators = Coordinators::start(
            coordinator::Config::of(&config),
            metadata.clone(),
            partitions.roster(),
            mesh.clone(),
            &telemetry,
        );
        let queues = Queues::start(queue::Parts {
            config: config.queue.clone(),
            dir: data_dir.path().to_owned(),
            opened_after: data_dir.left(),
            metadata: metadata.clone(),
            mesh: mesh.clone(),
            groups,
            metrics: telemetry.register_named(queue::Metrics::register),
        })?;

        let mut fronts = JoinSet::new();
        let kafka = kafka::Front::new(
            Arc::clone(&config),
            metadata.clone(),
            partitions.roster(),
            coordinators.clone(),
            stop.clone(),
        );
        kafka.register(&telemetry);
        for listener in sockets.take(Listener::Kafka) {
            fronts.spawn(kafka::serve(listener, Arc::clone(&kafka)));
        }
        let changes = reconfigure::Reconfigured {
            config: Arc::clone(&config),
            kafka: Arc::clone(&kafka),
            partitions: partitions.tuner(),
        };
        fronts.spawn(changes.follow(metadata.watch(), stop.clone()));
        let amqp = telemetry.register_named(|registry| {
            amqp::Front::new(&config, metadata.clone(), queues.clone(), mesh, registry)
        })?;
        fronts.spawn(amqp::serve(
            sockets.take(Listener::Amqp),
            Arc::new(amqp),
            stop.clone(),
        ));
        let (_started, started) = watch::channel(true);
        let admin = admin::Parts {
            config,
            metadata,
            queues: queues.clone(),
            coordinators,
            telemetry,
            started,
            stopping: stop,
        };
        opening.open(admin);
        Ok(Self {
            partitions,
            queues,
            fronts,
        })
    }

    /// Ends the connections, then what stands behind them, everything written and synced. False when
    /// a log was not closed cleanly.
    pub(super) async fn stop(mut self) -> bool {
        let ended = async { while self.fronts.join_next().await.is_some() {} };
        if timeout(FRONTS_TIMEOUT, ended).await.is_err() {
            tracing::warn!("connections cut that did not end in time");
            self.fronts.shutdown().await;
        }
        let queues = self.queues.clone();
        let queues = tokio::task::spawn_blocking(move || queues.close()).await;
        if let Err(error) = &queues {
            tracing::error!(%error, "queues did not close");
        }
        let partitions = self.partitions.stop().await;
        partitions && queues.unwrap_or(false)
    }
}

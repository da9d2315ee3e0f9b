//! Every group of one broker over its one write-ahead log: opens, starts, hands over, closes.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::BrokerId;
use openraft::rt::WatchReceiver;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::applier::{self, Applier};
use super::config::openraft_config;
use super::formation::Formation;
use super::group::{Queue, Replicated};
use super::halt::{self, Halt};
use super::rejoin::{Goals, Part};
use super::server::{Served, Server};
use super::snapshot::Shelf;
use super::store::Store;
use super::wal::{self, Wal};
use super::{
    Config, Group, GroupId, Members, Raft, StateMachine, compaction, election, local, network,
    proposer, types,
};
use crate::peer::{Mesh, Service};

/// How long a stopping broker waits for one group to be led by another.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(2);

/// Every group of this broker. Cheap to clone.
#[derive(Clone)]
pub struct Groups(Arc<Shared>);

struct Shared {
    this: BrokerId,
    config: Arc<Config>,
    /// `None`: groups live in memory only.
    durable: Option<Durable>,
    tasks: Mutex<Vec<(GroupId, JoinHandle<()>)>>,
    halt: Halt,
}

struct Durable {
    mesh: Mesh,
    wal: Wal,
    shelf: Arc<Shelf>,
    server: Arc<Server>,
    goals: Goals,
    writer: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Groups {
    /// What the disk has left for the log; `None` where groups live in memory only.
    #[cfg(test)]
    pub(super) fn room(&self) -> Option<watch::Receiver<wal::room::Room>> {
        Some(self.0.durable.as_ref()?.wal.room())
    }

    /// Groups that live in memory only, led by this broker. For tests of what stands on a group.
    pub fn in_memory(this: BrokerId, config: Config) -> Self {
        Self(Arc::new(Shared {
            this,
            config: Arc::new(config),
            durable: None,
            tasks: Mutex::default(),
            halt: Halt::default(),
        }))
    }

    /// Opens the write-ahead log and the snapshots in `dir` and serves [`Service::Raft`]. `keep` (the
    /// lock of the data directory) is held until the log's thread has ended.
    pub fn open(
        dir: &Path,
        config: Config,
        mesh: Mesh,
        keep: impl Send + 'static,
    ) -> io::Result<Self> {
        let wal_config = wal::Config {
            file_bytes: config.wal_file_bytes,
            files_max: config.wal_files_max,
            waiting_bytes_max: config.wal_waiting_bytes_max,
        };
        std::fs::create_dir_all(dir)?;
        let (wal, writer) = Wal::open(&dir.join("wal"), wal_config, keep)?;
        let shelf = Arc::new(Shelf::open(&dir.join("snapshots"))?);
        let server = Arc::new(Server::default());
        mesh.serve(Service::Raft, Arc::clone(&server) as _);
        Ok(Self(Arc::new(Shared {
            this: mesh.this_broker(),
            config: Arc::new(config),
            durable: Some(Durable {
                mesh,
                wal,
                shelf,
                server,
                goals: Goals::new(dir),
                writer: Mutex::new(Some(writer)),
            }),
            tasks: Mutex::default(),
            halt: Halt::default(),
        })))
    }

    /// Largest command that a group of this broker takes, in bytes.
    pub fn command_bytes_max(&self) -> usize {
        let durable = self.0.durable.as_ref();
        let frame = durable.map_or(usize::MAX, |durable| durable.mesh.frame_bytes_max());
        self.0.config.command_bytes_max(frame)
    }

    /// Starts carrying a group: recovers what snapshot and log hold of it. A group of which its voters
    /// know nothing begins as [`super::formation`] says; brokers that are no voters follow.
    ///
    /// # Errors
    /// When what is on disk cannot be read. The broker must stop then ([`Groups::halted`]).
    pub async fn start_group(
        &self,
        id: GroupId,
        members: Members,
        machine: impl StateMachine,
    ) -> io::Result<Group> {
        let started = self.start(id, members, machine).await;
        if let Err(error) = &started {
            let group = id.0;
            let why = format!("raft group {group} cannot start on this broker: {error}");
            self.0.halt.because(why);
        }
        started
    }

    async fn start(
        &self,
        id: GroupId,
        members: Members,
        machine: impl StateMachine,
    ) -> io::Result<Group> {
        let config = &self.0.config;
        let Some(durable) = &self.0.durable else {
            let bytes_max = self.command_bytes_max();
            return Ok(local::start(config, bytes_max, self.0.this, machine));
        };
        let store = Store::open(id, durable.wal.clone());
        let log = Arc::clone(store.log());
        let opening = applier::Parts {
            group: id,
            this: self.0.this,
            log: Arc::clone(&log),
            shelf: Arc::clone(&durable.shelf),
            halt: self.0.halt.clone(),
        };
        let goals = durable.goals.clone();
        let voter = members.voters.contains(&self.0.this);
        let was_empty = store.is_empty();
        // Reads files.
        let (applier, part) = tokio::task::spawn_blocking(move || {
            let part = match goals.get(id)? {
                Some(goal) => Part::Rejoining(goal),
                None if voter && was_empty => Part::Unknown,
                None => Part::Voter,
            };
            let applier = Applier::open(opening, Box::new(machine))?;
            Ok::<_, io::Error>((applier, part))
        })
        .await??;
        let raft = Raft::new(
            types::node_id(self.0.this),
            Arc::new(openraft_config(id)?),
            network::Factory {
                group: id,
                mesh: durable.mesh.clone(),
            },
            store.clone(),
            applier.clone(),
        )
        .await
        .map_err(io::Error::other)?;
        let (part, part_seen) = watch::channel(part);
        let served = Served {
            raft: raft.clone(),
            applier: applier.clone(),
            shelf: Arc::clone(&durable.shelf),
            store: store.clone(),
            original: members.original,
            candidate: members.voters.contains(&self.0.this),
            mesh: durable.mesh.clone(),
            part: part_seen.clone(),
            receiving: Arc::default(),
        };
        durable.server.add(id, served);
        let (queue, waiting) = Queue::new(config, self.command_bytes_max());
        let (leading, leader) = watch::channel(None);
        let (leaving, left) = watch::channel(0);
        let (voting, voters) = watch::channel(members.voters.clone());
        let mesh = &durable.mesh;
        let mut tasks = self.0.tasks.lock();
        let mut run = |task: JoinHandle<()>| tasks.push((id, task));
        let formation = Formation {
            raft: raft.clone(),
            group: id,
            members: members.clone(),
            mesh: mesh.clone(),
            store,
            goals: durable.goals.clone(),
            part,
            halt: self.0.halt.clone(),
        };
        run(tokio::spawn(formation.run()));
        run(tokio::spawn(halt::watch(
            id,
            raft.clone(),
            self.0.halt.clone(),
        )));
        run(tokio::spawn(election::supervise(
            election::Parts {
                group: id,
                raft: raft.clone(),
                applier: applier.clone(),
                mesh: mesh.clone(),
                members,
            },
            part_seen,
            durable.wal.room(),
            left,
            election::Seen { leading, voting },
        )));
        run(tokio::spawn(proposer::run(
            proposer::Parts {
                group: id,
                raft: raft.clone(),
                applier: applier.clone(),
                wal: durable.wal.clone(),
                config: Arc::clone(config),
            },
            waiting,
        )));
        run(tokio::spawn(compaction::supervise(
            raft.clone(),
            applier.clone(),
            log,
            config.snapshot_log_bytes as u64,
        )));
        Ok(Group {
            queue,
            leader,
            voters,
            replicated: Some(Replicated {
                id,
                raft,
                applier,
                leaving: Arc::new(leaving),
                changing: Arc::default(),
            }),
        })
    }

    /// Stops carrying a group; what it has on disk stays.
    pub async fn stop_group(&self, id: GroupId) {
        self.0.tasks.lock().retain(|(group, task)| {
            let other = *group != id;
            if !other {
                task.abort();
            }
            other
        });
        let durable = self.0.durable.as_ref();
        let Some(served) = durable.and_then(|durable| durable.server.remove(id)) else {
            return;
        };
        served.applier.stop();
        if let Err(error) = served.raft.shutdown().await {
            tracing::warn!(group = id.0, %error, "group did not stop cleanly");
        }
    }

    /// Gives away the leadership of every group led here that has another voter in reach, and waits
    /// until it is taken.
    pub async fn hand_over(&self) {
        let Some(durable) = &self.0.durable else {
            return;
        };
        for raft in durable.server.rafts() {
            let to = {
                let metrics = raft.server_metrics();
                let seen = metrics.borrow_watched();
                let alive = durable.mesh.alive();
                let alive = alive.borrow();
                seen.membership_config
                    .voter_ids()
                    .find(|node| alive.is_alive(types::broker_id(*node)))
                    .filter(|_| seen.state == openraft::ServerState::Leader)
            };
            let Some(to) = to else {
                continue;
            };
            let mut metrics = raft.server_metrics();
            if raft.trigger().transfer_leader(to).await.is_err() {
                continue;
            }
            let taken = async {
                while metrics.borrow_watched().state == openraft::ServerState::Leader {
                    if metrics.changed().await.is_err() {
                        return;
                    }
                }
            };
            // Not taken in time: the others will notice that this broker is gone.
            let _late = tokio::time::timeout(HAND_OVER_TIMEOUT, taken).await;
        }
    }

    /// Stops every group, then the write-ahead log once all it was given is durable.
    pub async fn close(&self) {
        let Some(durable) = &self.0.durable else {
            return;
        };
        for group in durable.server.groups() {
            self.stop_group(group).await;
        }
        durable.wal.stop();
        let writer = durable.writer.lock().take();
        if let Some(writer) = writer
            && tokio::task::spawn_blocking(move || writer.join())
                .await
                .is_ok_and(|ended| ended.is_err())
        {
            tracing::error!("the write-ahead log's thread panicked");
        }
    }

    /// Says why, and what to do, when a group has stopped here against its will: the broker must stop too.
    pub fn halted(&self) -> watch::Receiver<Option<String>> {
        self.0.halt.seen()
    }

    /// Turns true when the disk under the write-ahead log failed: the broker must stop.
    pub fn failed(&self) -> watch::Receiver<bool> {
        match &self.0.durable {
            Some(durable) => durable.wal.failed(),
            None => watch::channel(false).1,
        }
    }
}

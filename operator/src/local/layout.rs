//! What each broker of local mode is told: ports, zone, directory, configuration text. Pure.

use std::path::{Path, PathBuf};

use crds::broker_cluster::BrokerClusterSpec;

#[cfg(test)]
mod tests;

/// Most brokers one local cluster may have: ports of neighbouring listeners must not meet.
pub const BROKERS_MAX: u16 = 100;

/// The pretend failure domains; broker i lives in zone i modulo 3.
const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

/// Where one cluster is and how it is cut.
#[derive(Clone, Debug)]
pub struct Layout {
    pub cluster_id: String,
    pub brokers: u16,
    /// Members of the metadata quorum: the first so many brokers.
    pub voters: u16,
    pub data: PathBuf,
    pub ports: Ports,
    /// Of the whole machine, for bodies of queues; each broker gets its part.
    pub queue_memory_bytes: usize,
}

/// Ports of broker 0; broker i has each plus i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    pub kafka: u16,
    pub amqp: u16,
    pub admin: u16,
    pub peer: u16,
}

/// One broker's listeners, with what each is for.
pub const LISTENERS: [&str; 4] = ["Kafka", "AMQP", "admin", "peer"];

impl Ports {
    /// The default ports moved by `offset`; `None` when the last broker's would pass 65535.
    #[must_use]
    pub fn moved(offset: u16, brokers: u16) -> Option<Self> {
        let last = brokers.saturating_sub(1);
        let at = |base: u16| {
            let first = base.checked_add(offset)?;
            first.checked_add(last)?;
            Some(first)
        };
        Some(Self {
            kafka: at(api::port::KAFKA)?,
            amqp: at(api::port::AMQP)?,
            admin: at(api::port::ADMIN)?,
            peer: at(api::port::PEER)?,
        })
    }

    /// The ports of broker `i`, in the order of [`LISTENERS`].
    #[must_use]
    pub fn of(&self, i: u16) -> [u16; 4] {
        [self.kafka + i, self.amqp + i, self.admin + i, self.peer + i]
    }
}

/// Voters of a quorum over so many brokers: the largest of 1, 3 and 5 that fits.
#[must_use]
pub fn voters(brokers: u16) -> u16 {
    match brokers {
        0..=2 => 1,
        3..=4 => 3,
        _ => 5,
    }
}

impl Layout {
    #[must_use]
    pub fn zone(i: u16) -> &'static str {
        ZONES
            .get(usize::from(i) % ZONES.len())
            .copied()
            .unwrap_or_default()
    }

    #[must_use]
    pub fn broker_dir(&self, i: u16) -> PathBuf {
        self.data.join(format!("broker-{i}"))
    }

    #[must_use]
    pub fn config_file(&self, i: u16) -> PathBuf {
        self.data.join(format!("broker-{i}.properties"))
    }

    #[must_use]
    pub fn log_file(&self, i: u16) -> PathBuf {
        self.data.join(format!("broker-{i}.log"))
    }

    /// Addresses of listener `n` of [`LISTENERS`], all brokers.
    #[must_use]
    pub fn addresses(&self, n: usize) -> Vec<String> {
        (0..self.brokers)
            .filter_map(|i| self.ports.of(i).get(n).copied())
            .map(|port| format!("localhost:{port}"))
            .collect()
    }

    /// The properties file of broker `i`. Peers speak IPv4; clients find a broker on both.
    #[must_use]
    pub fn properties(&self, i: u16, spec: Option<&BrokerClusterSpec>) -> String {
        let [kafka, amqp, admin, peer] = self.ports.of(i);
        let defaults = spec.and_then(|s| s.defaults.clone()).unwrap_or_default();
        let replication = defaults
            .replication_factor
            .unwrap_or_else(|| i32::from(self.brokers.min(3)));
        let min_insync = defaults
            .min_in_sync
            .unwrap_or_else(|| (replication - 1).max(1));
        let quorum: Vec<String> = (0..self.voters)
            .map(|v| format!("{v}@127.0.0.1:{}", self.ports.peer + v))
            .collect();
        let mut text = format!(
            "# Written by millrace local at each start; changes here are lost.\n\
             node.id={i}\n\
             cluster.id={cluster}\n\
             broker.rack={zone}\n\
             listeners=KAFKA://localhost:{kafka},AMQP://localhost:{amqp},ADMIN://localhost:{admin},PEER://127.0.0.1:{peer}\n\
             log.dirs={dir}\n\
             controller.quorum.voters={quorum}\n\
             default.replication.factor={replication}\n\
             offsets.topic.replication.factor={offsets}\n\
             min.insync.replicas={min_insync}\n\
             auto.create.topics.enable=true\n\
             millrace.amqp.guest.loopback=true\n\
             millrace.queue.memory.bytes={memory}\n",
            cluster = self.cluster_id,
            zone = Self::zone(i),
            dir = path_text(&self.broker_dir(i)),
            quorum = quorum.join(","),
            offsets = self.brokers.min(3),
            memory = self.queue_memory_bytes / usize::from(self.brokers.max(1)),
        );
        if let Some(partitions) = defaults.partitions {
            text += &format!("num.partitions={partitions}\n");
        }
        for (key, value) in spec.into_iter().flat_map(|s| &s.config) {
            text += &format!("{key}={value}\n");
        }
        text
    }
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

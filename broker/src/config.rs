//! What one broker is told at start: a `key=value` file with Kafka's property names, read once,
//! checked once, then shared frozen.
//!
//! Owns the few keys that shape the process (identity, listeners, quorum, directories). Every key
//! is kept in [`Config::settings`] too, where the config catalogue looks up the rest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::config::{Refused, Scope, Unknown, catalogue};
use machine::metadata::image::{Endpoint, Listener};
use model::BrokerId;

pub mod effective;
mod properties;
#[cfg(test)]
mod tests;

/// A broker's static configuration. Immutable after start; dynamic values live in the metadata image.
#[derive(Clone, Debug)]
pub struct Config {
    /// `node.id`.
    pub node_id: BrokerId,
    /// `cluster.id`: brokers of another cluster are refused.
    pub cluster_id: String,
    /// `broker.rack`: the failure domain of this broker.
    pub rack: Option<String>,
    /// `listeners`: where to listen. Port 0 lets the system choose.
    pub listeners: Vec<Endpoint>,
    /// `advertised.listeners`: what clients and brokers are told; port 0 stands for the bound one.
    pub advertised: Vec<Endpoint>,
    /// `log.dirs`, one directory.
    pub log_dir: PathBuf,
    /// `controller.quorum.voters`: who carries the metadata group, with the address of their PEER listener.
    pub voters: Vec<Voter>,
    pub peer: crate::peer::Config,
    pub raft: crate::raft::Config,
    pub queue: crate::queue::Config,
    /// Every key as it was given, the above included.
    pub settings: BTreeMap<String, String>,
    /// Keys among them that nothing reads.
    pub unknown: Vec<Unknown>,
}

/// One member of the metadata quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voter {
    pub id: BrokerId,
    pub host: String,
    pub port: u16,
}

/// A configuration that cannot be run, in one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    #[error(
        "cannot read the configuration file {path}: {source}; give a readable file with --config"
    )]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "line {line} of the configuration is not key=value: '{text}'; write one property a line"
    )]
    Line { line: usize, text: String },
    #[error("the configuration lacks {key}; add a line {key}={example}")]
    Missing {
        key: &'static str,
        example: &'static str,
    },
    /// A value that its key cannot have, in Kafka's words, or a key of our own that there is not.
    #[error("{0}; correct it in the configuration")]
    Refused(#[from] Refused),
    #[error("{key}={value} is not valid: {reason}")]
    Value {
        key: String,
        value: String,
        reason: String,
    },
}

impl Config {
    /// Reads the file, lays `overrides` (`key=value` each) over it, and checks the result.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, Invalid> {
        let text = std::fs::read_to_string(path).map_err(|source| Invalid::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, overrides)
    }

    /// As [`Config::load`], from text.
    pub fn parse(text: &str, overrides: &[String]) -> Result<Self, Invalid> {
        let mut settings = properties::parse(text)?;
        for line in overrides {
            settings.append(&mut properties::parse(line)?);
        }
        Self::from_settings(settings)
    }

    fn from_settings(settings: BTreeMap<String, String>) -> Result<Self, Invalid> {
        let unknown = unknown(&settings)?;
        let given = properties::Settings(&settings);
        let node_id = given.number("node.id", "0", 0..=i32::MAX)?;
        let listeners = given.endpoints(
            "listeners",
            "KAFKA://0.0.0.0:9092,AMQP://0.0.0.0:5672,ADMIN://0.0.0.0:9644,PEER://0.0.0.0:7644",
        )?;
        let advertised = match given.optional("advertised.listeners") {
            Some(_) => given.endpoints("advertised.listeners", "KAFKA://broker-0:9092")?,
            None => listeners.clone(),
        };
        let voters = given.voters("controller.quorum.voters", "0@broker-0:7644")?;
        let queue = crate::queue::Config::default();
        let config = Self {
            node_id: BrokerId(node_id),
            cluster_id: given.text("cluster.id", "my-cluster")?,
            rack: given.optional("broker.rack").map(str::to_owned),
            advertised: complete(&listeners, advertised),
            listeners,
            log_dir: given.text("log.dirs", "/var/lib/millrace")?.into(),
            voters,
            peer: crate::peer::Config {
                heartbeat: given.millis("millrace.peer.heartbeat.ms", 50)?,
                suspect_after: given.millis("millrace.peer.suspect.ms", 600)?,
                call_timeout: given.millis("millrace.peer.call.timeout.ms", 30_000)?,
                queue_bytes_max: given.bytes("millrace.peer.queue.bytes", 64 << 20)?,
                frame_bytes_max: given.bytes("millrace.peer.frame.bytes", 128 << 20)?,
                calls_max: given.bytes("millrace.peer.calls", 8192)?,
            },
            raft: crate::raft::Config {
                wal_file_bytes: given.bytes("millrace.wal.file.bytes", 64 << 20)?,
                wal_files_max: given.count("millrace.wal.files", 8)?,
                wal_waiting_bytes_max: given.bytes("millrace.wal.waiting.bytes", 64 << 20)?,
                snapshot_log_bytes: given.bytes("millrace.raft.snapshot.log.bytes", 16 << 20)?,
                pace: given.millis("millrace.raft.pace.ms", 2)?,
                entry_commands_max: given.count("millrace.raft.entry.commands", 4096)?,
                entry_bytes_max: given.bytes("millrace.raft.entry.bytes", 256 << 10)?,
                waiting_commands_max: given.count("millrace.raft.waiting.commands", 65_536)?,
                waiting_bytes_max: given.bytes("millrace.raft.waiting.bytes", 64 << 20)?,
            },
            queue: crate::queue::Config {
                session_inflight_bytes_max: given
                    .bytes("millrace.queue.session.inflight.bytes.max", 16 << 20)?,
                consumer_unwritten_max: given
                    .count("millrace.queue.consumer.unwritten.max", 2_000)?,
                consumer_unwritten_bytes_max: given
                    .count("millrace.queue.consumer.unwritten.bytes.max", 8 << 20)?,
                cache_bytes_max: given.bytes("millrace.queue.cache.bytes.max", 8 << 20)?,
                memory_bytes_max: given
                    .bytes("millrace.queue.memory.bytes", queue.memory_bytes_max)?,
                disk_free_bytes_min: given
                    .count("millrace.disk.free.limit.bytes", queue.disk_free_bytes_min)?,
                drivers: given.count("millrace.queue.drivers", 2)?,
            },
            settings: settings.clone(),
            unknown,
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Invalid> {
        let refuse = |key: &str, value: String, reason: &str| {
            Err(Invalid::Value {
                key: key.to_owned(),
                value,
                reason: reason.to_owned(),
            })
        };
        if self.listener(Listener::Peer).is_none() {
            return refuse(
                "listeners",
                self.setting("listeners").unwrap_or_default().to_owned(),
                "it has no PEER listener; add PEER://host:7644",
            );
        }
        if self.voters.len().is_multiple_of(2) {
            return refuse(
                "controller.quorum.voters",
                self.setting("controller.quorum.voters")
                    .unwrap_or_default()
                    .to_owned(),
                "an even number of voters survives no more failures than one fewer; name 1, 3 or 5",
            );
        }
        if self.log_dir.as_os_str().to_string_lossy().contains(',') {
            return refuse(
                "log.dirs",
                self.log_dir.display().to_string(),
                "one directory is supported; name one",
            );
        }
        let command_bytes_max = self.raft.command_bytes_max(self.peer.frame_bytes_max);
        if self.raft.entry_bytes_max > command_bytes_max {
            return refuse(
                "millrace.raft.entry.bytes",
                self.raft.entry_bytes_max.to_string(),
                "it must be at most half of millrace.wal.file.bytes and of millrace.peer.frame.bytes",
            );
        }
        if self.raft.waiting_commands_max > tokio::sync::Semaphore::MAX_PERMITS {
            return refuse(
                "millrace.raft.waiting.commands",
                self.raft.waiting_commands_max.to_string(),
                "it is too large",
            );
        }
        if self.peer.suspect_after <= self.peer.heartbeat * 2 {
            return refuse(
                "millrace.peer.suspect.ms",
                self.peer.suspect_after.as_millis().to_string(),
                "it must be more than twice millrace.peer.heartbeat.ms",
            );
        }
        Ok(())
    }

    /// Where this broker listens for `listener`.
    pub fn listener(&self, listener: Listener) -> Option<&Endpoint> {
        self.listeners.iter().find(|e| e.listener == listener)
    }

    /// The value of a key as given, if it was.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(String::as_str)
    }

    /// Whether a key of type boolean is given and true.
    pub fn is_set(&self, key: &str) -> bool {
        self.setting(key)
            .is_some_and(|text| text.trim().eq_ignore_ascii_case("true"))
    }

    /// A whole number given for `key`, else `default`. Text that is no number was refused at start.
    pub fn setting_or<T: std::str::FromStr>(&self, key: &str, default: T) -> T {
        self.setting(key)
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(default)
    }

    /// A duration given in milliseconds for `key`, else `default`.
    pub fn millis_or(&self, key: &str, default: Duration) -> Duration {
        self.setting(key)
            .and_then(|text| text.trim().parse().ok())
            .map_or(default, Duration::from_millis)
    }
}

/// Keys that nothing reads, when all else is as it should be.
fn unknown(settings: &BTreeMap<String, String>) -> Result<Vec<Unknown>, Refused> {
    let catalogue = catalogue(Scope::Broker);
    let mut unknown = Vec::new();
    for (key, value) in settings {
        unknown.extend(catalogue.check_given(key, value)?);
    }
    Ok(unknown)
}

/// A listener that is bound but not advertised is advertised as bound.
fn complete(listeners: &[Endpoint], mut advertised: Vec<Endpoint>) -> Vec<Endpoint> {
    for bound in listeners {
        if !advertised.iter().any(|e| e.listener == bound.listener) {
            advertised.push(bound.clone());
        }
    }
    advertised
}

//! The directory a local cluster keeps everything in, and the lock on it.
//!
//! ```text
//! DIR/lock                 held while a cluster runs
//! DIR/cluster.json         identity and size, written once and when brokers are added
//! DIR/broker-N/            the broker's own data
//! DIR/broker-N.properties  its configuration, rewritten at each start
//! DIR/broker-N.log         what it says; the previous one is broker-N.log.1
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Version of the layout above.
const FORMAT: u32 = 1;

/// A data directory that this process alone uses. The lock goes with the value. A new cluster, or a
/// larger one, is written down only by [`DataDir::keep`]: until then anything may still be refused
/// and nothing has changed.
#[derive(Debug)]
pub struct DataDir {
    pub path: PathBuf,
    pub cluster: Cluster,
    /// The directory was empty before.
    pub fresh: bool,
    _lock: File,
}

/// What `cluster.json` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    format: u32,
    pub id: String,
    pub brokers: u16,
    /// Fixed when the cluster is made: brokers added later follow the metadata without a vote.
    pub voters: u16,
}

/// One sentence each that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot use {path} as data directory: {source}; name a writable one with --data")]
    Unusable { path: PathBuf, source: io::Error },
    #[error(
        "{path} is in use by another millrace process; stop that one or name another directory with --data"
    )]
    InUse { path: PathBuf },
    #[error(
        "{path} cannot be understood ({reason}); restore it from a copy, or name an empty directory with --data"
    )]
    Corrupt { path: PathBuf, reason: String },
    #[error("{path} is not empty and holds no local cluster; name another directory with --data")]
    Foreign { path: PathBuf },
    #[error(
        "{path} holds a cluster of {kept} brokers and cannot shrink to {asked}; start it with --brokers {kept}"
    )]
    Shrinks {
        path: PathBuf,
        kept: u16,
        asked: u16,
    },
}

impl DataDir {
    /// Opens the directory, or makes it for a new cluster named `id`. `brokers`: how many were asked
    /// for; absent = as many as there are, `default` for a new cluster.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn open(
        path: &Path,
        brokers: Option<u16>,
        default: u16,
        id: impl FnOnce() -> String,
    ) -> Result<Self, Error> {
        let unusable = |source| Error::Unusable {
            path: path.to_owned(),
            source,
        };
        let marker = path.join("cluster.json");
        if path.exists() && !marker.exists() && holds_something(path).map_err(unusable)? {
            return Err(Error::Foreign {
                path: path.to_owned(),
            });
        }
        fs::create_dir_all(path).map_err(unusable)?;
        let path = path.canonicalize().map_err(unusable)?;
        let lock = lock(&path)?;
        let marker = path.join("cluster.json");
        let kept = read(&marker)?;
        let fresh = kept.is_none();
        let cluster = match kept {
            Some(kept) => grown(kept, brokers, &path)?,
            None => {
                let brokers = brokers.unwrap_or(default);
                Cluster {
                    format: FORMAT,
                    id: id(),
                    brokers,
                    voters: super::layout::voters(brokers),
                }
            }
        };
        Ok(Self {
            path,
            cluster,
            fresh,
            _lock: lock,
        })
    }

    /// Writes the cluster's identity and size.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn keep(&self) -> Result<(), Error> {
        write(&self.path, &self.cluster).map_err(|source| Error::Unusable {
            path: self.path.clone(),
            source,
        })
    }
}

fn grown(kept: Cluster, asked: Option<u16>, path: &Path) -> Result<Cluster, Error> {
    let asked = asked.unwrap_or(kept.brokers);
    if asked < kept.brokers {
        return Err(Error::Shrinks {
            path: path.to_owned(),
            kept: kept.brokers,
            asked,
        });
    }
    Ok(Cluster {
        brokers: asked,
        ..kept
    })
}

/// A lock file alone is what a first start leaves that was refused later on.
fn holds_something(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        if entry?.file_name() != "lock" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `flock`: gone with the process, however it ends.
fn lock(dir: &Path) -> Result<File, Error> {
    let unusable = |source| Error::Unusable {
        path: dir.to_owned(),
        source,
    };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(dir.join("lock"))
        .map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse {
            path: dir.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(unusable(source)),
    }
}

fn read(marker: &Path) -> Result<Option<Cluster>, Error> {
    let corrupt = |reason: String| Error::Corrupt {
        path: marker.to_owned(),
        reason,
    };
    let bytes = match fs::read(marker) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(Error::Unusable {
                path: marker.to_owned(),
                source,
            });
        }
    };
    let cluster: Cluster = serde_json::from_slice(&bytes).map_err(|e| corrupt(e.to_string()))?;
    if cluster.format != FORMAT {
        return Err(corrupt(format!("format {}, not {FORMAT}", cluster.format)));
    }
    if cluster.brokers == 0 || cluster.voters == 0 || cluster.voters > cluster.brokers {
        return Err(corrupt(format!(
            "{} brokers, {} voters",
            cluster.brokers, cluster.voters
        )));
    }
    Ok(Some(cluster))
}

/// Whole or not at all: written beside, synced, renamed.
fn write(dir: &Path, cluster: &Cluster) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(cluster)?;
    let beside = dir.join("cluster.json.new");
    let mut file = File::create(&beside)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&beside, dir.join("cluster.json"))?;
    File::open(dir)?.sync_all()
}

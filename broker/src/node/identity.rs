//! Whose data directory this is: a file drawn once, checked at each start, so that a broker never
//! runs on another one's data or another cluster's.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::Config;
use crate::metadata::directory_text;

const FILE: &str = "broker.properties";
/// What Kafka's tools read of a directory: `kafka-metadata-quorum` looks up the directory id of a voter.
/// Written for them only.
const KAFKA_FILE: &str = "meta.properties";

/// What the directory says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Drawn when the directory was made; a broker that lost its disk has another.
    pub(super) incarnation: Uuid,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Mismatch {
    #[error(
        "cannot read or write {path}: {source}; check that the directory is writable by this user"
    )]
    Unusable { path: PathBuf, source: io::Error },
    #[error(
        "{0} is damaged; restore it from a copy, or empty this broker's data directory so that it copies everything from the others"
    )]
    Damaged(PathBuf),
    #[error(
        "the data directory belongs to {key} {found}, not {configured}; give the directory of this broker or correct {key}"
    )]
    Other {
        key: &'static str,
        found: String,
        configured: String,
    },
}

/// Begins the last line: what is before it, summed up.
const SEAL: &str = "seal=";

fn seal(text: &str) -> String {
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, text.as_bytes());
    format!("{sum:08x}\n")
}

impl Identity {
    /// Reads the file, or makes it in a new directory.
    pub(super) fn open(dir: &Path, config: &Config) -> Result<Self, Mismatch> {
        let path = dir.join(FILE);
        let unusable = |source| Mismatch::Unusable {
            path: path.clone(),
            source,
        };
        let identity = match std::fs::read_to_string(&path) {
            Ok(text) => Self::check(&path, &text, config),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let identity = Self {
                    incarnation: Uuid::new_v4(),
                };
                identity.write(dir, config).map_err(unusable)?;
                Ok(identity)
            }
            Err(error) => Err(unusable(error)),
        }?;
        identity.tell_tools(dir, config).map_err(unusable)?;
        Ok(identity)
    }

    fn tell_tools(&self, dir: &Path, config: &Config) -> io::Result<()> {
        let path = dir.join(KAFKA_FILE);
        let text = format!(
            "version=1\ncluster.id={}\nnode.id={}\ndirectory.id={}\n",
            config.cluster_id,
            config.node_id,
            directory_text(self.incarnation)
        );
        if std::fs::read_to_string(&path).is_ok_and(|written| written == text) {
            return Ok(());
        }
        let temporary = dir.join(format!("{KAFKA_FILE}.temporary"));
        std::fs::write(&temporary, text)?;
        std::fs::rename(&temporary, path)
    }

    fn check(path: &Path, text: &str, config: &Config) -> Result<Self, Mismatch> {
        let (text, sealed) = match text.rsplit_once(SEAL) {
            Some((text, sealed)) => (text, Some(sealed)),
            None => (text, None),
        };
        if sealed.is_some_and(|sealed| sealed != seal(text)) {
            return Err(Mismatch::Damaged(path.to_owned()));
        }
        let value = |key: &str| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value)
                .ok_or_else(|| Mismatch::Damaged(path.to_owned()))
        };
        let expected = [
            ("cluster.id", config.cluster_id.clone()),
            ("node.id", config.node_id.to_string()),
        ];
        for (key, configured) in expected {
            let found = value(key)?;
            if found != configured {
                return Err(Mismatch::Other {
                    key,
                    found: found.to_owned(),
                    configured,
                });
            }
        }
        let incarnation = value("incarnation")?
            .parse()
            .map_err(|_| Mismatch::Damaged(path.to_owned()))?;
        Ok(Self { incarnation })
    }

    fn write(&self, dir: &Path, config: &Config) -> io::Result<()> {
        let temporary = dir.join(format!("{FILE}.temporary"));
        let mut file = File::create(&temporary)?;
        let text = format!(
            "cluster.id={}\nnode.id={}\nincarnation={}\n",
            config.cluster_id, config.node_id, self.incarnation
        );
        write!(file, "{text}{SEAL}{}", seal(&text))?;
        file.sync_all()?;
        std::fs::rename(&temporary, dir.join(FILE))?;
        File::open(dir)?.sync_all()
    }
}

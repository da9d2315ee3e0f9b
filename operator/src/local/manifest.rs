//! Manifests from files: what `-f` names, read as the API server would take it.
//!
//! Owns finding the files, the judgement of single resources (by [`crds::admission`] and the catalogue of
//! config keys) and of the set (names used once, one cluster that it fits). Every complaint carries file and
//! line. Never looks at a cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crds::admission::Admission;
use crds::broker_cluster::BrokerCluster;
use crds::consumer_group::ConsumerGroup;
use crds::exchange::Exchange;
use crds::queue::Queue;
use crds::topic::Topic;
use serde::de::DeserializeOwned;
use serde_json::Value;

mod brokers;
mod document;
mod set;
#[cfg(test)]
mod tests;

pub use document::Document;

/// Bytes of one manifest file; more is taken for a mistake.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Every resource of a directory, each judged on its own and the set as a whole.
#[derive(Debug, Default)]
pub struct Manifests {
    /// At most one; absent = a cluster of defaults.
    pub cluster: Option<Located<BrokerCluster>>,
    pub topics: Vec<Located<Topic>>,
    pub queues: Vec<Located<Queue>>,
    pub exchanges: Vec<Located<Exchange>>,
    pub groups: Vec<Located<ConsumerGroup>>,
    /// What is taken and may be a mistake: config keys that no broker reads, bindings to what is not here.
    pub doubtful: Vec<Problem>,
    /// Objects that are not this program's to apply, as `file:line: kind name`.
    pub skipped: Vec<String>,
}

/// A resource and the document it was read from, so that what a cluster says about it later can
/// still be said with a line number.
#[derive(Debug)]
pub struct Located<K> {
    pub resource: K,
    pub document: Document,
}

/// Place of a thing in a file. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub line: usize,
}

/// One thing that is wrong in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    /// Dotted path in the object; empty = the object or the file as a whole.
    pub field: String,
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, line } = &self.place;
        write!(f, "{}:{line}: ", file.display())?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.reason)
    }
}

/// Why manifests cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {path}: {source}; give a readable directory of .yaml files with -f")]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// One line for each problem.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Problem>),
}

/// Reads a file, or every `.yaml`, `.yml` and `.json` file of a directory (not of its
/// subdirectories), in order of names, as `kubectl apply -f` does.
///
/// # Errors
/// All problems of all files at once.
pub fn read(path: &Path) -> Result<Manifests, Error> {
    let mut set = set::Builder::default();
    for file in files(path)? {
        let text = text(&file)?;
        match document::parse(&file, &text) {
            Ok(documents) => {
                for document in documents {
                    judge(document, &mut set);
                }
            }
            Err(problem) => set.problems.push(problem),
        }
    }
    set.finish().map_err(Error::Invalid)
}

impl Manifests {
    /// Number of resources to apply.
    #[must_use]
    pub fn len(&self) -> usize {
        let cluster = usize::from(self.cluster.is_some());
        cluster + self.topics.len() + self.queues.len() + self.exchanges.len() + self.groups.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// # Errors
/// The problems, if there are any.
pub(super) fn refuse(problems: Vec<Problem>) -> Result<(), Error> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(Error::Invalid(problems))
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |source| Error::Unreadable {
        path: path.to_owned(),
        source,
    };
    if !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let extension = file.extension().and_then(|e| e.to_str());
        if matches!(extension, Some("yaml" | "yml" | "json")) && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn text(file: &Path) -> Result<String, Error> {
    let unreadable = |source| Error::Unreadable {
        path: file.to_owned(),
        source,
    };
    let bytes = std::fs::metadata(file).map_err(unreadable)?.len();
    if bytes > FILE_BYTES_MAX {
        let reason = format!("{bytes} bytes, more than {FILE_BYTES_MAX}");
        return Err(unreadable(std::io::Error::other(reason)));
    }
    std::fs::read_to_string(file).map_err(unreadable)
}

/// Judges one document by its kind and puts it into the set.
fn judge(document: Document, set: &mut set::Builder) {
    let word = |key: &str| document.value.get(key).and_then(Value::as_str);
    let name = document
        .value
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let api_version = word("apiVersion").unwrap_or_default().to_owned();
    let Some(kind) = word("kind").map(str::to_owned) else {
        let reason = "a resource needs apiVersion, kind and metadata";
        return set.problems.push(document.problem("kind", reason));
    };
    if !api_version.starts_with(&format!("{}/", crds::GROUP)) {
        if api_version.is_empty() {
            let reason = format!("missing; write {}/{}", crds::GROUP, crds::VERSION);
            return set.problems.push(document.problem("apiVersion", reason));
        }
        let place = document.place("");
        let line = format!("{}:{}: {kind} {name}", place.file.display(), place.line);
        return set.skipped.push(line);
    }
    if api_version != format!("{}/{}", crds::GROUP, crds::VERSION) {
        let reason = format!(
            "'{api_version}' is not served; write {}/{}",
            crds::GROUP,
            crds::VERSION
        );
        return set.problems.push(document.problem("apiVersion", reason));
    }
    if let Err(reason) = resource_name(&name) {
        return set.problems.push(document.problem("metadata.name", reason));
    }
    match kind.as_str() {
        "BrokerCluster" => admit(document, set, set::Builder::cluster),
        "Topic" => admit(document, set, set::Builder::topic),
        "Queue" => admit(document, set, set::Builder::queue),
        "Exchange" => admit(document, set, set::Builder::exchange),
        "ConsumerGroup" => admit(document, set, set::Builder::group),
        _ => {
            let reason = format!(
                "no kind '{kind}' in {}; there are BrokerCluster, Topic, Queue, Exchange and ConsumerGroup",
                crds::GROUP
            );
            set.problems.push(document.problem("kind", reason));
        }
    }
}

/// Runs the schema and the rules of the kind, then hands the typed resource to `put`.
fn admit<K: DeserializeOwned>(
    document: Document,
    set: &mut set::Builder,
    put: fn(&mut set::Builder, Located<K>),
) {
    let kind = document.value.get("kind").and_then(Value::as_str);
    let Some(admission) = kind.and_then(Admission::of) else {
        return set
            .problems
            .push(document.problem("kind", "the kind has no definition"));
    };
    match admission.admit(document.value.clone(), None) {
        Ok(value) => match serde_json::from_value(value) {
            Ok(resource) => put(set, Located { resource, document }),
            Err(error) => set.problems.push(document.problem("", error.to_string())),
        },
        Err(violations) => {
            for violation in violations {
                let problem = document.problem(&violation.path, violation.message);
                set.problems.push(problem);
            }
        }
    }
}

/// RFC 1123 subdomain, as Kubernetes asks of `metadata.name`.
fn resource_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("missing");
    }
    let label = |l: &str| {
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        edge(l.chars().next())
            && edge(l.chars().next_back())
            && l.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    if name.len() <= 253 && name.split('.').all(label) {
        return Ok(());
    }
    Err("must be lower case letters, digits, '-' and '.', at most 253 of them (RFC 1123)")
}

/// Names used so far and where, to say where the first one is.
type Seen = BTreeMap<String, Place>;

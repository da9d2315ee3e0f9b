//! Reads the log after a start: every file in order, up to the torn tail of the last.
//!
//! A record that does not check out ends the log only where a crash can have cut it: behind the last
//! sync. Each record carries how far the file was synced before it; one that lies beyond the bad spot
//! and knows it as synced proves that the disk lost what it had, and the start is refused.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::super::GroupId;
use super::log::{Log, Position, Replay};
use super::record::{Kind, Record};
use super::{Config, file};

/// Offsets of records are multiples of this.
const STEP: usize = 8;
/// What was never written is skipped in pieces of this size: a file is mostly that.
const PAGE: usize = 4096;
const UNUSED: [u8; PAGE] = [0; PAGE];

#[derive(Debug, thiserror::Error)]
enum Damaged {
    #[error(
        "{path} is damaged at byte {offset}: synced records are unreadable; restore the disk, or empty this broker's data directory so that it copies everything from the others"
    )]
    Record { path: PathBuf, offset: u64 },
    #[error(
        "{path} ends without its end mark though a later file exists; restore the disk, or empty this broker's data directory so that it copies everything from the others"
    )]
    Unfinished { path: PathBuf },
}

pub(super) struct Recovered {
    pub(super) logs: BTreeMap<GroupId, Log>,
    pub(super) files: BTreeMap<u64, Arc<File>>,
    /// The file to go on with and where; `None` when there is none.
    pub(super) end: Option<Position>,
}

pub(super) fn recover(dir: &Path, config: &Config) -> io::Result<Recovered> {
    std::fs::create_dir_all(dir)?;
    let sequences = file::list(dir, "wal")?;
    let mut replays = BTreeMap::new();
    let mut files = BTreeMap::new();
    let mut end = None;
    for sequence in &sequences {
        let path = file::path(dir, *sequence);
        let opened = file::open(&path)?;
        let content = Bytes::from(std::fs::read(&path)?);
        let last = Some(sequence) == sequences.last();
        let offset = replay(&path, *sequence, &content, last, &mut replays)?;
        if last && content.len() < config.file_bytes {
            // A crash while the file was being allocated.
            opened.set_len(config.file_bytes as u64)?;
            opened.sync_all()?;
        }
        files.insert(*sequence, Arc::new(opened));
        end = Some(Position {
            file: *sequence,
            offset,
        });
    }
    let logs = replays
        .into_iter()
        .map(|(group, replay)| Ok((group, replay.finish()?)))
        .collect::<io::Result<_>>()?;
    Ok(Recovered { logs, files, end })
}

/// Where the file's records end.
fn replay(
    path: &Path,
    sequence: u64,
    content: &Bytes,
    last: bool,
    replays: &mut BTreeMap<GroupId, Replay>,
) -> io::Result<u64> {
    let mut at = 0;
    while let Some(found) = Record::find(content, sequence, at) {
        if found.record.kind == Kind::End {
            return Ok(content.len() as u64);
        }
        let position = Position {
            file: sequence,
            offset: found.payload_at,
        };
        replays
            .entry(found.record.group)
            .or_default()
            .take(&found.record, position);
        at = found.next;
    }
    if let Some(offset) = synced_beyond(content, sequence, at) {
        tracing::error!(path = %path.display(), bad = at, good = offset, "write-ahead log damaged");
        return Err(damaged(Damaged::Record {
            path: path.to_owned(),
            offset: at as u64,
        }));
    }
    if !last {
        return Err(damaged(Damaged::Unfinished {
            path: path.to_owned(),
        }));
    }
    Ok(at as u64)
}

/// A sound record behind `bad` that was written when `bad` had been synced already.
fn synced_beyond(content: &Bytes, sequence: u64, bad: usize) -> Option<usize> {
    let mut at = bad + STEP;
    while at < content.len() {
        if content
            .get(at..at + PAGE)
            .is_some_and(|page| page == UNUSED)
        {
            // The last place where a header's kind, which is not 0, could lie beyond the page.
            at += PAGE - STEP;
            continue;
        }
        if Record::find(content, sequence, at).is_some_and(|found| found.durable > bad as u64) {
            return Some(at);
        }
        at += STEP;
    }
    None
}

fn damaged(damaged: Damaged) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, damaged)
}

//! Idempotent producers of a log, written down so that opening does not read all of it.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use bytes::{Buf, Bytes};
use commitlog::Reader;
use machine::replica::producers::Producers;
use model::Offset;

const FILE: &str = "producers";

/// Producers written down, but not where they are looked for.
#[derive(Debug)]
pub struct Prepared(PathBuf);

/// Writes down what is known at `end`. A file that cannot be written only costs reading later.
pub(crate) fn store(directory: &Path, end: Offset, producers: &Producers) {
    if let Some(prepared) = prepare(directory, end, producers) {
        prepared.put(false);
    }
}

/// As [`store`], but the last step is left to [`Prepared::put`].
pub(crate) fn prepare(directory: &Path, end: Offset, producers: &Producers) -> Option<Prepared> {
    let path = directory.join(FILE);
    if producers.is_empty() {
        let _missing = fs::remove_file(&path);
        return None;
    }
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(path.with_extension("tmp"))?;
        let bytes = [&end.0.to_be_bytes()[..], &producers.encode()].concat();
        file.write_all(&bytes)?;
        file.write_all(&commitlog::seal_of(&bytes))
    };
    let written = write();
    let prepared = Prepared(path);
    prepared.noting(&written).then_some(prepared)
}

impl Prepared {
    /// Puts it in its place, synced before unless it `is_synced`.
    pub fn put(&self, is_synced: bool) {
        let temporary = self.0.with_extension("tmp");
        let put = || {
            if !is_synced {
                fs::File::open(&temporary)?.sync_all()?;
            }
            fs::rename(&temporary, &self.0)
        };
        self.noting(&put());
    }

    fn noting(&self, outcome: &io::Result<()>) -> bool {
        if let Err(error) = outcome {
            tracing::warn!(path = %self.0.display(), %error, "producers cannot be written down");
        }
        outcome.is_ok()
    }
}

/// What was written down, and what the log has since. From the log alone when the file is missing,
/// not whole, or speaks of records that are not there. Such a file goes: by and by others may stand there.
pub(crate) fn recount(directory: &Path, reader: &Reader) -> Producers {
    let there = reader.start_offset()..=reader.end_offset();
    let (from, mut producers) = match load(directory) {
        Some((at, known)) if there.contains(&at) => (at, known),
        _ => {
            forget(directory);
            (*there.start(), Producers::default())
        }
    };
    let counted = reader.headers(from, |header| {
        if header.base_offset >= from {
            producers.observe(header);
        }
    });
    if let Err(error) = counted {
        tracing::error!(
            directory = %directory.display(),
            error = &error as &dyn std::error::Error,
            "producers are known in part only"
        );
    }
    producers
}

/// Of a log that begins anew the file says nothing.
pub(crate) fn forget(directory: &Path) {
    let _missing = fs::remove_file(directory.join(FILE));
}

fn load(directory: &Path) -> Option<(Offset, Producers)> {
    let bytes = fs::read(directory.join(FILE)).ok()?;
    let (bytes, seal) = bytes.split_last_chunk()?;
    if *seal != commitlog::seal_of(bytes) {
        return None;
    }
    let mut bytes = Bytes::copy_from_slice(bytes);
    let at = Offset(bytes.try_get_i64().ok()?);
    Some((at, Producers::decode(bytes)?))
}

#[cfg(test)]
mod tests;

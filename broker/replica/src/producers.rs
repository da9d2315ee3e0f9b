//! Idempotent producers of a log, written down so that opening does not read all of it.

use std::{fs, io::Write, path::Path};

use bytes::{Buf, Bytes};
use commitlog::Reader;
use machine::replica::producers::Producers;
use model::Offset;

const FILE: &str = "producers";

/// Writes down what is known at `end`. A file that cannot be written only costs reading later.
pub(crate) fn store(directory: &Path, end: Offset, producers: &Producers) {
    let path = directory.join(FILE);
    if producers.is_empty() {
        let _missing = fs::remove_file(&path);
        return;
    }
    let temporary = path.with_extension("tmp");
    let write = || {
        let mut file = fs::File::create(&temporary)?;
        let bytes = [&end.0.to_be_bytes()[..], &producers.encode()].concat();
        file.write_all(&bytes)?;
        file.write_all(&commitlog::seal_of(&bytes))?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    if let Err(error) = write() {
        tracing::warn!(path = %path.display(), %error, "producers cannot be written down");
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

//! What waits in a log, written down so that opening reads only what has been added since.
//!
//! There from before the first such record until none is left: a log without this file holds none. Where it is
//! not whole, the log tells everything.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use bytes::{Buf, BufMut, Bytes};
use model::Offset;

use super::{
    entry::Entry,
    run::Run,
    waiting::{Handed, Waiting},
};

const FILE: &str = "held";
const FORMAT: u8 = 1;

/// What was found.
#[derive(Debug)]
pub(super) enum Found {
    /// The log holds nothing.
    Nothing,
    /// What waited when the log ended at `seen`.
    Whole {
        waiting: Waiting,
        seen: Offset,
        hidden_upto: Offset,
    },
    NotWhole,
}

/// Waits for the disk.
pub(super) fn store(
    directory: &Path,
    waiting: &mut Waiting,
    seen: Offset,
    hidden_upto: Offset,
) -> io::Result<()> {
    let mut out = Vec::new();
    out.put_u8(FORMAT);
    out.put_i64(seen.0);
    out.put_i64(hidden_upto.0);
    out.put_i64(waiting.settled.0);
    out.put_u64(waiting.next_run);
    out.put_u64(waiting.count);
    out.put_u64(waiting.bytes);
    out.put_u64(waiting.runs.len() as u64);
    for run in &waiting.runs {
        out.put_u64(run.id);
        out.put_u64(run.count);
        out.put_u64(run.taken);
        out.put_i64(run.offsets.0.0);
        out.put_i64(run.offsets.1.0);
    }
    put(&mut out, waiting.memory.len(), waiting.memory.iter());
    out.put_u64(waiting.handed.len() as u64);
    for handed in &waiting.handed {
        out.put_i64(handed.at.0);
        put(&mut out, handed.entries.len(), handed.entries.iter());
    }
    let seal = commitlog::seal_of(&out);
    out.put_slice(&seal);
    // A log makes its directory for its first record.
    fs::create_dir_all(directory)?;
    let path = directory.join(FILE);
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(&out)?;
    file.sync_all()?;
    fs::rename(&temporary, &path)?;
    File::open(directory)?.sync_all()?;
    waiting.remove_retired();
    Ok(())
}

fn put<'a>(out: &mut Vec<u8>, len: usize, entries: impl Iterator<Item = &'a Entry>) {
    out.put_u64(len as u64);
    for entry in entries {
        entry.put(out);
    }
}

pub(super) fn load(directory: &Path) -> io::Result<Found> {
    let bytes = match fs::read(directory.join(FILE)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    };
    let whole = bytes
        .split_last_chunk()
        .filter(|(bytes, seal)| **seal == commitlog::seal_of(bytes))
        .and_then(|(bytes, _)| decode(directory, Bytes::copy_from_slice(bytes)));
    Ok(whole.unwrap_or(Found::NotWhole))
}

fn decode(directory: &Path, mut bytes: Bytes) -> Option<Found> {
    if bytes.try_get_u8().ok()? != FORMAT {
        return None;
    }
    let mut waiting = Waiting::new(directory);
    let seen = Offset(bytes.try_get_i64().ok()?);
    let hidden_upto = Offset(bytes.try_get_i64().ok()?);
    waiting.settled = Offset(bytes.try_get_i64().ok()?);
    waiting.next_run = bytes.try_get_u64().ok()?;
    waiting.count = bytes.try_get_u64().ok()?;
    waiting.bytes = bytes.try_get_u64().ok()?;
    for _ in 0..bytes.try_get_u64().ok()? {
        let (id, count) = (bytes.try_get_u64().ok()?, bytes.try_get_u64().ok()?);
        let taken = bytes.try_get_u64().ok()?;
        let first = Offset(bytes.try_get_i64().ok()?);
        let last = Offset(bytes.try_get_i64().ok()?);
        let run = Run::known(directory, id, count, taken, (first, last));
        waiting.runs.push(run);
    }
    waiting.memory = take(&mut bytes)?.into_iter().collect();
    for _ in 0..bytes.try_get_u64().ok()? {
        let at = Offset(bytes.try_get_i64().ok()?);
        let entries = take(&mut bytes)?;
        waiting.handed.push_back(Handed { at, entries });
    }
    Some(Found::Whole {
        waiting,
        seen,
        hidden_upto,
    })
}

fn take(bytes: &mut Bytes) -> Option<Vec<Entry>> {
    let count = bytes.try_get_u64().ok()?;
    (0..count).map(|_| Entry::take(bytes)).collect()
}

/// The log has to tell what waits. Waits for the disk.
pub(super) fn spoil(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    File::create(directory.join(FILE))?.sync_all()?;
    File::open(directory)?.sync_all()
}

/// The log holds nothing any more.
pub(super) fn remove(directory: &Path) {
    let _missing = fs::remove_file(directory.join(FILE));
}

//! What the brokers say: one file each, the previous one kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Stdio;

/// A file longer than this is put aside at the next start.
const LOG_BYTES_MAX: u64 = 16 << 20;
/// Bytes of the end that are looked at for the last line.
const TAIL_BYTES: u64 = 8 << 10;

/// Puts a long log aside as `….log.1`, in place of the one before.
pub(super) fn rotate(log: &Path) -> io::Result<()> {
    let bytes = match std::fs::metadata(log) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if bytes <= LOG_BYTES_MAX {
        return Ok(());
    }
    let mut aside = log.as_os_str().to_owned();
    aside.push(".1");
    std::fs::rename(log, aside)
}

/// Standard output and error of a broker, appended.
pub(super) fn open(log: &Path) -> io::Result<(Stdio, Stdio)> {
    let file = OpenOptions::new().create(true).append(true).open(log)?;
    let second = file.try_clone()?;
    Ok((file.into(), second.into()))
}

/// The last line, if it is the one sentence that a broker which refuses to run ends with.
pub(super) fn last_sentence(log: &Path) -> Option<String> {
    let mut file = File::open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))
        .ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let line = tail.lines().next_back()?;
    line.strip_prefix("millrace: ").map(str::to_owned)
}

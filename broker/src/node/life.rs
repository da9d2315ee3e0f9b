//! Which life of the broker ran on this data directory last: its epoch, written down when it registers.
//!
//! With the mark of a clean shutdown it tells the cluster that nothing of that life is missing (KIP-966).
//! A directory that was copied back from an older time has an older epoch, and tells nothing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use commitlog::{DataDir, Shutdown};

const FILE: &str = "broker-epoch";

/// Epoch of the life before this one, if that closed every log.
pub(super) fn ended_in_order(data_dir: &DataDir) -> Option<i64> {
    if data_dir.left() != Shutdown::Clean {
        return None;
    }
    let text = fs::read_to_string(data_dir.path().join(FILE)).ok()?;
    text.strip_suffix('\n')?.parse().ok()
}

/// Notes the epoch of the life that begins. One that cannot be noted only counts as a crash later.
pub(super) fn note(dir: &Path, epoch: i64) {
    if let Err(error) = replace(dir, epoch) {
        tracing::warn!(%error, "the next start will count as one after a crash");
    }
}

fn replace(dir: &Path, epoch: i64) -> io::Result<()> {
    let temporary = dir.join(format!("{FILE}.temporary"));
    let mut file = File::create(&temporary)?;
    writeln!(file, "{epoch}")?;
    file.sync_all()?;
    fs::rename(&temporary, dir.join(FILE))?;
    File::open(dir)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_a_life_that_closed_its_logs_ended_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let held = DataDir::lock(dir.path()).unwrap();
        assert_eq!(ended_in_order(&held), None, "a new directory");
        note(dir.path(), 7);
        held.mark_clean().unwrap();
        let held = DataDir::lock(dir.path()).unwrap();
        assert_eq!(ended_in_order(&held), Some(7));
        note(dir.path(), 8);
        drop(held);
        let held = DataDir::lock(dir.path()).unwrap();
        assert_eq!(ended_in_order(&held), None, "a crash");
    }
}

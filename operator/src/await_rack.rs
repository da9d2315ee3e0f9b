//! `millrace await-rack FILE`: the init container that lets a broker start once its pod carries its
//! rack.

use std::path::Path;
use std::time::{Duration, Instant};

/// The kubelet refreshes the file; there is nothing to be woken by.
const LOOK: Duration = Duration::from_millis(250);
/// Without an operator to place it, a broker starts without a rack rather than not at all.
const PATIENCE: Duration = Duration::from_secs(180);

/// Returns once `file` is not empty, or after [`PATIENCE`]. Says which.
#[must_use]
pub fn await_rack(file: &Path) -> bool {
    let begun = Instant::now();
    loop {
        if std::fs::read_to_string(file).is_ok_and(|text| !text.trim().is_empty()) {
            return true;
        }
        if begun.elapsed() >= PATIENCE {
            return false;
        }
        std::thread::sleep(LOOK);
    }
}

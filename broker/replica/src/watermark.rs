//! The high watermark of a log, written down now and then: a broker that starts goes on from there
//! instead of from the start of the log, until its followers or its leader say more.
//!
//! Never a reason to truncate, and never above what was committed: an older one is as good.

use std::{fs, io::Write, path::Path};

use model::Offset;

const FILE: &str = "high-watermark";
/// Milliseconds after which a moved watermark is written down.
pub(crate) const STORE_AFTER_MS: i64 = 5000;

/// Not synced: after a crash an older one, or none, will do. One that cannot be written neither.
pub(crate) fn store(directory: &Path, watermark: Offset) {
    let path = directory.join(FILE);
    let temporary = path.with_extension("tmp");
    let text = format!("{watermark}\n");
    let write = || {
        fs::File::create(&temporary)?.write_all(text.as_bytes())?;
        fs::rename(&temporary, &path)
    };
    if let Err(error) = write() {
        tracing::debug!(path = %path.display(), %error, "high watermark cannot be written down");
    }
}

/// What was written down, if that is whole.
pub(crate) fn load(directory: &Path) -> Option<Offset> {
    let text = fs::read_to_string(directory.join(FILE)).ok()?;
    let watermark: i64 = text.strip_suffix('\n')?.parse().ok()?;
    (watermark >= 0).then_some(Offset(watermark))
}

/// After a cut the file may speak of other records.
pub(crate) fn forget(directory: &Path) {
    let _missing = fs::remove_file(directory.join(FILE));
}

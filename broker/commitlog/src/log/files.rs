//! Names in a log's directory.

use model::Offset;

pub(crate) const EPOCHS: &str = "leader-epochs";
pub(crate) const RECOVERY_POINT: &str = "recovery-point";
pub(crate) const LOG_START: &str = "log-start";
/// Ending of files that wait for their removal.
pub(crate) const DELETED: &str = ".deleted";

/// Base offset of a segment's batch file; `None` for any other file.
pub(crate) fn segment_base(name: &str) -> Option<Offset> {
    let digits = name.strip_suffix(".log")?;
    (digits.len() == 20).then(|| digits.parse().ok().map(Offset))?
}

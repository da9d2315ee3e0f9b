//! Names in a log's directory.

use model::Offset;

pub(crate) const EPOCHS: &str = "leader-epochs";
pub(crate) const RECOVERY_POINT: &str = "recovery-point";
/// Below it the indexes of the active segment were synced as well.
pub(crate) const INDEX_POINT: &str = "index-point";
pub(crate) const LOG_START: &str = "log-start";
/// Below it each key of a compacted log is there once.
pub(crate) const COMPACTED_TO: &str = "compacted-to";
/// Those with one sealed offset.
pub(crate) const OFFSETS: [&str; 4] = [RECOVERY_POINT, INDEX_POINT, LOG_START, COMPACTED_TO];
/// The files of a segment.
pub(crate) const SEGMENT_EXTENSIONS: [&str; 3] = ["log", "index", "timeindex"];
/// Those that can be made anew from its batches.
pub(crate) const INDEX_EXTENSIONS: [&str; 2] = ["index", "timeindex"];
/// Ending of files that wait for their removal.
pub(crate) const DELETED: &str = ".deleted";

/// Name of a file of the segment that begins at `base`.
pub(crate) fn segment(base: Offset, extension: &str) -> String {
    format!("{:020}.{extension}", base.0)
}

/// Base offset of a segment's batch file; `None` for any other file.
pub(crate) fn segment_base(name: &str) -> Option<Offset> {
    let digits = name.strip_suffix(".log")?;
    (digits.len() == 20).then(|| digits.parse().ok().map(Offset))?
}

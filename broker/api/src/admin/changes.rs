//! The change stream: a long poll on the metadata index.

use serde::{Deserialize, Serialize};

/// Longest wait of one poll, in milliseconds; a longer one asked for is cut to this.
pub const CHANGES_TIMEOUT_MS_MAX: u64 = 55_000;

/// The broker's metadata index, later than `since` unless the poll timed out. Says that something
/// changed, not what: the reader looks at what it cares for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    pub index: u64,
}

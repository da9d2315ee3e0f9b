//! One replicated thing's log on disk: record batches in segment files, found by offset and by time.
//!
//! Owns files, their indexes, recovery, rolling, deletion and the cache of the newest batches. Knows
//! offsets, epochs and batches; never a protocol, a replica, a clock or a runtime: times are passed in
//! as milliseconds since 1970 and every call may block on the disk.
//!
//! ```text
//! DIR/00000000000000000000.log        batches, one after another, exactly as they were appended
//! DIR/00000000000000000000.index      sparse: offset -> position        rebuilt when in doubt
//! DIR/00000000000000000000.timeindex  sparse: newest time so far -> offset  rebuilt when in doubt
//! DIR/leader-epochs                   first offset of each leader epoch  rebuilt when in doubt
//! DIR/recovery-point                  everything below this offset was synced
//! DIR/index-point                     below this offset the active segment's indexes were synced too
//! DIR/log-start                       first offset not deleted, when inside a segment
//! ```
//! Written by one [`Log`]; read by any number of [`Reader`]s at the same time.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![deny(unsafe_code)]

mod checkpoint;
mod compaction;
mod config;
mod data_dir;
mod descriptors;
mod disk;
mod epochs;
mod error;
mod file_system;
mod index;
mod log;
#[allow(unsafe_code)]
mod mmap;
mod reader;
mod recovery;
mod scrub;
mod segment;
mod sync;
mod tail;

pub use checkpoint::seal_of;
pub use compaction::{Codec, Compacted, Compaction, Means, Policy};
pub use config::{Config, Resources, Shutdown};
pub use data_dir::{DataDir, LockError};
pub use descriptors::Descriptors;
pub use disk::{Disk, System};
pub use epochs::Epochs;
pub use error::Error;
pub use file_system::FileSystem;
pub use log::Log;
pub use reader::Reader;
pub use recovery::Recovered;
pub use scrub::{Hole, Scrub};
pub use sync::{SyncTask, run_all};
pub use tail::Budget;

//! Why the log could not do what it was asked.

use std::{io, path::PathBuf};

use model::{Offset, batch};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk refused; the log is as it was before the call.
    #[error("{doing} {path}", path = .path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A sync failed once. What was written since may be lost although the system says otherwise, so
    /// nothing more is accepted until the log is mended ([`crate::Log::mend`]) or opened anew.
    #[error("log is closed after a failed sync")]
    Poisoned,
    /// Bytes that were synced are not a batch any more. Nothing was cut.
    #[error("log is damaged at offset {offset} ({path}, byte {position})", path = .path.display())]
    Corrupt {
        path: PathBuf,
        position: u64,
        offset: Offset,
        source: batch::Invalid,
    },
    /// The batch given to append is not one.
    #[error("not a record batch")]
    Invalid(#[from] batch::Invalid),
    #[error("batch begins at offset {given}, the log ends at {end}")]
    NotNext { given: Offset, end: Offset },
    #[error("offset {asked} is outside [{start}, {end}]")]
    OutOfRange {
        asked: Offset,
        start: Offset,
        end: Offset,
    },
}

impl Error {
    /// The file system has no room or no quota left: it may have again.
    pub fn is_out_of_space(&self) -> bool {
        let kind = match self {
            Self::Io { source, .. } => source.kind(),
            _ => return false,
        };
        matches!(
            kind,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }

    /// For an operation on a file that the disk refused.
    pub fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}

//! What a log's delivery delay was last, and what was due when it became that: kept in a file beside the
//! log, since another delay must not hide what could be read before, nor may a restart.
//!
//! Written, and synced, when the delay changes and when what was due then is cut off. Where it is missing a
//! record is judged by its age alone: late rather than early.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use model::Offset;

const FILE: &str = "delivered";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub(crate) delay_ms: i64,
    /// Everything below stays due.
    pub(crate) upto: Offset,
}

impl Delivered {
    /// What was written down, if that is whole.
    pub(crate) fn load(directory: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join(FILE)).ok()?;
        let (delay_ms, upto) = text.strip_suffix('\n')?.split_once(' ')?;
        let (delay_ms, upto) = (delay_ms.parse().ok()?, upto.parse().ok()?);
        (delay_ms >= 0 && upto >= 0).then_some(Self {
            delay_ms,
            upto: Offset(upto),
        })
    }

    pub(crate) fn store(self, directory: &Path) {
        let path = directory.join(FILE);
        let temporary = path.with_extension("tmp");
        let write = || {
            // Of a log without records there may be nothing yet.
            fs::create_dir_all(directory)?;
            let mut file = File::create(&temporary)?;
            file.write_all(format!("{} {}\n", self.delay_ms, self.upto).as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            File::open(directory)?.sync_all()
        };
        if let Err(error) = write() {
            tracing::warn!(path = %path.display(), %error, "what was delivered cannot be written down");
            // What an earlier one says may be too much.
            let _missing = fs::remove_file(&path);
        }
    }
}

//! Segments written anew take the place of the old ones, all or none.
//!
//! The new ones lie in a directory of their own. Giving it another name is what counts: before, it is
//! thrown away by the next start; after, the next start goes on with what was not moved yet.

use std::{fs, io, path::Path, path::PathBuf};

use model::Offset;

use super::Group;
use crate::{Disk, Error, System, checkpoint, log::files};

const UNFINISHED: &str = "compaction";
const FINISHED: &str = "compacted";
/// In that directory: the segments that go without one of the same name coming, a line each.
const GONE: &str = "gone";
/// Its last line, followed by a seal.
const END: &str = "end ";

/// Where segments are written.
pub(super) fn unfinished(dir: &Path) -> PathBuf {
    dir.join(UNFINISHED)
}

/// Makes the directory for new segments.
pub(super) fn begin(dir: &Path) -> Result<(), Error> {
    abandon(dir)?;
    let path = unfinished(dir);
    fs::create_dir(&path).map_err(Error::io("create", path))
}

/// Throws away what was written.
pub(crate) fn abandon(dir: &Path) -> Result<(), Error> {
    remove_all(&unfinished(dir))
}

/// All new segments are written and synced.
pub(super) fn complete(dir: &Path, groups: &[Group]) -> Result<(), Error> {
    let path = unfinished(dir);
    let mut gone = String::new();
    for old in groups.iter().flat_map(|group| group.old.iter().skip(1)) {
        gone.push_str(&old.base.0.to_string());
        gone.push('\n');
    }
    gone.push_str(&seal(&gone));
    checkpoint::replace(&System, &path.join(GONE), gone.as_bytes())
        .map_err(Error::io("write into", path))
}

/// From now on the new segments count. Nobody may open the old ones any more.
pub(crate) fn commit(dir: &Path) -> Result<(), Error> {
    let path = dir.join(FINISHED);
    fs::rename(unfinished(dir), &path)
        .and_then(|()| System.sync_directory(dir))
        .map_err(Error::io("rename to", path))
}

/// Moves what counts to where it belongs; what was moved before a crash is not moved again.
pub(crate) fn move_in(dir: &Path) -> Result<(), Error> {
    let from = dir.join(FINISHED);
    let failed = |e| Error::io("put in place", from.clone())(e);
    let gone = match fs::read_to_string(from.join(GONE)) {
        Ok(gone) => gone,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return remove_all(&from),
        Err(e) => return Err(failed(e)),
    };
    let gone = gone
        .rfind(END)
        .and_then(|at| gone.split_at_checked(at))
        .filter(|(gone, end)| *end == seal(gone))
        .map(|(gone, _)| gone)
        // Which of the old ones go cannot be told otherwise.
        .ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?;
    for base in gone.lines().filter_map(|line| line.parse().ok()) {
        for extension in files::SEGMENT_EXTENSIONS {
            remove(&dir.join(files::segment(Offset(base), extension))).map_err(failed)?;
        }
    }
    for entry in fs::read_dir(&from).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(base) = name.to_str().and_then(files::segment_base) else {
            continue;
        };
        // An index without its log is never right; a log without its index is only slow to open.
        for extension in files::INDEX_EXTENSIONS {
            remove(&dir.join(files::segment(base, extension))).map_err(failed)?;
        }
        fs::rename(from.join(&name), dir.join(&name)).map_err(failed)?;
        for extension in files::INDEX_EXTENSIONS {
            let name = files::segment(base, extension);
            match fs::rename(from.join(&name), dir.join(&name)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
                _ => {}
            }
        }
    }
    System.sync_directory(dir).map_err(failed)?;
    remove_all(&from)
}

/// What a crash has left, before a log is opened.
pub(crate) fn resume(dir: &Path) -> Result<(), Error> {
    abandon(dir)?;
    move_in(dir)
}

fn seal(gone: &str) -> String {
    let seal = u32::from_be_bytes(checkpoint::seal_of(gone.as_bytes()));
    format!("{END}{seal:08x}\n")
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn remove_all(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(e)),
        _ => Ok(()),
    }
}

//! Small files that say something about the log: replaced whole, or one sealed number.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use model::Offset;

use crate::Disk;

/// Puts `bytes` under `path` so that a crash leaves the old or the new content, and syncs both the
/// file and its directory.
pub(crate) fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let prepared = prepare(path, bytes)?;
    disk.sync_file(&temporary(path), &prepared)?;
    put(path)?;
    let directory = path.parent();
    directory.map_or(Ok(()), |path| disk.sync_directory(path))
}

/// Writes beside `path` what is to come there. It has to be synced before [`put`].
pub(crate) fn prepare(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::create(temporary(path))?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Puts what was prepared under `path`. The directory has to be synced afterwards.
pub(crate) fn put(path: &Path) -> io::Result<()> {
    fs::rename(temporary(path), path)
}

fn temporary(path: &Path) -> PathBuf {
    path.with_extension("tmp")
}

/// Overwrites the offset kept in `path`. Not synced: for what is written with it an older value, or none when
/// the write was torn, only means that more is looked at during recovery. A compaction needs more than that,
/// and uses [`sync_offset`].
pub(crate) fn write_offset(path: &Path, offset: Offset) -> io::Result<()> {
    put_offset(path, offset).map(|_| ())
}

/// As [`write_offset`], durable when it returns.
pub(crate) fn sync_offset(disk: &dyn Disk, path: &Path, offset: Offset) -> io::Result<()> {
    let file = put_offset(path, offset)?;
    disk.sync_file(path, &file)
}

fn put_offset(path: &Path, offset: Offset) -> io::Result<File> {
    let mut bytes = [0u8; 12];
    let (value, seal) = bytes.split_at_mut(8);
    value.copy_from_slice(&offset.0.to_be_bytes());
    seal.copy_from_slice(&seal_of(value));
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    file.write_all_at(&bytes, 0)?;
    Ok(file)
}

/// The offset kept in `path`; `None` when there is none or it is not whole.
pub(crate) fn read_offset(path: &Path) -> Option<Offset> {
    let bytes = fs::read(path).ok()?;
    let (value, seal) = bytes.split_at_checked(8)?;
    if seal != seal_of(value) {
        return None;
    }
    Some(Offset(i64::from_be_bytes(value.try_into().ok()?)))
}

/// There is a file, and it is not what was written.
pub(crate) fn is_damaged(path: &Path) -> bool {
    path.exists() && read_offset(path).is_none()
}

/// Distance of the bytes from zero by a small polynomial. Any one changed byte changes it; guards a few
/// bytes against torn and zeroed sectors, not against an adversary.
pub fn seal_of(value: &[u8]) -> [u8; 4] {
    value
        .iter()
        .fold(0x4d4c_5250_u32, |sum, b| {
            sum.rotate_left(5).wrapping_mul(31) ^ u32::from(*b)
        })
        .to_be_bytes()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn offset_is_read_back_and_damage_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recovery-point");
        assert_eq!(read_offset(&path), None);
        write_offset(&path, Offset(12_345)).unwrap();
        assert_eq!(read_offset(&path), Some(Offset(12_345)));
        write_offset(&path, Offset(7)).unwrap();
        assert_eq!(read_offset(&path), Some(Offset(7)));
        fs::write(&path, [0; 12]).unwrap();
        assert_eq!(read_offset(&path), None);
        fs::write(&path, [1, 2]).unwrap();
        assert_eq!(read_offset(&path), None);
    }
}

//! A node's disk: real files, and beside them what a loss of power would leave of these.
//!
//! Content is durable from a sync of its file, a name from a sync of its directory. What was done since
//! may be there after a loss of power or not: names as they stood at any moment since (a file system's
//! journal keeps their order), bytes by sectors, or cut at one. Until then the page cache shows all.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::{DirEntryExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::dice::Dice;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;
/// States of a directory's names that are remembered.
const NAMES_MAX: usize = 64;

type Inode = u64;
type Names = BTreeMap<String, Inode>;
/// Files of every directory.
pub(crate) type Remains = BTreeMap<PathBuf, BTreeMap<String, Vec<u8>>>;

#[derive(Debug)]
pub(crate) struct Disk {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Durable content.
    contents: BTreeMap<Inode, Vec<u8>>,
    /// Durable names of each directory, then those that it had since.
    directories: BTreeMap<PathBuf, Vec<Names>>,
    /// No room for a byte more.
    full: bool,
    /// Syncs do nothing.
    lies: bool,
    /// Power goes before so many more syncs, by these dice.
    strike: Option<(u64, Dice)>,
    /// What the power left when it went in the middle of something.
    struck: Option<Remains>,
}

impl Disk {
    pub(crate) fn new(lies: bool) -> Self {
        Self {
            state: Mutex::new(State {
                lies,
                ..State::default()
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn fill(&self, full: bool) {
        self.lock().full = full;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.lock().full
    }

    /// Power is to go in the middle of what comes, before the `syncs`-th sync from now.
    pub(crate) fn strike_at(&self, syncs: u64, dice: Dice) {
        self.lock().strike = Some((syncs, dice));
    }

    /// What is left, if power went meanwhile.
    pub(crate) fn struck(&self) -> Option<Remains> {
        self.lock().struck.take()
    }

    /// Power goes now: what is left, by `dice`.
    pub(crate) fn remains(&self, root: &Path, dice: &mut Dice) -> Remains {
        let mut state = self.lock();
        for directory in directories(root) {
            state.look(&directory);
        }
        state.remains(dice)
    }

    /// Makes `remains` all there is, and durable.
    pub(crate) fn restore(&self, remains: &Remains) {
        let mut state = self.lock();
        *state = State {
            lies: state.lies,
            ..State::default()
        };
        for (directory, files) in remains {
            // Names that are written over keep nothing of what they named.
            let _missing = fs::remove_dir_all(directory);
            fs::create_dir_all(directory).unwrap();
            for (name, bytes) in files {
                let path = directory.join(name);
                fs::write(&path, bytes).unwrap();
                let inode = fs::metadata(&path).unwrap().ino();
                state.contents.insert(inode, bytes.clone());
            }
            let names = names(directory);
            state.directories.insert(directory.clone(), vec![names]);
        }
    }
}

impl State {
    /// Takes note of the names that a directory has now.
    fn look(&mut self, directory: &Path) {
        let now = names(directory);
        let known = self
            .directories
            .entry(directory.to_owned())
            .or_insert_with(|| vec![Names::new()]);
        if known.last() != Some(&now) {
            if known.len() == NAMES_MAX {
                known.remove(1);
            }
            known.push(now);
        }
    }

    fn before_sync(&mut self, directory: &Path) {
        self.look(directory);
        let Some((left, mut dice)) = self.strike.take() else {
            return;
        };
        if left > 0 {
            self.strike = Some((left - 1, dice));
        } else {
            self.struck = Some(self.remains(&mut dice));
        }
    }

    fn remains(&self, dice: &mut Dice) -> Remains {
        let mut remains = Remains::new();
        for (directory, states) in &self.directories {
            let Some(now) = states.last() else { continue };
            let paths: BTreeMap<Inode, &String> = now.iter().map(|(n, i)| (*i, n)).collect();
            // All that was done to names, none of it, or a part.
            let chosen = match dice.roll(4) {
                0 => states.first(),
                1 => states.get(dice.index(states.len())),
                _ => Some(now),
            };
            let files = chosen.unwrap_or(now).iter().map(|(name, inode)| {
                let durable = self.contents.get(inode).map_or(&[][..], Vec::as_slice);
                let bytes = match paths.get(inode) {
                    Some(path) => {
                        let present = fs::read(directory.join(path)).unwrap_or_default();
                        survivor(durable, &present, dice)
                    }
                    None => durable.to_vec(),
                };
                (name.clone(), bytes)
            });
            remains.insert(directory.clone(), files.collect());
        }
        remains
    }
}

/// What is left of a file that had `durable` at its last sync and now has `present`.
fn survivor(durable: &[u8], present: &[u8], dice: &mut Dice) -> Vec<u8> {
    if durable == present {
        return present.to_vec();
    }
    let manner = dice.roll(5);
    match manner {
        0 => durable.to_vec(),
        1 => present.to_vec(),
        // Cut at a sector of what was added.
        2 | 3 if present.starts_with(durable) => {
            let sectors = (present.len() - durable.len()).div_ceil(SECTOR_BYTES) + 1;
            let first = durable.len() / SECTOR_BYTES;
            let cut = (first + dice.index(sectors)) * SECTOR_BYTES;
            let mut left = present[..cut.clamp(durable.len(), present.len())].to_vec();
            if manner == 3 {
                // Its length was written, its bytes were not.
                left.resize(present.len(), 0);
            }
            left
        }
        // Sector by sector, old or new.
        _ => {
            let mut left = present.to_vec();
            for (n, sector) in left.chunks_mut(SECTOR_BYTES).enumerate() {
                if dice.chance(500) {
                    continue;
                }
                let at = n * SECTOR_BYTES;
                for (i, byte) in sector.iter_mut().enumerate() {
                    *byte = durable.get(at + i).copied().unwrap_or(0);
                }
            }
            left
        }
    }
}

/// Every directory below `root` that a log may have.
fn directories(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.is_dir())
        .collect();
    found.sort();
    found
}

fn names(directory: &Path) -> Names {
    let Ok(entries) = fs::read_dir(directory) else {
        return Names::new();
    };
    let named = |e: fs::DirEntry| Some((e.file_name().into_string().ok()?, e.ino()));
    entries.filter_map(|e| named(e.ok()?)).collect()
}

impl commitlog::Disk for Disk {
    fn reserve(&self, _path: &Path, _bytes: u64) -> io::Result<()> {
        if self.lock().full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn sync_file(&self, path: &Path, file: &File) -> io::Result<()> {
        let mut state = self.lock();
        let inode = file.metadata()?.ino();
        if let Some(directory) = path.parent() {
            state.before_sync(directory);
        }
        if !state.lies {
            let mut bytes = Vec::new();
            // Through a descriptor of its own, wherever that one stands; the file may have another name.
            let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
            io::Read::read_to_end(&mut File::open(path)?, &mut bytes)?;
            state.contents.insert(inode, bytes);
        }
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.before_sync(path);
        if !state.lies
            && let Some(states) = state.directories.get_mut(path)
            && let Some(now) = states.pop()
        {
            *states = vec![now];
        }
        Ok(())
    }
}

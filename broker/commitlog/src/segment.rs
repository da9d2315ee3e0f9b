//! One file of batches and its two indexes.
//!
//! Readers and the one writer share it: what is below [`Segment::size`] never changes, except that a
//! follower may cut the end off. The file is opened on first use and closed when others need the
//! descriptor.

mod indexes;
pub(crate) mod order;
pub(crate) mod scan;

use std::{
    fs::{self, File},
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use model::{
    Offset,
    batch::{HEADER_BYTES, Header},
};

use crate::{Descriptors, Error, descriptors::Closable, log::files};
use indexes::Indexes;

#[derive(Debug)]
pub(crate) struct Segment {
    /// Offset that its name says: no record in it is older.
    pub base: Offset,
    dir: Arc<Path>,
    size: AtomicU64,
    last_used: AtomicU64,
    descriptors: Arc<Descriptors>,
    file: Mutex<Option<Arc<File>>>,
    indexes: RwLock<Option<Indexes>>,
    /// Its files belong to another one now: the open file is all there is.
    detached: AtomicBool,
    /// Its file is there. False for the first segment of a log that never had a record.
    made: AtomicBool,
}

/// The newest timestamp in a segment and the last offset of the first batch that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub timestamp: i64,
    pub offset: Offset,
}

// === impl Segment ===

impl Segment {
    /// A new segment: its file is made, and replaced if something was there.
    pub(crate) fn create(
        dir: Arc<Path>,
        base: Offset,
        descriptors: Arc<Descriptors>,
    ) -> Result<Arc<Self>, Error> {
        let segment = Self::found(dir, base, 0, descriptors);
        segment.create_file()?;
        segment.reset_indexes()?;
        Ok(segment)
    }

    /// The first segment of a log whose directory is not there. Neither it nor the directory is made before
    /// [`Self::make`].
    pub(crate) fn unmade(dir: Arc<Path>, descriptors: Arc<Descriptors>) -> Arc<Self> {
        let segment = Self::found(dir, Offset(0), 0, descriptors);
        segment.made.store(false, Ordering::Release);
        segment
    }

    pub(crate) fn is_made(&self) -> bool {
        self.made.load(Ordering::Acquire)
    }

    /// Makes what [`Self::unmade`] left out. For the one writer; nobody reads an empty segment.
    pub(crate) fn make(&self) -> Result<(), Error> {
        if !self.is_made() {
            fs::create_dir_all(&self.dir).map_err(Error::io("create", &*self.dir))?;
            self.create_file()?;
            self.made.store(true, Ordering::Release);
        }
        Ok(())
    }

    fn create_file(&self) -> Result<(), Error> {
        let path = self.path();
        File::create(&path)
            .map(drop)
            .map_err(Error::io("create segment", path))
    }

    /// A segment that is there; nothing is read yet.
    pub(crate) fn found(
        dir: Arc<Path>,
        base: Offset,
        size: u64,
        descriptors: Arc<Descriptors>,
    ) -> Arc<Self> {
        Arc::new(Self {
            base,
            dir,
            size: AtomicU64::new(size),
            last_used: AtomicU64::new(0),
            descriptors,
            file: Mutex::new(None),
            indexes: RwLock::new(None),
            detached: AtomicBool::new(false),
            made: AtomicBool::new(true),
        })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.named("log")
    }

    fn named(&self, extension: &str) -> PathBuf {
        self.dir.join(files::segment(self.base, extension))
    }

    /// Bytes that are batches.
    pub(crate) fn size(&self) -> u64 {
        self.size.load(Ordering::Acquire)
    }

    /// Makes what was written up to `size` visible to readers, or hides what lies beyond.
    pub(crate) fn publish(&self, size: u64) {
        self.size.store(size, Ordering::Release);
    }

    /// The open file.
    pub(crate) fn file(self: &Arc<Self>) -> Result<Arc<File>, Error> {
        self.last_used
            .store(self.descriptors.tick(), Ordering::Relaxed);
        let opened = {
            let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(file) = &*slot {
                return Ok(file.clone());
            }
            let path = self.path();
            let file = File::options()
                .read(true)
                .write(true)
                .open(&path)
                .map_err(Error::io("open segment", path))?;
            slot.insert(Arc::new(file)).clone()
        };
        let this: Arc<dyn Closable> = self.clone();
        self.descriptors.opened(&this);
        Ok(opened)
    }

    /// Forgets both indexes; what is written from now on is indexed anew.
    pub(crate) fn reset_indexes(&self) -> Result<(), Error> {
        let mut indexes = Indexes::empty(self);
        indexes
            .trim()
            .map_err(Error::io("reset index of", self.path()))?;
        *self.indexes.write().unwrap_or_else(PoisonError::into_inner) = Some(indexes);
        Ok(())
    }

    /// Notes a batch that lies at `position`. Readers may learn of it before it is published: they
    /// stop at [`Self::size`].
    pub(crate) fn note(&self, header: &Header, position: u64, interval: u64) -> Result<(), Error> {
        self.with_indexes(None, |indexes| {
            indexes.note(self.base, header, position, interval)
        })
    }

    /// Bytes of the larger index, counted as entries of the offset index.
    pub(crate) fn index_bytes(&self) -> usize {
        let indexes = self.indexes.read().unwrap_or_else(PoisonError::into_inner);
        indexes.as_ref().map_or(0, |i| i.places.bytes())
    }

    /// Where to begin looking for `offset`: the last indexed batch at or before it.
    pub(crate) fn position_before(self: &Arc<Self>, offset: Offset) -> Result<u64, Error> {
        let mut slot = self.indexes.write().unwrap_or_else(PoisonError::into_inner);
        Indexes::loaded(&mut slot, self)?.position_before(self, offset)
    }

    /// Where to begin looking for the first batch with a timestamp of `timestamp` or later.
    pub(crate) fn position_before_time(self: &Arc<Self>, timestamp: i64) -> Result<u64, Error> {
        let mut slot = self.indexes.write().unwrap_or_else(PoisonError::into_inner);
        Indexes::loaded(&mut slot, self)?.position_before_time(self, timestamp)
    }

    pub(crate) fn newest(self: &Arc<Self>) -> Result<Option<Newest>, Error> {
        self.with_indexes(Some(self), |indexes| Ok(indexes.newest))
    }

    /// Reads the indexes from their files, or from the log when they are in doubt.
    pub(crate) fn load_indexes(self: &Arc<Self>) -> Result<(), Error> {
        self.newest().map(|_| ())
    }

    /// Takes over the entries for batches below `upto`, whose files are known to be on the disk that far,
    /// and answers where the last of those batches lies. `None` when they are not in order.
    pub(crate) fn load_indexes_upto(
        self: &Arc<Self>,
        upto: Offset,
    ) -> Result<Option<(u64, Offset)>, Error> {
        let loaded = Indexes::load_upto(self, upto)?;
        let mut slot = self.indexes.write().unwrap_or_else(PoisonError::into_inner);
        Ok(loaded.map(|(indexes, position, base)| {
            *slot = Some(indexes);
            (position, base)
        }))
    }

    /// The index files that are there, to be synced.
    pub(crate) fn index_files(&self) -> Result<Vec<(PathBuf, Arc<File>)>, Error> {
        let mut found = Vec::with_capacity(2);
        for extension in files::INDEX_EXTENSIONS {
            let path = self.named(extension);
            match File::options().write(true).open(&path) {
                Ok(file) => found.push((path, Arc::new(file))),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io("open index", path)(e)),
            }
        }
        Ok(found)
    }

    /// The first batch that the indexes name behind `position` and for which `sound` holds.
    pub(crate) fn indexed_after(
        self: &Arc<Self>,
        position: u64,
        mut sound: impl FnMut(u64) -> bool,
    ) -> Result<Option<u64>, Error> {
        let mut slot = self.indexes.write().unwrap_or_else(PoisonError::into_inner);
        Indexes::loaded(&mut slot, self)?.after(self, position, &mut sound)
    }

    /// What was damaged is whole again: the indexes may be judged by it.
    pub(crate) fn made_whole(&self) {
        if let Some(indexes) = &mut *self.indexes.write().unwrap_or_else(PoisonError::into_inner) {
            indexes.doubt_again();
        }
    }

    /// Position of the last indexed batch; 0 when there is none.
    pub(crate) fn last_indexed(self: &Arc<Self>) -> Result<u64, Error> {
        self.position_before(Offset(i64::MAX))
    }

    /// Cuts everything from `position` on, where the batch with `offset` begins.
    pub(crate) fn cut(self: &Arc<Self>, position: u64, offset: Offset) -> Result<(), Error> {
        self.publish(position);
        let path = self.path();
        self.file()?
            .set_len(position)
            .map_err(Error::io("cut", path))?;
        let relative = u32::try_from(offset.0 - self.base.0).unwrap_or(u32::MAX);
        self.with_indexes(Some(self), |indexes| {
            indexes.places.truncate(|p| p.relative < relative)?;
            indexes.moments.truncate(|m| m.relative < relative)?;
            // The last entry may be older than the newest record left; entries only rise, so a later
            // one will still be right, and until then a search begins earlier than it must.
            indexes.newest = indexes.moments.last().map(|m| Newest {
                timestamp: m.timestamp,
                offset: Offset(self.base.0 + i64::from(m.relative)),
            });
            Ok(())
        })?;
        self.rescan_newest()
    }

    /// Ends writing: indexes get their last entry and their real size.
    pub(crate) fn seal(&self) -> Result<(), Error> {
        self.with_indexes(None, |indexes| {
            indexes.push_newest(self.base)?;
            indexes.trim()
        })
    }

    /// Whether a batch that ends at this offset can be in here: an index has 32 bits for what lies behind
    /// the base.
    pub(crate) fn can_hold(&self, offset: Offset) -> bool {
        indexes::relative_to(self.base, offset).is_some()
    }

    /// Gives the files other names, so that they are gone for [`Self::found`] but not for readers that
    /// hold them open. Answers the new names.
    pub(crate) fn retire(&self) -> Result<Vec<PathBuf>, Error> {
        // Who still reads it begins at its first batch: under these names there may soon be others.
        *self.indexes.write().unwrap_or_else(PoisonError::into_inner) = Some(Indexes::empty(self));
        let mut retired = Vec::with_capacity(3);
        for extension in files::SEGMENT_EXTENSIONS {
            let path = self.named(extension);
            let mut name = path.clone().into_os_string();
            name.push(".deleted");
            match fs::rename(&path, &name) {
                Ok(()) => retired.push(PathBuf::from(name)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io("delete", path)(e)),
            }
        }
        Ok(retired)
    }

    /// Leaves its names to other files. Who still reads it has the open file, which stays open, and no
    /// indexes: every search begins at its first batch.
    pub(crate) fn detach(self: &Arc<Self>) -> Result<(), Error> {
        let newest = self.newest()?;
        self.detached.store(true, Ordering::Release);
        let file = self.file()?;
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        let mut nothing = Indexes::empty(self);
        nothing.newest = newest;
        *self.indexes.write().unwrap_or_else(PoisonError::into_inner) = Some(nothing);
        Ok(())
    }

    /// Gives up the mappings of the indexes until they are used again.
    pub(crate) fn unmap_indexes(&self) {
        if let Some(indexes) = &mut *self.indexes.write().unwrap_or_else(PoisonError::into_inner) {
            indexes.unmap();
        }
    }

    /// Milliseconds since 1970 at which the file was last written, for records without timestamps.
    pub(crate) fn modified_ms(&self) -> Result<i64, Error> {
        let path = self.path();
        let modified = fs::metadata(&path)
            .and_then(|m| m.modified())
            .map_err(Error::io("look at", path))?;
        let since = modified
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Ok(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// After a cut: looks at the batches behind the last time index entry for a newer timestamp.
    fn rescan_newest(self: &Arc<Self>) -> Result<(), Error> {
        let from = match self.newest()? {
            Some(newest) => self.position_before(newest.offset)?,
            None => 0,
        };
        let mut newest = self.newest()?;
        scan::headers(self, from, |header, _| {
            if newest.is_none_or(|n| n.timestamp < header.max_timestamp) {
                newest = Some(Newest {
                    timestamp: header.max_timestamp,
                    offset: header.last_offset(),
                });
            }
            ControlFlow::Continue(())
        })?;
        self.with_indexes(None, |indexes| {
            indexes.newest = newest;
            Ok(())
        })
    }

    /// Runs `f` on the indexes. `load` is given where they may not have been read yet.
    fn with_indexes<T>(
        &self,
        load: Option<&Arc<Self>>,
        f: impl FnOnce(&mut Indexes) -> io::Result<T>,
    ) -> Result<T, Error> {
        let mut slot = self.indexes.write().unwrap_or_else(PoisonError::into_inner);
        let indexes = match (&mut *slot, load) {
            (slot, Some(this)) => Indexes::loaded(slot, this)?,
            (slot, None) => slot.get_or_insert_with(|| Indexes::empty(self)),
        };
        f(indexes).map_err(Error::io("use index of", self.path()))
    }
}

impl Closable for Segment {
    fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    fn close(&self) {
        // Never waits: the caller may be loading the indexes of another segment, whose loader may be
        // closing this one. What is in use stays open.
        if let Ok(mut file) = self.file.try_lock()
            && !self.detached.load(Ordering::Acquire)
        {
            *file = None;
        }
        if let Ok(mut indexes) = self.indexes.try_write()
            && let Some(indexes) = &mut *indexes
        {
            indexes.unmap();
        }
    }
}

/// The least that can be a batch.
pub(crate) const BATCH_BYTES_MIN: u64 = HEADER_BYTES as u64;

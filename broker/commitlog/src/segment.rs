//! One file of batches and its two indexes.
//!
//! Readers and the one writer share it: what is below [`Segment::size`] never changes, except that a
//! follower may cut the end off. The file is opened on first use and closed when others need the
//! descriptor.

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

use crate::{
    Descriptors, Error,
    descriptors::Closable,
    index::{Index, Moment, Place},
    log::files,
};

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
}

/// The newest timestamp in a segment and the first offset of the batch that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub timestamp: i64,
    pub offset: Offset,
}

#[derive(Debug)]
pub(crate) struct Indexes {
    places: Index<Place>,
    moments: Index<Moment>,
    newest: Option<Newest>,
    /// Bytes of log since the last entry.
    since_entry: u64,
}

// === impl Segment ===

impl Segment {
    /// A new segment: its file is made, and replaced if something was there.
    pub(crate) fn create(
        dir: Arc<Path>,
        base: Offset,
        descriptors: Arc<Descriptors>,
    ) -> Result<Arc<Self>, Error> {
        let segment = Arc::new(Self {
            base,
            dir,
            size: AtomicU64::new(0),
            last_used: AtomicU64::new(0),
            descriptors,
            file: Mutex::new(None),
            indexes: RwLock::new(None),
            detached: AtomicBool::new(false),
        });
        let path = segment.path();
        File::create(&path).map_err(Error::io("create segment", path))?;
        segment.reset_indexes()?;
        Ok(segment)
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
        let mut indexes = Indexes {
            places: Index::empty(self.named("index")),
            moments: Index::empty(self.named("timeindex")),
            newest: None,
            since_entry: 0,
        };
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
        let relative = u32::try_from(offset.0 - self.base.0).unwrap_or(u32::MAX);
        self.with_indexes(Some(self), |indexes| {
            let floor = indexes.places.floor(relative)?;
            Ok(floor.map_or(0, |p| u64::from(p.position)))
        })
    }

    /// An offset such that every batch before its own has no timestamp of `timestamp` or later.
    pub(crate) fn offset_before_time(self: &Arc<Self>, timestamp: i64) -> Result<Offset, Error> {
        self.with_indexes(Some(self), |indexes| {
            let floor = indexes.moments.floor(timestamp.saturating_sub(1))?;
            Ok(floor.map_or(self.base, |m| Offset(self.base.0 + i64::from(m.relative))))
        })
    }

    pub(crate) fn newest(self: &Arc<Self>) -> Result<Option<Newest>, Error> {
        self.with_indexes(Some(self), |indexes| Ok(indexes.newest))
    }

    /// Reads the indexes from their files, or from the log when they are in doubt.
    pub(crate) fn load_indexes(self: &Arc<Self>) -> Result<(), Error> {
        self.newest().map(|_| ())
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

    /// Whether a batch of this offset can be in here: an index has 32 bits for what lies behind the base.
    pub(crate) fn can_hold(&self, offset: Offset) -> bool {
        relative_to(self.base, offset).is_some()
    }

    /// Gives the files other names, so that they are gone for [`Self::found`] but not for readers that
    /// hold them open. Answers the new names.
    pub(crate) fn retire(&self) -> Result<Vec<PathBuf>, Error> {
        if let Some(indexes) = &mut *self.indexes.write().unwrap_or_else(PoisonError::into_inner) {
            indexes.unmap();
        }
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
        let nothing = Indexes {
            places: Index::empty(self.named("index")),
            moments: Index::empty(self.named("timeindex")),
            newest,
            since_entry: 0,
        };
        *self.indexes.write().unwrap_or_else(PoisonError::into_inner) = Some(nothing);
        Ok(())
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
                    offset: header.base_offset,
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
            (Some(indexes), _) => indexes,
            (none, Some(this)) => none.insert(Indexes::load(this)?),
            (none, None) => none.insert(Indexes {
                places: Index::empty(self.named("index")),
                moments: Index::empty(self.named("timeindex")),
                newest: None,
                since_entry: 0,
            }),
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

// === impl Indexes ===

impl Indexes {
    /// From the files, when they are in order and point into the log; otherwise from the log.
    fn load(segment: &Arc<Segment>) -> Result<Self, Error> {
        let path = segment.path();
        let read = || -> io::Result<Option<Self>> {
            let Some(places) = Index::<Place>::open(segment.named("index"))? else {
                return Ok(None);
            };
            let Some(moments) = Index::<Moment>::open(segment.named("timeindex"))? else {
                return Ok(None);
            };
            let newest = moments.last().map(|m| Newest {
                timestamp: m.timestamp,
                offset: Offset(segment.base.0 + i64::from(m.relative)),
            });
            Ok(Some(Self {
                places,
                moments,
                newest,
                since_entry: 0,
            }))
        };
        let found = read().map_err(Error::io("read index of", path))?;
        if let Some(indexes) = found
            && let Some(last) = indexes.places.last()
            && scan::header_at(segment, u64::from(last.position))?
                .is_some_and(|h| h.base_offset.0 == segment.base.0 + i64::from(last.relative))
        {
            return Ok(indexes);
        }
        Self::rebuild(segment)
    }

    fn rebuild(segment: &Arc<Segment>) -> Result<Self, Error> {
        let path = segment.path();
        let mut indexes = Self {
            places: Index::empty(segment.named("index")),
            moments: Index::empty(segment.named("timeindex")),
            newest: None,
            since_entry: 0,
        };
        let mut noted = Ok(());
        scan::headers(segment, 0, |header, position| {
            if !segment.can_hold(header.base_offset) {
                // Offsets are not sealed. What is damaged is for recovery to judge.
                return ControlFlow::Break(());
            }
            noted = indexes.note(segment.base, header, position, REBUILD_INTERVAL_BYTES);
            if noted.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        noted
            .and_then(|()| indexes.push_newest(segment.base))
            .and_then(|()| indexes.trim())
            .map_err(Error::io("rebuild index of", path))?;
        Ok(indexes)
    }

    fn note(
        &mut self,
        base: Offset,
        header: &Header,
        position: u64,
        interval: u64,
    ) -> io::Result<()> {
        if self
            .newest
            .is_none_or(|n| n.timestamp < header.max_timestamp)
        {
            self.newest = Some(Newest {
                timestamp: header.max_timestamp,
                offset: header.base_offset,
            });
        }
        // The first batch is always indexed: an index without entries is one that is missing.
        if self.places.last().is_none() || self.since_entry >= interval {
            let (Some(relative), Ok(position)) = (
                relative_to(base, header.base_offset),
                u32::try_from(position),
            ) else {
                return Err(io::Error::other("segment is too large to index"));
            };
            self.places.push(Place { relative, position })?;
            self.push_newest(base)?;
            self.since_entry = 0;
        }
        self.since_entry += header.size_bytes() as u64;
        Ok(())
    }

    fn push_newest(&mut self, base: Offset) -> io::Result<()> {
        let Some(newest) = self.newest else {
            return Ok(());
        };
        let Some(relative) = relative_to(base, newest.offset) else {
            return Ok(());
        };
        self.moments.push(Moment {
            timestamp: newest.timestamp,
            relative,
        })
    }

    fn trim(&mut self) -> io::Result<()> {
        self.places.trim()?;
        self.moments.trim()
    }

    fn unmap(&mut self) {
        self.places.unmap();
        self.moments.unmap();
    }
}

fn relative_to(base: Offset, offset: Offset) -> Option<u32> {
    let relative = offset.0.checked_sub(base.0)?;
    u32::try_from(relative).ok()
}

/// Interval used when the log's own is not at hand; only density depends on it.
const REBUILD_INTERVAL_BYTES: u64 = 4096;

/// The least that can be a batch.
pub(crate) const BATCH_BYTES_MIN: u64 = HEADER_BYTES as u64;

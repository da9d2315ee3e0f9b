//! Opening a log: finding its segments and, after a crash, where it really ends.

#[cfg(test)]
mod tests;

use std::{
    fs, io,
    ops::{ControlFlow, Range},
    path::Path,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicI64, AtomicU64},
    },
};

use model::{
    Offset,
    batch::{HEADER_BYTES, Header, Invalid},
};

use crate::{
    Config, Epochs, Error, Shutdown, checkpoint,
    compaction::install,
    log::files,
    reader::Shared,
    segment::{Segment, scan},
    sync::Synced,
    tail::Tail,
};

/// What opening found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Bytes behind the last whole batch that were cut off.
    pub cut_bytes: u64,
    /// Offset from which batches were read and checked; the end when nothing was.
    pub checked_from: Offset,
    /// Small files that were not whole. What they said was found otherwise, or is forgotten.
    pub damaged_files: Vec<&'static str>,
    pub(crate) changed_directory: bool,
    pub(crate) changed_epochs: bool,
}

pub(crate) fn open(dir: &Path, config: &Config) -> Result<(Shared, Recovered), Error> {
    if !dir.exists() {
        return Ok(fresh(dir.into(), config));
    }
    fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
    let dir: Arc<Path> = dir.into();
    install::resume(&dir)?;
    let mut segments = find(&dir, config)?;
    let mut recovered = Recovered {
        damaged_files: damaged_files(&dir),
        ..Recovered::default()
    };
    let start = checkpoint::read_offset(&dir.join(files::LOG_START)).unwrap_or(Offset(0));
    if segments.is_empty() {
        segments.push(Segment::create(
            dir.clone(),
            start,
            config.resources.descriptors.clone(),
        )?);
        recovered.changed_directory = true;
    }
    let stored_epochs = Epochs::load(&dir.join(files::EPOCHS));
    let synced = checkpoint::read_offset(&dir.join(files::RECOVERY_POINT)).unwrap_or(Offset(0));
    let indexed = checkpoint::read_offset(&dir.join(files::INDEX_POINT)).unwrap_or(Offset(0));
    let mut walk = Walk {
        config,
        synced,
        indexed: indexed.min(synced),
        compacted: checkpoint::read_offset(&dir.join(files::COMPACTED_TO)).unwrap_or(Offset(0)),
        // Without the file every record says its epoch again.
        from: match (&stored_epochs, config.opened_after) {
            (None, _) => From::Start,
            (Some(_), Shutdown::Clean) => From::LastEntry,
            (Some(_), Shutdown::Unclean) => From::RecoveryPoint,
        },
        epochs: stored_epochs.clone().unwrap_or_default(),
        end: Offset(0),
        recovered,
    };
    walk.run(&mut segments)?;
    let Walk {
        mut epochs,
        end,
        mut recovered,
        ..
    } = walk;
    epochs.truncate_end(end);
    recovered.changed_epochs = stored_epochs.as_ref() != Some(&epochs);
    let start = start
        .max(segments.first().map_or(Offset(0), |s| s.base))
        .min(end);
    let synced = match config.opened_after {
        Shutdown::Clean => end,
        Shutdown::Unclean => synced.min(end),
    };
    let points = (synced, indexed.min(synced));
    let shared = share(dir, config, segments, epochs, start..end, points);
    Ok((shared, recovered))
}

/// A log that never had a record. Nothing is made for it before it gets one: most of ten thousand that are
/// created at once wait long for theirs.
fn fresh(dir: Arc<Path>, config: &Config) -> (Shared, Recovered) {
    let descriptors = config.resources.descriptors.clone();
    let segment = Segment::unmade(dir.clone(), descriptors);
    let none = Offset(0);
    let shared = share(
        dir,
        config,
        vec![segment],
        Epochs::default(),
        none..none,
        (none, none),
    );
    let recovered = Recovered {
        changed_directory: true,
        changed_epochs: true,
        ..Recovered::default()
    };
    (shared, recovered)
}

fn share(
    dir: Arc<Path>,
    config: &Config,
    segments: Vec<Arc<Segment>>,
    epochs: Epochs,
    Range { start, end }: Range<Offset>,
    (synced, indexed): (Offset, Offset),
) -> Shared {
    let bytes = segments.iter().map(|s| s.size()).sum();
    Shared {
        dir,
        disk: config.resources.disk.clone(),
        segments: RwLock::new(segments),
        start: AtomicI64::new(start.0),
        end: AtomicI64::new(end.0),
        bytes: AtomicU64::new(bytes),
        tail: RwLock::new(Tail::new(
            config.tail_bytes_max,
            config.resources.tail.clone(),
        )),
        epochs: RwLock::new(epochs),
        stored_epochs: Mutex::new(0),
        poisoned: AtomicBool::new(false),
        synced: Mutex::new(Synced {
            upto: synced,
            indexed,
            unsaid_bytes: 0,
            generation: 0,
        }),
    }
}

fn damaged_files(dir: &Path) -> Vec<&'static str> {
    let mut damaged = files::OFFSETS.to_vec();
    damaged.retain(|name| checkpoint::is_damaged(&dir.join(name)));
    let epochs = dir.join(files::EPOCHS);
    if epochs.exists() && Epochs::load(&epochs).is_none() {
        damaged.push(files::EPOCHS);
    }
    damaged
}

/// The segments in `dir` in order. Files that wait for removal are removed: nobody reads them now.
fn find(dir: &Arc<Path>, config: &Config) -> Result<Vec<Arc<Segment>>, Error> {
    let failed = |e: io::Error| Error::io("list", &**dir)(e);
    let mut segments = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.ends_with(files::DELETED) {
            fs::remove_file(entry.path()).map_err(Error::io("remove", entry.path()))?;
        } else if let Some(base) = files::segment_base(name) {
            let size = entry.metadata().map_err(failed)?.len();
            let descriptors = config.resources.descriptors.clone();
            segments.push(Segment::found(dir.clone(), base, size, descriptors));
        }
    }
    segments.sort_by_key(|s| s.base);
    Ok(segments)
}

/// Where reading and checking begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Start,
    /// The segment that holds the recovery point, from where its indexes were synced; older ones were
    /// synced whole.
    RecoveryPoint,
    /// Behind the last index entry of the active segment.
    LastEntry,
}

struct Walk<'a> {
    config: &'a Config,
    synced: Offset,
    /// Below it the indexes of the segment that holds it are on the disk, too.
    indexed: Offset,
    /// Below it the log was compacted, which leaves holes.
    compacted: Offset,
    from: From,
    epochs: Epochs,
    end: Offset,
    recovered: Recovered,
}

impl Walk<'_> {
    fn run(&mut self, segments: &mut Vec<Arc<Segment>>) -> Result<(), Error> {
        let last = segments.len().saturating_sub(1);
        let first = match self.from {
            From::Start => 0,
            From::LastEntry => last,
            From::RecoveryPoint => segments
                .partition_point(|s| s.base <= self.synced)
                .saturating_sub(1),
        };
        self.end = segments.get(first).map_or(Offset(0), |s| s.base);
        let mut position = 0;
        if self.from == From::RecoveryPoint
            && let Some(segment) = segments.get(first)
            && self.indexed > segment.base
            && let Some((at, base)) = segment.load_indexes_upto(self.indexed)?
        {
            (position, self.end) = (at, base);
        }
        self.recovered.checked_from = self.end;
        if self.from != From::LastEntry {
            // What is read says its epochs again; the file may still tell of records that are gone.
            self.epochs.truncate_end(self.end);
        }
        for i in first..segments.len() {
            let Some(segment) = segments.get(i).cloned() else {
                break;
            };
            if self.is_crash_hole(&segment) {
                self.give_up(segments.split_off(i))?;
                break;
            }
            // Any other hole between segments is compaction's; records never overlap.
            self.end = self.end.max(segment.base);
            let whole = if self.from == From::LastEntry {
                self.check_end(&segment)?
            } else {
                self.check(&segment, std::mem::take(&mut position))?
            };
            if !whole {
                self.give_up(segments.split_off(i + 1))?;
                break;
            }
        }
        match segments.last() {
            Some(last) if self.end < self.synced => Err(Error::Corrupt {
                path: last.path(),
                position: last.size(),
                offset: self.end,
                source: Invalid::Truncated {
                    needed: HEADER_BYTES,
                    present: 0,
                },
            }),
            _ => Ok(()),
        }
    }

    /// The end of the segment before was not synced and is gone, while this one was written: files reach
    /// the disk in any order. Compaction leaves holes too, but where all was synced: it says so for good
    /// before it does, and that it has been there afterwards.
    fn is_crash_hole(&self, segment: &Segment) -> bool {
        let safe = self.synced.max(self.compacted);
        self.from != From::LastEntry && segment.base > self.end && self.end >= safe
    }

    /// What lies behind the end that was found is nothing's continuation.
    fn give_up(&mut self, behind: Vec<Arc<Segment>>) -> Result<(), Error> {
        for segment in &behind {
            self.recovered.cut_bytes += segment.size();
            segment.retire()?;
        }
        self.recovered.changed_directory = true;
        Ok(())
    }

    /// Trusts the indexes of the active segment and reads only what lies behind the last entry. When
    /// that is not in order, the shutdown was not as clean as it claimed.
    fn check_end(&mut self, segment: &Arc<Segment>) -> Result<bool, Error> {
        let from = segment.last_indexed()?;
        let mut end = self.end;
        let mut out_of_order = false;
        let walked = scan::headers(segment, from, |header, _| {
            out_of_order = !follows(header, end, segment);
            if out_of_order {
                return ControlFlow::Break(());
            }
            end = header.next_offset();
            ControlFlow::Continue(())
        })?;
        if walked.fault.is_some() || out_of_order {
            return self.check(segment, 0);
        }
        self.end = end;
        self.recovered.checked_from = end;
        Ok(true)
    }

    /// Reads the segment from `position` on, where its indexes end, or all of it, which is indexed anew, and
    /// cuts it at the first bad batch. True when nothing was cut.
    fn check(&mut self, segment: &Arc<Segment>, position: u64) -> Result<bool, Error> {
        if position == 0 {
            segment.reset_indexes()?;
        }
        let size = segment.size();
        let mut noted = Ok(());
        let mut out_of_order = false;
        // The last batch that left a gap, and the end before it.
        let mut gap = None;
        let walked = scan::headers(segment, position, |header, position| {
            if !follows(header, self.end, segment) {
                out_of_order = true;
                return ControlFlow::Break(());
            }
            if header.base_offset > self.end {
                gap = Some((position, self.end));
            }
            self.epochs.assign(header.leader_epoch, header.base_offset);
            self.end = header.next_offset();
            noted = segment.note(header, position, self.config.index_interval_bytes);
            if noted.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        noted?;
        if walked.fault.is_none() && !out_of_order {
            return Ok(true);
        }
        // The base offset is not sealed. When a batch left a gap and then another begins before its
        // end, it is the first whose offset is wrong.
        let mut position = walked.position;
        if let (true, Some((at, end))) = (out_of_order, gap) {
            position = at;
            self.end = end;
        }
        if self.end < self.synced {
            return Err(Error::Corrupt {
                path: segment.path(),
                position,
                offset: self.end,
                source: walked.fault.unwrap_or(Invalid::Length(0)),
            });
        }
        self.recovered.cut_bytes += size - position;
        segment.cut(position, self.end)?;
        let path = segment.path();
        let disk = &self.config.resources.disk;
        disk.sync_file(&path, &*segment.file()?)
            .map_err(Error::io("sync", path))?;
        Ok(false)
    }
}

/// Whether a batch can stand behind `end` in a segment: offsets are not sealed by the CRC.
fn follows(header: &Header, end: Offset, segment: &Segment) -> bool {
    header.base_offset >= end
        && header.last_offset_delta >= 0
        && segment.can_hold(header.last_offset())
}

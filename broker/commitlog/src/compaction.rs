//! Leaving of a log the newest record of each key (cleanup policy `compact`).
//!
//! Three steps, so that the log goes on meanwhile: [`Log::begin_compaction`] says what there is to do,
//! [`Compaction::run`] writes segments anew on any thread, [`Log::finish_compaction`] puts them in the
//! place of the old ones. Offsets stay what they were; the active segment is never touched.
//!
//! ```text
//! DIR/compaction/   segments being written            removed by the next start
//! DIR/compacted/    all of them, whole and synced     put in place by the next start
//! DIR/compacted-to  below it each key is there once   0 when missing
//! ```
//!
//! [`Log::begin_compaction`]: crate::Log::begin_compaction
//! [`Log::finish_compaction`]: crate::Log::finish_compaction

pub(crate) mod install;
mod newest;
mod rewrite;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    io,
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use model::{
    Offset,
    batch::{Batch, Kept},
};

use crate::{
    Descriptors, Error,
    segment::{Segment, scan},
};
use newest::Newest;

/// When a log is compacted, and what may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// `min.cleanable.dirty.ratio`: not compacted unless so large a part of it is new.
    pub dirty_ratio_min: f64,
    /// `min.compaction.lag.ms`: records stay at least so long.
    pub lag_min_ms: i64,
    /// `max.compaction.lag.ms`: compacted at the latest when its oldest new record is so old.
    pub lag_max_ms: i64,
    /// `delete.retention.ms`: tombstones stay so long after the first compaction that saw them.
    pub tombstones_ms: i64,
}

/// Opens and compresses payloads.
pub trait Codec {
    /// The records of a batch.
    ///
    /// # Errors
    /// They cannot be read.
    fn inflate(&self, batch: &Batch) -> io::Result<Bytes>;

    /// The reverse, by the codec of a batch's attributes (1 gzip, 2 snappy, 3 lz4, 4 zstd).
    ///
    /// # Errors
    /// It is none of these, or has no memory.
    fn deflate(&self, codec: u8, payload: &[u8]) -> io::Result<Bytes>;
}

/// What a compaction may use.
pub struct Means<'a> {
    pub codec: &'a dyn Codec,
    /// About as many bytes of memory hold keys; with more keys than fit, the rest of the log waits for
    /// the next time.
    pub keys_bytes_max: usize,
    /// Last offset of each idempotent producer: the batch that ends there stays, if need be without
    /// records, so that the producer's sequence can be read from the log.
    pub producers: HashMap<i64, Offset>,
    /// Set by whoever wants it to end early.
    pub stop: &'a AtomicBool,
}

/// A log that is to be compacted.
#[derive(Debug)]
pub struct Compaction {
    pub(crate) dir: Arc<Path>,
    /// Closed segments from the log's first on.
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Where the last of them ends.
    pub(crate) upto: Offset,
    pub(crate) start: Offset,
    /// Below it each key is there once.
    pub(crate) clean_to: Offset,
    pub(crate) policy: Policy,
    pub(crate) segment_bytes: u64,
    pub(crate) index_interval_bytes: u64,
    pub(crate) descriptors: Arc<Descriptors>,
    pub(crate) now_ms: i64,
    /// Raised by each cut of the log.
    pub(crate) generation: u64,
    /// Part of the log that is new, 0 to 1.
    pub(crate) dirty_ratio: f64,
}

/// Segments written anew, not yet in their place.
#[derive(Debug)]
pub struct Compacted {
    pub(crate) groups: Vec<Group>,
    /// Below it each key is there once.
    pub(crate) clean_to: Offset,
    /// Of the log that was read.
    pub(crate) generation: u64,
}

/// Segments that become one.
#[derive(Debug)]
pub(crate) struct Group {
    /// In order; the first gives the new one its name.
    pub old: Vec<Arc<Segment>>,
    /// Bytes of the new one.
    pub size: u64,
}

impl Compaction {
    /// Part of the log that is new: what is to be compacted first has the largest.
    pub fn dirty_ratio(&self) -> f64 {
        self.dirty_ratio
    }

    /// Reads the new part, then writes everything anew that may have lost a record to it. `None` when
    /// it was stopped; what it wrote is gone then, as after an error.
    ///
    /// # Errors
    /// [`Error::Io`], also when records cannot be inflated; [`Error::Corrupt`], [`Error::Invalid`] when
    /// they are not what was appended.
    pub fn run(self, means: &Means<'_>) -> Result<Option<Compacted>, Error> {
        let done = self.write(means);
        if !matches!(done, Ok(Some(_))) {
            install::abandon(&self.dir)?;
        }
        done
    }

    fn write(&self, means: &Means<'_>) -> Result<Option<Compacted>, Error> {
        let Some(newest) = self.newest(means)? else {
            return Ok(None);
        };
        install::begin(&self.dir)?;
        let mut groups = Vec::new();
        for old in self.groups(newest.upto()) {
            let rewrite = rewrite::Rewrite {
                task: self,
                newest: &newest,
                means,
            };
            match rewrite.run(&old)? {
                Some(size) => groups.push(Group { old, size }),
                None => return Ok(None),
            }
        }
        install::complete(&self.dir, &groups)?;
        Ok(Some(Compacted {
            groups,
            clean_to: newest.upto(),
            generation: self.generation,
        }))
    }

    /// The newest offset of each key of the new part, or of as much of it as memory holds.
    fn newest(&self, means: &Means<'_>) -> Result<Option<Newest>, Error> {
        let mut newest = Newest::new(self.clean_to, means.keys_bytes_max);
        for (i, segment) in self.segments.iter().enumerate() {
            let end = self.end_of(i);
            if end <= self.clean_to {
                continue;
            }
            let from = segment.position_before(self.clean_to.max(segment.base))?;
            let mut failed = Ok(());
            let walked = scan::batches(segment, from, |batch, _| {
                if means.stop.load(Ordering::Relaxed) || newest.is_full() {
                    return ControlFlow::Break(());
                }
                if batch.header.last_offset() >= self.clean_to {
                    failed = note(&mut newest, batch, segment, means.codec);
                }
                match failed {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            failed?;
            if means.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            whole(segment, &walked)?;
            if newest.is_full() {
                break;
            }
            newest.passed(end);
        }
        Ok(Some(newest))
    }

    /// Neighbours that fit into one segment together, of those that begin below `upto`.
    fn groups(&self, upto: Offset) -> Vec<Vec<Arc<Segment>>> {
        let mut groups: Vec<Vec<Arc<Segment>>> = Vec::new();
        let mut bytes = 0;
        for (i, segment) in self.segments.iter().enumerate() {
            if segment.base >= upto {
                break;
            }
            let size = segment.size();
            let fits = groups.last().and_then(|g| g.first()).is_some_and(|first| {
                // Indexes hold offsets relative to the segment's in 32 bits.
                let span = self.end_of(i).0.saturating_sub(first.base.0);
                bytes + size <= self.segment_bytes && span <= i64::from(i32::MAX)
            });
            match groups.last_mut() {
                Some(group) if fits => {
                    bytes += size;
                    group.push(segment.clone());
                }
                _ => {
                    bytes = size;
                    groups.push(vec![segment.clone()]);
                }
            }
        }
        groups
    }

    fn end_of(&self, i: usize) -> Offset {
        self.segments.get(i + 1).map_or(self.upto, |next| next.base)
    }
}

fn note(
    newest: &mut Newest,
    batch: &Batch,
    segment: &Arc<Segment>,
    codec: &dyn Codec,
) -> Result<(), Error> {
    if !batch.header.is_control() {
        let payload = codec
            .inflate(batch)
            .map_err(Error::io("inflate records of", segment.path()))?;
        Kept::of(&batch.header, &payload, |record| {
            if let Some(key) = record.key {
                newest.note(key, record.offset);
            }
            false
        })?;
    }
    newest.passed(batch.header.next_offset());
    Ok(())
}

/// A segment that was walked to its end or until the walker wanted no more.
fn whole(segment: &Arc<Segment>, walked: &scan::End) -> Result<(), Error> {
    match &walked.fault {
        None => Ok(()),
        Some(source) => Err(Error::Corrupt {
            path: segment.path(),
            position: walked.position,
            offset: segment.base,
            source: source.clone(),
        }),
    }
}

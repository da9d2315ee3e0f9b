//! Some segments written anew as one, without what newer records made void.

use std::{
    fs::File,
    io::{BufWriter, Write},
    ops::ControlFlow,
    sync::{Arc, atomic::Ordering},
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;
use model::batch::{Batch, Candidate, Header, Kept};

use super::{Compaction, Means, install, newest::Newest, whole};
use crate::{
    Error,
    segment::{Segment, scan},
};

/// Bytes written at a time.
const BUFFER_BYTES: usize = 1 << 20;

pub(super) struct Rewrite<'a> {
    pub task: &'a Compaction,
    pub newest: &'a Newest,
    pub means: &'a Means<'a>,
}

impl Rewrite<'_> {
    /// Writes and syncs the segment that stands for `old`. Answers its bytes; `None` when stopped.
    pub(super) fn run(&self, old: &[Arc<Segment>]) -> Result<Option<u64>, Error> {
        let Some(first) = old.first() else {
            return Ok(Some(0));
        };
        let new = Segment::create(
            install::unfinished(&self.task.dir).into(),
            first.base,
            self.task.descriptors.clone(),
        )?;
        let file = new.file()?;
        let mut out = Out {
            segment: new.clone(),
            writer: BufWriter::with_capacity(BUFFER_BYTES, &*file),
            position: 0,
            index_interval_bytes: self.task.index_interval_bytes,
        };
        for segment in old {
            if !self.copy(segment, &mut out)? {
                return Ok(None);
            }
        }
        out.writer.flush().map_err(Error::io("write", new.path()))?;
        let size = out.position;
        drop(out);
        if let Some(last) = old.last() {
            // What has no timestamps ages by when it was written.
            let written_ms = last.modified_ms()?.max(0).cast_unsigned();
            file.set_modified(UNIX_EPOCH + Duration::from_millis(written_ms))
                .map_err(Error::io("write", new.path()))?;
        }
        new.publish(size);
        new.seal()?;
        for (path, file) in new.index_files()? {
            file.sync_all().map_err(Error::io("sync", path))?;
        }
        file.sync_all().map_err(Error::io("sync", new.path()))?;
        Ok(Some(size))
    }

    /// False when stopped.
    fn copy(&self, segment: &Arc<Segment>, out: &mut Out<'_>) -> Result<bool, Error> {
        let mut failed = Ok(());
        let walked = scan::batches(segment, 0, |batch, _| {
            if self.means.stop.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            failed = self.left_of(batch, segment).and_then(|left| match left {
                Some((header, bytes)) => out.push(&header, &bytes),
                None => Ok(()),
            });
            match failed {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        failed?;
        if self.means.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        whole(segment, &walked)?;
        Ok(true)
    }

    /// The batch as it stays; `None` when nothing does.
    fn left_of(
        &self,
        batch: &Batch,
        segment: &Arc<Segment>,
    ) -> Result<Option<(Header, Bytes)>, Error> {
        let header = &batch.header;
        if header.last_offset() < self.task.start {
            return Ok(None);
        }
        if header.is_control() || header.base_offset >= self.newest.upto() {
            return Ok(Some((*header, batch.bytes.clone())));
        }
        let payload = self
            .means
            .codec
            .inflate(batch)
            .map_err(Error::io("inflate records of", segment.path()))?;
        let tombstones_go = header
            .delete_horizon_ms()
            .is_some_and(|at| at <= self.task.now_ms);
        let kept = Kept::of(header, &payload, |record| self.stays(record, tombstones_go))?;
        if kept.is_empty() && !self.is_needed(header) {
            return Ok(None);
        }
        if kept.is_all() && !kept.wants_horizon() {
            return Ok(Some((*header, batch.bytes.clone())));
        }
        let kept = if kept.wants_horizon() {
            let at = self.task.policy.tombstones_ms;
            kept.with_horizon(self.task.now_ms.saturating_add(at))?
        } else {
            kept
        };
        let bytes = match header.compression() {
            codec if codec != 0 && !kept.is_empty() => {
                let deflated = self.means.codec.deflate(codec, kept.payload());
                kept.build(&deflated.map_err(Error::io("compress records of", segment.path()))?)
            }
            _ => kept.build(kept.payload()),
        };
        Ok(Some((Header::parse(&bytes)?, bytes)))
    }

    fn stays(&self, record: Candidate<'_>, tombstones_go: bool) -> bool {
        if record.offset >= self.newest.upto() {
            return true;
        }
        // From before the topic was compacted: nothing could ever replace it.
        let Some(key) = record.key else {
            return false;
        };
        !(self.newest.has_newer(key, record.offset) || (record.is_tombstone && tombstones_go))
    }

    /// The last batch of a producer tells its sequence.
    fn is_needed(&self, header: &Header) -> bool {
        let last = self.means.producers.get(&header.producer_id);
        header.is_idempotent() && last == Some(&header.last_offset())
    }
}

/// The segment that is written.
struct Out<'a> {
    segment: Arc<Segment>,
    writer: BufWriter<&'a File>,
    position: u64,
    index_interval_bytes: u64,
}

impl Out<'_> {
    fn push(&mut self, header: &Header, bytes: &[u8]) -> Result<(), Error> {
        self.writer
            .write_all(bytes)
            .map_err(Error::io("write", self.segment.path()))?;
        self.segment
            .note(header, self.position, self.index_interval_bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

//! The two indexes of a segment, laid out as Kafka's, so that its tools read them: the last offset of a
//! batch with where that begins, and the newest timestamp so far with the last offset of its batch.
//!
//! Never trusted: what an entry says is compared with the log when it is used. One that says otherwise
//! has both built anew, unless it is the log that is damaged there.

use std::{io, ops::ControlFlow, sync::Arc};

use model::{Offset, batch::Header};

use super::{Newest, Segment, scan};
use crate::{
    Error,
    index::{Index, Moment, Place},
};

/// Interval used when the log's own is not at hand; only density depends on it.
const REBUILD_INTERVAL_BYTES: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Indexes {
    pub(super) places: Index<Place>,
    pub(super) moments: Index<Moment>,
    pub(super) newest: Option<Newest>,
    /// Bytes of log since the last entry.
    since_entry: u64,
    /// Building anew has met damage in the log: what is there is all there will be.
    settled: bool,
}

impl Indexes {
    pub(super) fn empty(segment: &Segment) -> Self {
        Self {
            places: Index::empty(segment.named("index")),
            moments: Index::empty(segment.named("timeindex")),
            newest: None,
            since_entry: 0,
            settled: false,
        }
    }

    /// Those in `slot`, read from their files if they have not been.
    pub(super) fn loaded<'a>(
        slot: &'a mut Option<Self>,
        segment: &Arc<Segment>,
    ) -> Result<&'a mut Self, Error> {
        match slot {
            Some(indexes) => Ok(indexes),
            none => Ok(none.insert(Self::load(segment)?)),
        }
    }

    /// From the files, when they are in order and end where the log says; otherwise from the log.
    fn load(segment: &Arc<Segment>) -> Result<Self, Error> {
        let read = || -> io::Result<Option<Self>> {
            let places = Index::open(segment.named("index"))?;
            let moments = Index::open(segment.named("timeindex"))?;
            Ok(places.zip(moments).map(|(places, moments)| Self {
                places,
                moments,
                ..Self::empty(segment)
            }))
        };
        let failed = |e| Error::io("read index of", segment.path())(e);
        let mut indexes = match read().map_err(failed)? {
            Some(indexes) => indexes,
            None => {
                let (built, _) = Self::built(segment)?;
                return Ok(built);
            }
        };
        indexes.newest = indexes.last_moment(segment);
        if !indexes.ends_hold(segment)? {
            indexes.renew(segment)?;
        }
        Ok(indexes)
    }

    /// The entries of the files for batches below `upto`, and position and base offset of the last of
    /// those; what follows in the files is not looked at. `None` when the log says otherwise.
    pub(super) fn load_upto(
        segment: &Arc<Segment>,
        upto: Offset,
    ) -> Result<Option<(Self, u64, Offset)>, Error> {
        let failed = |e| Error::io("read index of", segment.path())(e);
        let below = upto.0.saturating_sub(segment.base.0);
        let mut indexes = Self {
            places: Index::open_rising(segment.named("index"), |p: &Place| {
                i64::from(p.relative) < below
            })
            .map_err(failed)?,
            moments: Index::open_rising(segment.named("timeindex"), |m: &Moment| {
                i64::from(m.relative) < below
            })
            .map_err(failed)?,
            ..Self::empty(segment)
        };
        let Some(last) = indexes.places.last() else {
            return Ok(None);
        };
        indexes
            .moments
            .truncate(|m| m.relative <= last.relative)
            .map_err(failed)?;
        indexes.newest = indexes.last_moment(segment);
        if !indexes.ends_hold(segment)? {
            return Ok(None);
        }
        let position = u64::from(last.position);
        let base = scan::header_at(segment, position)?.map(|h| h.base_offset);
        Ok(base.map(|base| (indexes, position, base)))
    }

    /// Where to begin looking for `offset`: the last indexed batch at or before it.
    pub(super) fn position_before(
        &mut self,
        segment: &Arc<Segment>,
        offset: Offset,
    ) -> Result<u64, Error> {
        let mut relative = u32::try_from(offset.0 - segment.base.0).unwrap_or(u32::MAX);
        loop {
            let floor = self.places.floor(relative).map_err(failed(segment))?;
            let Some(place) = floor else {
                return Ok(0);
            };
            if holds(segment, place)? {
                return Ok(place.position.into());
            }
            if !self.renew(segment)? {
                // The log is damaged there: from before that place on it is found.
                let Some(before) = place.relative.checked_sub(1) else {
                    return Ok(0);
                };
                relative = before;
            }
        }
    }

    /// Where to begin looking for `timestamp`: every batch before has an older newest one.
    pub(super) fn position_before_time(
        &mut self,
        segment: &Arc<Segment>,
        timestamp: i64,
    ) -> Result<u64, Error> {
        loop {
            let older = timestamp.saturating_sub(1);
            let floor = self.moments.floor(older).map_err(failed(segment))?;
            let Some(moment) = floor else {
                return Ok(0);
            };
            let position = self.position_before(segment, offset_of(segment, moment.relative))?;
            if has(segment, position, moment)? {
                return Ok(position);
            }
            if !self.renew(segment)? {
                return Ok(0);
            }
        }
    }

    /// The first place behind `position` where a batch begins as the entry says, and `sound` holds.
    pub(super) fn after(
        &mut self,
        segment: &Arc<Segment>,
        position: u64,
        sound: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<u64>, Error> {
        let mut found = Ok(None);
        self.places
            .any(|place| {
                let at = u64::from(place.position);
                if at <= position {
                    return false;
                }
                match holds(segment, place) {
                    Ok(true) if sound(at) => found = Ok(Some(at)),
                    Ok(_) => return false,
                    Err(error) => found = Err(error),
                }
                true
            })
            .map_err(failed(segment))?;
        found
    }

    /// Notes a batch that lies at `position`.
    pub(super) fn note(
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
                offset: header.last_offset(),
            });
        }
        // The first batch is always indexed: an index without entries is one that is missing.
        if self.places.last().is_none() || self.since_entry >= interval {
            let (Some(relative), Ok(position)) = (
                relative_to(base, header.last_offset()),
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

    pub(super) fn push_newest(&mut self, base: Offset) -> io::Result<()> {
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

    pub(super) fn trim(&mut self) -> io::Result<()> {
        self.places.trim()?;
        self.moments.trim()
    }

    /// The log is whole again: built anew, they would be as well.
    pub(super) fn doubt_again(&mut self) {
        self.settled = false;
    }

    pub(super) fn unmap(&mut self) {
        self.places.unmap();
        self.moments.unmap();
    }

    /// The last entry of either, which say how far the segment goes and how old it is.
    fn ends_hold(&mut self, segment: &Arc<Segment>) -> Result<bool, Error> {
        let (Some(place), Some(moment)) = (self.places.last(), self.moments.last()) else {
            return Ok(false);
        };
        if !holds(segment, place)? {
            return Ok(false);
        }
        let floor = self
            .places
            .floor(moment.relative)
            .map_err(failed(segment))?;
        let position = floor.map_or(0, |p| p.position);
        has(segment, position.into(), moment)
    }

    fn last_moment(&self, segment: &Segment) -> Option<Newest> {
        self.moments.last().map(|m| Newest {
            timestamp: m.timestamp,
            offset: offset_of(segment, m.relative),
        })
    }

    /// Builds both anew from the log. False when that cannot help: it was done, or would end at damage.
    fn renew(&mut self, segment: &Arc<Segment>) -> Result<bool, Error> {
        if self.settled {
            return Ok(false);
        }
        let mut whole = true;
        walk(segment, |_, _| ControlFlow::Continue(()), &mut whole)?;
        if !whole {
            self.settled = true;
            return Ok(false);
        }
        self.unmap();
        (*self, _) = Self::built(segment)?;
        self.settled = true;
        Ok(true)
    }

    /// From the log, and whether all of that could be read.
    fn built(segment: &Arc<Segment>) -> Result<(Self, bool), Error> {
        let mut indexes = Self::empty(segment);
        let mut noted = Ok(());
        let mut whole = true;
        walk(
            segment,
            |header, position| {
                noted = indexes.note(segment.base, header, position, REBUILD_INTERVAL_BYTES);
                match noted {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            },
            &mut whole,
        )?;
        noted
            .and_then(|()| indexes.push_newest(segment.base))
            .and_then(|()| indexes.trim())
            .map_err(Error::io("rebuild index of", segment.path()))?;
        indexes.settled = !whole;
        Ok((indexes, whole))
    }
}

/// All batches of a segment, as far as they are sound.
fn walk(
    segment: &Arc<Segment>,
    mut f: impl FnMut(&Header, u64) -> ControlFlow<()>,
    whole: &mut bool,
) -> Result<(), Error> {
    let end = scan::headers(segment, 0, |header, position| {
        if !segment.can_hold(header.last_offset()) || header.last_offset_delta < 0 {
            // Offsets are not sealed. What is damaged is for recovery to judge.
            *whole = false;
            return ControlFlow::Break(());
        }
        f(header, position)
    })?;
    *whole &= end.fault.is_none();
    Ok(())
}

/// Whether a batch begins there that ends with that offset.
fn holds(segment: &Arc<Segment>, place: Place) -> Result<bool, Error> {
    let header = scan::header_at(segment, place.position.into())?;
    Ok(header.is_some_and(|h| h.last_offset() == offset_of(segment, place.relative)))
}

/// Whether the batch that ends with that offset, found from `position` on, has that newest timestamp.
fn has(segment: &Arc<Segment>, mut position: u64, moment: Moment) -> Result<bool, Error> {
    let offset = offset_of(segment, moment.relative);
    while let Some(header) = scan::header_at(segment, position)? {
        if header.last_offset() >= offset {
            return Ok(header.last_offset() == offset && header.max_timestamp == moment.timestamp);
        }
        position += header.size_bytes() as u64;
    }
    Ok(false)
}

fn offset_of(segment: &Segment, relative: u32) -> Offset {
    Offset(segment.base.0.saturating_add(relative.into()))
}

pub(super) fn relative_to(base: Offset, offset: Offset) -> Option<u32> {
    let relative = offset.0.checked_sub(base.0)?;
    u32::try_from(relative).ok()
}

fn failed(segment: &Segment) -> impl FnOnce(io::Error) -> Error {
    Error::io("use index of", segment.path())
}

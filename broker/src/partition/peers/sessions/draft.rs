//! Putting one answer together: what there is to say of each partition, within the bound of an answer.

use machine::replica::divergence;
use model::TopicPartition;

use super::{
    super::frame::{Answer, Standing},
    Sessions,
};
use crate::partition::{Handle, Source, read};

/// A partition to look at, as its follower stood then.
pub(super) struct Look {
    pub(super) partition: TopicPartition,
    pub(super) standing: Standing,
    pub(super) handle: Handle,
}

/// What there is to say to a follower that stands there.
pub(super) struct Found {
    pub(super) partition: TopicPartition,
    pub(super) standing: Standing,
    pub(super) answer: Answer,
}

enum Looked {
    /// The follower has everything.
    Nothing,
    Answer(Answer),
    /// Only the disk has it.
    Cold,
    Unreadable,
}

/// An answer that is being put together.
pub(super) struct Draft {
    bytes_left: usize,
    pub(super) found: Vec<Found>,
    pub(super) cold: Vec<TopicPartition>,
    pub(super) unreadable: Vec<TopicPartition>,
    /// For the next answer.
    pub(super) beyond: Vec<TopicPartition>,
}

impl Draft {
    pub(super) fn new(sessions: &Sessions, found: Vec<Found>) -> Self {
        let taken: usize = found.iter().map(|f| f.answer.size_bytes()).sum();
        Self {
            bytes_left: sessions.0.response_bytes_max.saturating_sub(taken),
            found,
            cold: Vec::new(),
            unreadable: Vec::new(),
            beyond: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, sessions: &Sessions, look: Look, source: Source) {
        if self.bytes_left == 0 {
            self.beyond.push(look.partition);
            return;
        }
        let bytes_max = self.bytes_left.min(sessions.0.partition_bytes_max);
        match sessions.look(&look, bytes_max, source) {
            Looked::Nothing => {}
            Looked::Answer(answer) => {
                self.bytes_left = self.bytes_left.saturating_sub(answer.size_bytes());
                self.found.push(Found {
                    partition: look.partition,
                    standing: look.standing,
                    answer,
                });
            }
            Looked::Cold => self.cold.push(look.partition),
            Looked::Unreadable => self.unreadable.push(look.partition),
        }
    }
}

impl Sessions {
    /// What to say to a follower that stands there.
    fn look(&self, look: &Look, bytes_max: usize, source: Source) -> Looked {
        let reader = &look.handle.0.reader;
        let (from, standing) = (look.standing.position.next, &look.standing);
        if let Some(epoch) = standing.last_epoch {
            let known = read::epoch_end(reader, standing.epoch, epoch);
            if let Some(known) = divergence::diverging(Some(epoch), from, known) {
                return Looked::Answer(Answer::Diverging { from, known });
            }
        }
        let (start, end) = (reader.start_offset(), reader.end_offset());
        if from < start || from > end {
            return Looked::Answer(Answer::Reset { from, start });
        }
        if from == end {
            return Looked::Nothing;
        }
        let read = match source {
            Source::Memory => reader.read_cached(from, end, bytes_max),
            Source::Disk => reader.read_until(from, end, bytes_max).map(Some),
        };
        match read {
            Ok(Some(batches)) => Looked::Answer(Answer::Records {
                from,
                high_watermark: look.handle.0.snapshot.read().high_watermark,
                log_start: start,
                batches,
            }),
            Ok(None) => Looked::Cold,
            Err(error) => {
                tracing::error!(
                    partition = %look.partition,
                    error = &error as &dyn std::error::Error,
                    "records cannot be read for a follower"
                );
                if let commitlog::Error::Corrupt { offset, .. } = error {
                    look.handle.suspect(offset);
                }
                Looked::Unreadable
            }
        }
    }
}

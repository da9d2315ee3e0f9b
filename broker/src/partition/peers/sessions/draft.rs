//! Putting one answer together: what there is to say of each partition, within the bound of an answer.

use std::time::Duration;

use model::{Offset, TopicPartition};
use replica::{Answer, Looked, Source, Standing};
use tokio::time::Instant;

use super::Sessions;
use crate::partition::Handle;

/// A partition to look at, as its follower stood then.
pub(super) struct Look {
    pub(super) partition: TopicPartition,
    pub(super) standing: Standing,
    /// Watermark that the follower was told last.
    pub(super) told: Offset,
    pub(super) handle: Handle,
    /// Not in sync, and its topic says that it is to be held up.
    pub(super) throttled: bool,
}

/// What there is to say to a follower that stands there.
pub(super) struct Found {
    pub(super) partition: TopicPartition,
    pub(super) standing: Standing,
    pub(super) answer: Answer,
}

/// An answer that is being put together.
pub(super) struct Draft {
    bytes_left: usize,
    pub(super) found: Vec<Found>,
    pub(super) cold: Vec<TopicPartition>,
    pub(super) unreadable: Vec<TopicPartition>,
    /// For the next answer.
    pub(super) beyond: Vec<TopicPartition>,
    /// Held up by the throttle, for so long.
    pub(super) paused: Vec<TopicPartition>,
    pub(super) pause: Duration,
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
            paused: Vec::new(),
            pause: Duration::ZERO,
        }
    }

    pub(super) fn take(&mut self, sessions: &Sessions, look: Look, source: Source) {
        if self.bytes_left == 0 {
            self.beyond.push(look.partition);
            return;
        }
        let throttle = &sessions.0.throttles.leader;
        if look.throttled
            && let Some(pause) = throttle.pause(Instant::now())
        {
            self.paused.push(look.partition);
            self.pause = pause;
            return;
        }
        let bytes_max = self.bytes_left.min(sessions.0.partition_bytes_max);
        let shared = &look.handle.0;
        let looked = replica::look(&shared.reader, &look.standing, bytes_max, source, || {
            shared.snapshot.read().high_watermark
        });
        match looked {
            Looked::Nothing => self.tell_watermark(look),
            Looked::Answer(answer) => {
                self.bytes_left = self.bytes_left.saturating_sub(answer.size_bytes());
                if look.throttled {
                    throttle.count(answer.size_bytes());
                }
                self.found.push(Found {
                    partition: look.partition,
                    standing: look.standing,
                    answer,
                });
            }
            Looked::Cold => self.cold.push(look.partition),
            Looked::Unreadable(error) => {
                tracing::error!(
                    partition = %look.partition,
                    error = &error as &dyn std::error::Error,
                    "records cannot be read for a follower"
                );
                if let commitlog::Error::Corrupt { offset, .. } = error {
                    look.handle.suspect(offset);
                }
                self.unreadable.push(look.partition);
            }
        }
    }

    /// A follower that has everything and that consumers read from is told of the watermark at once.
    fn tell_watermark(&mut self, look: Look) {
        let high_watermark = look.handle.0.snapshot.read().high_watermark;
        if !look.standing.is_read || high_watermark <= look.told {
            return;
        }
        self.found.push(Found {
            partition: look.partition,
            standing: look.standing,
            answer: Answer::Records {
                from: look.standing.position.next,
                high_watermark,
                log_start: look.handle.0.reader.start_offset(),
                batches: Vec::new(),
            },
        });
    }
}

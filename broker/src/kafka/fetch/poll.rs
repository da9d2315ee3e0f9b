//! The long poll: read what there is, and wait while that is too little.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use kafka_wire::ErrorCode;
use machine::metadata::image::Image;
use model::{BrokerId, Epoch, Offset};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::nearby::Nearby;
use super::session::Wanted;
use crate::kafka::{Front, error_code, replicas};
use crate::net::{Claim, Room};
use crate::partition::{Handle, Limit, Pool, Progress, Read, ReadData, ReadError, Source};

/// What a fetch may read at least, if it asks for as much, however little room there is for replies.
const ROOM_MIN_BYTES: usize = 1 << 20;

/// Part of the free room that one fetch may read, so that no few of them take all of it.
const PART_OF_ROOM: usize = 4;

/// What holds for all partitions of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Less than this is waited for.
    pub(super) min_bytes: usize,
    /// Exceeded only by the first batch.
    pub(super) max_bytes: usize,
    pub(super) patience: Duration,
    pub(super) limit: Limit,
}

/// Why one partition gives nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    pub(super) code: ErrorCode,
    pub(super) leader: Option<(BrokerId, Epoch)>,
}

/// One partition of the request, and what was read of it.
pub(super) struct Watched {
    pub(super) partition: i32,
    /// Read there instead; nothing is read here.
    pub(super) preferred: Option<BrokerId>,
    /// Followers serve this client.
    followers: bool,
    replica: Option<(Handle, watch::Receiver<Progress>)>,
    read: Read,
    pub(super) outcome: Result<ReadData, Failed>,
}

impl Watched {
    pub(super) fn find(front: &Front, image: &Image, wanted: &Wanted, nearby: Nearby<'_>) -> Self {
        let (key, from) = (&wanted.key, &wanted.from);
        let found = replicas::find(front, image, &key.topic, key.topic_id, key.partition);
        let read = Read {
            offset: Offset(from.fetch_offset),
            max_bytes: usize::try_from(from.partition_max_bytes).unwrap_or_default(),
            limit: Limit::HighWatermark,
            leader_epoch: stated(from.current_leader_epoch),
            last_fetched_epoch: stated(from.last_fetched_epoch),
        };
        let mut preferred = None;
        let (replica, outcome) = match found {
            Ok(replica) => {
                preferred = nearby.preferred(image, &replica, read.offset, read.leader_epoch);
                // Followed from before the first reading, so that nothing is missed after it.
                let progress = replica.progress();
                (Some((replica, progress)), Ok(nothing()))
            }
            Err(missing) => (
                None,
                Err(Failed {
                    code: missing.code,
                    leader: missing.leader,
                }),
            ),
        };
        Self {
            partition: key.partition,
            preferred,
            followers: nearby.followers,
            replica,
            read,
            outcome,
        }
    }

    /// Bytes read.
    fn bytes(&self) -> usize {
        match &self.outcome {
            Ok(data) => data.batches.iter().map(bytes::Bytes::len).sum(),
            Err(_) => 0,
        }
    }

    /// Must be answered without waiting.
    fn is_urgent(&self) -> bool {
        match &self.outcome {
            Ok(data) => data.diverging.is_some() || self.preferred.is_some(),
            Err(_) => true,
        }
    }

    /// Reads at most `room` bytes; more only when `first`, for one batch larger than that. False, and
    /// nothing is changed, when that takes the disk and `source` does not.
    fn read(&mut self, terms: &Terms, room: usize, first: bool, source: Source) -> bool {
        let Some((replica, _)) = &self.replica else {
            return true;
        };
        if (room == 0 && !first) || self.preferred.is_some() {
            // Still tells how far the partition has come.
            let status = replica.status();
            if let Ok(data) = &mut self.outcome {
                data.batches.clear();
                data.high_watermark = status.readable_end;
                data.last_stable_offset = status.last_stable_offset;
                data.log_start = status.log_start;
            }
            return true;
        }
        let max_bytes = self.read.max_bytes.min(room);
        let asked = Read {
            max_bytes,
            limit: terms.limit,
            ..self.read
        };
        let served = replica.check_serves(self.followers, asked.leader_epoch);
        let read = match (served, source) {
            (Err(error), _) => Err(error),
            (Ok(()), Source::Memory) => match replica.read_cached(asked) {
                Ok(None) => return false,
                Ok(Some(data)) => Ok(data),
                Err(error) => Err(error),
            },
            (Ok(()), Source::Disk) => replica.read(asked),
        };
        self.outcome = read.map_err(|error| Failed {
            code: error_code::read(&error),
            leader: match error {
                ReadError::NotLeader { leader, epoch } => leader.map(|id| (id, epoch)),
                _ => None,
            },
        });
        if !first
            && self.bytes() > max_bytes
            && let Ok(data) = &mut self.outcome
        {
            data.batches.clear();
        }
        true
    }
}

/// -1 states nothing.
fn stated(epoch: i32) -> Option<Epoch> {
    (epoch >= 0).then_some(Epoch(epoch))
}

fn nothing() -> ReadData {
    ReadData {
        batches: Vec::new(),
        high_watermark: Offset::UNKNOWN,
        last_stable_offset: Offset::UNKNOWN,
        log_start: Offset::UNKNOWN,
        diverging: None,
    }
}

/// Partitions of one request, and the bytes read of them so far.
#[derive(Default)]
struct Reading {
    watched: Vec<Watched>,
    total: usize,
}

impl Reading {
    /// Reads the partitions of `range` in order; the first that `source` does not have ends it.
    fn read(&mut self, range: Range<usize>, terms: &Terms, source: Source) -> Result<(), usize> {
        for n in range {
            let Some(partition) = self.watched.get_mut(n) else {
                break;
            };
            let without = self.total - partition.bytes();
            let room = terms.max_bytes.saturating_sub(without);
            if !partition.read(terms, room, without == 0, source) {
                return Err(n);
            }
            self.total = without + partition.bytes();
        }
        Ok(())
    }

    /// Reads the partitions of `range`: here while they are in memory, the rest in one go where the
    /// disk may be waited for. Nothing is left when the broker ends meanwhile. `claim` has been admitted.
    async fn advance(
        mut self,
        range: Range<usize>,
        mut terms: Terms,
        readers: &Pool,
        claim: &mut Claim,
    ) -> Self {
        let free = (claim.room().free_bytes() / PART_OF_ROOM).max(ROOM_MIN_BYTES);
        terms.max_bytes = terms.max_bytes.min(self.total.saturating_add(free));
        claim.set(terms.max_bytes.max(self.total));
        if let Err(cold) = self.read(range.clone(), &terms, Source::Memory) {
            let read = readers.run(move || {
                // The disk has everything.
                let _all = self.read(cold..range.end, &terms, Source::Disk);
                self
            });
            self = read.await.unwrap_or_default();
        }
        claim.set(self.total);
        self
    }

    fn is_enough(&self, terms: &Terms) -> bool {
        self.total >= terms.min_bytes
    }
}

/// Reads every partition; then, while there is too little and nothing urgent, reads again those that
/// have moved, until the client's patience, the room for what was read or for further requests, or the
/// broker's life ends. Waits before it reads while there is no room for replies. The claim is for the batches.
pub(super) async fn poll(
    watched: Vec<Watched>,
    terms: Terms,
    readers: &Pool,
    requests: &Room,
    replies: &Arc<Room>,
    stop: &CancellationToken,
) -> (Vec<Watched>, Claim) {
    let all = 0..watched.len();
    let reading = Reading { watched, total: 0 };
    let mut claim = replies.claim();
    tokio::select! {
        () = claim.admit() => {}
        () = stop.cancelled() => return (reading.watched, claim),
    }
    let mut reading = reading.advance(all, terms, readers, &mut claim).await;
    let mut enough = reading.is_enough(&terms) || reading.watched.iter().any(Watched::is_urgent);
    if enough || terms.patience.is_zero() || reading.watched.is_empty() {
        return (reading.watched, claim);
    }
    let mut moved: FuturesUnordered<_> = reading
        .watched
        .iter()
        .enumerate()
        .filter_map(|(n, watched)| {
            let (_, progress) = watched.replica.as_ref()?;
            Some(next_move(n, progress.clone()))
        })
        .collect();
    let patience = sleep_until(Instant::now() + terms.patience);
    tokio::pin!(patience);
    while !enough {
        let (n, progress) = tokio::select! {
            () = &mut patience => break,
            () = stop.cancelled() => break,
            () = replies.filled(), if reading.total > 0 => break,
            // The bytes of a request count until it is answered: who only waits must not keep others out.
            () = requests.filled() => break,
            Some(moved) = moved.next() => moved,
        };
        tokio::select! {
            () = &mut patience => break,
            () = stop.cancelled() => break,
            // Nor may it keep what it has read while it waits for room to read more.
            () = replies.filled(), if reading.total > 0 => break,
            () = claim.admit() => {}
        }
        reading = reading.advance(n..n + 1, terms, readers, &mut claim).await;
        let urgent = reading.watched.get(n).is_none_or(Watched::is_urgent);
        enough = reading.is_enough(&terms) || urgent;
        if let Some(progress) = progress {
            moved.push(next_move(n, progress));
        }
    }
    (reading.watched, claim)
}

/// Waits until the replica moves; without a receiver afterwards when it was closed.
async fn next_move(
    n: usize,
    mut progress: watch::Receiver<Progress>,
) -> (usize, Option<watch::Receiver<Progress>>) {
    let open = progress.changed().await.is_ok();
    (n, open.then_some(progress))
}

//! The long poll: read what there is, and wait while that is too little.

use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use kafka_wire::ErrorCode;
use machine::metadata::image::Image;
use model::{BrokerId, Epoch, Offset};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::session::Wanted;
use crate::kafka::{Front, error_code, replicas};
use crate::partition::{Handle, Limit, Progress, Read, ReadData, ReadError};

/// What holds for all partitions of a request.
#[derive(Debug)]
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
    replica: Option<(Handle, watch::Receiver<Progress>)>,
    read: Read,
    pub(super) outcome: Result<ReadData, Failed>,
}

impl Watched {
    pub(super) fn find(front: &Front, image: &Image, wanted: &Wanted) -> Self {
        let (key, from) = (&wanted.key, &wanted.from);
        let found = replicas::find(front, image, &key.topic, key.topic_id, key.partition);
        let read = Read {
            offset: Offset(from.fetch_offset),
            max_bytes: usize::try_from(from.partition_max_bytes).unwrap_or_default(),
            limit: Limit::HighWatermark,
            leader_epoch: stated(from.current_leader_epoch),
            last_fetched_epoch: stated(from.last_fetched_epoch),
        };
        let (replica, outcome) = match found {
            Ok(replica) => {
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
            Ok(data) => data.diverging.is_some(),
            Err(_) => true,
        }
    }

    /// Reads at most `room` bytes; more only when `first`, for one batch larger than that.
    fn read(&mut self, terms: &Terms, room: usize, first: bool) {
        let Some((replica, _)) = &self.replica else {
            return;
        };
        if room == 0 && !first {
            // Still tells how far the partition has come.
            let status = replica.status();
            if let Ok(data) = &mut self.outcome {
                data.batches.clear();
                data.high_watermark = status.high_watermark;
                data.last_stable_offset = status.last_stable_offset;
                data.log_start = status.log_start;
            }
            return;
        }
        let max_bytes = self.read.max_bytes.min(room);
        let read = replica.read(Read {
            max_bytes,
            limit: terms.limit,
            ..self.read
        });
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

/// Reads every partition; then, while there is too little and nothing urgent, reads again those that
/// have moved, until the client's patience or the broker's life ends.
pub(super) async fn poll(
    mut watched: Vec<Watched>,
    terms: &Terms,
    stop: &CancellationToken,
) -> Vec<Watched> {
    let mut total = 0;
    for partition in &mut watched {
        partition.read(terms, terms.max_bytes.saturating_sub(total), total == 0);
        total += partition.bytes();
    }
    let mut enough = total >= terms.min_bytes || watched.iter().any(Watched::is_urgent);
    if enough || terms.patience.is_zero() || watched.is_empty() {
        return watched;
    }
    let mut moved: FuturesUnordered<_> = watched
        .iter_mut()
        .enumerate()
        .filter_map(|(n, watched)| {
            let (_, progress) = watched.replica.as_mut()?;
            Some(next_move(n, progress.clone()))
        })
        .collect();
    let patience = sleep_until(Instant::now() + terms.patience);
    tokio::pin!(patience);
    while !enough {
        let (n, progress) = tokio::select! {
            () = &mut patience => break,
            () = stop.cancelled() => break,
            Some(moved) = moved.next() => moved,
        };
        let Some(partition) = watched.get_mut(n) else {
            continue;
        };
        total -= partition.bytes();
        partition.read(terms, terms.max_bytes.saturating_sub(total), total == 0);
        total += partition.bytes();
        enough = total >= terms.min_bytes || partition.is_urgent();
        if let Some(progress) = progress {
            moved.push(next_move(n, progress));
        }
    }
    watched
}

/// Waits until the replica moves; without a receiver afterwards when it was closed.
async fn next_move(
    n: usize,
    mut progress: watch::Receiver<Progress>,
) -> (usize, Option<watch::Receiver<Progress>>) {
    let open = progress.changed().await.is_ok();
    (n, open.then_some(progress))
}

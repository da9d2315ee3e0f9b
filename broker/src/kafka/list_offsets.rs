//! `ListOffsets`: where a partition begins and ends, and what was written at a time.

use std::collections::{HashMap, HashSet};

use kafka_wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsTopicResponse, Request, Response,
};
use kafka_wire::{ErrorCode, Versions};
use model::{Epoch, Offset};

use super::dispatch::{Answer, Call, Serve};
use super::{Front, error_code, replicas};
use crate::partition::{Handle, ReadError, Status, TimedOffset};
use machine::metadata::image::Image;
use uuid::Uuid;

/// Timestamps that stand for a place, and the first version that knows each.
mod special {
    pub(super) const LATEST: i64 = -1;
    pub(super) const EARLIEST: i64 = -2;
    pub(super) const MAX_TIMESTAMP: (i64, i16) = (-3, 7);
    pub(super) const EARLIEST_LOCAL: (i64, i16) = (-4, 8);
    pub(super) const LATEST_TIERED: (i64, i16) = (-5, 9);
    pub(super) const EARLIEST_PENDING_UPLOAD: (i64, i16) = (-6, 11);
}

const READ_COMMITTED: i8 = 1;
/// First version with leader epochs.
const EPOCHS_FROM: i16 = 4;
/// First version whose clients know `OFFSET_NOT_AVAILABLE` (KIP-207).
const NOT_AVAILABLE_FROM: i16 = 5;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(1, 11);

    async fn serve(self, call: Call) -> Answer<Response> {
        let mut asked = self.topics.iter().flat_map(|topic| &topic.partitions);
        let contact = call.front.metadata.contact();
        let response = if asked.any(is_by_time) {
            // Looking for a time reads indexes and batches, and may inflate one.
            let readers = call.front.roster.readers().clone();
            match readers.run(move || answer(&self, &call)).await {
                Some(response) => response,
                // The broker ends.
                None => return Answer::Close,
            }
        } else {
            answer(&self, &call)
        };
        let mut found = response.topics.iter().flat_map(|topic| &topic.partitions);
        let elsewhere = found.any(|line| line.error_code == ErrorCode::NotLeaderOrFollower.code());
        // As for produce: the client would ask here who leads.
        if elsewhere && !contact.is_informed() {
            return Answer::Last(response);
        }
        response.into()
    }
}

fn is_by_time(asked: &ListOffsetsPartition) -> bool {
    asked.timestamp >= 0 || asked.timestamp == special::MAX_TIMESTAMP.0
}

fn answer(request: &Request, call: &Call) -> Response {
    let image = call.front.metadata.image();
    let committed = request.isolation_level == READ_COMMITTED;
    let topics = request.topics.iter().map(|topic| {
        let mut times: HashMap<i32, usize> = HashMap::new();
        for asked in &topic.partitions {
            *times.entry(asked.partition_index).or_default() += 1;
        }
        // One that is named twice is refused, and told once.
        let mut told = HashSet::new();
        let once = topic
            .partitions
            .iter()
            .filter(move |asked| told.insert(asked.partition_index));
        let partitions = once.map(|asked| {
            if times.get(&asked.partition_index).is_some_and(|n| *n > 1) {
                return line(
                    asked.partition_index,
                    Err(ErrorCode::InvalidRequest),
                    call.version,
                );
            }
            let found = find(
                &call.front,
                &image,
                &topic.name,
                asked,
                committed,
                call.version,
            );
            line(asked.partition_index, found, call.version)
        });
        ListOffsetsTopicResponse {
            partitions: partitions.collect(),
            name: topic.name.clone(),
        }
    });
    Response {
        topics: topics.collect(),
        ..Response::default()
    }
}

/// `None`: there is no such place.
type Found = Result<Option<TimedOffset>, ErrorCode>;

fn find(
    front: &Front,
    image: &Image,
    topic: &str,
    asked: &ListOffsetsPartition,
    committed: bool,
    version: i16,
) -> Found {
    let replica = replicas::find(front, image, topic, Uuid::nil(), asked.partition_index)
        .map_err(|missing| missing.code)?;
    let status = replicas::leading(&replica, asked.current_leader_epoch)?;
    // Where the log ends is for its leader to say, which may be another by now.
    if !matches!(asked.timestamp, special::EARLIEST) && replica.is_cut_off() {
        return Err(ErrorCode::NotLeaderOrFollower);
    }
    let supported = |(timestamp, from): (i64, i16)| asked.timestamp == timestamp && version >= from;
    match asked.timestamp {
        special::LATEST if status.watermark_settled => Ok(Some(latest(&status, committed))),
        special::LATEST => Err(not_available(version)),
        special::EARLIEST => Ok(Some(earliest(&replica, &status))),
        _ if supported(special::EARLIEST_LOCAL) => Ok(Some(earliest(&replica, &status))),
        _ if supported(special::MAX_TIMESTAMP) => {
            let found = replica.max_timestamp();
            timed(found, &status, committed, version)
        }
        // Nothing is tiered.
        _ if supported(special::LATEST_TIERED) => Ok(None),
        _ if supported(special::EARLIEST_PENDING_UPLOAD) => Ok(None),
        timestamp if timestamp >= 0 => {
            let found = replica.offset_for_time(timestamp);
            timed(found, &status, committed, version)
        }
        _ => Err(ErrorCode::UnsupportedVersion),
    }
}

fn latest(status: &Status, committed: bool) -> TimedOffset {
    TimedOffset {
        offset: if committed {
            status.last_stable_offset
        } else {
            status.readable_end
        },
        timestamp: -1,
        epoch: status.leader_epoch,
    }
}

fn earliest(replica: &Handle, status: &Status) -> TimedOffset {
    TimedOffset {
        offset: status.log_start,
        timestamp: -1,
        // None before the first record.
        epoch: replica.epoch_at(status.log_start).unwrap_or(Epoch::UNKNOWN),
    }
}

/// Only what consumers can fetch is found. A leader that does not know yet how far its predecessor had
/// come does not say that there is nothing.
fn timed(
    found: Result<Option<TimedOffset>, ReadError>,
    status: &Status,
    committed: bool,
    version: i16,
) -> Found {
    let end = latest(status, committed).offset;
    match found {
        Ok(Some(found)) if found.offset < end => Ok(Some(found)),
        Ok(_) if status.watermark_settled => Ok(None),
        Ok(_) => Err(not_available(version)),
        Err(error) => Err(error_code::read(&error)),
    }
}

fn not_available(version: i16) -> ErrorCode {
    if version < NOT_AVAILABLE_FROM {
        ErrorCode::LeaderNotAvailable
    } else {
        error_code::read(&ReadError::NotAvailable)
    }
}

fn line(partition_index: i32, found: Found, version: i16) -> ListOffsetsPartitionResponse {
    let (code, found) = match found {
        Ok(found) => (ErrorCode::None, found),
        Err(code) => (code, None),
    };
    let found = found.unwrap_or(TimedOffset {
        offset: Offset::UNKNOWN,
        timestamp: -1,
        epoch: Epoch::UNKNOWN,
    });
    ListOffsetsPartitionResponse {
        partition_index,
        error_code: code.code(),
        timestamp: found.timestamp,
        offset: found.offset.0,
        leader_epoch: if version >= EPOCHS_FROM {
            found.epoch.0
        } else {
            -1
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use kafka_wire::Str;
    use kafka_wire::messages::list_offsets::ListOffsetsTopic;

    use super::*;
    use crate::kafka::testing::{self, Client};

    /// Work that grew with the square of their number would not end.
    #[tokio::test]
    async fn many_partitions_are_answered_and_one_named_twice_is_refused_once() {
        const MANY: i32 = 200_000;
        let server = testing::serve("").await;
        let mut client = Client::connect(&server).await;
        let indexes = (0..MANY).chain([7]);
        let request = Request {
            replica_id: -1,
            topics: vec![ListOffsetsTopic {
                name: Str::from_static("unknown"),
                partitions: indexes
                    .map(|partition_index| ListOffsetsPartition {
                        partition_index,
                        timestamp: special::LATEST,
                        ..ListOffsetsPartition::default()
                    })
                    .collect(),
            }],
            ..Request::default()
        };
        let mut topics = client.call(5, &request).await.topics;
        let lines = topics.remove(0).partitions;
        assert_eq!(lines.len(), usize::try_from(MANY).unwrap());
        let refused = lines
            .iter()
            .filter(|line| line.error_code == ErrorCode::InvalidRequest.code())
            .map(|line| line.partition_index);
        assert_eq!(refused.collect::<Vec<_>>(), [7]);
    }
}

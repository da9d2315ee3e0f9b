//! `DescribeLogDirs`: the one data directory, and what each replica takes of it.

use std::collections::{BTreeMap, HashSet};

use kafka_wire::messages::describe_log_dirs::{
    DescribableLogDirTopic, DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
    Request, Response,
};
use kafka_wire::{ErrorCode, Str, Versions};

use crate::kafka::dispatch::{Answer, Call, Serve};

impl Serve for Request {
    const OFFERED: Versions = Versions::new(1, 5);

    async fn serve(self, call: Call) -> Answer<Response> {
        let front = &call.front;
        let image = front.metadata.image();
        let named: Option<HashSet<(&str, i32)>> = self
            .topics
            .as_ref()
            .map(|topics| topics.iter().flat_map(pairs).collect());
        let asked = |name, index| {
            let named = named.as_ref();
            named.is_none_or(|named| named.contains(&(name, index)))
        };
        let mut topics: BTreeMap<&str, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
        for (id, handle) in front.roster.all() {
            let Some(topic) = image.topics.get(&id.topic) else {
                continue;
            };
            if asked(&topic.name, id.partition) {
                let status = handle.status();
                let partition = DescribeLogDirsPartition {
                    partition_index: id.partition,
                    partition_size: i64::try_from(status.size_bytes).unwrap_or(i64::MAX),
                    offset_lag: (status.high_watermark.0 - status.log_end.0).max(0),
                    is_future_key: false,
                };
                topics.entry(&topic.name).or_default().push(partition);
            }
        }
        let (total_bytes, usable_bytes) = space(&front.config.log_dir);
        let result = DescribeLogDirsResult {
            error_code: ErrorCode::None.code(),
            log_dir: Str::from(front.config.log_dir.display().to_string()),
            topics: topics
                .into_iter()
                .map(|(name, partitions)| DescribeLogDirsTopic {
                    name: Str::from(name),
                    partitions,
                })
                .collect(),
            total_bytes,
            usable_bytes,
            is_cordoned: false,
        };
        Response {
            results: vec![result],
            ..Response::default()
        }
        .into()
    }
}

fn pairs(topic: &DescribableLogDirTopic) -> impl Iterator<Item = (&str, i32)> {
    let each = topic.partitions.iter();
    each.map(|index| (&*topic.topic, *index))
}

/// Bytes of the file system, and those that may still be written; -1 when unknown.
fn space(dir: &std::path::Path) -> (i64, i64) {
    let Ok(disk) = crate::disk::Disk::holding(dir) else {
        return (-1, -1);
    };
    let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    (signed(disk.total_bytes), signed(disk.free_bytes))
}

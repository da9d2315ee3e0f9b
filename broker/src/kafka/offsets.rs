//! Committed offsets: `OffsetCommit`, `OffsetFetch`, `OffsetDelete`. Here is checked that topics and
//! partitions exist; who may commit is the group's to say.

mod commit;
mod delete;
mod fetch;

use machine::metadata::image::{Image, Topic};
use std::sync::Arc;
use uuid::Uuid;

use kafka_wire::ErrorCode;

use super::directory;

/// From here on topics are named by id.
const TOPIC_IDS_FROM: i16 = 10;

/// The topic that a request of `version` names, or the code that says there is none.
fn topic<'a>(
    image: &'a Image,
    version: i16,
    name: &str,
    id: Uuid,
) -> Result<&'a Arc<Topic>, ErrorCode> {
    if version >= TOPIC_IDS_FROM {
        let known = (!id.is_nil()).then(|| directory::topic(image, "", id));
        known.flatten().ok_or(ErrorCode::UnknownTopicId)
    } else {
        directory::topic_named(image, name).ok_or(ErrorCode::UnknownTopicOrPartition)
    }
}

//! Members of a group for tools: what each was assigned, read out of Kafka's consumer protocol.

use api::admin::{GroupMember, MemberPartitions};
use bytes::{Buf, Bytes};
use kafka_wire::messages::consumer_protocol_assignment;
use kafka_wire::{Message, Reader};
use machine::group::{Description, MemberDescription};

/// Protocol type of Kafka's consumers; what others (`connect`) assign is theirs to read.
const CONSUMER: &str = "consumer";

pub(super) fn of(description: &Description) -> Vec<GroupMember> {
    let consumers = &*description.protocol_type == CONSUMER;
    let member = |m: &MemberDescription| GroupMember {
        member_id: m.id.to_string(),
        instance_id: m.instance_id.as_ref().map(ToString::to_string),
        client_id: m.client_id.to_string(),
        host: m.client_host.to_string(),
        assigned: consumers
            .then(|| assigned(&m.assignment))
            .flatten()
            .unwrap_or_default(),
    };
    description.members.iter().map(member).collect()
}

/// Newer versions only add fields at the end, so that any is read as the newest known.
fn assigned(assignment: &Bytes) -> Option<Vec<MemberPartitions>> {
    let mut bytes = assignment.clone();
    let version = bytes.try_get_i16().ok()?;
    let known = consumer_protocol_assignment::ConsumerProtocolAssignment::VERSIONS;
    if version < known.min {
        return None;
    }
    let mut reader = Reader::new(bytes);
    let version = version.min(known.max);
    let assignment =
        consumer_protocol_assignment::ConsumerProtocolAssignment::decode(&mut reader, version)
            .ok()?;
    let assigned = assignment
        .assigned_partitions
        .into_iter()
        .map(|topic| MemberPartitions {
            topic: topic.topic.to_string(),
            partitions: topic.partitions,
        });
    Some(assigned.collect())
}

//! Records of groups as the bytes of `__consumer_offsets`: Kafka's own keys and values, so that its
//! tools read them.
//!
//! Writes offset values in version 4 (with the topic's id), or 1 when an old client asked for an expiry;
//! group values in version 3. Reads every version Kafka 4.4 knows. Keys of kinds this broker does not
//! have yet are passed over.

#[cfg(test)]
mod tests;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_wire::messages::{group_metadata_record, offset_commit_record};
use kafka_wire::{DecodeError, EncodeError, Message, Str, Writer};
use machine::group::{Committed, Generation, OffsetKey, Record, StoredMember};
use model::TopicId;

/// First number of a key: what the record is about.
const OFFSET_LEGACY: i16 = 0;
const OFFSET: i16 = 1;
const GROUP: i16 = 2;

const OFFSET_VALUE: i16 = 4;
const OFFSET_VALUE_WITH_EXPIRY: i16 = 1;
const GROUP_VALUE: i16 = 3;

/// A record of the log that is not what its key says.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("the record has no key")]
    NoKey,
    #[error("it is too short to say what it is")]
    Short,
    #[error("value version {0} is not known")]
    Version(i16),
    #[error(transparent)]
    Malformed(#[from] DecodeError),
}

/// Key, and value unless it is a removal.
pub(super) fn encode(record: &Record) -> Result<(Bytes, Option<Bytes>), EncodeError> {
    match record {
        Record::Offset { key, value } => {
            let wire = offset_commit_record::Key {
                group: Str::from(&*key.group),
                topic: Str::from(&*key.topic),
                partition: key.partition,
            };
            let value = value.as_ref().map(encode_offset).transpose()?;
            Ok((numbered(OFFSET, &wire, 0)?, value))
        }
        Record::Group { group, value } => {
            let wire = group_metadata_record::Key {
                group: Str::from(&**group),
            };
            let value = value.as_ref().map(encode_group).transpose()?;
            Ok((numbered(GROUP, &wire, 0)?, value))
        }
    }
}

/// `None` for a record that is about something else than offsets and classic groups.
pub(super) fn decode(
    key: Option<&Bytes>,
    value: Option<&Bytes>,
) -> Result<Option<Record>, Unreadable> {
    let (kind, key) = split(key.ok_or(Unreadable::NoKey)?)?;
    match kind {
        OFFSET_LEGACY | OFFSET => {
            let key = offset_commit_record::Key::from_bytes(key, 0)?;
            let value = value.map(decode_offset).transpose()?;
            Ok(Some(Record::Offset {
                key: OffsetKey {
                    group: (*key.group).into(),
                    topic: (*key.topic).into(),
                    partition: key.partition,
                },
                value,
            }))
        }
        GROUP => {
            let key = group_metadata_record::Key::from_bytes(key, 0)?;
            let value = value.map(decode_group).transpose()?;
            Ok(Some(Record::Group {
                group: (*key.group).into(),
                value,
            }))
        }
        _ => Ok(None),
    }
}

/// The number that tells keys, or versions of values, apart goes in front.
fn numbered(number: i16, message: &impl Message, version: i16) -> Result<Bytes, EncodeError> {
    let mut w = Writer::new();
    message.encode(&mut w, version);
    let body = w.finish_bytes()?;
    let mut bytes = BytesMut::with_capacity(2 + body.len());
    bytes.put_i16(number);
    bytes.put(body);
    Ok(bytes.freeze())
}

fn split(bytes: &Bytes) -> Result<(i16, Bytes), Unreadable> {
    let mut bytes = bytes.clone();
    let number = bytes::Buf::try_get_i16(&mut bytes).map_err(|_| Unreadable::Short)?;
    Ok((number, bytes))
}

fn versioned<M: Message>(bytes: &Bytes) -> Result<M, Unreadable> {
    let (version, body) = split(bytes)?;
    if !M::VERSIONS.contains(version) {
        return Err(Unreadable::Version(version));
    }
    Ok(M::from_bytes(body, version)?)
}

fn encode_offset(committed: &Committed) -> Result<Bytes, EncodeError> {
    let version = match committed.expire_ms {
        Some(_) => OFFSET_VALUE_WITH_EXPIRY,
        None => OFFSET_VALUE,
    };
    let wire = offset_commit_record::Value {
        offset: committed.offset,
        leader_epoch: committed.leader_epoch,
        metadata: Str::from(&*committed.metadata),
        commit_timestamp: committed.commit_ms,
        expire_timestamp: committed.expire_ms.unwrap_or(-1),
        topic_id: committed.topic_id.0,
    };
    numbered(version, &wire, version)
}

fn decode_offset(bytes: &Bytes) -> Result<Committed, Unreadable> {
    let wire: offset_commit_record::Value = versioned(bytes)?;
    Ok(Committed {
        offset: wire.offset,
        leader_epoch: wire.leader_epoch,
        metadata: (*wire.metadata).into(),
        commit_ms: wire.commit_timestamp,
        expire_ms: (wire.expire_timestamp >= 0).then_some(wire.expire_timestamp),
        topic_id: TopicId(wire.topic_id),
    })
}

fn encode_group(generation: &Generation) -> Result<Bytes, EncodeError> {
    let wire = group_metadata_record::Value {
        protocol_type: Str::from(generation.protocol_type.as_deref().unwrap_or_default()),
        generation: generation.generation,
        protocol: generation.protocol.as_deref().map(Str::from),
        leader: generation.leader.as_deref().map(Str::from),
        current_state_timestamp: generation.since_ms.unwrap_or(-1),
        members: generation.members.iter().map(member_to_wire).collect(),
    };
    numbered(GROUP_VALUE, &wire, GROUP_VALUE)
}

fn decode_group(bytes: &Bytes) -> Result<Generation, Unreadable> {
    let wire: group_metadata_record::Value = versioned(bytes)?;
    Ok(Generation {
        protocol_type: (!wire.protocol_type.is_empty()).then(|| (*wire.protocol_type).into()),
        generation: wire.generation,
        protocol: wire.protocol.as_deref().map(Into::into),
        leader: wire.leader.as_deref().map(Into::into),
        since_ms: (wire.current_state_timestamp >= 0).then_some(wire.current_state_timestamp),
        members: wire.members.iter().map(member_from_wire).collect(),
    })
}

fn member_to_wire(member: &StoredMember) -> group_metadata_record::MemberMetadata {
    group_metadata_record::MemberMetadata {
        member_id: Str::from(&*member.id),
        group_instance_id: member.instance_id.as_deref().map(Str::from),
        client_id: Str::from(&*member.client_id),
        client_host: Str::from(&*member.client_host),
        rebalance_timeout: member.rebalance_timeout_ms,
        session_timeout: member.session_timeout_ms,
        subscription: member.subscription.clone(),
        assignment: member.assignment.clone(),
    }
}

fn member_from_wire(wire: &group_metadata_record::MemberMetadata) -> StoredMember {
    StoredMember {
        id: (*wire.member_id).into(),
        instance_id: wire.group_instance_id.as_deref().map(Into::into),
        client_id: (*wire.client_id).into(),
        client_host: (*wire.client_host).into(),
        // Version 0 has none: the session's length stands in, as in Kafka.
        rebalance_timeout_ms: if wire.rebalance_timeout < 0 {
            wire.session_timeout
        } else {
            wire.rebalance_timeout
        },
        session_timeout_ms: wire.session_timeout,
        subscription: wire.subscription.clone(),
        assignment: wire.assignment.clone(),
    }
}

//! Our own bytes for Raft's data, on disk and between brokers. openraft's types are never derived
//! upon: an update of the library must not change a format. Big-endian throughout.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

use std::collections::BTreeSet;
use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use openraft::EmptyNode;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest, VoteResponse};

use super::rejoin::Standing;
use super::types::{
    Entry, EntryPayload, LogId, Membership, Payload, SnapshotMeta, StoredMembership, TypeConfig,
    Vote, log_id, term,
};

#[cfg(test)]
mod tests;

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed {0}")]
pub(super) struct Malformed(pub(super) &'static str);

impl From<Malformed> for io::Error {
    fn from(malformed: Malformed) -> Self {
        Self::new(io::ErrorKind::InvalidData, malformed)
    }
}

type Result<T> = std::result::Result<T, Malformed>;

/// Kind of an entry's payload. Part of both formats.
pub(super) const BLANK: u8 = 1;
pub(super) const NORMAL: u8 = 2;
pub(super) const MEMBERSHIP: u8 = 3;

/// The bytes of `[now_ms][count]([len][command])*`.
pub(super) fn encode_commands(now_ms: i64, commands: &[Bytes]) -> Payload {
    let len = commands.iter().map(|c| 4 + c.len()).sum::<usize>();
    let mut out = BytesMut::with_capacity(12 + len);
    out.put_i64(now_ms);
    put_len(&mut out, commands.len());
    for command in commands {
        put_len(&mut out, command.len());
        out.put_slice(command);
    }
    Payload(out.freeze())
}

/// The commands share the payload's memory.
pub(super) fn decode_commands(payload: &Payload) -> Result<(i64, Vec<Bytes>)> {
    let mut bytes = payload.0.clone();
    let malformed = Malformed("entry");
    let now_ms = bytes.try_get_i64().map_err(|_| malformed)?;
    let count = len(&mut bytes, 4, malformed)?;
    let mut commands = Vec::with_capacity(count);
    for _ in 0..count {
        let command = len(&mut bytes, 1, malformed)?;
        commands.push(bytes.split_to(command));
    }
    Ok((now_ms, commands))
}

pub(super) fn encode_payload(payload: &EntryPayload) -> (u8, Bytes) {
    match payload {
        EntryPayload::Blank => (BLANK, Bytes::new()),
        EntryPayload::Normal(data) => (NORMAL, data.0.clone()),
        EntryPayload::Membership(membership) => {
            let mut out = BytesMut::new();
            put_membership(&mut out, membership);
            (MEMBERSHIP, out.freeze())
        }
    }
}

pub(super) fn decode_payload(kind: u8, mut bytes: Bytes) -> Result<EntryPayload> {
    Ok(match kind {
        BLANK => EntryPayload::Blank,
        NORMAL => EntryPayload::Normal(Payload(bytes)),
        MEMBERSHIP => EntryPayload::Membership(membership(&mut bytes)?),
        _ => return Err(Malformed("entry kind")),
    })
}

pub(super) fn put_vote(out: &mut BytesMut, vote: &Vote) {
    out.put_u64(vote.leader_id.term);
    out.put_u64(vote.leader_id.voted_for);
    out.put_u8(u8::from(vote.committed));
}

pub(super) fn vote(bytes: &mut Bytes) -> Result<Vote> {
    let malformed = Malformed("vote");
    let term = bytes.try_get_u64().map_err(|_| malformed)?;
    let node = bytes.try_get_u64().map_err(|_| malformed)?;
    Ok(match bytes.try_get_u8().map_err(|_| malformed)? {
        0 => Vote::new(term, node),
        _ => Vote::new_committed(term, node),
    })
}

pub(super) fn put_log_id(out: &mut BytesMut, id: Option<&LogId>) {
    match id {
        None => out.put_u8(0),
        Some(id) => {
            out.put_u8(1);
            out.put_u64(term(id));
            out.put_u64(id.index);
        }
    }
}

pub(super) fn optional_log_id(bytes: &mut Bytes) -> Result<Option<LogId>> {
    let malformed = Malformed("log id");
    if bytes.try_get_u8().map_err(|_| malformed)? == 0 {
        return Ok(None);
    }
    let term = bytes.try_get_u64().map_err(|_| malformed)?;
    let index = bytes.try_get_u64().map_err(|_| malformed)?;
    Ok(Some(log_id(term, index)))
}

fn put_membership(out: &mut BytesMut, membership: &Membership) {
    let configs = membership.get_joint_config();
    put_len(out, configs.len());
    for config in configs {
        put_len(out, config.len());
        config.iter().for_each(|node| out.put_u64(*node));
    }
    let nodes: Vec<_> = membership.nodes().map(|(node, _)| *node).collect();
    put_len(out, nodes.len());
    nodes.iter().for_each(|node| out.put_u64(*node));
}

fn membership(bytes: &mut Bytes) -> Result<Membership> {
    let malformed = Malformed("membership");
    let node_ids = |bytes: &mut Bytes| -> Result<BTreeSet<u64>> {
        let count = len(bytes, 8, malformed)?;
        (0..count)
            .map(|_| bytes.try_get_u64().map_err(|_| malformed))
            .collect()
    };
    let count = len(bytes, 4, malformed)?;
    let configs = (0..count)
        .map(|_| node_ids(bytes))
        .collect::<Result<Vec<_>>>()?;
    let nodes = node_ids(bytes)?
        .into_iter()
        .map(|node| (node, EmptyNode::new()))
        .collect::<std::collections::BTreeMap<_, _>>();
    if configs.is_empty() && nodes.is_empty() {
        return Ok(Membership::default());
    }
    Membership::new(configs, nodes).map_err(|_| malformed)
}

pub(super) fn put_snapshot_meta(out: &mut BytesMut, meta: &SnapshotMeta) {
    put_log_id(out, meta.last_log_id.as_ref());
    put_log_id(out, meta.last_membership.log_id().as_ref());
    put_membership(out, meta.last_membership.membership());
}

pub(super) fn snapshot_meta(bytes: &mut Bytes) -> Result<SnapshotMeta> {
    let last_log_id = optional_log_id(bytes)?;
    let membership_log_id = optional_log_id(bytes)?;
    let membership = membership(bytes)?;
    Ok(SnapshotMeta {
        last_log_id,
        last_membership: StoredMembership::new(membership_log_id, membership),
    })
}

pub(super) fn put_append(out: &mut BytesMut, request: &AppendEntriesRequest<TypeConfig>) {
    put_vote(out, &request.vote);
    put_log_id(out, request.prev_log_id.as_ref());
    put_log_id(out, request.leader_commit.as_ref());
    put_len(out, request.entries.len());
    for entry in &request.entries {
        let (kind, payload) = encode_payload(&entry.payload);
        out.put_u64(term(&entry.log_id));
        out.put_u64(entry.log_id.index);
        out.put_u8(kind);
        put_len(out, payload.len());
        out.put_slice(&payload);
    }
}

pub(super) fn append(bytes: &mut Bytes) -> Result<AppendEntriesRequest<TypeConfig>> {
    /// Term, index, kind and length of an entry.
    const ENTRY_BYTES_MIN: usize = 21;
    let malformed = Malformed("append");
    let vote = vote(bytes)?;
    let prev_log_id = optional_log_id(bytes)?;
    let leader_commit = optional_log_id(bytes)?;
    let count = len(bytes, ENTRY_BYTES_MIN, malformed)?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let term = bytes.try_get_u64().map_err(|_| malformed)?;
        let index = bytes.try_get_u64().map_err(|_| malformed)?;
        let kind = bytes.try_get_u8().map_err(|_| malformed)?;
        let payload_len = len(bytes, 1, malformed)?;
        let payload = decode_payload(kind, bytes.split_to(payload_len))?;
        entries.push(Entry {
            log_id: log_id(term, index),
            payload,
        });
    }
    Ok(AppendEntriesRequest {
        vote,
        prev_log_id,
        entries,
        leader_commit,
    })
}

pub(super) fn put_appended(out: &mut BytesMut, response: &AppendEntriesResponse<TypeConfig>) {
    match response {
        AppendEntriesResponse::Success => out.put_u8(1),
        AppendEntriesResponse::PartialSuccess(last) => {
            out.put_u8(2);
            put_log_id(out, last.as_ref());
        }
        AppendEntriesResponse::Conflict => out.put_u8(3),
        AppendEntriesResponse::HigherVote(vote) => {
            out.put_u8(4);
            put_vote(out, vote);
        }
    }
}

pub(super) fn appended(bytes: &mut Bytes) -> Result<AppendEntriesResponse<TypeConfig>> {
    let malformed = Malformed("append response");
    Ok(match bytes.try_get_u8().map_err(|_| malformed)? {
        1 => AppendEntriesResponse::Success,
        2 => AppendEntriesResponse::PartialSuccess(optional_log_id(bytes)?),
        3 => AppendEntriesResponse::Conflict,
        4 => AppendEntriesResponse::HigherVote(vote(bytes)?),
        _ => return Err(malformed),
    })
}

pub(super) fn put_vote_request(out: &mut BytesMut, request: &VoteRequest<TypeConfig>) {
    put_vote(out, &request.vote);
    put_log_id(out, request.last_log_id.as_ref());
    out.put_u8(u8::from(request.leadership_transfer));
}

pub(super) fn vote_request(bytes: &mut Bytes) -> Result<VoteRequest<TypeConfig>> {
    let mut request = VoteRequest::new(vote(bytes)?, optional_log_id(bytes)?);
    let transfer = bytes.try_get_u8().map_err(|_| Malformed("vote request"))?;
    request.leadership_transfer = transfer != 0;
    Ok(request)
}

pub(super) fn put_vote_response(out: &mut BytesMut, response: &VoteResponse<TypeConfig>) {
    put_vote(out, &response.vote);
    put_log_id(out, response.last_log_id.as_ref());
    out.put_u8(u8::from(response.vote_granted));
}

pub(super) fn vote_response(bytes: &mut Bytes) -> Result<VoteResponse<TypeConfig>> {
    let vote = vote(bytes)?;
    let last_log_id = optional_log_id(bytes)?;
    let granted = bytes.try_get_u8().map_err(|_| Malformed("vote response"))?;
    Ok(VoteResponse::new(vote, last_log_id, granted != 0))
}

/// Is original, has room. They stand last, where a build that does not know them leaves them.
const STANDING_FLAGS: [u8; 2] = [1, 2];

pub(super) fn put_standing(out: &mut BytesMut, standing: &Standing) {
    out.put_u8(u8::from(standing.remembers));
    out.put_u64(standing.term);
    put_log_id(out, standing.last.as_ref());
    let flags = [standing.original, standing.has_room];
    let flags = flags.into_iter().zip(STANDING_FLAGS);
    out.put_u8(flags.map(|(set, bit)| u8::from(set) * bit).sum());
}

pub(super) fn standing(bytes: &mut Bytes) -> Result<Standing> {
    let malformed = Malformed("standing");
    let remembers = bytes.try_get_u8().map_err(|_| malformed)? != 0;
    let term = bytes.try_get_u64().map_err(|_| malformed)?;
    let last = optional_log_id(bytes)?;
    let flags = bytes.try_get_u8().unwrap_or(0);
    let [original, has_room] = STANDING_FLAGS.map(|bit| flags & bit != 0);
    Ok(Standing {
        remembers,
        original,
        has_room,
        term,
        last,
    })
}

/// Lengths and counts are far below 4 GiB: an entry's bounds see to it.
fn put_len(out: &mut BytesMut, len: usize) {
    out.put_u32(u32::try_from(len).unwrap_or(u32::MAX));
}

/// A count of items of at least `item_bytes_min` each, which must fit in what is left.
fn len(bytes: &mut Bytes, item_bytes_min: usize, malformed: Malformed) -> Result<usize> {
    let count = bytes.try_get_u32().map_err(|_| malformed)? as usize;
    if count > bytes.remaining() / item_bytes_min {
        return Err(malformed);
    }
    Ok(count)
}

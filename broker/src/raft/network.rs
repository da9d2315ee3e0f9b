//! The sending side of Raft's talk: openraft's requests as calls of the mesh.
//!
//! ```text
//! request: type u8, group u32, body
//! ```

use std::io;
use std::io::Read;

use bytes::{BufMut, Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{RPCOption, RaftNetworkFactory, RaftNetworkV2};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, StreamAppendResult,
    TransferLeaderRequest, TransferLeaderResponse, VoteRequest, VoteResponse,
};
use openraft::type_config::alias::SnapshotOf;
use openraft::{EmptyNode, OptionalSend};

use super::GroupId;
use super::codec::{self, Malformed};
use super::rejoin::Standing;
use super::snapshot::Stored;
use super::types::{TypeConfig, Vote, broker_id, log_id};
use crate::peer::{self, Mesh, Service};
use model::BrokerId;

/// Appends under way to one follower. More would only grow what is lost when it fails.
const APPENDS_IN_FLIGHT: usize = 16;
const SNAPSHOT_CHUNK_BYTES: usize = 1 << 20;

/// First byte of a request.
pub(super) const APPEND: u8 = 1;
pub(super) const VOTE: u8 = 2;
pub(super) const SNAPSHOT: u8 = 3;
pub(super) const TRANSFER: u8 = 4;
/// Asks for a voter's standing; see [`super::rejoin`].
pub(super) const PROBE: u8 = 5;
pub(super) const PRE_VOTE: u8 = 6;
/// The sender leads nothing, whatever is held of it: it has forgotten that it did.
pub(super) const LEADERLESS: u8 = 7;
/// Asks for the members of the group; see [`super::membership`].
pub(super) const MEMBERS: u8 = 8;

/// Makes a client of one group on one peer.
pub(super) struct Factory {
    pub(super) group: GroupId,
    pub(super) mesh: Mesh,
}

pub(super) struct Client {
    group: GroupId,
    to: BrokerId,
    mesh: Mesh,
}

/// What went wrong with one request.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Peer(#[from] peer::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The group does not run there, or has stopped.
    #[error("the peer does not carry the group")]
    Absent,
}

impl From<Failure> for RPCError<TypeConfig> {
    fn from(failure: Failure) -> Self {
        Self::Unreachable(Unreachable::new(&failure))
    }
}

impl RaftNetworkFactory<TypeConfig> for Factory {
    type Network = Client;

    async fn new_client(&mut self, target: u64, _node: &EmptyNode) -> Client {
        Client {
            group: self.group,
            to: broker_id(target),
            mesh: self.mesh.clone(),
        }
    }
}

/// The start of a request.
pub(super) fn request(kind: u8, group: GroupId) -> BytesMut {
    let mut out = BytesMut::new();
    out.put_u8(kind);
    out.put_u32(group.0);
    out
}

/// Asks a voter for its standing; `None` when there is no answer.
pub(super) async fn probe(mesh: &Mesh, group: GroupId, voter: BrokerId) -> Option<Standing> {
    let request = request(PROBE, group).freeze();
    let mut reply = mesh.call(voter, Service::Raft, request).await.ok()?;
    codec::standing(&mut reply).ok()
}

impl Client {
    /// An empty reply stands for a group that is not there: every other one has a body.
    async fn call(&self, request: BytesMut) -> Result<Bytes, Failure> {
        let reply = self
            .mesh
            .call(self.to, Service::Raft, request.freeze())
            .await?;
        if reply.is_empty() {
            return Err(Failure::Absent);
        }
        Ok(reply)
    }

    fn start_append(
        &self,
        append: &AppendEntriesRequest<TypeConfig>,
    ) -> impl Future<Output = Result<AppendEntriesResponse<TypeConfig>, Failure>> + Send + use<>
    {
        let mut out = request(APPEND, self.group);
        codec::put_append(&mut out, append);
        let client = Self {
            group: self.group,
            to: self.to,
            mesh: self.mesh.clone(),
        };
        async move {
            let mut reply = client.call(out).await?;
            Ok(codec::appended(&mut reply)?)
        }
    }

    async fn ask_for_vote(
        &self,
        kind: u8,
        vote: &VoteRequest<TypeConfig>,
    ) -> Result<VoteResponse<TypeConfig>, Failure> {
        let mut out = request(kind, self.group);
        codec::put_vote_request(&mut out, vote);
        let mut reply = self.call(out).await?;
        Ok(codec::vote_response(&mut reply)?)
    }

    async fn send_snapshot(
        &self,
        vote: Vote,
        snapshot: SnapshotOf<TypeConfig, Stored>,
    ) -> Result<SnapshotResponse<TypeConfig>, Failure> {
        let mut file = snapshot.snapshot.file;
        let mut meta = BytesMut::new();
        codec::put_snapshot_meta(&mut meta, &snapshot.meta);
        let mut offset = 0_u64;
        rewind(&mut file).map_err(|_| Failure::Absent)?;
        loop {
            // One file read of a megabyte: the page cache has it or it is worth waiting for.
            let (chunk, returned) = tokio::task::spawn_blocking(move || read_chunk(file))
                .await
                .map_err(|_| Failure::Absent)?;
            file = returned;
            let chunk = chunk.map_err(|_| Failure::Absent)?;
            let last = chunk.len() < SNAPSHOT_CHUNK_BYTES;
            let mut out = request(SNAPSHOT, self.group);
            codec::put_vote(&mut out, &vote);
            out.put_u64(offset);
            out.put_u8(u8::from(last));
            out.put_slice(&meta);
            out.put_slice(&chunk);
            let mut reply = self.call(out).await?;
            let vote_there = codec::vote(&mut reply)?;
            if last || vote_there != vote {
                return Ok(SnapshotResponse::new(vote_there));
            }
            offset += chunk.len() as u64;
        }
    }
}

fn rewind(file: &mut std::fs::File) -> io::Result<()> {
    io::Seek::rewind(file)
}

fn read_chunk(file: std::fs::File) -> (io::Result<Vec<u8>>, std::fs::File) {
    let mut chunk = Vec::with_capacity(SNAPSHOT_CHUNK_BYTES);
    let outcome = (&file)
        .take(SNAPSHOT_CHUNK_BYTES as u64)
        .read_to_end(&mut chunk);
    (outcome.map(|_| chunk), file)
}

impl RaftNetworkV2<TypeConfig> for Client {
    type SnapshotData = Stored;

    async fn append_entries(
        &mut self,
        append: AppendEntriesRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<TypeConfig>, RPCError<TypeConfig>> {
        Ok(self.start_append(&append).await?)
    }

    /// Sends ahead of the answers. Answers come in order; the stream ends after the first that is
    /// not a success, since what was sent behind it cannot succeed.
    fn stream_append<'s, S>(
        &'s mut self,
        input: S,
        _option: RPCOption,
    ) -> BoxFuture<
        's,
        Result<
            BoxStream<'s, Result<StreamAppendResult<TypeConfig>, RPCError<TypeConfig>>>,
            RPCError<TypeConfig>,
        >,
    >
    where
        S: Stream<Item = AppendEntriesRequest<TypeConfig>> + OptionalSend + Unpin + 'static,
    {
        let client: &Self = self;
        let answers = input
            .map(move |append| {
                let prev = append.prev_log_id;
                let last = append.entries.last().map(|e| e.log_id).or(prev);
                let answer = client.start_append(&append);
                async move {
                    let response = answer.await?;
                    let whole = match &response {
                        AppendEntriesResponse::PartialSuccess(reached) => *reached == last,
                        _ => true,
                    };
                    let prev = prev.or_else(|| Some(log_id(0, 0)));
                    Ok((response.into_stream_result(prev, last), whole))
                }
            })
            .buffered(APPENDS_IN_FLIGHT)
            .scan(false, |ended, answer: Result<_, RPCError<TypeConfig>>| {
                let item = if *ended {
                    None
                } else {
                    *ended = !matches!(answer, Ok((Ok(_), true)));
                    Some(answer.map(|(result, _)| result))
                };
                std::future::ready(item)
            });
        let answers: BoxStream<'s, _> = Box::pin(answers);
        Box::pin(std::future::ready(Ok(answers)))
    }

    async fn vote(
        &mut self,
        vote: VoteRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, RPCError<TypeConfig>> {
        Ok(self.ask_for_vote(VOTE, &vote).await?)
    }

    async fn pre_vote(
        &mut self,
        vote: VoteRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Result<VoteResponse<TypeConfig>, RPCError<TypeConfig>> {
        Ok(self.ask_for_vote(PRE_VOTE, &vote).await?)
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: SnapshotOf<TypeConfig, Stored>,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<TypeConfig>, StreamingError<TypeConfig>> {
        tokio::select! {
            closed = cancel => Err(StreamingError::Closed(closed)),
            sent = self.send_snapshot(vote, snapshot) => {
                sent.map_err(|failure| StreamingError::Unreachable(Unreachable::new(&failure)))
            }
        }
    }

    async fn transfer_leader(
        &mut self,
        transfer: TransferLeaderRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Result<TransferLeaderResponse<TypeConfig>, RPCError<TypeConfig>> {
        let mut out = request(TRANSFER, self.group);
        codec::put_vote(&mut out, transfer.from_leader());
        out.put_u64(*transfer.to_node_id());
        codec::put_log_id(&mut out, transfer.last_log_id());
        self.call(out).await?;
        Ok(Ok(()))
    }
}

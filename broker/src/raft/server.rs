//! The receiving side of Raft's talk: one handler of the mesh for all groups of this broker.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use model::BrokerId;
use openraft::raft::{TransferLeaderError, TransferLeaderRequest};
use openraft::storage::Snapshot;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::timeout;

use super::applier::Applier;
use super::codec::{self, Malformed};
use super::membership::{self, Told};
use super::network::{APPEND, LEADERLESS, MEMBERS, PRE_VOTE, PROBE, SNAPSHOT, TRANSFER, VOTE};
use super::rejoin::Part;
use super::snapshot::{Shelf, Stored};
use super::store::Store;
use super::types::{Vote, node_id};
use super::{GroupId, Raft};
use crate::peer::{Handler, Mesh};

/// How long a candidate's request waits for a voter that has just started; a candidate waits 90 ms.
const PART_TIMEOUT: Duration = Duration::from_millis(80);
/// Tells the caller that its group does not run here, or that this broker takes no part in it yet.
const ABSENT: Bytes = Bytes::new();

/// The groups that run here.
#[derive(Default)]
pub(super) struct Server {
    groups: RwLock<BTreeMap<GroupId, Served>>,
}

#[derive(Clone)]
pub(super) struct Served {
    pub(super) raft: Raft,
    pub(super) applier: Applier,
    pub(super) shelf: Arc<Shelf>,
    pub(super) store: Store,
    /// As in [`super::Members`].
    pub(super) original: bool,
    /// Is among the voters of its own configuration.
    pub(super) candidate: bool,
    pub(super) mesh: Mesh,
    pub(super) part: watch::Receiver<Part>,
    pub(super) receiving: Arc<Mutex<Option<Receiving>>>,
}

/// A snapshot that arrives in chunks.
pub(super) struct Receiving {
    stored: Stored,
    offset: u64,
}

impl Server {
    pub(super) fn add(&self, group: GroupId, served: Served) {
        self.groups.write().insert(group, served);
    }

    pub(super) fn remove(&self, group: GroupId) -> Option<Served> {
        self.groups.write().remove(&group)
    }

    pub(super) fn rafts(&self) -> Vec<Raft> {
        let groups = self.groups.read();
        groups.values().map(|served| served.raft.clone()).collect()
    }

    pub(super) fn groups(&self) -> Vec<GroupId> {
        self.groups.read().keys().copied().collect()
    }
}

impl Handler for Server {
    fn call(&self, from: BrokerId, mut request: Bytes) -> BoxFuture<'static, Bytes> {
        let target = head(&mut request);
        let served = target.and_then(|(_, group)| self.groups.read().get(&group).cloned());
        let (Some((kind, group)), Some(served)) = (target, served) else {
            return std::future::ready(ABSENT).boxed();
        };
        let mut answer = async move {
            match served.answer(from, kind, group, request).await {
                Ok(reply) => reply,
                Err(error) => {
                    tracing::warn!(peer = %from, group = group.0, kind, %error, "raft request failed");
                    ABSENT
                }
            }
        }
        .boxed();
        // Started here, in the order of arrival, so that appends reach the log in order.
        match (&mut answer).now_or_never() {
            Some(reply) => std::future::ready(reply).boxed(),
            None => answer,
        }
    }
}

fn head(request: &mut Bytes) -> Option<(u8, GroupId)> {
    let kind = request.try_get_u8().ok()?;
    Some((kind, GroupId(request.try_get_u32().ok()?)))
}

impl Served {
    async fn answer(
        &self,
        from: BrokerId,
        kind: u8,
        group: GroupId,
        mut request: Bytes,
    ) -> io::Result<Bytes> {
        let mut reply = BytesMut::new();
        match kind {
            APPEND => {
                let append = codec::append(&mut request)?;
                if !self.follows(&append.vote) {
                    return Ok(ABSENT);
                }
                let response = self.raft.append_entries(append).await;
                codec::put_appended(&mut reply, &response.map_err(io::Error::other)?);
            }
            VOTE | PRE_VOTE | TRANSFER | LEADERLESS if !self.votes().await => return Ok(ABSENT),
            VOTE => {
                let vote = codec::vote_request(&mut request)?;
                let response = self.raft.vote(vote).await.map_err(io::Error::other)?;
                codec::put_vote_response(&mut reply, &response);
            }
            PRE_VOTE => {
                let vote = codec::vote_request(&mut request)?;
                let asked_for = vote.vote.leader_id.term;
                let response = self.raft.pre_vote(vote).await.map_err(io::Error::other)?;
                // A leader that was killed before its disk had what the others have: it restarts, and
                // cannot be elected. One that leads does not ask for a later term.
                if !response.vote_granted && asked_for > response.vote.leader_id.term {
                    self.unseat(from).await?;
                }
                codec::put_vote_response(&mut reply, &response);
            }
            SNAPSHOT => return self.receive_snapshot(group, request).await,
            TRANSFER => {
                let from = codec::vote(&mut request)?;
                let to = request
                    .try_get_u64()
                    .map_err(|_| Malformed("transfer of leadership"))?;
                let last = codec::optional_log_id(&mut request)?;
                let accepted = self
                    .raft
                    .handle_transfer_leader(TransferLeaderRequest::new(from, to, last))
                    .await
                    .map_err(io::Error::other)?;
                // openraft declines when it has written nothing of this term since it started, though
                // the whole log may be on disk. The leader writes no more, so somebody has to stand;
                // the voters see whose log is complete.
                if matches!(accepted, Err(TransferLeaderError::LogNotFlushed { .. })) {
                    let standing = self.raft.trigger().elect(false).await;
                    standing.map_err(io::Error::other)?;
                }
                reply.put_u8(u8::from(accepted.is_ok()));
            }
            LEADERLESS => reply.put_u8(u8::from(self.unseat(from).await?)),
            PROBE => {
                let standing = self.store.standing(*self.part.borrow(), self.original);
                codec::put_standing(&mut reply, &standing);
            }
            MEMBERS => {
                let voters = membership::voters(&self.raft).into_iter();
                let told = Told {
                    candidate: self.candidate,
                    voters: voters.map(|id| (id, self.mesh.address(id))).collect(),
                };
                membership::put_told(&mut reply, &told);
            }
            _ => return Err(Malformed("raft request").into()),
        }
        Ok(reply.freeze())
    }

    /// Stands for election if `leader`, which leads no more, is held to lead: who holds it to would wait
    /// for it as long as it answers.
    async fn unseat(&self, leader: BrokerId) -> io::Result<bool> {
        let held = self.raft.current_leader().await == Some(node_id(leader));
        if held {
            let standing = self.raft.trigger().elect(true).await;
            standing.map_err(io::Error::other)?;
        }
        Ok(held)
    }

    fn follows(&self, leader: &Vote) -> bool {
        self.part.borrow().follows(leader.leader_id.term)
    }

    /// Whether this broker may vote. One that does not know yet finds out in a moment, at the start of
    /// a cluster: the candidate is not told to come again.
    async fn votes(&self) -> bool {
        let mut part = self.part.clone();
        let known = part.wait_for(|part| *part != Part::Unknown);
        match timeout(PART_TIMEOUT, known).await {
            Ok(Ok(part)) => *part == Part::Voter,
            Ok(Err(_)) | Err(_) => *self.part.borrow() == Part::Voter,
        }
    }

    /// Chunks come in order from one leader; a chunk at 0 begins anew.
    async fn receive_snapshot(&self, group: GroupId, mut request: Bytes) -> io::Result<Bytes> {
        let malformed = Malformed("snapshot chunk");
        let vote = codec::vote(&mut request)?;
        if !self.follows(&vote) {
            return Ok(ABSENT);
        }
        let offset = request.try_get_u64().map_err(|_| malformed)?;
        let last = request.try_get_u8().map_err(|_| malformed)? != 0;
        let meta = codec::snapshot_meta(&mut request)?;
        let this = self.clone();
        let whole = tokio::task::spawn_blocking(move || this.store(group, offset, &request, last))
            .await
            .map_err(io::Error::other)??;
        let vote_here = match whole {
            None => vote,
            Some(stored) => {
                let snapshot = Snapshot {
                    meta,
                    snapshot: stored,
                };
                let installed = self.raft.install_full_snapshot(vote, snapshot).await;
                installed.map_err(io::Error::other)?.vote
            }
        };
        let mut reply = BytesMut::new();
        codec::put_vote(&mut reply, &vote_here);
        Ok(reply.freeze())
    }

    fn store(
        &self,
        group: GroupId,
        offset: u64,
        chunk: &Bytes,
        last: bool,
    ) -> io::Result<Option<Stored>> {
        let mut receiving = self.receiving.lock();
        if offset == 0 {
            *receiving = Some(Receiving {
                stored: self.shelf.temporary(group)?,
                offset: 0,
            });
        }
        let Some(current) = receiving.as_mut().filter(|r| r.offset == offset) else {
            return Err(io::Error::other("a snapshot chunk came out of order"));
        };
        current.stored.file.write_all(chunk)?;
        current.offset += chunk.len() as u64;
        Ok(match last {
            true => receiving.take().map(|received| received.stored),
            false => None,
        })
    }
}

//! Who may vote in a group, changed while it runs: one voter more or one fewer, by joint consensus.
//!
//! A broker is made a voter only when it is a candidate: it names itself among the voters in its
//! configuration. Only then does it know, should it ever lose its log, that it may have voted, and comes
//! back as [`super::rejoin`] says. It asks the voters that it was configured with, and those whom these
//! name: the configuration may be older than the membership.
//!
//! ```text
//! answer: candidate u8, count u32, (id u64, host len u32 bytes, port u16)*
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use model::BrokerId;
use openraft::ChangeMembers;
use openraft::errors::{ClientWriteError, RaftError};
use openraft::rt::WatchReceiver;
use tokio::time::{Instant, sleep};

use super::codec::Malformed;
use super::group::Replicated;
use super::network::{self, MEMBERS};
use super::types::{broker_id, node_id};
use super::{Group, GroupId, ProposeError, Raft};
use crate::peer::{Address, Mesh, Service};

/// How long a leader may take to hear its voters, and how long it waits for them each time.
const FRESH_TIMEOUT: Duration = Duration::from_secs(2);
const FRESH_AGAIN: Duration = Duration::from_millis(20);
/// Longest host name that is believed (DNS).
const HOST_BYTES_MAX: usize = 255;

/// What a broker says of the members of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// It is among the voters of its own configuration.
    pub(super) candidate: bool,
    /// The voters as it knows them, with where it reaches them; none before the group has begun.
    pub(super) voters: Vec<(BrokerId, Option<Address>)>,
}

pub(super) fn voters(raft: &Raft) -> Vec<BrokerId> {
    let metrics = raft.server_metrics();
    let seen = metrics.borrow_watched();
    seen.membership_config.voter_ids().map(broker_id).collect()
}

pub(super) fn put_told(out: &mut BytesMut, told: &Told) {
    out.put_u8(u8::from(told.candidate));
    out.put_u32(u32::try_from(told.voters.len()).unwrap_or(u32::MAX));
    for (id, address) in &told.voters {
        out.put_u64(node_id(*id));
        let (host, port) = match address {
            Some(address) if address.host.len() <= HOST_BYTES_MAX => {
                (address.host.as_str(), address.port)
            }
            _ => ("", 0),
        };
        out.put_u32(u32::try_from(host.len()).unwrap_or(0));
        out.put_slice(host.as_bytes());
        out.put_u16(port);
    }
}

pub(super) fn told(bytes: &mut Bytes) -> Result<Told, Malformed> {
    /// Id, length and port.
    const VOTER_BYTES_MIN: usize = 14;
    let malformed = Malformed("members");
    let candidate = bytes.try_get_u8().map_err(|_| malformed)? != 0;
    let count = bytes.try_get_u32().map_err(|_| malformed)? as usize;
    if count > bytes.remaining() / VOTER_BYTES_MIN {
        return Err(malformed);
    }
    let mut voters = Vec::with_capacity(count);
    for _ in 0..count {
        let id = broker_id(bytes.try_get_u64().map_err(|_| malformed)?);
        let len = bytes.try_get_u32().map_err(|_| malformed)? as usize;
        if len > HOST_BYTES_MAX || len > bytes.remaining() {
            return Err(malformed);
        }
        let host = bytes.split_to(len).to_vec();
        let host = String::from_utf8(host).map_err(|_| malformed)?;
        let port = bytes.try_get_u16().map_err(|_| malformed)?;
        let address = (!host.is_empty()).then_some(Address { host, port });
        voters.push((id, address));
    }
    Ok(Told { candidate, voters })
}

/// Asks a broker for the members; `None` when there is no answer, or one of a build that knows no such
/// question.
pub(super) async fn ask(mesh: &Mesh, group: GroupId, broker: BrokerId) -> Option<Told> {
    let request = network::request(MEMBERS, group).freeze();
    let mut reply = mesh.call(broker, Service::Raft, request).await.ok()?;
    told(&mut reply).ok()
}

// === impl Group ===

impl Group {
    /// Whether a broker may be made a voter: it is a candidate, and votes as far as it is concerned.
    pub async fn is_candidate(&self, mesh: &Mesh, broker: BrokerId) -> bool {
        let Some(Replicated { id, .. }) = self.replicated else {
            return false;
        };
        let told = ask(mesh, id, broker).await;
        let standing = network::probe(mesh, id, broker).await;
        told.is_some_and(|told| told.candidate) && standing.is_some_and(|s| s.remembers)
    }

    /// Makes a member that follows the log a voter; false when it is one already. Only on the leader. It
    /// should have caught up: while it has not, it counts and cannot help.
    pub async fn add_voter(&self, broker: BrokerId) -> Result<bool, ProposeError> {
        let change = ChangeMembers::AddVoterIds([node_id(broker)].into());
        self.change_unless(|raft| voters(raft).contains(&broker), change)
            .await
    }

    /// Takes the vote from a member, which goes on following. Only on the leader, and not the leader itself:
    /// it hands over first.
    pub async fn remove_voter(&self, broker: BrokerId) -> Result<(), ProposeError> {
        self.change(ChangeMembers::RemoveVoters([node_id(broker)].into()))
            .await
    }

    /// Brings to its end a change that an earlier leader has begun. Only on the leader.
    pub async fn end_change(&self) -> Result<(), ProposeError> {
        self.change(ChangeMembers::AddVoterIds(BTreeSet::new()))
            .await
    }

    /// Has this broker, while it leads in this term, offer the leadership to the others until one takes it.
    pub fn hand_over(&self) {
        let Some(Replicated { raft, leaving, .. }) = &self.replicated else {
            return;
        };
        let term = raft.server_metrics().borrow_watched().vote.leader_id.term;
        leaving.send_replace(term);
    }

    async fn change(
        &self,
        change: ChangeMembers<u64, openraft::EmptyNode>,
    ) -> Result<(), ProposeError> {
        let changed = self.change_unless(|_| false, change);
        changed.await.map(|_| ())
    }

    /// False when it is `done` by the time that it is this change's turn.
    async fn change_unless(
        &self,
        done: impl FnOnce(&Raft) -> bool,
        change: ChangeMembers<u64, openraft::EmptyNode>,
    ) -> Result<bool, ProposeError> {
        let Some(Replicated { raft, changing, .. }) = &self.replicated else {
            return Ok(false);
        };
        let _one_at_a_time = changing.lock().await;
        if done(raft) {
            return Ok(false);
        }
        let patience = Instant::now() + FRESH_TIMEOUT;
        loop {
            let error = match raft.change_membership(change.clone(), true).await {
                Ok(_) => return Ok(true),
                Err(RaftError::Fatal(_)) => return Err(ProposeError::Stopped),
                Err(RaftError::APIError(error)) => error,
            };
            let refused = matches!(error, ClientWriteError::ForwardToLeader(_));
            if !refused || !raft.is_leader() || Instant::now() > patience {
                tracing::info!(%error, "voters not changed");
                return Err(ProposeError::NotLeader { hint: None });
            }
            // An idle leader has not heard its voters for a while, and has to before it may write.
            if raft.trigger().heartbeat().await.is_err() {
                return Err(ProposeError::Stopped);
            }
            sleep(FRESH_AGAIN).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_back_as_they_were_told_and_torn_ones_are_refused() {
        let address = Address {
            host: "broker-1".to_owned(),
            port: 7644,
        };
        let sent = Told {
            candidate: true,
            voters: vec![(BrokerId(1), Some(address)), (BrokerId(2), None)],
        };
        let mut out = BytesMut::new();
        put_told(&mut out, &sent);
        let whole = out.freeze();
        assert_eq!(told(&mut whole.clone()), Ok(sent));
        for cut in 0..whole.len() {
            assert!(told(&mut whole.slice(..cut)).is_err(), "cut at {cut}");
        }
    }
}

//! `AddRaftVoter` and `RemoveRaftVoter` (KIP-853): who votes in the metadata group.

use std::time::Duration;

use kafka_wire::messages::{add_raft_voter, remove_raft_voter};
use kafka_wire::{ErrorCode, Str, Versions};
use model::BrokerId;
use tokio::time::timeout;
use uuid::Uuid;

use super::dispatch::{Answer, Call, Serve};
use super::error_code;
use super::topics::Failure;
use crate::metadata::{VoterChange, VoterKey};

/// The listener by which voters reach each other.
const LISTENER: &str = "PEER";
/// `RemoveRaftVoter` carries no timeout; this is Kafka's default for admin calls.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Serve for add_raft_voter::Request {
    const OFFERED: Versions = Versions::new(0, 1);

    async fn serve(self, call: Call) -> Answer<Self::Response> {
        let failure = add(&self, &call).await.err();
        let (error_code, error_message) = told(failure);
        add_raft_voter::Response {
            error_code,
            error_message,
            ..add_raft_voter::Response::default()
        }
        .into()
    }
}

impl Serve for remove_raft_voter::Request {
    const OFFERED: Versions = Versions::new(0, 0);

    async fn serve(self, call: Call) -> Answer<Self::Response> {
        let key = voter(self.voter_id, self.voter_directory_id, "Remove");
        let asked = same_cluster(self.cluster_id.as_ref(), &call).and(key);
        let failure = match asked {
            Ok(key) => change(&call, VoterChange::Remove(key), TIMEOUT).await.err(),
            Err(failure) => Some(failure),
        };
        let (error_code, error_message) = told(failure);
        remove_raft_voter::Response {
            error_code,
            error_message,
            ..remove_raft_voter::Response::default()
        }
        .into()
    }
}

/// Its endpoints are those that it registered with: what the request says of them is only looked at.
async fn add(request: &add_raft_voter::Request, call: &Call) -> Result<(), Failure> {
    same_cluster(request.cluster_id.as_ref(), call)?;
    let key = voter(request.voter_id, request.voter_directory_id, "Add")?;
    let mut names = request.listeners.iter().map(|listener| &listener.name);
    if !names.any(|name| name.eq_ignore_ascii_case(LISTENER)) {
        return Err(Failure::new(
            ErrorCode::InvalidRequest,
            format!(
                "Add voter request didn't include the endpoint for the default listener {LISTENER}"
            ),
        ));
    }
    let patience = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or_default());
    change(call, VoterChange::Add(key), patience).await
}

fn same_cluster(cluster: Option<&Str>, call: &Call) -> Result<(), Failure> {
    if cluster.is_some_and(|id| *id != call.front.config.cluster_id.as_str()) {
        return Err(Failure::new(
            ErrorCode::InconsistentClusterId,
            "The request was meant for another cluster.",
        ));
    }
    Ok(())
}

fn voter(id: i32, directory: Uuid, what: &str) -> Result<VoterKey, Failure> {
    if id < 0 || directory.is_nil() {
        return Err(Failure::new(
            ErrorCode::InvalidRequest,
            format!("{what} voter request didn't include a valid voter"),
        ));
    }
    let id = BrokerId(id);
    Ok(VoterKey { id, directory })
}

async fn change(call: &Call, change: VoterChange, patience: Duration) -> Result<(), Failure> {
    let changing = call.front.metadata.change_voters(change);
    match timeout(patience, changing).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(refusal))) => Err(Failure::new(
            error_code::voter(&refusal),
            refusal.to_string(),
        )),
        Ok(Err(unavailable)) => {
            let text = unavailable.to_string();
            Err(Failure::new(error_code::unavailable(unavailable), text))
        }
        Err(_) => Err(Failure::new(
            ErrorCode::RequestTimedOut,
            "The request timed out; it may still be carried out.",
        )),
    }
}

fn told(failure: Option<Failure>) -> (i16, Option<Str>) {
    match failure {
        None => (ErrorCode::None.code(), None),
        Some(failure) => (failure.code.code(), Some(failure.message.into())),
    }
}

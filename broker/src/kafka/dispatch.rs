//! Which request goes to which handler, and in which versions it is offered.
//!
//! To serve one more API, implement [`Serve`] for its request and add a line to [`TABLE`].

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use kafka_wire::frame::{HeaderError, RequestHeader, encode_response_header};
use kafka_wire::messages::{
    add_raft_voter, alter_client_quotas, alter_configs, alter_partition_reassignments,
    alter_replica_log_dirs, api_versions, create_acls, create_partitions, create_topics,
    delete_acls, delete_groups, delete_records, delete_topics, describe_acls,
    describe_client_quotas, describe_cluster, describe_configs, describe_groups, describe_log_dirs,
    describe_quorum, describe_topic_partitions, elect_leaders, fetch, find_coordinator, heartbeat,
    incremental_alter_configs, init_producer_id, join_group, leave_group, list_config_resources,
    list_groups, list_offsets, list_partition_reassignments, metadata, offset_commit,
    offset_delete, offset_fetch, offset_for_leader_epoch, produce, remove_raft_voter, sync_group,
    unregister_broker, update_features,
};
use kafka_wire::{ApiKey, DecodeError, Message, Reader, Request, Str, Versions, Writer};

use super::Front;
use super::quotas::{Charge, Mutations};
use crate::net::Claim;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) peer: SocketAddr,
    /// Bytes of this request.
    pub(crate) request_bytes: usize,
}

/// What a handler gets beside the request.
pub(crate) struct Call {
    pub(crate) front: Arc<Front>,
    pub(crate) version: i16,
    pub(crate) client: Client,
    pub(crate) client_id: Option<Str>,
    /// The quotas of this client, if there are any.
    pub(crate) charge: Option<Charge>,
}

impl Call {
    /// Bytes that one fetch may answer by the client's quota.
    pub(crate) fn fetch_bytes_max(&self) -> usize {
        self.charge.as_ref().map_or(usize::MAX, |charge| {
            charge.fetch_bytes_max(&self.front.quotas)
        })
    }

    /// The quota of partitions created and deleted. From version `strict_from` on the client is refused
    /// what is beyond it.
    pub(crate) fn mutations(&self, strict_from: i16) -> Mutations<'_> {
        let strict = self.version >= strict_from;
        Mutations::new(&self.front.quotas, self.charge.as_ref(), strict)
    }
}

/// What a handler answers.
pub(crate) enum Answer<R> {
    Reply(R),
    /// One whose bytes are counted already.
    Counted(R, Claim),
    /// The last on this connection: the client shall go to another broker.
    Last(R),
    /// The client wants no reply.
    Silent,
    /// The client wants no reply, and must notice the failure nevertheless.
    Close,
}

/// An API that this broker offers.
pub(crate) trait Serve: Request + Send + 'static {
    /// Versions that work; clients use the highest they share with this.
    const OFFERED: Versions;
    /// May be served while earlier requests that say so too wait for their replies.
    const CONCURRENT: bool = false;
    /// Waits for other clients, as long as they like, one request a connection: it gives its room back when it
    /// is begun, and its handler keeps nothing of its bytes while it waits.
    const PARKED: bool = false;

    fn serve(self, call: Call) -> impl Future<Output = Answer<Self::Response>> + Send;
}

impl<R> From<R> for Answer<R> {
    fn from(response: R) -> Self {
        Self::Reply(response)
    }
}

/// One line of the table.
pub(crate) struct Entry {
    key: ApiKey,
    offered: Versions,
    concurrent: bool,
    parked: bool,
    decode: fn(RequestHeader, Reader) -> Result<Start, DecodeError>,
}

impl Entry {
    const fn of<R: Serve>() -> Self {
        Self {
            key: R::KEY,
            offered: R::OFFERED,
            concurrent: R::CONCURRENT,
            parked: R::PARKED,
            decode: decode_as::<R>,
        }
    }
}

/// Every API that is offered, by key.
const TABLE: &[Entry] = &[
    Entry::of::<produce::Request>(),
    Entry::of::<fetch::Request>(),
    Entry::of::<list_offsets::Request>(),
    Entry::of::<metadata::Request>(),
    Entry::of::<offset_commit::Request>(),
    Entry::of::<offset_fetch::Request>(),
    Entry::of::<find_coordinator::Request>(),
    Entry::of::<join_group::Request>(),
    Entry::of::<heartbeat::Request>(),
    Entry::of::<leave_group::Request>(),
    Entry::of::<sync_group::Request>(),
    Entry::of::<describe_groups::Request>(),
    Entry::of::<list_groups::Request>(),
    Entry::of::<delete_groups::Request>(),
    Entry::of::<api_versions::Request>(),
    Entry::of::<create_topics::Request>(),
    Entry::of::<delete_topics::Request>(),
    Entry::of::<delete_records::Request>(),
    Entry::of::<init_producer_id::Request>(),
    Entry::of::<offset_for_leader_epoch::Request>(),
    Entry::of::<describe_acls::Request>(),
    Entry::of::<create_acls::Request>(),
    Entry::of::<delete_acls::Request>(),
    Entry::of::<describe_configs::Request>(),
    Entry::of::<alter_configs::Request>(),
    Entry::of::<alter_replica_log_dirs::Request>(),
    Entry::of::<describe_log_dirs::Request>(),
    Entry::of::<create_partitions::Request>(),
    Entry::of::<elect_leaders::Request>(),
    Entry::of::<offset_delete::Request>(),
    Entry::of::<incremental_alter_configs::Request>(),
    Entry::of::<alter_partition_reassignments::Request>(),
    Entry::of::<list_partition_reassignments::Request>(),
    Entry::of::<describe_client_quotas::Request>(),
    Entry::of::<alter_client_quotas::Request>(),
    Entry::of::<describe_quorum::Request>(),
    Entry::of::<update_features::Request>(),
    Entry::of::<describe_cluster::Request>(),
    Entry::of::<unregister_broker::Request>(),
    Entry::of::<list_config_resources::Request>(),
    Entry::of::<add_raft_voter::Request>(),
    Entry::of::<remove_raft_voter::Request>(),
    Entry::of::<describe_topic_partitions::Request>(),
];

/// Key and versions of every API that is offered.
pub(super) fn offered() -> impl Iterator<Item = (ApiKey, Versions)> {
    TABLE.iter().map(|entry| (entry.key, entry.offered))
}

/// A request that gets no reply: the connection is closed, as Kafka does.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error(transparent)]
    Header(HeaderError),
    #[error("{key:?} version {version} is not offered")]
    Version { key: ApiKey, version: i16 },
    #[error("malformed {key:?} version {version}: {source}")]
    Malformed {
        key: ApiKey,
        version: i16,
        source: DecodeError,
    },
}

/// What became of a request, and for how long its client is not to be heard after it.
pub(super) struct Served {
    pub(super) outcome: Outcome,
    pub(super) mute: Duration,
}

pub(super) enum Outcome {
    /// A whole frame, and the room it was given if it was.
    Reply(Vec<Bytes>, Option<Claim>),
    /// As a reply; nothing is read from the client after it.
    Last(Vec<Bytes>),
    Silent,
    Close,
}

type Start = Box<dyn FnOnce(Arc<Front>, Client) -> BoxFuture<'static, Served> + Send>;

/// A decoded request.
pub(super) struct Ready {
    concurrent: bool,
    parked: bool,
    start: Start,
}

impl Ready {
    pub(super) fn is_concurrent(&self) -> bool {
        self.concurrent
    }

    pub(super) fn is_parked(&self) -> bool {
        self.parked
    }

    pub(super) fn serve(self, front: Arc<Front>, client: Client) -> BoxFuture<'static, Served> {
        (self.start)(front, client)
    }
}

/// Finds the handler of a request and decodes it.
pub(super) fn decode(header: RequestHeader, body: Reader) -> Result<Ready, Refused> {
    let RequestHeader { key, version, .. } = header;
    let entry = TABLE.iter().find(|entry| entry.key == key);
    let Some(entry) = entry.filter(|entry| entry.offered.contains(version)) else {
        if key == ApiKey::ApiVersions {
            return Ok(unsupported_api_versions(header));
        }
        return Err(Refused::Version { key, version });
    };
    // A range can be offered wider than what can be decoded: see the one of produce.
    if !key.versions().contains(version) {
        return Err(Refused::Version { key, version });
    }
    let start = (entry.decode)(header, body).map_err(|source| Refused::Malformed {
        key,
        version,
        source,
    })?;
    Ok(Ready {
        concurrent: entry.concurrent,
        parked: entry.parked,
        start,
    })
}

fn decode_as<R: Serve>(header: RequestHeader, mut body: Reader) -> Result<Start, DecodeError> {
    let request = R::decode(&mut body, header.version)?;
    Ok(Box::new(move |front, client| {
        run(request, header, front, client).boxed()
    }))
}

async fn run<R: Serve>(
    request: R,
    header: RequestHeader,
    front: Arc<Front>,
    client: Client,
) -> Served {
    let image = front.metadata.image();
    let charge = front.quotas.charge(&image, header.client_id.as_ref());
    let request_bytes = client.request_bytes;
    let call = Call {
        front: front.clone(),
        version: header.version,
        client,
        client_id: match header.client_id {
            Some(id) if R::PARKED => Some(Str::from(&*id)),
            id => id,
        },
        charge: charge.clone(),
    };
    let (mut answer, mute) = match &charge {
        None => (request.serve(call).await, Duration::ZERO),
        Some(charge) => {
            let answer = charge.timed(request.serve(call)).await;
            match &answer {
                _ if R::KEY == ApiKey::Produce => charge.produced(&front.quotas, request_bytes),
                Answer::Counted(_, claim) => charge.fetched(&front.quotas, claim.bytes()),
                _ => {}
            }
            (answer, charge.settle(&front.quotas))
        }
    };
    if !mute.is_zero()
        && let Answer::Reply(response) | Answer::Counted(response, _) = &mut answer
    {
        let ms = mute.as_millis();
        response.set_throttle_time_ms(i32::try_from(ms).unwrap_or(i32::MAX));
    }
    let encoded = |response, claim| {
        reply(
            R::KEY,
            header.version,
            header.correlation_id,
            response,
            claim,
        )
    };
    let outcome = match answer {
        Answer::Reply(response) => encoded(&response, None),
        Answer::Counted(response, claim) => encoded(&response, Some(claim)),
        Answer::Last(response) => match encoded(&response, None) {
            Outcome::Reply(pieces, _) => Outcome::Last(pieces),
            other => other,
        },
        Answer::Silent => Outcome::Silent,
        Answer::Close => Outcome::Close,
    };
    Served { outcome, mute }
}

/// `ApiVersions` in a version from the future: the answer is version 0 and tells which there are
/// (KIP-511).
fn unsupported_api_versions(header: RequestHeader) -> Ready {
    let response = super::api_versions::unsupported();
    let correlation_id = header.correlation_id;
    Ready {
        concurrent: false,
        parked: false,
        start: Box::new(move |_, _| {
            let outcome = reply(ApiKey::ApiVersions, 0, correlation_id, &response, None);
            let mute = Duration::ZERO;
            std::future::ready(Served { outcome, mute }).boxed()
        }),
    }
}

fn reply(
    key: ApiKey,
    version: i16,
    correlation_id: i32,
    response: &impl Message,
    claim: Option<Claim>,
) -> Outcome {
    let mut w = Writer::frame();
    encode_response_header(&mut w, key, version, correlation_id);
    response.encode(&mut w, version);
    match w.finish_frame() {
        Ok(pieces) => Outcome::Reply(pieces, claim),
        Err(error) => {
            tracing::error!(?key, version, %error, "a response cannot be encoded");
            Outcome::Close
        }
    }
}

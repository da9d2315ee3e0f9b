//! The admin HTTP API, version 1: what each path takes and answers, as JSON.
//!
//! | method and path | body | answer |
//! |---|---|---|
//! | `GET /healthz`, `/readyz` | | 200 or 503, one line of text |
//! | `GET /metrics` | | OpenMetrics text |
//! | `GET /v1/cluster` | | [`Cluster`] |
//! | `GET /v1/topics` | | `[`[`Topic`]`]` |
//! | `GET /v1/topics/{name}` | | [`Topic`] |
//! | `PUT /v1/topics/{name}` | [`TopicSpec`] | [`Put`]`<`[`Topic`]`>` |
//! | `DELETE /v1/topics/{name}` | | 204 |
//! | `GET`, `PATCH /v1/configs` | [`ConfigChanges`] | [`Configs`]: cluster-wide dynamic broker configs |
//! | `GET /v1/vhosts` | | names |
//! | `PUT /v1/vhosts/{vhost}` | | 204 |
//! | `GET /v1/vhosts/{vhost}/queues` | | `[`[`Queue`]`]` |
//! | `GET /v1/vhosts/{vhost}/queues/{name}` | | [`Queue`] |
//! | `PUT /v1/vhosts/{vhost}/queues/{name}` | [`QueueSpec`] | [`Put`]`<`[`Queue`]`>` |
//! | `DELETE /v1/vhosts/{vhost}/queues/{name}?if_unused&if_empty` | | 204 |
//! | `GET /v1/vhosts/{vhost}/exchanges` | | `[`[`Exchange`]`]` |
//! | `GET /v1/vhosts/{vhost}/exchanges/{name}` | | [`Exchange`] with its bindings |
//! | `PUT /v1/vhosts/{vhost}/exchanges/{name}` | [`ExchangeSpec`] | [`Put`]`<`[`Exchange`]`>` |
//! | `DELETE /v1/vhosts/{vhost}/exchanges/{name}?if_unused` | | 204 |
//! | `POST`, `DELETE /v1/vhosts/{vhost}/exchanges/{name}/bindings` | [`Binding`] | 204; both are idempotent |
//! | `GET /v1/groups` | | `[`[`GroupSummary`]`]` of the whole cluster |
//! | `GET /v1/groups/{id}` | | [`Group`] |
//! | `DELETE /v1/groups/{id}` | | 204; refused while it has members |
//! | `GET /v1/brokers/{id}/verdict` | | [`Verdict`] |
//! | `POST /v1/brokers/{id}/drain` | | [`Drain`]; repeat until `leaders` is 0 |
//! | `GET /v1/restart-permit` | | [`Permit`] or `null` |
//! | `POST /v1/restart-permit` | [`PermitRequest`] | [`Permit`]; 409 while another one is live or the verdict forbids it |
//! | `DELETE /v1/restart-permit` | [`PermitRelease`] | 204; idempotent |
//! | `GET /v1/changes?since=INDEX&timeout_ms=N` | | [`Changes`], at the latest after the timeout |
//!
//! Every path answers from any broker. A failure is [`ErrorBody`] with a 4xx or 5xx status.

mod changes;
mod cluster;
mod error;
mod group;
mod restart;
mod topic;
mod vhost;

pub use changes::{CHANGES_TIMEOUT_MS_MAX, Changes};
pub use cluster::{Broker, Cluster, ConfigChanges, Configs, Endpoint, Listener, PartitionCounts};
pub use error::{ErrorBody, ErrorCode};
pub use group::{Group, GroupMember, GroupPartition, GroupSummary, MemberPartitions};
pub use restart::{
    Drain, PERMIT_TTL_MS_MAX, Permit, PermitRelease, PermitRequest, QuorumGroup, Verdict,
};
pub use topic::{Partition, PartitionName, Topic, TopicSpec};
pub use vhost::{
    Arguments, Binding, Destination, Exchange, ExchangeKind, ExchangeSpec, Queue, QueueKind,
    QueueSpec,
};

use serde::{Deserialize, Serialize};

/// Answer to a `PUT`: what happened, and the object as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Put<T> {
    pub outcome: Outcome,
    pub object: T,
}

/// What a `PUT` did. Applying the same spec twice gives `Unchanged` the second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Created,
    Altered,
    Unchanged,
}

//! Verdict, drain and the restart permit.

use api::admin::{
    Drain, ErrorCode, PERMIT_TTL_MS_MAX, Permit, PermitRelease, PermitRequest, Verdict,
};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use machine::metadata::command::{Command, Reply};
use machine::metadata::image::{Image, RestartPermit};
use model::BrokerId;
use uuid::Uuid;

use super::Api;
use super::error::{Body, Failure};
use super::verdict::{self, Question};
use crate::config::effective::topic_settings;

pub(super) async fn verdict(
    State(api): State<Api>,
    Path(id): Path<i32>,
) -> Result<Json<Verdict>, Failure> {
    judge(&api, BrokerId(id)).map(Json)
}

pub(super) async fn drain(
    State(api): State<Api>,
    Path(id): Path<i32>,
) -> Result<Json<Drain>, Failure> {
    let broker = BrokerId(id);
    let image = api.image();
    let epoch = known(&image, broker)?;
    if image.is_active(broker) {
        api.submit(Command::DrainBroker { id: broker, epoch })
            .await?;
    }
    let image = api.image();
    let (mut leaders, mut stuck) = (0, 0);
    for partition in image.topics.values().flat_map(|t| &t.partitions) {
        if partition.leader == Some(broker) {
            leaders += 1;
            stuck += usize::from(partition.isr.iter().all(|b| *b == broker));
        }
    }
    Ok(Json(Drain {
        broker: id,
        leaders,
        stuck,
    }))
}

pub(super) async fn permit(State(api): State<Api>) -> Json<Option<Permit>> {
    Json(api.image().restart_permit.as_deref().map(shown))
}

/// The verdict is taken before the permit, so that nobody holds one that it does not allow.
pub(super) async fn acquire(
    State(api): State<Api>,
    Body(request): Body<PermitRequest>,
) -> Result<Json<Permit>, Failure> {
    let broker = BrokerId(request.broker);
    let verdict = judge(&api, broker)?;
    if !verdict.may_stop {
        return Err(Failure::new(ErrorCode::UnsafeToStop, reasons(&verdict)));
    }
    let command = Command::GrantRestartPermit {
        broker,
        holder: request.holder,
        token: Uuid::new_v4(),
        ttl_ms: i64::try_from(request.ttl_ms.min(PERMIT_TTL_MS_MAX)).unwrap_or(i64::MAX),
    };
    match api.submit(command).await? {
        Reply::RestartPermit(permit) => Ok(Json(shown(&permit))),
        other => {
            let message = format!("unexpected reply {other:?}");
            Err(Failure::new(ErrorCode::Internal, message))
        }
    }
}

pub(super) async fn release(
    State(api): State<Api>,
    Body(release): Body<PermitRelease>,
) -> Result<StatusCode, Failure> {
    let token = Uuid::parse_str(&release.token)
        .map_err(|_| Failure::invalid("token", "not a permit's token"))?;
    api.submit(Command::ReleaseRestartPermit { token }).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn judge(api: &Api, broker: BrokerId) -> Result<Verdict, Failure> {
    let image = api.image();
    known(&image, broker)?;
    let config = &api.parts.config;
    Ok(verdict::judge(&Question {
        image: &image,
        voters: &api.parts.metadata.voters(),
        min_insync: &|topic| topic_settings(config, &image, topic).min_insync_replicas,
        broker,
    }))
}

/// The epoch of a registered broker.
fn known(image: &Image, broker: BrokerId) -> Result<i64, Failure> {
    let registered = image.brokers.get(&broker);
    registered
        .map(|b| b.epoch)
        .ok_or_else(|| Failure::not_found("broker", &broker.to_string()))
}

/// At most a few names of each: the verdict's own path lists all.
fn reasons(verdict: &Verdict) -> String {
    const NAMES_MAX: usize = 5;
    let mut reasons = Vec::new();
    let mut add = |what: &str, names: Vec<String>| {
        if names.is_empty() {
            return;
        }
        let more = names.len().saturating_sub(NAMES_MAX);
        let shown: Vec<String> = names.into_iter().take(NAMES_MAX).collect();
        let mut text = format!("{what}: {}", shown.join(", "));
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        reasons.push(text);
    };
    let names = |p: &[api::admin::PartitionName]| p.iter().map(ToString::to_string).collect();
    add("would go offline", names(&verdict.would_go_offline));
    add("would refuse acks=all", names(&verdict.would_block_writes));
    let groups = verdict.quorum_critical.iter();
    add(
        "would lose its majority",
        groups.map(ToString::to_string).collect(),
    );
    format!(
        "broker {} must not stop now; {}",
        verdict.broker,
        reasons.join("; ")
    )
}

fn shown(permit: &RestartPermit) -> Permit {
    Permit {
        token: permit.token.to_string(),
        broker: permit.broker.0,
        holder: permit.holder.to_string(),
        expires_at_ms: permit.expires_at_ms,
    }
}

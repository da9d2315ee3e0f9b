//! `AlterClientQuotas`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use kafka_wire::messages::alter_client_quotas::{
    OpData, Request, RequestEntityData, RequestEntryData, Response, ResponseEntityData,
    ResponseEntryData,
};
use kafka_wire::{ErrorCode, Versions};
use machine::metadata::command::Command;
use machine::metadata::quota::{Bound, Entity, Name};
use machine::quota::Kind;
use tokio::time::Instant;

use super::{CLIENT_ID, IP, USER};
use crate::kafka::Front;
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::topics::{Failure, submit};

/// For all of a request, which carries no timeout: Kafka's default for admin calls. What is not begun by
/// then is not done.
const TIMEOUT: Duration = Duration::from_secs(60);
/// For the name of a host to be resolved.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 1);

    async fn serve(self, call: Call) -> Answer<Response> {
        let twice = twice(&self.entries);
        let deadline = Instant::now() + TIMEOUT;
        let mut entries = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let altered = alter(&call.front, entry, &twice, self.validate_only, deadline).await;
            let (code, message) = match altered {
                Ok(()) => (ErrorCode::None, None),
                Err(failure) => (failure.code, Some(failure.message.into())),
            };
            entries.push(ResponseEntryData {
                error_code: code.code(),
                error_message: message,
                entity: entry
                    .entity
                    .iter()
                    .map(|part| ResponseEntityData {
                        entity_type: part.entity_type.clone(),
                        entity_name: part.entity_name.clone(),
                    })
                    .collect(),
            });
        }
        Response {
            entries,
            ..Response::default()
        }
        .into()
    }
}

/// An entity as text, in Kafka's words.
fn shown(entity: &[RequestEntityData]) -> String {
    let parts: BTreeMap<&str, &str> = entity
        .iter()
        .map(|part| {
            let name = part.entity_name.as_deref();
            (&*part.entity_type, name.unwrap_or("null"))
        })
        .collect();
    let parts: Vec<String> = parts
        .iter()
        .map(|(kind, name)| format!("{kind}={name}"))
        .collect();
    format!("ClientQuotaEntity(entries={{{}}})", parts.join(", "))
}

/// Entities that a request names more than once.
fn twice(entries: &[RequestEntryData]) -> HashSet<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        *counts.entry(shown(&entry.entity)).or_default() += 1;
    }
    counts.retain(|_, count| *count > 1);
    counts.into_keys().collect()
}

async fn alter(
    front: &Front,
    entry: &RequestEntryData,
    twice: &HashSet<String>,
    validate_only: bool,
    deadline: Instant,
) -> Result<(), Failure> {
    let name = shown(&entry.entity);
    let mut keys = HashSet::new();
    if twice.contains(&name) || !entry.ops.iter().all(|op| keys.insert(&op.key)) {
        return Err(refused(format!("Ignoring duplicate entity {name}")));
    }
    let entity = entity(&entry.entity, deadline).await?;
    let changes = entry
        .ops
        .iter()
        .map(|op| Ok((op.key.to_string(), bound(&entity, op)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    if changes.is_empty() {
        return Ok(());
    }
    let command = Command::AlterQuotas { entity, changes };
    let left_ms = deadline
        .saturating_duration_since(Instant::now())
        .as_millis();
    if left_ms == 0 {
        return Err(Failure::new(
            ErrorCode::RequestTimedOut,
            "The request timed out before this quota was altered; ask for fewer at a time.",
        ));
    }
    let left_ms = i32::try_from(left_ms).unwrap_or(i32::MAX);
    submit(front, command, left_ms, validate_only)
        .await
        .map(drop)
}

fn refused(text: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidRequest, text)
}

async fn entity(parts: &[RequestEntityData], deadline: Instant) -> Result<Entity, Failure> {
    let mut entity = Entity::default();
    for part in parts {
        let kind = &*part.entity_type;
        let place = match kind {
            USER => &mut entity.user,
            CLIENT_ID => &mut entity.client_id,
            IP => &mut entity.ip,
            _ => {
                return Err(refused(format!(
                    "Unhandled client quota entity type: {kind}"
                )));
            }
        };
        *place = Some(match part.entity_name.as_deref() {
            None => Name::Default,
            Some("") => return Err(refused(format!("Empty {kind} not supported"))),
            Some(name) => Name::Named(name.into()),
        });
    }
    if entity == Entity::default() {
        return Err(refused("Invalid empty client quota entity"));
    }
    if entity.ip.is_some() && (entity.user.is_some() || entity.client_id.is_some()) {
        return Err(refused(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ));
    }
    if let Some(Name::Named(host)) = &entity.ip {
        let address = resolve(host, deadline).await?;
        entity.ip = Some(Name::Named(address.to_string().into()));
    }
    Ok(entity)
}

/// The address that connections from there are counted under: a limit holds for it however it is spelled.
/// Of a host with several the first, as in Kafka.
async fn resolve(host: &str, deadline: Instant) -> Result<IpAddr, Failure> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(address.to_canonical());
    }
    let deadline = deadline.min(Instant::now() + RESOLVE_TIMEOUT);
    let found = tokio::time::timeout_at(deadline, tokio::net::lookup_host((host, 0))).await;
    found
        .ok()
        .and_then(Result::ok)
        .and_then(|mut addresses| addresses.next())
        .map(|address| address.ip().to_canonical())
        .ok_or_else(|| refused(format!("{host} is not a valid IP or resolvable host.")))
}

/// The limit that one line sets; `None` takes it back, whatever its name.
fn bound(entity: &Entity, op: &OpData) -> Result<Option<Bound>, Failure> {
    if op.remove {
        return Ok(None);
    }
    let key = &*op.key;
    let of_address = entity.ip.is_some();
    // Largest whole number that the limit may be, and what Kafka calls its type; `None` for fractions.
    let whole = match key {
        _ if of_address && key == Kind::Connection.key() => Some((f64::from(i32::MAX), "an INT")),
        _ if of_address => return Err(refused(format!("Invalid configuration key {key}"))),
        _ if key == Kind::Produce.key() || key == Kind::Fetch.key() => {
            Some((i64::MAX as f64, "a LONG"))
        }
        _ if key == Kind::Request.key() || key == Kind::Mutation.key() => None,
        _ => return Err(refused(format!("Invalid configuration key {key}"))),
    };
    /// What is nearer to a whole number than this is one.
    const FRACTION: f64 = 1e-6;
    let value = op.value;
    match whole {
        _ if !value.is_finite() => Err(refused(format!("Quota {key} must be a finite number"))),
        _ if value <= 0.0 => Err(refused(format!("Quota {key} must be greater than 0"))),
        Some((max, kind)) if value > max => Err(refused(format!(
            "Proposed value for {key} is too large for {kind}."
        ))),
        Some(_) if (value - value.round()).abs() > FRACTION => {
            Err(refused(format!("{key} cannot be a fractional value.")))
        }
        Some(_) if value < FRACTION => Err(refused(format!("Quota {key} must be greater than 0"))),
        Some(_) => Ok(Some(Bound(value.round()))),
        _ => Ok(Some(Bound(value))),
    }
}

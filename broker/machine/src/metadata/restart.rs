//! The one restart permit of the cluster: two operators, a drain and a person cannot overlap.

use std::sync::Arc;

use model::BrokerId;
use uuid::Uuid;

use super::command::{Refusal, Reply};
use super::image::{Image, RestartPermit};

/// The same holder asking again for the same broker renews and keeps the first token. An expired
/// permit is anybody's.
pub(super) fn grant(
    image: &mut Image,
    broker: BrokerId,
    holder: &str,
    token: Uuid,
    ttl_ms: i64,
    now_ms: i64,
) -> Result<Reply, Refusal> {
    let mut token = token;
    if let Some(held) = image
        .restart_permit
        .as_ref()
        .filter(|held| held.expires_at_ms > now_ms)
    {
        if held.broker != broker || held.holder.as_ref() != holder {
            return Err(Refusal::PermitHeld {
                broker: held.broker,
                holder: Arc::clone(&held.holder),
            });
        }
        token = held.token;
    }
    let permit = Arc::new(RestartPermit {
        token,
        broker,
        holder: holder.into(),
        expires_at_ms: now_ms.saturating_add(ttl_ms),
    });
    image.restart_permit = Some(Arc::clone(&permit));
    Ok(Reply::RestartPermit(permit))
}

/// Giving back a permit that is not held any more is no error.
pub(super) fn release(image: &mut Image, token: Uuid) -> Result<Reply, Refusal> {
    if image
        .restart_permit
        .as_ref()
        .is_some_and(|held| held.token == token)
    {
        image.restart_permit = None;
    }
    Ok(Reply::Done)
}

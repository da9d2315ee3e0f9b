//! One of several operators leads: the holder of a Lease.
//!
//! Every write to the Lease names the version it was read at, so two never win together. A holder
//! that cannot renew in time stops before the others may take over: they wait [`DURATION`] from the
//! last renewal they saw by their own clock, it gives up after [`RENEW_DEADLINE`], which is less.
//! Clocks of different machines are never compared.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

#[cfg(test)]
mod tests;

const DURATION: Duration = Duration::from_secs(15);
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const RENEW_EVERY: Duration = Duration::from_secs(2);

/// What another's Lease looked like, and when this operator first saw it so.
#[derive(Debug, Default)]
struct Watched {
    renewal: Option<(String, i32)>,
    since: Option<Instant>,
    /// The holder that was told of last.
    told: Option<String>,
}

pub(crate) struct Election {
    api: Api<Lease>,
    name: String,
    identity: String,
}

impl Election {
    pub(crate) fn new(client: Client, namespace: &str, name: String, identity: String) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name,
            identity,
        }
    }

    /// Returns once this operator leads.
    pub(crate) async fn win(&self) {
        let mut watched = Watched::default();
        loop {
            match self.attempt(&mut watched).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(e) => tracing::warn!(error = %e, "cannot take part in the election"),
            }
            tokio::time::sleep(RENEW_EVERY).await;
        }
    }

    /// Returns when the lead is lost: renewed by somebody else, or not in time.
    pub(crate) async fn keep(&self) {
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(RENEW_EVERY).await;
            let left = RENEW_DEADLINE.saturating_sub(renewed.elapsed());
            match tokio::time::timeout(left, self.renew()).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                Ok(Ok(false)) => return,
                Ok(Err(e)) => {
                    tracing::warn!(error = %e, "cannot renew the lead");
                    if renewed.elapsed() >= RENEW_DEADLINE {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }

    /// Lets the next one lead at once.
    pub(crate) async fn resign(&self) {
        if let Ok(Some(mut lease)) = self.api.get_opt(&self.name).await
            && self.is_holder(&lease)
        {
            if let Some(spec) = &mut lease.spec {
                spec.holder_identity = None;
            }
            if let Err(e) = self
                .api
                .replace(&self.name, &PostParams::default(), &lease)
                .await
            {
                tracing::debug!(error = %e, "could not resign");
            }
        }
    }

    async fn attempt(&self, watched: &mut Watched) -> anyhow::Result<bool> {
        let Some(lease) = self
            .api
            .get_opt(&self.name)
            .await
            .context("cannot read the Lease")?
        else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.name.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(self.claim(None)),
            };
            return won(self.api.create(&PostParams::default(), &lease).await);
        };
        if !self.is_holder(&lease) && !watched.is_free(&lease, Instant::now()) {
            watched.tell(&lease);
            return Ok(false);
        }
        self.write(lease).await
    }

    async fn renew(&self) -> anyhow::Result<bool> {
        let lease = self
            .api
            .get(&self.name)
            .await
            .context("cannot read the Lease")?;
        if !self.is_holder(&lease) {
            return Ok(false);
        }
        self.write(lease).await
    }

    /// The version that was read goes along: somebody else's write in between refuses this one.
    async fn write(&self, mut lease: Lease) -> anyhow::Result<bool> {
        lease.spec = Some(self.claim(lease.spec.as_ref()));
        won(self
            .api
            .replace(&self.name, &PostParams::default(), &lease)
            .await)
    }

    fn claim(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let same = before.is_some_and(|s| s.holder_identity.as_deref() == Some(&self.identity));
        let transitions = before.and_then(|s| s.lease_transitions).unwrap_or_default();
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            acquire_time: before
                .filter(|_| same)
                .and_then(|s| s.acquire_time.clone())
                .or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(transitions + i32::from(!same)),
            ..LeaseSpec::default()
        }
    }

    fn is_holder(&self, lease: &Lease) -> bool {
        let holder = lease
            .spec
            .as_ref()
            .and_then(|s| s.holder_identity.as_deref());
        holder == Some(&self.identity)
    }
}

impl Watched {
    /// Says once who leads instead.
    fn tell(&mut self, lease: &Lease) {
        let holder = lease.spec.as_ref().and_then(|s| s.holder_identity.clone());
        if holder != self.told {
            tracing::info!(leader = holder.as_deref().unwrap_or("?"), "waiting to lead");
            self.told = holder;
        }
    }

    /// Nobody holds it, or its holder has not renewed it for as long as it said, counted from when
    /// this operator first saw that renewal.
    fn is_free(&mut self, lease: &Lease, now: Instant) -> bool {
        let Some(spec) = &lease.spec else { return true };
        if spec
            .holder_identity
            .as_deref()
            .unwrap_or_default()
            .is_empty()
        {
            return true;
        }
        let renewal = (
            spec.renew_time
                .as_ref()
                .map_or_else(String::new, |t| t.0.to_string()),
            spec.lease_transitions.unwrap_or_default(),
        );
        if self.renewal.as_ref() != Some(&renewal) {
            self.renewal = Some(renewal);
            self.since = Some(now);
        }
        let seconds = spec
            .lease_duration_seconds
            .and_then(|s| u64::try_from(s).ok());
        let duration = seconds.map_or(DURATION, Duration::from_secs);
        self.since
            .is_some_and(|since| now.duration_since(since) >= duration)
    }
}

/// A conflict is a lost race, not a failure.
fn won(answer: Result<Lease, kube::Error>) -> anyhow::Result<bool> {
    match answer {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(e)) if e.code == 409 => Ok(false),
        Err(e) => Err(e).context("cannot write the Lease"),
    }
}

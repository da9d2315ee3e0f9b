//! This broker's place in the cluster: registers at start, asks to be let in when it is ready and
//! whenever it finds itself fenced though it lives, leaves in order.

use std::time::Duration;

use machine::metadata::command::{Command, Refusal, Reply};
use machine::metadata::feature::Levels;
use machine::metadata::image::{Broker, Endpoint};
use model::BrokerId;
use tokio::time::sleep;
use uuid::Uuid;

use super::Handle;

/// Pause between attempts while there is no quorum or the leader does not see this broker yet.
const AGAIN: Duration = Duration::from_millis(100);

/// Another process took this broker's id.
#[derive(Debug, thiserror::Error)]
#[error("broker id {0} was registered by another process; give each broker an id of its own")]
pub struct Superseded(pub BrokerId);

/// One life of this broker in the cluster.
#[derive(Clone)]
pub struct Registration {
    metadata: Handle,
    epoch: i64,
}

impl Registration {
    /// Registers; waits for a quorum as long as it takes. `previous_epoch` is that of the life before this
    /// one, if that ended in order.
    pub async fn register(
        metadata: Handle,
        incarnation: Uuid,
        previous_epoch: Option<i64>,
        rack: Option<String>,
        endpoints: Vec<Endpoint>,
    ) -> Self {
        loop {
            let reply = metadata
                .submit(Command::RegisterBroker {
                    id: metadata.this_broker(),
                    incarnation,
                    rack: rack.clone(),
                    endpoints: endpoints.clone(),
                    previous_epoch,
                    levels: Levels::BUILD,
                })
                .await;
            match reply {
                Ok(Reply::Registered { epoch }) => return Self { metadata, epoch },
                Ok(Reply::Refused(refusal)) => {
                    tracing::warn!(%refusal, "not registered");
                }
                Ok(other) => tracing::warn!(?other, "not registered"),
                Err(unavailable) => tracing::warn!(%unavailable, "not registered yet"),
            }
            sleep(AGAIN).await;
        }
    }

    /// Epoch of this life: requests of earlier ones are refused.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Asks to be let in now and whenever this broker is fenced, for as long as it is polled.
    pub async fn keep(&self) -> Superseded {
        let this = self.metadata.this_broker();
        let mut image = self.metadata.watch();
        let mut unregistered = false;
        loop {
            let seen = image
                .borrow_and_update()
                .brokers
                .get(&this)
                .map(|broker| (broker.epoch, broker.fenced));
            match seen {
                Some((epoch, _)) if epoch > self.epoch => return Superseded(this),
                Some((epoch, true)) if epoch == self.epoch => self.ask_in().await,
                seen => {
                    if seen.is_none() && !std::mem::replace(&mut unregistered, true) {
                        tracing::warn!(
                            "this broker was unregistered: it leads nothing until it is started again"
                        );
                    }
                    if image.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
            }
        }
    }

    async fn ask_in(&self) {
        let unfence = Command::UnfenceBroker {
            id: self.metadata.this_broker(),
            epoch: self.epoch,
        };
        match self.metadata.submit(unfence).await {
            Ok(Reply::Done) => tracing::info!(epoch = self.epoch, "broker is in"),
            // The image that says so is on its way.
            Ok(Reply::Refused(Refusal::StaleBrokerEpoch)) => sleep(AGAIN).await,
            other => {
                tracing::warn!(?other, "not let in yet");
                sleep(AGAIN).await;
            }
        }
    }

    /// Hands over leaderships and leaves the in-sync replicas.
    pub async fn leave(&self) {
        let drain = Command::DrainBroker {
            id: self.metadata.this_broker(),
            epoch: self.epoch,
        };
        if let Err(unavailable) = self.metadata.submit(drain).await {
            tracing::warn!(%unavailable, "stopping without handing over");
        }
    }

    /// Whether this life is registered and let in, as far as is known here.
    pub fn is_in(&self) -> bool {
        let image = self.metadata.image();
        let this = self.metadata.this_broker();
        image
            .brokers
            .get(&this)
            .is_some_and(|broker: &std::sync::Arc<Broker>| {
                broker.epoch == self.epoch && !broker.fenced
            })
    }
}

//! Hands what was changed of the broker's configs at run time (KIP-226) to the parts that were told them at
//! start. Whoever looks a key up in the image when it needs it is not among them.

use std::sync::Arc;

use machine::metadata::image::{ConfigResource, Image};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::effective::as_changed;
use crate::{Config, kafka, partition};

/// The parts that take changes.
pub(super) struct Reconfigured {
    pub(super) config: Arc<Config>,
    pub(super) kafka: Arc<kafka::Front>,
    pub(super) partitions: partition::Tuner,
}

impl Reconfigured {
    /// Follows the image until `stop`.
    pub(super) async fn follow(
        self,
        mut images: watch::Receiver<Arc<Image>>,
        stop: CancellationToken,
    ) {
        let resources = [
            ConfigResource::BrokerDefault,
            ConfigResource::Broker(self.config.node_id),
        ];
        let mut told = Default::default();
        loop {
            let image = images.borrow_and_update().clone();
            let set = resources
                .each_ref()
                .map(|of| image.configs.get(of).cloned());
            if set != told {
                self.apply(&image);
                told = set;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                changed = images.changed() => if changed.is_err() {
                    return;
                },
            }
        }
    }

    fn apply(&self, image: &Image) {
        let now = as_changed(&self.config, image);
        self.kafka.reconfigure(&now);
        if let Err(error) = self.partitions.tune(&partition::Config::of(&now)) {
            tracing::error!(%error, "a thread that compacts logs cannot be started");
        }
        tracing::info!("configuration changed at run time");
    }
}

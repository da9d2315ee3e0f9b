//! The metadata group on this broker: hands out the image, takes commands from anywhere, keeps the
//! registration of brokers in step with the failure detector.
//!
//! Decides nothing itself: that is [`machine::metadata`].

use std::sync::Arc;

use machine::metadata::command::{Command, Reply};
use machine::metadata::image::Image;
use model::BrokerId;
use parking_lot::Mutex;
use tokio::sync::watch;

/// No majority took the command in time. It may still be carried out later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the metadata quorum is not available")]
pub struct Unavailable;

/// State of the metadata quorum as this broker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumStatus {
    pub leader: Option<BrokerId>,
    pub term: u64,
    /// Last index in the log here, and last applied here.
    pub last_index: u64,
    pub applied: u64,
    pub voters: Vec<BrokerId>,
    pub learners: Vec<BrokerId>,
}

/// Handle to the metadata of the cluster. Cheap to clone.
#[derive(Clone)]
pub struct Handle(Arc<Inner>);

struct Inner {
    this: BrokerId,
    image: watch::Sender<Arc<Image>>,
    apply: Mutex<()>,
}

impl Handle {
    /// Metadata that lives in this process only: commands are applied at once. For tests of what
    /// stands on the metadata.
    pub fn in_memory(this: BrokerId, image: Image) -> Self {
        Self(Arc::new(Inner {
            this,
            image: watch::channel(Arc::new(image)).0,
            apply: Mutex::new(()),
        }))
    }

    /// The newest image applied here.
    pub fn image(&self) -> Arc<Image> {
        self.0.image.borrow().clone()
    }

    /// Follows the image. Intermediate ones may be skipped.
    pub fn watch(&self) -> watch::Receiver<Arc<Image>> {
        self.0.image.subscribe()
    }

    /// Has the cluster carry out `command`, from any broker. On return its effect is in
    /// [`Handle::image`] here. A refusal is a [`Reply`].
    pub async fn submit(&self, command: Command) -> Result<Reply, Unavailable> {
        let _one = self.0.apply.lock();
        let mut image = Image::clone(&self.0.image.borrow());
        let index = image.index + 1;
        let reply = image.apply(command, 0, index);
        self.0.image.send_replace(Arc::new(image));
        Ok(reply)
    }

    /// Who leads the group: Kafka's controller.
    pub fn controller(&self) -> Option<BrokerId> {
        Some(self.0.this)
    }

    pub fn this_broker(&self) -> BrokerId {
        self.0.this
    }

    pub fn voters(&self) -> Vec<BrokerId> {
        vec![self.0.this]
    }

    pub fn quorum(&self) -> QuorumStatus {
        let applied = self.image().index;
        QuorumStatus {
            leader: self.controller(),
            term: 1,
            last_index: applied,
            applied,
            voters: self.voters(),
            learners: Vec::new(),
        }
    }
}

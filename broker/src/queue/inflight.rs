//! Bytes on their way to a host: counted in when a batch is sent, out when its host has taken it. Per
//! sender, who waits when it has too much under way, and in the broker's `budget`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, oneshot};

use super::budget::Budget;

/// Bytes of one sender that no host has taken yet.
pub(crate) struct Inflight {
    bytes: AtomicUsize,
    bytes_max: usize,
    freed: Notify,
    budget: Arc<Budget>,
}

/// Counts its bytes out when dropped.
pub(crate) struct Permit {
    bytes: usize,
    of: Of,
}

enum Of {
    /// A session of this broker, or its dead letters.
    Sender(Arc<Inflight>),
    /// A frame of another broker, which hears that all of it is taken when the last permit is gone.
    Frame(Arc<Frame>),
}

struct Frame {
    budget: Arc<Budget>,
    /// Dropped with the last permit; nothing is ever sent.
    _taken: oneshot::Sender<()>,
}

/// Gives permits for what one frame of another broker brings.
pub(crate) struct Arrived(Arc<Frame>);

impl Inflight {
    pub(crate) fn new(bytes_max: usize, budget: Arc<Budget>) -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            bytes_max,
            freed: Notify::new(),
            budget,
        }
    }

    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Permit {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        self.budget.add(bytes);
        Permit {
            bytes,
            of: Of::Sender(self.clone()),
        }
    }

    pub(crate) fn is_below_bound(&self) -> bool {
        self.bytes.load(Ordering::Acquire) < self.bytes_max
    }

    pub(crate) async fn below_bound(&self) {
        loop {
            let freed = self.freed.notified();
            if self.is_below_bound() {
                return;
            }
            freed.await;
        }
    }
}

impl Arrived {
    /// The receiver ends, without a value, once every permit given is dropped, and this too.
    pub(crate) fn new(budget: Arc<Budget>) -> (Self, oneshot::Receiver<()>) {
        let (sender, taken) = oneshot::channel();
        let frame = Frame {
            budget,
            _taken: sender,
        };
        (Self(Arc::new(frame)), taken)
    }

    pub(crate) fn take(&self, bytes: usize) -> Permit {
        self.0.budget.add(bytes);
        Permit {
            bytes,
            of: Of::Frame(self.0.clone()),
        }
    }
}

impl Permit {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The batch has become larger.
    pub(crate) fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
        match &self.of {
            Of::Frame(frame) => frame.budget.add(bytes),
            Of::Sender(inflight) => {
                inflight.bytes.fetch_add(bytes, Ordering::AcqRel);
                inflight.budget.add(bytes);
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        match &self.of {
            Of::Frame(frame) => frame.budget.remove(self.bytes),
            Of::Sender(inflight) => {
                inflight.budget.remove(self.bytes);
                let before = inflight.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
                if before >= inflight.bytes_max {
                    inflight.freed.notify_one();
                }
            }
        }
    }
}

//! Bytes on their way to a host: counted in when a batch is sent, out when its host has taken it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Bytes of one session that no host has taken yet.
pub(crate) struct Inflight {
    bytes: AtomicUsize,
    bytes_max: usize,
    freed: Notify,
}

/// Counts its bytes out when dropped.
pub(crate) struct Permit {
    inflight: Option<Arc<Inflight>>,
    bytes: usize,
}

impl Inflight {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            bytes_max,
            freed: Notify::new(),
        }
    }

    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Permit {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        Permit {
            inflight: Some(self.clone()),
            bytes,
        }
    }

    pub(crate) async fn below_bound(&self) {
        loop {
            let freed = self.freed.notified();
            if self.bytes.load(Ordering::Acquire) < self.bytes_max {
                return;
            }
            freed.await;
        }
    }
}

impl Permit {
    /// Counts nothing: what another broker's session sends is counted there.
    pub(crate) fn none() -> Self {
        Self {
            inflight: None,
            bytes: 0,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(inflight) = &self.inflight else {
            return;
        };
        let before = inflight.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        if before >= inflight.bytes_max {
            inflight.freed.notify_one();
        }
    }
}

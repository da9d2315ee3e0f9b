//! From the disk: what an earlier life left, and service again after an outage.

use machine::queue::{Effect, NEVER};

use super::Hosted;
use crate::queue::store;

impl Hosted {
    /// Takes over what an earlier life left.
    pub(super) fn restore(&mut self) -> Result<(), store::Error> {
        let messages = self.store.open()?;
        let ttl = self.machine.config().message_ttl_ms;
        let ttl = ttl.map(|ttl| i64::try_from(ttl).unwrap_or(NEVER));
        for mut message in messages {
            if let Some(ttl) = ttl {
                let deadline = message.enqueued_ms.saturating_add(ttl);
                message.deadline_ms = message.deadline_ms.min(deadline);
            }
            self.machine.restore(message);
        }
        self.restored = true;
        Ok(())
    }

    /// Tries to bring the queue back into service.
    pub(super) fn recover(&mut self, now_ms: i64) {
        match self.reopen(now_ms) {
            Ok(()) => {
                tracing::info!(queue = %self.queue.name, "queue is in service again");
                self.outage = None;
            }
            Err(error) => {
                tracing::warn!(queue = %self.queue.name, %error, "queue is still out of service");
                if let Some(outage) = &mut self.outage {
                    outage.again(now_ms);
                }
            }
        }
    }

    fn reopen(&mut self, now_ms: i64) -> Result<(), store::Error> {
        if !self.restored {
            return self.restore();
        }
        if self.store.is_broken() {
            let pending = self.pending.iter().filter_map(|effect| match effect {
                Effect::Deliver { position, .. } | Effect::Died { position, .. } => Some(*position),
                _ => None,
            });
            let needed = self.machine.positions().chain(pending);
            self.store.reopen(now_ms, needed)?;
        }
        self.store.append()?;
        if let Some(Effect::Deliver { position, .. } | Effect::Died { position, .. }) =
            self.pending.front()
        {
            // The body that the disk did not give; until it does nothing goes on.
            self.store.get(*position)?;
        }
        Ok(())
    }

    /// False when the files are not those of a clean shutdown.
    pub(in crate::queue::classic) fn close(mut self, now_ms: i64) -> bool {
        if self.outage.is_some() {
            // A last try: it may have been a full disk.
            self.recover(now_ms);
        }
        if self.outage.is_some() {
            return false;
        }
        let closed = self.store.close();
        if let Err(error) = &closed {
            tracing::error!(queue = %self.queue.name, %error, "queue did not close cleanly");
        }
        closed.is_ok()
    }
}

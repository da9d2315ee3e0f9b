//! Deliveries of one channel that wait for the client's word, by delivery tag.

use std::collections::BTreeMap;

use crate::queue::Receipt;

/// No such delivery is waiting: RabbitMQ's 406.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown delivery tag {0}")]
pub(super) struct UnknownTag(pub(super) u64);

#[derive(Debug, Default)]
pub(super) struct Unacked {
    /// Tags of a channel start at 1 and are never used again.
    last_tag: u64,
    waiting: BTreeMap<u64, Receipt>,
}

impl Unacked {
    /// A tag for a delivery that needs no word (`no_ack`).
    pub(super) fn next_tag(&mut self) -> u64 {
        self.last_tag += 1;
        self.last_tag
    }

    /// A tag under which `receipt` waits.
    pub(super) fn wait(&mut self, receipt: Receipt) -> u64 {
        let tag = self.next_tag();
        self.waiting.insert(tag, receipt);
        tag
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes out one delivery, or with `multiple` all up to it. The tag itself must be waiting, but
    /// for tag 0 with `multiple`: everything, even if that is nothing.
    pub(super) fn take(
        &mut self,
        tag: u64,
        multiple: bool,
    ) -> Result<Vec<(u64, Receipt)>, UnknownTag> {
        if tag == 0 && multiple {
            return Ok(self.take_all());
        }
        let Some(&receipt) = self.waiting.get(&tag) else {
            return Err(UnknownTag(tag));
        };
        if !multiple {
            self.waiting.remove(&tag);
            return Ok(vec![(tag, receipt)]);
        }
        let later = self.waiting.split_off(&(tag + 1));
        let taken = std::mem::replace(&mut self.waiting, later);
        Ok(taken.into_iter().collect())
    }

    /// Everything, in the order of delivery.
    pub(super) fn take_all(&mut self) -> Vec<(u64, Receipt)> {
        std::mem::take(&mut self.waiting).into_iter().collect()
    }

    /// Puts back what a rolled back transaction had taken.
    pub(super) fn put_back(&mut self, taken: impl IntoIterator<Item = (u64, Receipt)>) {
        self.waiting.extend(taken);
    }
}

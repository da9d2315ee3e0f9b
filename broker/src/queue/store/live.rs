//! How many logged positions are unsettled, by bucket of 32 positions: an eighth of a byte per message.

use std::collections::VecDeque;

#[derive(Default)]
pub(super) struct Live {
    base: u64,
    counts: VecDeque<u32>,
}

const BUCKET_BITS: u32 = 5;

impl Live {
    pub(super) fn add(&mut self, position: u64) {
        let bucket = position >> BUCKET_BITS;
        if self.counts.is_empty() {
            self.base = bucket;
        }
        let Some(at) = bucket.checked_sub(self.base) else {
            return;
        };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        while self.counts.len() <= at {
            self.counts.push_back(0);
        }
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
    }

    pub(super) fn remove(&mut self, position: u64) {
        let bucket = (position >> BUCKET_BITS).checked_sub(self.base);
        let at = bucket.and_then(|at| usize::try_from(at).ok());
        if let Some(count) = at.and_then(|at| self.counts.get_mut(at)) {
            *count = count.saturating_sub(1);
        }
        while self.counts.front() == Some(&0) {
            self.counts.pop_front();
            self.base += 1;
        }
    }

    /// Nothing below is needed.
    pub(super) fn first(&self) -> Option<u64> {
        (!self.counts.is_empty()).then_some(self.base << BUCKET_BITS)
    }
}

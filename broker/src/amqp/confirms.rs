//! Publisher confirms of one channel: numbers publishes, and says the outcomes in as few methods as
//! the protocol allows.

use std::collections::BTreeSet;

use amqp_wire::method::basic;

use crate::queue::Confirm;

/// Sequence numbers of a channel in confirm mode.
#[derive(Debug)]
pub(super) struct Confirms {
    next: u64,
    open: BTreeSet<u64>,
}

/// What to tell the client, in this order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    Ack(basic::Ack),
    Nack(basic::Nack),
}

impl Default for Confirms {
    fn default() -> Self {
        Self {
            next: 1,
            open: BTreeSet::new(),
        }
    }
}

impl Confirms {
    /// Number of the next publish.
    pub(super) fn number(&mut self) -> u64 {
        let seq = self.next;
        self.next += 1;
        self.open.insert(seq);
        seq
    }

    /// Outcomes that came together. One ack covers a range (`multiple`) only up to below the smallest
    /// number that is still open or refused now: "multiple" speaks for everything below it.
    pub(super) fn settle(&mut self, confirms: &[Confirm]) -> Vec<Told> {
        let mut acks: Vec<u64> = Vec::with_capacity(confirms.len());
        let mut nacks: Vec<u64> = Vec::new();
        for confirm in confirms {
            if self.open.remove(&confirm.seq) {
                let outcomes = if confirm.ack { &mut acks } else { &mut nacks };
                outcomes.push(confirm.seq);
            }
        }
        acks.sort_unstable();
        let lowest = [self.open.first(), nacks.iter().min()];
        let bound = lowest.into_iter().flatten().min().copied();
        let bound = bound.unwrap_or(u64::MAX);
        let together = acks.partition_point(|seq| *seq < bound);
        let (below, above) = acks.split_at(together);
        let range = below.last().map(|last| (*last, below.len() > 1));
        let single = above.iter().map(|seq| (*seq, false));
        let acks = range.into_iter().chain(single);
        let acks = acks.map(|(delivery_tag, multiple)| {
            Told::Ack(basic::Ack {
                delivery_tag,
                multiple,
            })
        });
        let nacks = nacks.into_iter().map(|delivery_tag| {
            Told::Nack(basic::Nack {
                delivery_tag,
                multiple: false,
                requeue: false,
            })
        });
        acks.chain(nacks).collect()
    }
}

#[cfg(test)]
mod tests;

//! What was promised and what was seen: the checks of a run.
//!
//! Names in brackets: acknowledged is never lost [I1], one value at an offset [I2], an idempotent
//! record once [I3], a producer's order [I6], no watermark goes back in an epoch [I7], one leader of an
//! epoch [I9], replicas are alike [I10].

use std::collections::BTreeMap;

use model::{Epoch, Offset, TopicPartition, batch};

use crate::event::NodeId;

/// A record, as told from every other: its producer in the upper half, its number in the lower.
pub(crate) type Value = u64;

pub(crate) fn value(producer: usize, number: u64) -> Value {
    ((producer as u64) << 40) | number
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    acknowledged: BTreeMap<(TopicPartition, Offset), Value>,
    observed: BTreeMap<(TopicPartition, Offset), Value>,
    /// Somebody asked for what is before to be deleted.
    deleted: BTreeMap<TopicPartition, Offset>,
    watermarks: BTreeMap<(TopicPartition, Epoch), Offset>,
    leaders: BTreeMap<(TopicPartition, Epoch), (NodeId, u32)>,
    violation: Option<String>,
}

impl Ledger {
    pub(crate) fn violation(&self) -> Option<&String> {
        self.violation.as_ref()
    }

    pub(crate) fn broken(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    pub(crate) fn acknowledged_count(&self) -> u64 {
        self.acknowledged.len() as u64
    }

    /// A producer that asked for all replicas was told that this lies there.
    pub(crate) fn acknowledged(&mut self, at: TopicPartition, base: Offset, values: &[Value]) {
        for (offset, value) in (base.0..).zip(values) {
            let at = (at, Offset(offset));
            let before = self.acknowledged.insert(at, *value);
            let seen = self.observed.get(&at).copied();
            for other in [before, seen].into_iter().flatten() {
                if other != *value {
                    self.broken(format!(
                        "[I2] {at:?} was acknowledged as {value:x} and is {other:x}"
                    ));
                }
            }
        }
    }

    /// A consumer was given a batch.
    pub(crate) fn observed(&mut self, at: TopicPartition, batch: &batch::Batch) {
        for (offset, value) in records(batch) {
            let at = (at, offset);
            let before = self.observed.insert(at, value);
            let promised = self.acknowledged.get(&at).copied();
            if let Some(other) = before.filter(|v| *v != value) {
                self.broken(format!(
                    "[I2] {at:?} was read as {other:x}, then as {value:x}"
                ));
            } else if let Some(other) = promised.filter(|v| *v != value) {
                self.broken(format!(
                    "[I1] {at:?} was acknowledged as {other:x} and read as {value:x}"
                ));
            }
        }
    }

    /// Behind the last record of which a producer was told.
    pub(crate) fn heard_upto(&self, at: TopicPartition, producer: usize) -> Offset {
        let there = self
            .acknowledged
            .range((at, Offset(0))..=(at, Offset(i64::MAX)));
        let mut last = there.rev();
        let heard = last.find(|(_, v)| **v >> 40 == producer as u64);
        heard.map_or(Offset(0), |((_, offset), _)| Offset(offset.0 + 1))
    }

    pub(crate) fn deleted_before(&mut self, at: TopicPartition, before: Offset) {
        let known = self.deleted.entry(at).or_default();
        *known = (*known).max(before);
    }

    pub(crate) fn first_kept(&self, at: TopicPartition) -> Offset {
        self.deleted.get(&at).copied().unwrap_or_default()
    }

    /// A leader shows its watermark.
    pub(crate) fn leads(
        &mut self,
        at: TopicPartition,
        epoch: Epoch,
        who: (NodeId, u32),
        watermark: Offset,
    ) {
        let leader = *self.leaders.entry((at, epoch)).or_insert(who);
        if leader != who {
            self.broken(format!(
                "[I9] {leader:?} and {who:?} lead {at} in epoch {epoch}"
            ));
        }
        let before = self.watermarks.entry((at, epoch)).or_default();
        if *before > watermark {
            let before = *before;
            self.broken(format!(
                "[I7] watermark of {at} went from {before} to {watermark} in epoch {epoch}"
            ));
        } else {
            *before = watermark;
        }
    }

    /// All of a partition at the end: what was acknowledged is there, an idempotent producer's records
    /// once and in order.
    pub(crate) fn drained(
        &mut self,
        at: TopicPartition,
        start: Offset,
        log: &BTreeMap<Offset, Value>,
        idempotent: impl Fn(usize) -> bool,
    ) {
        let mut promised = self
            .acknowledged
            .range((at, start)..=(at, Offset(i64::MAX)));
        let otherwise = |((_, offset), value): (&(TopicPartition, Offset), &Value)| {
            let found = log.get(offset).copied();
            (found != Some(*value)).then_some((*offset, *value, found))
        };
        let lost = promised.find_map(otherwise);
        if let Some((offset, value, found)) = lost {
            self.broken(format!(
                "[I1] {at} {offset} was acknowledged as {value:x} and holds {found:x?}"
            ));
        }
        let mut seen = self.observed.range((at, start)..=(at, Offset(i64::MAX)));
        let other = seen.find_map(otherwise);
        if let Some((offset, value, found)) = other {
            self.broken(format!(
                "[I2] {at} {offset} was read as {value:x} and holds {found:x?}"
            ));
        }
        let mut last: BTreeMap<usize, Value> = BTreeMap::new();
        for (offset, value) in log {
            let producer = usize::try_from(value >> 40).unwrap();
            if !idempotent(producer) {
                continue;
            }
            let before = last.insert(producer, *value);
            if before.is_some_and(|b| b == *value) {
                self.broken(format!("[I3] {value:x} is there twice, at {at} {offset}"));
            } else if before.is_some_and(|b| b > *value) {
                self.broken(format!(
                    "[I6] {value:x} at {at} {offset} comes behind {:x}",
                    before.unwrap_or_default()
                ));
            } else if before.is_some_and(|b| b + 1 != *value) {
                self.broken(format!(
                    "[I6] {value:x} at {at} {offset} leaves a gap behind {:x}",
                    before.unwrap_or_default()
                ));
            }
        }
    }
}

/// Offsets and values of a batch.
pub(crate) fn records(batch: &batch::Batch) -> Vec<(Offset, Value)> {
    let records = batch.records();
    let read = records.map(|record| {
        let record = record.unwrap();
        let bytes = record.key.unwrap();
        let value = u64::from_be_bytes(*bytes.first_chunk().unwrap());
        (record.offset, value)
    });
    read.collect()
}

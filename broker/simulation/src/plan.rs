//! What a seed decides before anything happens: the cluster, its promise, and how rough it gets.

use crate::dice::Dice;

/// What a topic promises, and so which faults are fair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// `flush.messages=1`: no loss of power loses anything, not even everywhere at once.
    Synced,
    /// Two in-sync replicas that hold it in memory: one broker at a time may lose power.
    TwoInMemory,
    /// One in-sync replica that holds it in memory: processes may die, all of them, but no power is lost.
    OneInMemory,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) dice: Dice,
    pub(crate) nodes: usize,
    pub(crate) partitions: i32,
    pub(crate) promise: Promise,
    pub(crate) in_sync_min: usize,
    pub(crate) segment_bytes: u64,
    pub(crate) lag_max_ms: i64,
    pub(crate) sync_ms: i64,
    /// Microseconds that a message takes at most.
    pub(crate) delay_max_us: u64,
    /// Of a thousand messages between brokers, those that are lost with their connection.
    pub(crate) loss_per_mille: u64,
    /// Milliseconds between faults, about.
    pub(crate) fault_every_ms: u64,
    /// Milliseconds of faults, before everything is mended.
    pub(crate) rough_ms: u64,
    /// Milliseconds that each node's clock is ahead.
    pub(crate) skew_max_ms: u64,
}

impl Plan {
    pub(crate) fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let promise = match dice.roll(4) {
            0 => Promise::Synced,
            1 => Promise::OneInMemory,
            _ => Promise::TwoInMemory,
        };
        let in_sync_min = match promise {
            Promise::Synced => 1 + dice.index(2),
            Promise::OneInMemory => 1,
            Promise::TwoInMemory => 2,
        };
        Self {
            nodes: 3 + dice.index(3),
            partitions: if dice.chance(300) { 2 } else { 1 },
            promise,
            in_sync_min,
            segment_bytes: dice.one_of(&[4_096, 10_000, 40_000]).unwrap_or(10_000),
            lag_max_ms: dice.one_of(&[400, 1_000, 3_000]).unwrap_or(1_000),
            sync_ms: dice.one_of(&[20, 100]).unwrap_or(100),
            delay_max_us: dice.one_of(&[1_000, 10_000, 80_000]).unwrap_or(1_000),
            loss_per_mille: dice.one_of(&[0, 0, 5, 50]).unwrap_or(0),
            fault_every_ms: dice.one_of(&[150, 400, 1_000]).unwrap_or(400),
            rough_ms: dice.between(4_000, 12_000),
            skew_max_ms: dice.one_of(&[0, 50, 60_000]).unwrap_or(0),
            dice,
        }
    }
}

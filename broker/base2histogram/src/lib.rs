//! Takes the place of the crate of this name below openraft (`[patch.crates-io]` in the workspace), and counts nothing.
//!
//! openraft counts the sizes of its batches in histograms that only its feature `runtime-stats`, off here, can read. The
//! first of them makes the original build bucket tables for all sixteen precisions: 25 MB resident in each broker, half of
//! what an idle one holds. What is here has the names openraft compiles against; its percentiles are those of no samples.
//!
//! To be dropped once the original builds the one table it uses.

use std::fmt;
use std::marker::PhantomData;

/// A histogram that forgets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram<T = ()>(PhantomData<T>);

impl<T> Histogram<T> {
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    pub fn record(&mut self, _value: u64) {}

    pub fn record_n(&mut self, _value: u64, _count: u64) {}

    /// Always the percentiles of no samples.
    #[must_use]
    pub fn percentile_stats(&self) -> PercentileStats {
        PercentileStats::default()
    }
}

/// How many samples there were, and the value that so many per cent of them do not exceed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PercentileStats {
    pub samples: u64,
    pub p0_1: u64,
    pub p1: u64,
    pub p5: u64,
    pub p10: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p99_9: u64,
}

impl fmt::Display for PercentileStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[samples: {}]", self.samples)
    }
}

/// A chart of no histograms.
#[derive(Debug, Clone, Default)]
pub struct AsciiChart;

impl AsciiChart {
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    #[must_use]
    pub fn add<T>(self, _name: &str, _histogram: Histogram<T>) -> Self {
        self
    }
}

impl fmt::Display for AsciiChart {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

//! A bucket of tokens (KIP-599): bursts are taken from what was saved up, and may overdraw it once.

use super::Windows;

#[derive(Clone, Debug)]
pub struct Bucket {
    tokens: f64,
    at_ms: u64,
    /// Tokens a second, as last told.
    rate: f64,
}

impl Bucket {
    /// A full one.
    pub fn new(rate: f64, now_ms: u64, windows: Windows) -> Self {
        Self {
            tokens: capacity(rate, windows),
            at_ms: now_ms,
            rate,
        }
    }

    /// Takes tokens, more than there are if need be.
    pub fn take(&mut self, amount: f64, rate: f64, now_ms: u64, windows: Windows) {
        self.fill(rate, now_ms, windows);
        self.tokens -= amount;
    }

    /// Milliseconds until nothing is overdrawn any more.
    pub fn wait_ms(&mut self, rate: f64, now_ms: u64, windows: Windows) -> f64 {
        self.fill(rate, now_ms, windows);
        (-self.tokens).max(0.0) / rate * 1000.0
    }

    /// Whether it is as a new one would be.
    pub fn is_full(&self, now_ms: u64, windows: Windows) -> bool {
        self.tokens_at(now_ms) >= capacity(self.rate, windows)
    }

    fn fill(&mut self, rate: f64, now_ms: u64, windows: Windows) {
        self.rate = rate;
        self.tokens = self.tokens_at(now_ms).min(capacity(rate, windows));
        self.at_ms = self.at_ms.max(now_ms);
    }

    fn tokens_at(&self, now_ms: u64) -> f64 {
        self.tokens + self.rate * (now_ms.saturating_sub(self.at_ms) as f64 / 1000.0)
    }
}

/// What `rate` gives in all windows together.
fn capacity(rate: f64, windows: Windows) -> f64 {
    rate * windows.memory_ms() as f64 / 1000.0
}

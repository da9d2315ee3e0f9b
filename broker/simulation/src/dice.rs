//! The one source of chance of a run.

/// SplitMix64: small, quick, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds begin far from each other.
        let mut dice = Self(seed.wrapping_mul(0xa076_1d64_78bd_642f));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `sides` - 1; 0 where there are none.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.next().checked_rem(sides).unwrap_or(0)
    }

    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.roll(high.saturating_sub(low) + 1)
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.roll(len as u64)).unwrap_or(0)
    }

    /// True `per_mille` times in a thousand.
    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.roll(1000) < per_mille
    }

    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        of.get(self.index(of.len())).copied()
    }
}

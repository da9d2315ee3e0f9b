//! A rate over the last few windows.

use std::collections::VecDeque;

/// How long is looked back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// `quota.window.num`: windows, the one that is being filled among them.
    pub count: u32,
    /// `quota.window.size.seconds`, in milliseconds.
    pub size_ms: u64,
}

/// How much was used in each window.
#[derive(Clone, Debug, Default)]
pub struct Rate(VecDeque<Window>);

#[derive(Clone, Debug)]
struct Window {
    start_ms: u64,
    used: f64,
}

impl Windows {
    /// After so long nothing of a use is left.
    pub fn memory_ms(self) -> u64 {
        u64::from(self.count.max(1)) * self.size_ms.max(1)
    }
}

impl Rate {
    pub fn record(&mut self, amount: f64, now_ms: u64, windows: Windows) {
        self.forget(now_ms, windows);
        match self.0.back_mut() {
            Some(last) if now_ms.saturating_sub(last.start_ms) < windows.size_ms => {
                last.used += amount;
            }
            _ => self.0.push_back(Window {
                start_ms: now_ms,
                used: amount,
            }),
        }
    }

    /// Milliseconds in which the rate comes down to `bound` units a second when nothing more is used; 0
    /// when it is not above. As Kafka reckons it: a rate is over all windows but the last from the start
    /// on, however few of them there were yet.
    pub fn wait_ms(&mut self, bound: f64, now_ms: u64, windows: Windows) -> f64 {
        self.forget(now_ms, windows);
        let used: f64 = self.0.iter().map(|window| window.used).sum();
        let Some(oldest) = self.0.front() else {
            return 0.0;
        };
        let least_ms = u64::from(windows.count.saturating_sub(1)) * windows.size_ms;
        let since_ms = now_ms.saturating_sub(oldest.start_ms);
        // What there is of the window that is being filled counts beside the full ones.
        let missing = least_ms.saturating_sub(since_ms / windows.size_ms * windows.size_ms);
        let elapsed_ms = (since_ms + missing).max(windows.size_ms) as f64;
        let rate = used / (elapsed_ms / 1000.0);
        if rate <= bound {
            return 0.0;
        }
        (rate - bound) / bound * elapsed_ms
    }

    fn forget(&mut self, now_ms: u64, windows: Windows) {
        while let Some(oldest) = self.0.front()
            && now_ms.saturating_sub(oldest.start_ms) >= windows.memory_ms()
        {
            self.0.pop_front();
        }
    }
}

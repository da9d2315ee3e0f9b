//! How many messages may wait, how many bytes of them, and for how long.

use super::{Effect, Machine, Message, Overflow, Reason};

impl Machine {
    pub(super) fn would_overflow(&self, size: u32) -> bool {
        let over = |max: Option<u64>, expected: u64| max.is_some_and(|max| expected > max);
        over(self.config.length_max, self.ready.len() + 1)
            || over(
                self.config.length_bytes_max,
                self.ready.bytes() + u64::from(size),
            )
    }

    pub(super) fn expire(&mut self, now_ms: i64, effects: &mut Vec<Effect>) {
        self.expire_where(effects, |message| message.deadline_ms <= now_ms);
    }

    pub(super) fn expire_before(&mut self, now_ms: i64, effects: &mut Vec<Effect>) {
        self.expire_where(effects, |message| {
            message.deadline_ms <= now_ms && message.enqueued_ms != now_ms
        });
    }

    fn expire_where(&mut self, effects: &mut Vec<Effect>, dead: impl Fn(&Message) -> bool) {
        while let Some(message) = self.ready.pop_head_where(&dead) {
            effects.push(Effect::Died {
                position: message.position,
                reason: Reason::Expired,
            });
        }
    }

    pub(super) fn trim(&mut self, effects: &mut Vec<Effect>) {
        let length_max = self.config.length_max.unwrap_or(u64::MAX);
        let bytes_max = self.config.length_bytes_max.unwrap_or(u64::MAX);
        if self.config.overflow != Overflow::DropHead {
            return;
        }
        while self.ready.len() > length_max || self.ready.bytes() > bytes_max {
            let Some(message) = self.ready.pop() else {
                return;
            };
            effects.push(Effect::Died {
                position: message.position,
                reason: Reason::MaxLen,
            });
        }
    }
}

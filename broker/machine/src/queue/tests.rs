//! What a queue does, as RabbitMQ does it (its guides on queues, TTL, queue length, consumer
//! priorities, dead letters and quorum queues).
#![allow(clippy::unwrap_used)]

mod disuse;
mod limits;
mod returns;
mod serving;
mod windows;

use super::*;

const NOW: i64 = 1_000_000;

fn key(number: u32) -> ConsumerKey {
    ConsumerKey {
        broker: 0,
        session: 7,
        number,
    }
}

/// A queue and what it has said since last asked.
struct Scene {
    machine: Machine,
    effects: Vec<Effect>,
    now_ms: i64,
}

impl Scene {
    fn new(kind: Kind, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(kind);
        change(&mut config);
        Self {
            machine: Machine::new(config, NOW),
            effects: Vec::new(),
            now_ms: NOW,
        }
    }

    fn classic() -> Self {
        Self::new(Kind::Classic, |_| {})
    }

    fn quorum() -> Self {
        Self::new(Kind::Quorum, |_| {})
    }

    fn put(&mut self, positions: impl IntoIterator<Item = u64>) -> &mut Self {
        for position in positions {
            self.enqueue(position, None, None);
        }
        self
    }

    fn enqueue(&mut self, position: u64, ttl: Option<u64>, priority: Option<u8>) -> Enqueued {
        let effects = &mut self.effects;
        self.machine
            .enqueue(self.now_ms, position, 10, ttl, priority, effects)
    }

    fn attach(&mut self, number: u32, prefetch: u32) -> &mut Self {
        self.attach_with(number, prefetch, 0)
    }

    fn attach_with(&mut self, number: u32, prefetch: u32, priority: i32) -> &mut Self {
        let attach = Attach {
            key: key(number),
            exclusive: false,
            prefetch,
            window: 0,
            window_bytes: 0,
            priority,
        };
        self.machine
            .attach(self.now_ms, attach, &mut self.effects)
            .unwrap();
        self
    }

    fn settle(&mut self, number: u32, positions: &[u64], outcome: Outcome) -> &mut Self {
        let effects = &mut self.effects;
        self.machine
            .settle(self.now_ms, key(number), positions, outcome, effects);
        self
    }

    fn leave(&mut self, number: u32) -> &mut Self {
        let effects = &mut self.effects;
        self.machine.leave(self.now_ms, key(number), true, effects);
        self
    }

    fn cancel(&mut self, number: u32) -> &mut Self {
        let effects = &mut self.effects;
        self.machine.cancel(self.now_ms, key(number), effects);
        self
    }

    fn tick(&mut self, now_ms: i64) -> &mut Self {
        self.now_ms = now_ms;
        self.machine.tick(now_ms, &mut self.effects);
        self
    }

    /// Effects since the last look, short: `1<5` delivers 5 to consumer 1, `1<5r2` redelivered for the
    /// second time, `5ok` settled, `5!expired` died, `-1` cancelled, `unused`.
    #[track_caller]
    fn says(&mut self, expected: &str) -> &mut Self {
        let said = std::mem::take(&mut self.effects);
        let said: Vec<String> = said.iter().map(short).collect();
        assert_eq!(said.join(" "), expected);
        self
    }
}

fn short(effect: &Effect) -> String {
    match effect {
        Effect::Deliver {
            consumer,
            position,
            redelivered,
            delivery_count,
        } => {
            let again = match (redelivered, delivery_count) {
                (false, _) => String::new(),
                (true, 0) => "r".to_owned(),
                (true, count) => format!("r{count}"),
            };
            format!("{}<{position}{again}", consumer.number)
        }
        Effect::Settled { position } => format!("{position}ok"),
        Effect::Died { position, reason } => {
            format!("{position}!{}", format!("{reason:?}").to_lowercase())
        }
        Effect::Purged { positions } => format!("purged{positions:?}"),
        Effect::Cancelled { consumer } => format!("-{}", consumer.number),
        Effect::Unused => "unused".to_owned(),
    }
}

//! The machine against a naive model: a `Vec` per state, scanned for every question.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;

/// What each random walk does; printed with its seed when it fails.
#[derive(Clone, Debug)]
enum Step {
    Enqueue {
        ttl: Option<u64>,
        priority: u8,
    },
    Attach {
        consumer: u32,
        prefetch: u32,
        priority: i32,
    },
    Cancel {
        consumer: u32,
    },
    Leave {
        consumer: u32,
    },
    Settle {
        consumer: u32,
        nth: usize,
        outcome: Outcome,
    },
    Get {
        no_ack: bool,
    },
    Purge,
    Wait {
        ms: i64,
    },
    Snapshot,
}

#[derive(Clone, Debug)]
struct Ready {
    position: u64,
    priority: u8,
    deadline_ms: i64,
    enqueued_ms: i64,
    count: u32,
    redelivered: bool,
    /// Place among those that came back to a quorum queue.
    returned: Option<u64>,
}

#[derive(Clone, Debug)]
struct Held {
    consumer: u32,
    order: u64,
    message: Ready,
}

#[derive(Default)]
struct Model {
    ready: Vec<Ready>,
    held: Vec<Held>,
    /// Number, prefetch, priority; in turn.
    consumers: Vec<(u32, u32, i32)>,
    returns: u64,
    deliveries: u64,
    said: Vec<String>,
}

impl Model {
    fn head(&self) -> Option<usize> {
        let rank = |m: &Ready| match m.returned {
            Some(place) => (0, 0, place),
            None => (1, 255 - m.priority, m.position),
        };
        (0..self.ready.len()).min_by_key(|at| rank(&self.ready[*at]))
    }

    /// Heads: of the returned, and of each priority.
    fn heads(&self) -> Vec<usize> {
        let mut heads: BTreeMap<(u8, u8), (u64, usize)> = BTreeMap::new();
        for (at, message) in self.ready.iter().enumerate() {
            let (lane, place) = match message.returned {
                Some(place) => ((0, 0), place),
                None => ((1, 255 - message.priority), message.position),
            };
            let head = heads.entry(lane).or_insert((place, at));
            *head = (*head).min((place, at));
        }
        heads.into_values().map(|(_, at)| at).collect()
    }

    fn expire(&mut self, now: i64, spare_new: bool) {
        let dead = |m: &Ready| m.deadline_ms <= now && !(spare_new && m.enqueued_ms == now);
        while let Some(at) = self.heads().into_iter().find(|at| dead(&self.ready[*at])) {
            let message = self.ready.remove(at);
            self.said.push(format!("{}!expired", message.position));
        }
    }

    fn advance(&mut self, now: i64, length_max: Option<u64>) {
        while !self.ready.is_empty() {
            self.expire(now, true);
            let held = |number: u32| self.held.iter().filter(|h| h.consumer == number).count();
            let free = self
                .consumers
                .iter()
                .enumerate()
                .filter(|(_, (number, prefetch, _))| {
                    *prefetch == 0 || held(*number) < *prefetch as usize
                });
            let best = free.max_by_key(|(at, (_, _, priority))| (*priority, usize::MAX - at));
            let (Some((turn, _)), Some(at)) = (best, self.head()) else {
                break;
            };
            let message = self.ready.remove(at);
            let consumer = self.consumers.remove(turn);
            self.consumers.push(consumer);
            self.deliver(consumer.0, message);
        }
        self.expire(now, false);
        while length_max.is_some_and(|max| self.ready.len() as u64 > max) {
            let message = self.ready.remove(self.head().unwrap());
            self.said.push(format!("{}!maxlen", message.position));
        }
    }

    fn deliver(&mut self, consumer: u32, message: Ready) {
        self.said.push(format!(
            "{consumer}<{} {} {}",
            message.position, message.redelivered, message.count
        ));
        self.hold(consumer, message);
    }

    fn hold(&mut self, consumer: u32, message: Ready) {
        self.deliveries += 1;
        self.held.push(Held {
            consumer,
            order: self.deliveries,
            message,
        });
    }

    fn put_back(&mut self, mut message: Ready, config: &Config) {
        message.redelivered = true;
        message.returned = None;
        if config.kind == Kind::Quorum {
            message.count += 1;
            if message.count > config.delivery_limit.unwrap() {
                self.said
                    .push(format!("{}!deliverylimit", message.position));
                return;
            }
            self.returns += 1;
            message.returned = Some(self.returns);
        }
        self.ready.push(message);
    }
}

fn said(effects: &[Effect]) -> Vec<String> {
    let said = effects.iter().filter_map(|effect| match effect {
        Effect::Deliver {
            consumer,
            position,
            redelivered,
            delivery_count,
        } => Some(format!(
            "{}<{position} {redelivered} {delivery_count}",
            consumer.number
        )),
        Effect::Settled { position } => Some(format!("{position}ok")),
        Effect::Died { position, reason } => Some(format!(
            "{position}!{}",
            format!("{reason:?}").to_lowercase()
        )),
        Effect::Purged { positions } => Some(format!("purged {}", positions.len())),
        Effect::Cancelled { .. } | Effect::Unused => None,
    });
    said.collect()
}

/// xorshift64*: the walk depends on the seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    fn step(&mut self, next_consumer: &mut u32) -> Step {
        let consumer = 1 + self.below(u64::from(*next_consumer).max(1)) as u32;
        match self.below(20) {
            0..6 => Step::Enqueue {
                ttl: (self.below(3) == 0).then(|| self.below(30)),
                priority: self.below(4) as u8,
            },
            6..8 => {
                *next_consumer += 1;
                Step::Attach {
                    consumer: *next_consumer,
                    prefetch: self.below(4) as u32,
                    priority: self.below(2) as i32,
                }
            }
            8 => Step::Cancel { consumer },
            9 => Step::Leave { consumer },
            10..16 => Step::Settle {
                consumer,
                nth: self.below(4) as usize,
                outcome: match self.below(3) {
                    0 => Outcome::Ack,
                    1 => Outcome::Requeue,
                    _ => Outcome::Reject,
                },
            },
            16 => Step::Get {
                no_ack: self.below(2) == 0,
            },
            17 => match self.below(8) {
                0 => Step::Purge,
                _ => Step::Snapshot,
            },
            _ => Step::Wait {
                ms: self.below(20) as i64,
            },
        }
    }
}

fn key(number: u32) -> ConsumerKey {
    ConsumerKey {
        broker: 1,
        session: 1,
        number,
    }
}

const GETTER: u32 = 1_000_000;

fn walk(seed: u64, config: &Config, steps: usize) {
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(1));
    let mut machine = Machine::new(config.clone(), 0);
    let mut model = Model::default();
    let (mut now, mut position, mut consumers) = (1, 0, 0);
    let mut trace = Vec::new();
    for _ in 0..steps {
        let step = random.step(&mut consumers);
        trace.push(step.clone());
        let mut effects = Vec::new();
        model.said.clear();
        match step {
            Step::Enqueue { ttl, priority } => {
                position += 1;
                machine.enqueue(now, position, 5, ttl, Some(priority), &mut effects);
                model.ready.push(Ready {
                    position,
                    priority: priority.min(config.priorities),
                    deadline_ms: ttl.map_or(NEVER, |ttl| now + ttl as i64),
                    enqueued_ms: now,
                    count: 0,
                    redelivered: false,
                    returned: None,
                });
                model.advance(now, config.length_max);
            }
            Step::Attach {
                consumer,
                prefetch,
                priority,
            } => {
                let attach = Attach {
                    key: key(consumer),
                    exclusive: false,
                    prefetch,
                    window: 0,
                    window_bytes: 0,
                    priority,
                };
                machine.attach(now, attach, &mut effects).unwrap();
                model.consumers.push((consumer, prefetch, priority));
                model.advance(now, config.length_max);
            }
            Step::Cancel { consumer } => {
                machine.cancel(now, key(consumer), &mut effects);
                model.consumers.retain(|c| c.0 != consumer);
                model.advance(now, config.length_max);
            }
            Step::Leave { consumer } => {
                machine.leave(now, key(consumer), true, &mut effects);
                model.consumers.retain(|c| c.0 != consumer);
                let (mut left, held) = model
                    .held
                    .drain(..)
                    .partition::<Vec<_>, _>(|h| h.consumer == consumer);
                model.held = held;
                left.sort_by_key(|h| h.order);
                for held in left {
                    model.put_back(held.message, config);
                }
                model.advance(now, config.length_max);
            }
            Step::Settle {
                consumer,
                nth,
                outcome,
            } => {
                let mut holds = model
                    .held
                    .iter()
                    .enumerate()
                    .filter(|(_, h)| h.consumer == consumer);
                let Some((at, held)) = holds.nth(nth) else {
                    continue;
                };
                let position = held.message.position;
                // Out of credit and back in: the consumer goes to the end of its turn.
                let holding = model.held.iter().filter(|h| h.consumer == consumer).count();
                machine.settle(now, key(consumer), &[position], outcome, &mut effects);
                let held = model.held.remove(at);
                if let Some(turn) = model.consumers.iter().position(|c| c.0 == consumer) {
                    let (_, prefetch, _) = model.consumers[turn];
                    if prefetch > 0 && holding == prefetch as usize {
                        let again = model.consumers.remove(turn);
                        model.consumers.push(again);
                    }
                }
                match outcome {
                    Outcome::Ack => model.said.push(format!("{position}ok")),
                    Outcome::Reject => model.said.push(format!("{position}!rejected")),
                    Outcome::Requeue => model.put_back(held.message, config),
                }
                model.advance(now, config.length_max);
            }
            Step::Get { no_ack } => {
                let got = machine.get(now, key(GETTER), no_ack, &mut effects);
                model.expire(now, false);
                let at = model.head();
                assert_eq!(
                    got.map(|g| g.position),
                    at.map(|at| model.ready[at].position)
                );
                if let Some(at) = at {
                    let message = model.ready.remove(at);
                    if no_ack {
                        model.said.push(format!("{}ok", message.position));
                    } else {
                        model.hold(GETTER, message);
                    }
                }
            }
            Step::Purge => {
                let count = machine.purge(&mut effects);
                assert_eq!(count, model.ready.len() as u64);
                if count > 0 {
                    model.said.push(format!("purged {count}"));
                }
                model.ready.clear();
            }
            Step::Wait { ms } => {
                now += ms;
                machine.tick(now, &mut effects);
                model.advance(now, config.length_max);
            }
            Step::Snapshot => {
                let mut bytes = Vec::new();
                machine.encode(&mut bytes);
                let restored = Machine::decode(config.clone(), &mut bytes.as_slice()).unwrap();
                let mut again = Vec::new();
                restored.encode(&mut again);
                assert_eq!(again, bytes, "seed {seed}: {trace:#?}");
                for cut in (0..bytes.len()).step_by(101) {
                    // Cut short it may be a smaller queue or corrupt, never a panic.
                    drop(Machine::decode(config.clone(), &mut &bytes[..cut]));
                }
                machine = restored;
            }
        }
        assert_eq!(said(&effects), model.said, "seed {seed}: {trace:#?}");
        assert_eq!(machine.ready_len(), model.ready.len() as u64, "seed {seed}");
        assert_eq!(
            machine.unacked_len(),
            model.held.len() as u64,
            "seed {seed}"
        );
        assert_eq!(
            machine.ready_bytes(),
            5 * model.ready.len() as u64,
            "seed {seed}"
        );
    }
}

#[test]
fn classic_machine_does_what_the_model_does() {
    let mut config = Config::new(Kind::Classic);
    config.priorities = 2;
    for seed in 0..150 {
        walk(seed, &config, 200);
    }
    config.length_max = Some(3);
    for seed in 150..250 {
        walk(seed, &config, 200);
    }
}

#[test]
fn quorum_machine_does_what_the_model_does() {
    let mut config = Config::new(Kind::Quorum);
    config.delivery_limit = Some(2);
    for seed in 0..150 {
        walk(seed, &config, 200);
    }
}

//! An idempotent client as librdkafka is one: up to five batches are under way on one connection, in
//! order; after a failure it hears what becomes of them and then goes on from the first that is not
//! acknowledged. An acknowledgement counts for all batches before it.
//!
//! It must never hear that it is out of order or that its epoch is old: it has done nothing wrong.

use std::collections::VecDeque;

use super::*;

/// Values from here on are the client's, with the sequence added; each is a batch of its own.
pub(super) const CLIENT: u64 = 1 << 40;

const PRODUCER: i64 = 5;
const UNDER_WAY_MAX: usize = 5;

pub(super) struct Client {
    /// Sequences below are acknowledged.
    acknowledged: i32,
    next: i32,
    draining: bool,
    broker: i32,
    /// Oldest first.
    under_way: VecDeque<(i32, State)>,
    /// Sent on connections that are lost: broker and sequence. They may arrive yet, and nobody hears.
    adrift: VecDeque<(i32, i32)>,
}

enum State {
    Sent,
    Waiting(Token),
    Answered(bool),
}

impl Default for Client {
    fn default() -> Self {
        Self {
            acknowledged: 1,
            next: 1,
            draining: false,
            broker: BROKERS[0],
            under_way: VecDeque::new(),
            adrift: VecDeque::new(),
        }
    }
}

impl Client {
    pub(super) fn broker(&self) -> i32 {
        self.broker
    }

    pub(super) fn answered(&mut self, token: Token, ok: bool) {
        for (_, state) in &mut self.under_way {
            if matches!(state, State::Waiting(t) if *t == token) {
                *state = State::Answered(ok);
            }
        }
    }

    /// The connection is gone, if it is one to this broker.
    pub(super) fn lose(&mut self, broker: i32, dice: &mut Dice) {
        if broker != self.broker {
            return;
        }
        for (sequence, state) in self.under_way.drain(..) {
            if matches!(state, State::Sent) && dice.roll(2) == 0 {
                self.adrift.push_back((broker, sequence));
            }
        }
    }

    /// Sends nothing more.
    pub(super) fn end(&mut self) {
        self.under_way.clear();
        self.adrift.clear();
    }

    /// `log` has each of its records once, in order, and all that were acknowledged.
    pub(super) fn check(&self, log: impl Iterator<Item = u64>) {
        let mine: Vec<u64> = log.filter(|value| *value >= CLIENT).collect();
        let in_order: Vec<u64> = (CLIENT..).take(mine.len()).collect();
        assert_eq!(mine, in_order);
        assert!(mine.len() >= usize::try_from(self.acknowledged).unwrap());
    }

    fn hear(&mut self) {
        while let Some((sequence, State::Answered(ok))) = self.under_way.front() {
            if *ok {
                self.acknowledged = self.acknowledged.max(sequence + 1);
            } else {
                self.draining = true;
            }
            self.under_way.pop_front();
        }
    }
}

impl World {
    /// A little of everything that the client and its connection do.
    pub(super) fn client_steps(&mut self) {
        for _ in 0..=self.dice.roll(4) {
            match self.dice.roll(12) {
                0..4 => self.client_sends(),
                4..8 => self.client_arrives(),
                8..11 => self.client.hear(),
                _ => {
                    if let Some((broker, sequence)) = self.client.adrift.pop_front() {
                        self.offer(broker, sequence);
                    }
                }
            }
        }
    }

    fn client_sends(&mut self) {
        if self.client.under_way.is_empty() {
            let known = if self.dice.roll(4) == 0 {
                None
            } else {
                self.agreed.leader
            };
            self.client.broker = known.map_or_else(|| self.dice.one_of(&BROKERS), |l| l.0);
            self.client.draining = false;
            self.client.next = self.client.acknowledged;
        }
        let client = &mut self.client;
        if !client.draining && client.under_way.len() < UNDER_WAY_MAX {
            client.under_way.push_back((client.next, State::Sent));
            client.next += 1;
        }
    }

    fn client_arrives(&mut self) {
        let broker = self.client.broker;
        if !self.nodes[&broker].up {
            self.client.lose(broker, &mut self.dice);
            return;
        }
        let client = &self.client;
        let sent = |(_, state): &(i32, State)| matches!(state, State::Sent);
        let Some(at) = client.under_way.iter().position(sent) else {
            return;
        };
        let (sequence, token) = (client.under_way[at].0, self.asked.len() as Token);
        // Before the answer, which may come at once.
        self.client.under_way[at].1 = State::Waiting(token);
        if let Some(refusal) = self.offer(broker, sequence) {
            let is_its_fault = matches!(
                refusal,
                Refusal::OutOfOrder { .. } | Refusal::StaleProducer { .. }
            );
            assert!(!is_its_fault, "broker {broker} to {sequence}: {refusal}");
            self.client.answered(token, false);
        }
    }

    /// A batch comes to a broker, which may refuse it.
    fn offer(&mut self, broker: i32, sequence: i32) -> Option<Refusal> {
        let (now, token) = (self.now_ms, self.asked.len() as Token);
        let node = self.nodes.get_mut(&broker).unwrap();
        if !node.up {
            return None;
        }
        let value = CLIENT + u64::from(sequence.cast_unsigned());
        self.asked.insert(token, value);
        let batch = header(PRODUCER, 0, sequence, 1);
        match node
            .replica
            .admit(&batch, Ack::InSync, now, now + 500_000, token)
        {
            Admission::Refused(refusal) => return Some(refusal),
            Admission::Write { epoch, .. } => node.log.records.push((epoch.0, value)),
            Admission::Duplicate(_) => {}
        }
        let effects = node.replica.written(Offset(node.log.end()), now);
        self.act(broker, effects);
        None
    }
}

/// Shows `to` the batch of this value, if it is the client's.
pub(super) fn observe(value: u64, at: Offset, to: impl FnOnce(&Header)) {
    if let Some(sequence) = value.checked_sub(CLIENT) {
        let sequence = i32::try_from(sequence).unwrap();
        to(&Header {
            base_offset: at,
            ..header(PRODUCER, 0, sequence, 1)
        });
    }
}

/// What a log says of the client.
pub(super) fn recount(log: &Log) -> Producers {
    let mut producers = Producers::default();
    // No more is remembered of a producer, and building headers takes time.
    let all = log.records.iter().enumerate();
    let mine: Vec<_> = all.filter(|(_, (_, value))| *value >= CLIENT).collect();
    for (at, (_, value)) in mine.iter().skip(mine.len().saturating_sub(UNDER_WAY_MAX)) {
        observe(*value, Offset(*at as i64), |h| producers.observe(h));
    }
    producers
}

//! Consumers of one queue: who may get the next message, and who holds which.
//!
//! `waiting` has only those with credit, so a busy queue never scans the blocked ones. Within one
//! priority they take turns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::ready::Message;
use super::{Attach, ConsumerKey};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Consumers {
    by_key: BTreeMap<ConsumerKey, Consumer>,
    /// With credit, in turn, by priority.
    waiting: BTreeMap<Reverse<i32>, VecDeque<ConsumerKey>>,
    single_active: bool,
    /// The only one served when `single_active`.
    active: Option<ConsumerKey>,
    /// Orders attachments, for the succession of single active consumers.
    attached: u64,
    taken: u64,
    consuming: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Consumer {
    pub(super) attach: Attach,
    pub(super) state: State,
    pub(super) order: u64,
    /// Deliveries not settled, by position, with their place in the queue's delivery order.
    pub(super) taken: BTreeMap<u64, (u64, Message)>,
    pub(super) unwritten: u32,
    /// Sizes of those, in order, where a window in bytes is set beside one in deliveries.
    unwritten_sizes: VecDeque<u32>,
    /// What the window in bytes counts, where there is one.
    window_used: u64,
    waiting: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Consuming,
    /// A single active consumer that gives way once it holds nothing.
    Draining,
    /// Gets nothing more; holds what it holds. Also who only `get`s.
    Holding,
}

impl Consumer {
    pub(super) fn new(attach: Attach) -> Self {
        Self {
            attach,
            state: State::Consuming,
            order: 0,
            taken: BTreeMap::new(),
            unwritten: 0,
            unwritten_sizes: VecDeque::new(),
            window_used: 0,
            waiting: false,
        }
    }

    fn has_credit(&self) -> bool {
        let below = |max: u32, now: usize| max == 0 || now < max as usize;
        self.state == State::Consuming
            && below(self.attach.prefetch, self.taken.len())
            && below(self.attach.window, self.unwritten as usize)
            && (self.attach.window_bytes == 0 || self.window_used < self.attach.window_bytes)
    }

    fn count_in(&mut self, size: u32) {
        self.unwritten = self.unwritten.saturating_add(1);
        if self.attach.window_bytes > 0 {
            self.window_used += u64::from(size);
            if self.attach.window > 0 {
                self.unwritten_sizes.push_back(size);
            }
        }
    }

    fn count_written(&mut self, count: u32) {
        self.unwritten = self.unwritten.saturating_sub(count);
        let count = self.unwritten_sizes.len().min(count as usize);
        let sizes = self.unwritten_sizes.drain(..count).map(u64::from);
        self.window_used = self.window_used.saturating_sub(sizes.sum());
    }

    fn count_released(&mut self, size: u32) {
        if self.attach.window_bytes > 0 && self.attach.window == 0 {
            self.window_used = self.window_used.saturating_sub(u64::from(size));
        }
    }

    /// Whoever was told of deliveries may not have heard, and will not say that they are written.
    fn forget_unwritten(&mut self) {
        if self.attach.window > 0 {
            self.count_written(u32::MAX);
        }
    }
}

impl Consumers {
    pub(super) fn new(single_active: bool) -> Self {
        Self {
            by_key: BTreeMap::new(),
            waiting: BTreeMap::new(),
            single_active,
            active: None,
            attached: 0,
            taken: 0,
            consuming: 0,
        }
    }

    pub(super) fn taken_len(&self) -> u64 {
        self.taken
    }

    pub(super) fn active_len(&self) -> usize {
        self.consuming
    }

    pub(super) fn positions(&self) -> impl Iterator<Item = u64> + '_ {
        let consumers = self.by_key.values();
        consumers.flat_map(|consumer| consumer.taken.keys().copied())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Consumer, bool)> {
        let consumers = self.by_key.values();
        consumers.map(|consumer| (consumer, self.active == Some(consumer.attach.key)))
    }

    /// Consumers whose turn it is, in turn.
    pub(super) fn turns(&self) -> impl Iterator<Item = ConsumerKey> + '_ {
        self.waiting.values().flatten().copied()
    }

    pub(super) fn admits(&self, exclusive: bool) -> bool {
        let mut consuming = self.by_key.values().filter(|c| c.state != State::Holding);
        if exclusive {
            consuming.next().is_none()
        } else {
            !consuming.any(|consumer| consumer.attach.exclusive)
        }
    }

    /// `drains`: with a single active consumer, one of higher priority takes over once the current one
    /// holds nothing.
    pub(super) fn attach(&mut self, mut consumer: Consumer, drains: bool) {
        let key = consumer.attach.key;
        if self.by_key.contains_key(&key) {
            // The same attachment told twice.
            return;
        }
        self.attached += 1;
        consumer.order = self.attached;
        let priority = consumer.attach.priority;
        self.by_key.insert(key, consumer);
        self.consuming += 1;
        if !self.single_active {
            self.refresh(key);
            return;
        }
        match self.active.and_then(|active| self.by_key.get_mut(&active)) {
            None => self.succeed(),
            Some(active) if drains && priority > active.attach.priority => {
                active.state = State::Draining;
                let active = active.attach.key;
                self.refresh(active);
                self.settled(active);
            }
            Some(_) => {}
        }
    }

    /// Whether it was consuming.
    pub(super) fn cancel(&mut self, key: ConsumerKey) -> bool {
        let Some(consumer) = self.by_key.get_mut(&key) else {
            return false;
        };
        if consumer.state == State::Holding {
            return false;
        }
        consumer.state = State::Holding;
        let empty = consumer.taken.is_empty();
        self.consuming -= 1;
        self.refresh(key);
        if empty {
            self.by_key.remove(&key);
        }
        self.resign(key);
        true
    }

    /// Whether it was consuming, and what it held.
    pub(super) fn remove(&mut self, key: ConsumerKey) -> (bool, Vec<(u64, Message)>) {
        let was_active = self.cancel(key);
        let Some(consumer) = self.by_key.remove(&key) else {
            return (was_active, Vec::new());
        };
        self.taken -= consumer.taken.len() as u64;
        (was_active, consumer.taken.into_values().collect())
    }

    /// Whose turn it is; taking a message for it is the caller's next step.
    pub(super) fn next(&mut self) -> Option<ConsumerKey> {
        let mut turns = self.waiting.values();
        turns.find_map(|turn| turn.front().copied())
    }

    /// `key` now holds `message`. A key that is not attached becomes one that only holds.
    pub(super) fn hold(&mut self, key: ConsumerKey, delivery: u64, message: Message) {
        let consumer = self.by_key.entry(key).or_insert_with(|| Consumer {
            state: State::Holding,
            ..Consumer::new(Attach {
                key,
                exclusive: false,
                prefetch: 0,
                window: 0,
                window_bytes: 0,
                priority: 0,
            })
        });
        let size = message.size;
        consumer.taken.insert(message.position, (delivery, message));
        self.taken += 1;
        if consumer.state != State::Holding {
            consumer.count_in(size);
            self.take_turn(key);
        }
    }

    pub(super) fn release(&mut self, key: ConsumerKey, position: u64) -> Option<Message> {
        let consumer = self.by_key.get_mut(&key)?;
        let (_, message) = consumer.taken.remove(&position)?;
        consumer.count_released(message.size);
        self.taken -= 1;
        Some(message)
    }

    pub(super) fn is_consuming(&self, key: ConsumerKey) -> bool {
        let consumer = self.by_key.get(&key);
        consumer.is_some_and(|consumer| consumer.state != State::Holding)
    }

    /// Takes away what `key` holds but for `held`.
    pub(super) fn lost(&mut self, key: ConsumerKey, held: &[u64]) -> Vec<(u64, Message)> {
        let Some(consumer) = self.by_key.get_mut(&key) else {
            return Vec::new();
        };
        let held: BTreeSet<u64> = held.iter().copied().collect();
        let (kept, lost) = std::mem::take(&mut consumer.taken)
            .into_iter()
            .partition(|(position, _)| held.contains(position));
        consumer.taken = kept;
        let lost: BTreeMap<u64, (u64, Message)> = lost;
        for (_, message) in lost.values() {
            consumer.count_released(message.size);
        }
        consumer.forget_unwritten();
        self.taken -= lost.len() as u64;
        lost.into_values().collect()
    }

    /// After releases: credit may be back, a holder may be done, a draining one may give way.
    pub(super) fn settled(&mut self, key: ConsumerKey) {
        let Some(consumer) = self.by_key.get_mut(&key) else {
            return;
        };
        let empty = consumer.taken.is_empty();
        match consumer.state {
            State::Consuming => self.refresh(key),
            State::Holding if empty => {
                self.by_key.remove(&key);
            }
            State::Draining if empty => {
                consumer.state = State::Consuming;
                self.resign(key);
            }
            State::Holding | State::Draining => {}
        }
    }

    pub(super) fn written(&mut self, key: ConsumerKey, count: u32) {
        if let Some(consumer) = self.by_key.get_mut(&key) {
            consumer.count_written(count);
            self.refresh(key);
        }
    }

    /// Puts a consumer back as a snapshot has it.
    pub(super) fn restore(&mut self, consumer: Consumer, active: bool) {
        let key = consumer.attach.key;
        self.taken += consumer.taken.len() as u64;
        self.consuming += usize::from(consumer.state != State::Holding);
        self.attached = self.attached.max(consumer.order);
        if active {
            self.active = Some(key);
        }
        self.by_key.insert(key, consumer);
    }

    pub(super) fn restore_turn(&mut self, key: ConsumerKey) {
        self.refresh(key);
    }

    /// The single active consumer stops being it: the next by priority, then by age.
    fn resign(&mut self, key: ConsumerKey) {
        if self.active == Some(key) {
            self.active = None;
            self.refresh(key);
            self.succeed();
        }
    }

    fn succeed(&mut self) {
        if !self.single_active {
            return;
        }
        let consuming = self.by_key.values().filter(|c| c.state == State::Consuming);
        let next = consuming.min_by_key(|c| (Reverse(c.attach.priority), c.order));
        self.active = next.map(|consumer| consumer.attach.key);
        if let Some(active) = self.active {
            self.refresh(active);
        }
    }

    /// Has got a message: to the end of its turn, or out of it without credit.
    fn take_turn(&mut self, key: ConsumerKey) {
        let Some(consumer) = self.by_key.get_mut(&key) else {
            return;
        };
        let Some(turn) = self.waiting.get_mut(&Reverse(consumer.attach.priority)) else {
            return;
        };
        if turn.front() == Some(&key) {
            turn.pop_front();
            if consumer.has_credit() {
                turn.push_back(key);
            } else {
                consumer.waiting = false;
            }
            if turn.is_empty() {
                self.waiting.remove(&Reverse(consumer.attach.priority));
            }
        }
    }

    /// Brings `waiting` in line with whether the consumer may be served.
    fn refresh(&mut self, key: ConsumerKey) {
        let Some(consumer) = self.by_key.get_mut(&key) else {
            return;
        };
        let served = !self.single_active || self.active == Some(key);
        let may = served && consumer.has_credit();
        if may == consumer.waiting {
            return;
        }
        consumer.waiting = may;
        let priority = Reverse(consumer.attach.priority);
        let turn = self.waiting.entry(priority).or_default();
        if may {
            turn.push_back(key);
        } else {
            turn.retain(|waiting| *waiting != key);
            if turn.is_empty() {
                self.waiting.remove(&priority);
            }
        }
    }
}

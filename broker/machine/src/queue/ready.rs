//! Ready messages in the order they are delivered: 16 bytes for one that was never delivered.
//!
//! First `front` (returned to a quorum queue, in return order), then the lanes from the highest priority
//! down. In a lane, what came back to its original place precedes what was never delivered: it was taken
//! from the head.

use std::collections::{BTreeMap, VecDeque};

/// A deadline that never comes.
pub const NEVER: i64 = i64::MAX;

/// A message in full, as consumers hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub position: u64,
    /// Bytes, properties included.
    pub size: u32,
    pub enqueued_ms: i64,
    /// [`NEVER`] without TTL. A requeue keeps it.
    pub deadline_ms: i64,
    pub priority: u8,
    pub delivery_count: u32,
    pub redelivered: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ready {
    front: VecDeque<Message>,
    /// By priority. Lanes appear with their first message and stay.
    lanes: BTreeMap<u8, Lane>,
    priority_max: u8,
    len: u64,
    bytes: u64,
    /// Messages with a TTL, so that queues without any never look for the expired.
    mortal: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Lane {
    returned: BTreeMap<u64, Message>,
    fresh: VecDeque<Slot>,
    /// When the fresh ones came in: runs of (count, time), since many come in one moment.
    times: VecDeque<(u32, i64)>,
    /// Fresh ones that a [`Slot`] cannot hold.
    exact: BTreeMap<u64, Message>,
}

/// A fresh message.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    position: u64,
    size: u32,
    /// Milliseconds, [`NO_TTL`], or [`IN_EXACT`].
    ttl: u32,
}

/// Capacity that an empty lane keeps, so that a busy short queue does not allocate.
const KEPT_SLOTS: usize = 1_024;

/// What a backlog costs in memory, per message.
#[cfg(test)]
pub(super) const SLOT_BYTES: usize = size_of::<Slot>();

const NO_TTL: u32 = u32::MAX;
const IN_EXACT: u32 = u32::MAX - 1;

impl Ready {
    pub(super) fn new(priority_max: u8) -> Self {
        Self {
            front: VecDeque::new(),
            lanes: BTreeMap::new(),
            priority_max,
            len: 0,
            bytes: 0,
            mortal: 0,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A message that was never delivered (or, restored, may have been).
    pub(super) fn push(&mut self, message: Message) {
        self.count_in(&message);
        self.lane(message.priority).push(message);
    }

    /// Back to its original place.
    pub(super) fn put_back(&mut self, message: Message) {
        self.count_in(&message);
        let lane = self.lane(message.priority);
        lane.returned.insert(message.position, message);
    }

    /// Behind what came back before, ahead of everything else.
    pub(super) fn put_first(&mut self, message: Message) {
        self.count_in(&message);
        self.front.push_back(message);
    }

    /// Behind everything of its priority.
    pub(super) fn put_last(&mut self, message: Message) {
        self.count_in(&message);
        self.lane(message.priority).push(message);
    }

    pub(super) fn pop(&mut self) -> Option<Message> {
        let popped = match self.front.pop_front() {
            Some(message) => Some(message),
            None => self
                .lanes
                .iter_mut()
                .rev()
                .find_map(|(of, lane)| lane.pop(*of)),
        };
        popped.inspect(|message| self.count_out(message))
    }

    /// Takes a message out that was pushed and not taken since. Whether it was there.
    pub(super) fn withdraw(&mut self, position: u64) -> bool {
        let mut lanes = self.lanes.iter_mut();
        let withdrawn = lanes.find_map(|(of, lane)| lane.withdraw(position, *of));
        if let Some(message) = &withdrawn {
            self.count_out(message);
        }
        withdrawn.is_some()
    }

    /// The first head that `dead` says yes to, taken out.
    pub(super) fn pop_head_where(&mut self, dead: impl Fn(&Message) -> bool) -> Option<Message> {
        if self.mortal == 0 {
            return None;
        }
        let popped = if self.front.front().is_some_and(&dead) {
            self.front.pop_front()
        } else {
            let mut lanes = self.lanes.iter_mut().rev();
            lanes.find_map(|(of, lane)| {
                let head = lane.head(*of)?;
                if dead(&head) { lane.pop(*of) } else { None }
            })
        };
        popped.inspect(|message| self.count_out(message))
    }

    pub(super) fn next_deadline_ms(&self) -> i64 {
        if self.mortal == 0 {
            return NEVER;
        }
        self.heads()
            .map(|head| head.deadline_ms)
            .min()
            .unwrap_or(NEVER)
    }

    pub(super) fn oldest_ms(&self) -> Option<i64> {
        self.heads().map(|head| head.enqueued_ms).min()
    }

    pub(super) fn positions(&self) -> impl Iterator<Item = u64> + '_ {
        let front = self.front.iter().map(|message| message.position);
        let lanes = self.lanes.values().rev().flat_map(|lane| {
            let fresh = lane.fresh.iter().map(|slot| slot.position);
            lane.returned.keys().copied().chain(fresh)
        });
        front.chain(lanes)
    }

    /// Everything with where it waits, in the order of delivery.
    pub(super) fn messages(&self) -> impl Iterator<Item = (Place, Message)> + '_ {
        let front = self.front.iter().map(|message| (Place::Front, *message));
        let lanes = self.lanes.iter().rev().flat_map(|(of, lane)| {
            let returned = lane.returned.values();
            let returned = returned.map(|message| (Place::Returned, *message));
            returned.chain(
                lane.fresh_messages(*of)
                    .map(|message| (Place::Fresh, message)),
            )
        });
        front.chain(lanes)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.priority_max);
    }

    fn heads(&self) -> impl Iterator<Item = Message> + '_ {
        let lanes = self.lanes.iter().filter_map(|(of, lane)| lane.head(*of));
        self.front.front().copied().into_iter().chain(lanes)
    }

    fn lane(&mut self, priority: u8) -> &mut Lane {
        self.lanes
            .entry(priority.min(self.priority_max))
            .or_default()
    }

    fn count_in(&mut self, message: &Message) {
        self.len += 1;
        self.bytes += u64::from(message.size);
        self.mortal += u64::from(message.deadline_ms != NEVER);
    }

    fn count_out(&mut self, message: &Message) {
        self.len -= 1;
        self.bytes -= u64::from(message.size);
        self.mortal -= u64::from(message.deadline_ms != NEVER);
    }
}

/// Where a ready message waits; a snapshot keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Front,
    Returned,
    Fresh,
}

impl Lane {
    fn push(&mut self, message: Message) {
        let ttl = if message.deadline_ms == NEVER {
            Some(NO_TTL)
        } else {
            let ttl = message.deadline_ms.checked_sub(message.enqueued_ms);
            let ttl = ttl.and_then(|ttl| u32::try_from(ttl).ok());
            ttl.filter(|ttl| *ttl < IN_EXACT)
        };
        let plain = !message.redelivered && message.delivery_count == 0;
        let ttl = ttl.filter(|_| plain).unwrap_or(IN_EXACT);
        if ttl == IN_EXACT {
            self.exact.insert(message.position, message);
        }
        self.fresh.push_back(Slot {
            position: message.position,
            size: message.size,
            ttl,
        });
        match self.times.back_mut() {
            Some((count, time)) if *time == message.enqueued_ms && *count < u32::MAX => *count += 1,
            _ => self.times.push_back((1, message.enqueued_ms)),
        }
    }

    fn pop(&mut self, priority: u8) -> Option<Message> {
        if let Some((_, message)) = self.returned.pop_first() {
            return Some(message);
        }
        let message = self.head(priority)?;
        let slot = self.fresh.pop_front()?;
        if slot.ttl == IN_EXACT {
            self.exact.remove(&slot.position);
        }
        if let Some((count, _)) = self.times.front_mut() {
            *count -= 1;
            if *count == 0 {
                self.times.pop_front();
            }
        }
        if self.fresh.is_empty() && self.fresh.capacity() > KEPT_SLOTS {
            // A backlog that was drained gives its memory back.
            self.fresh = VecDeque::new();
        }
        Some(message)
    }

    /// Positions of a lane ascend where this is asked.
    fn withdraw(&mut self, position: u64, priority: u8) -> Option<Message> {
        let found = self.fresh.binary_search_by_key(&position, |s| s.position);
        let at = found.ok()?;
        // Newest first: it is one of the last.
        let mut behind = u32::try_from(self.fresh.len() - at - 1).unwrap_or(u32::MAX);
        let run = self.times.iter_mut().rev().find(|(count, _)| {
            let here = behind < *count;
            if !here {
                behind -= *count;
            }
            here
        });
        let (count, enqueued_ms) = run?;
        *count -= 1;
        let (emptied, enqueued_ms) = (*count == 0, *enqueued_ms);
        if emptied {
            self.times.retain(|(count, _)| *count > 0);
        }
        let slot = self.fresh.remove(at)?;
        let message = self.full(slot, enqueued_ms, priority);
        if slot.ttl == IN_EXACT {
            self.exact.remove(&slot.position);
        }
        Some(message)
    }

    fn head(&self, priority: u8) -> Option<Message> {
        if let Some((_, message)) = self.returned.first_key_value() {
            return Some(*message);
        }
        let slot = self.fresh.front()?;
        let (_, enqueued_ms) = self.times.front()?;
        Some(self.full(*slot, *enqueued_ms, priority))
    }

    fn full(&self, slot: Slot, enqueued_ms: i64, priority: u8) -> Message {
        if slot.ttl == IN_EXACT
            && let Some(message) = self.exact.get(&slot.position)
        {
            return *message;
        }
        Message {
            position: slot.position,
            size: slot.size,
            enqueued_ms,
            deadline_ms: match slot.ttl {
                NO_TTL => NEVER,
                ttl => enqueued_ms.saturating_add(i64::from(ttl)),
            },
            priority,
            delivery_count: 0,
            redelivered: false,
        }
    }

    fn fresh_messages(&self, priority: u8) -> impl Iterator<Item = Message> + '_ {
        let times = self.times.iter();
        let times = times.flat_map(|(count, time)| (0..*count).map(|_| *time));
        let slots = self.fresh.iter().zip(times);
        slots.map(move |(slot, time)| self.full(*slot, time, priority))
    }
}

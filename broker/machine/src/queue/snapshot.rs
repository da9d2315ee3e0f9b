//! A queue as bytes, for the snapshot of its shard. Version 1:
//!
//! ```text
//! u8 version, varint deliveries, i64 used_at, u8 had_consumer,
//! varint n, n x (u8 place, message),
//! varint n, n x consumer, varint n, n x key in turn
//! ```
//! Numbers are LEB128 varints; times zig-zag.

use super::consumers::{Consumer, State};
use super::ready::{Message, Place};
use super::{Attach, Config, ConsumerKey, Machine};

const VERSION: u8 = 1;

/// The bytes are not a snapshot of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("snapshot of a queue is corrupt")]
pub struct Corrupt;

impl Machine {
    /// Everything but the config, which comes from the metadata image.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        put(out, self.deliveries);
        put_signed(out, self.disuse.used_at_ms);
        out.push(u8::from(self.disuse.had_consumer));
        put(out, self.ready.len());
        for (place, message) in self.ready.messages() {
            out.push(match place {
                Place::Front => 0,
                Place::Returned => 1,
                Place::Fresh => 2,
            });
            put_message(out, &message);
        }
        put(out, self.consumers.iter().count() as u64);
        for (consumer, active) in self.consumers.iter() {
            put_consumer(out, consumer, active);
        }
        put(out, self.consumers.turns().count() as u64);
        for key in self.consumers.turns() {
            put_key(out, key);
        }
    }

    /// Takes one queue off the front of `bytes`.
    pub fn decode(config: Config, bytes: &mut &[u8]) -> Result<Self, Corrupt> {
        if byte(bytes)? != VERSION {
            return Err(Corrupt);
        }
        let mut machine = Self::new(config, 0);
        machine.deliveries = take(bytes)?;
        machine.disuse.used_at_ms = take_signed(bytes)?;
        machine.disuse.had_consumer = byte(bytes)? != 0;
        for _ in 0..take(bytes)? {
            let place = byte(bytes)?;
            let message = take_message(bytes)?;
            match place {
                0 => machine.ready.put_first(message),
                1 => machine.ready.put_back(message),
                2 => machine.ready.push(message),
                _ => return Err(Corrupt),
            }
        }
        for _ in 0..take(bytes)? {
            let (consumer, active) = take_consumer(bytes)?;
            machine.consumers.restore(consumer, active);
        }
        for _ in 0..take(bytes)? {
            let key = take_key(bytes)?;
            machine.consumers.restore_turn(key);
        }
        Ok(machine)
    }
}

fn put_message(out: &mut Vec<u8>, message: &Message) {
    put(out, message.position);
    put(out, u64::from(message.size));
    put_signed(out, message.enqueued_ms);
    put_signed(out, message.deadline_ms);
    out.push(message.priority);
    put(out, u64::from(message.delivery_count));
    out.push(u8::from(message.redelivered));
}

fn take_message(bytes: &mut &[u8]) -> Result<Message, Corrupt> {
    Ok(Message {
        position: take(bytes)?,
        size: take_u32(bytes)?,
        enqueued_ms: take_signed(bytes)?,
        deadline_ms: take_signed(bytes)?,
        priority: byte(bytes)?,
        delivery_count: take_u32(bytes)?,
        redelivered: byte(bytes)? != 0,
    })
}

fn put_consumer(out: &mut Vec<u8>, consumer: &Consumer, active: bool) {
    put_key(out, consumer.attach.key);
    out.push(u8::from(consumer.attach.exclusive));
    put(out, u64::from(consumer.attach.prefetch));
    put(out, u64::from(consumer.attach.window));
    put_signed(out, i64::from(consumer.attach.priority));
    out.push(match consumer.state {
        State::Consuming => 0,
        State::Draining => 1,
        State::Holding => 2,
    });
    out.push(u8::from(active));
    put(out, consumer.order);
    put(out, u64::from(consumer.unwritten));
    put(out, consumer.taken.len() as u64);
    for (delivery, message) in consumer.taken.values() {
        put(out, *delivery);
        put_message(out, message);
    }
}

fn take_consumer(bytes: &mut &[u8]) -> Result<(Consumer, bool), Corrupt> {
    let mut consumer = Consumer::new(Attach {
        key: take_key(bytes)?,
        exclusive: byte(bytes)? != 0,
        prefetch: take_u32(bytes)?,
        window: take_u32(bytes)?,
        // Of classic queues, which have no snapshots.
        window_bytes: 0,
        priority: i32::try_from(take_signed(bytes)?).map_err(|_| Corrupt)?,
    });
    consumer.state = match byte(bytes)? {
        0 => State::Consuming,
        1 => State::Draining,
        2 => State::Holding,
        _ => return Err(Corrupt),
    };
    let active = byte(bytes)? != 0;
    consumer.order = take(bytes)?;
    consumer.unwritten = take_u32(bytes)?;
    for _ in 0..take(bytes)? {
        let delivery = take(bytes)?;
        let message = take_message(bytes)?;
        consumer.taken.insert(message.position, (delivery, message));
    }
    Ok((consumer, active))
}

fn put_key(out: &mut Vec<u8>, key: ConsumerKey) {
    put_signed(out, i64::from(key.broker));
    put(out, key.session);
    put(out, u64::from(key.number));
}

fn take_key(bytes: &mut &[u8]) -> Result<ConsumerKey, Corrupt> {
    Ok(ConsumerKey {
        broker: i32::try_from(take_signed(bytes)?).map_err(|_| Corrupt)?,
        session: take(bytes)?,
        number: take_u32(bytes)?,
    })
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

fn byte(bytes: &mut &[u8]) -> Result<u8, Corrupt> {
    let (first, rest) = bytes.split_first().ok_or(Corrupt)?;
    *bytes = rest;
    Ok(*first)
}

fn take(bytes: &mut &[u8]) -> Result<u64, Corrupt> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let next = byte(bytes)?;
        number |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return Ok(number);
        }
    }
    Err(Corrupt)
}

fn take_signed(bytes: &mut &[u8]) -> Result<i64, Corrupt> {
    let number = take(bytes)?;
    Ok((number >> 1) as i64 ^ -((number & 1) as i64))
}

fn take_u32(bytes: &mut &[u8]) -> Result<u32, Corrupt> {
    u32::try_from(take(bytes)?).map_err(|_| Corrupt)
}

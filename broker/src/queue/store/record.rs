//! What a queue's log holds: a message (key: kind 0 and envelope, value: body) or a settlement (key:
//! kind 1 and positions).

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use model::batch::{Builder, Record};

use super::offset;
use crate::queue::message::Message;
use crate::queue::protocol::codec::{self, Malformed};

/// A batch is closed beyond this, so that reading one message back does not read much more.
const BATCH_BYTES_MAX: usize = 64 << 10;
/// Positions of one settlement record.
pub(super) const SETTLED_MAX: usize = 8_192;

const MESSAGE: u8 = 0;
const SETTLED: u8 = 1;

/// A message that the log shall hold.
pub(super) struct Unwritten {
    /// Its place there.
    pub(super) at: u64,
    pub(super) time_ms: i64,
    pub(super) message: Arc<Message>,
}

pub(super) enum Entry {
    Message(Message),
    Settled(Vec<u64>),
}

impl Entry {
    pub(super) fn parse(record: &Record) -> Result<Self, Malformed> {
        let mut key = record.key.clone().unwrap_or_default();
        match key.try_get_u8() {
            Ok(MESSAGE) => {
                let mut message = codec::message::envelope(&mut key)?;
                message.body = record.value.clone().unwrap_or_default();
                Ok(Self::Message(message))
            }
            Ok(SETTLED) => Ok(Self::Settled(codec::positions(&mut key)?)),
            _ => Err(Malformed),
        }
    }
}

/// Batches of one append: neighbours share one while it is small.
#[derive(Default)]
pub(super) struct Batches {
    done: Vec<Bytes>,
    builder: Builder,
    /// Place behind the last message.
    expected: Option<u64>,
    key: BytesMut,
}

impl Batches {
    /// Places ascend.
    pub(super) fn message(&mut self, unwritten: &Unwritten) {
        if self.expected != Some(unwritten.at) || self.builder.size_bytes() > BATCH_BYTES_MAX {
            self.end_batch(unwritten.at);
        }
        self.key.clear();
        self.key.put_u8(MESSAGE);
        codec::message::put_envelope(&mut self.key, &unwritten.message);
        let body = &unwritten.message.body;
        self.builder
            .push(unwritten.time_ms, Some(&self.key), Some(body));
        self.expected = Some(unwritten.at + 1);
    }

    /// Behind all messages.
    pub(super) fn settled(&mut self, at: u64, positions: &[u64]) {
        self.end_batch(at);
        self.key.clear();
        self.key.put_u8(SETTLED);
        codec::put_positions(&mut self.key, positions);
        self.builder.push(0, Some(&self.key), None);
        self.expected = None;
    }

    fn end_batch(&mut self, next: u64) {
        let builder = std::mem::replace(&mut self.builder, Builder::new(offset(next)));
        self.done.extend(builder.build());
    }

    pub(super) fn build(mut self) -> Vec<Bytes> {
        self.done.extend(self.builder.build());
        self.done
    }
}

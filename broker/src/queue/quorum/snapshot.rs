//! A shard's state as bytes. Version 1: next position, origins with their last reply, queues with their
//! machines, bodies by position. Version 2: the ids of deleted queues after the origins.

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use machine::metadata::image::{Queue, QueueKind};
use machine::queue::{Config, Kind, Machine};
use model::{BrokerId, ShardId};

use super::{Hosted, Last, State};
use crate::queue::metrics::Labels;
use crate::queue::protocol::codec::{self, Malformed};

const VERSION: u8 = 2;
/// Bodies gathered before they are written out.
const CHUNK_BYTES: usize = 256 << 10;

pub(super) fn write(state: &State, to: &mut dyn Write) -> io::Result<()> {
    let mut out = BytesMut::new();
    out.put_u8(VERSION);
    codec::put_uint(&mut out, state.next);
    codec::put_uint(&mut out, state.origins.len() as u64);
    for (broker, last) in &state.origins {
        out.put_i32(broker.0);
        out.put_u64(last.boot);
        codec::put_uint(&mut out, last.seq);
        codec::put_bytes(&mut out, &last.reply);
    }
    codec::put_uint(&mut out, state.removed.len() as u64);
    for id in &state.removed {
        codec::put_uint(&mut out, *id);
    }
    codec::put_uint(&mut out, state.queues.len() as u64);
    for (id, hosted) in &state.queues {
        codec::put_uint(&mut out, *id);
        codec::put_bytes(&mut out, hosted.queue.vhost.as_bytes());
        codec::put_bytes(&mut out, hosted.queue.name.as_bytes());
        let arguments = serde_json::to_vec(&hosted.queue.arguments)?;
        codec::put_bytes(&mut out, &arguments);
        let mut machine = Vec::new();
        hosted.machine.encode(&mut machine);
        codec::put_bytes(&mut out, &machine);
    }
    codec::put_uint(&mut out, state.bodies.len() as u64);
    for (position, message) in state.bodies.iter() {
        codec::put_uint(&mut out, *position);
        codec::message::put_message(&mut out, message);
        if out.len() > CHUNK_BYTES {
            to.write_all(&out)?;
            out.clear();
        }
    }
    to.write_all(&out)
}

pub(super) fn read(shard: ShardId, from: &mut dyn Read) -> io::Result<State> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    parse(shard, Bytes::from(bytes))
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn parse(shard: ShardId, mut input: Bytes) -> Result<State, Malformed> {
    let version = codec::byte(&mut input)?;
    if !(1..=VERSION).contains(&version) {
        return Err(Malformed);
    }
    let mut state = State {
        next: codec::uint(&mut input)?,
        ..State::default()
    };
    for _ in 0..codec::count(&mut input)? {
        let broker = BrokerId(input.try_get_i32().map_err(|_| Malformed)?);
        let last = Last {
            boot: input.try_get_u64().map_err(|_| Malformed)?,
            seq: codec::uint(&mut input)?,
            reply: codec::bytes(&mut input)?,
        };
        state.origins.insert(broker, last);
    }
    if version >= 2 {
        for _ in 0..codec::count(&mut input)? {
            state.removed.insert(codec::uint(&mut input)?);
        }
    }
    for _ in 0..codec::count(&mut input)? {
        let id = codec::uint(&mut input)?;
        let vhost = text(&mut input)?;
        let name = text(&mut input)?;
        let arguments = codec::bytes(&mut input)?;
        let arguments = serde_json::from_slice(&arguments).map_err(|_| Malformed)?;
        let config = Config::from_arguments(Kind::Quorum, &arguments)
            .unwrap_or_else(|_| Config::new(Kind::Quorum));
        let machine = codec::bytes(&mut input)?;
        let machine = Machine::decode(config, &mut &machine[..]).map_err(|_| Malformed)?;
        let queue = Arc::new(Queue {
            vhost,
            name,
            id,
            kind: QueueKind::Quorum { shard },
            durable: true,
            auto_delete: false,
            exclusive: None,
            arguments,
        });
        let hosted = Hosted {
            labels: Labels::of(&queue),
            queue,
            machine,
        };
        state.queues.insert(id, hosted);
    }
    for _ in 0..codec::count(&mut input)? {
        let position = codec::uint(&mut input)?;
        let message = codec::message::message(&mut input)?;
        state.bodies.insert(position, Arc::new(message));
    }
    Ok(state)
}

fn text(input: &mut Bytes) -> Result<Arc<str>, Malformed> {
    let bytes = codec::bytes(input)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Malformed)?;
    Ok(text.into())
}

//! What is written to a shard's Raft log. The first byte says which, and so leaves room for versions.

use bytes::{BufMut, Bytes, BytesMut};
use machine::value::Table;
use model::BrokerId;

use crate::queue::protocol::codec::{self, Malformed};
use crate::queue::protocol::{QueueId, Request};

/// Who sends a batch: one broker in one life, numbering its batches to this shard from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) broker: BrokerId,
    /// Drawn when the broker's process starts.
    pub(crate) boot: u64,
    pub(crate) seq: u64,
}

/// By session number.
pub(crate) type Batches = Vec<(u64, Vec<Request>)>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    Batch(Origin, Batches),
    Declare {
        queue: QueueId,
        vhost: String,
        name: String,
        arguments: Table,
    },
    Remove {
        queue: QueueId,
    },
    /// Time has passed a deadline.
    Tick,
    /// The broker has not answered for long: its consumers leave.
    Gone {
        broker: BrokerId,
    },
}

const BATCH: u8 = 1;
const DECLARE: u8 = 2;
const REMOVE: u8 = 3;
const TICK: u8 = 4;
const GONE: u8 = 5;

impl Command {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Batch(origin, batches) => return encode_batch(*origin, batches),
            Self::Declare {
                queue,
                vhost,
                name,
                arguments,
            } => {
                out.put_u8(DECLARE);
                codec::put_uint(&mut out, *queue);
                codec::put_bytes(&mut out, vhost.as_bytes());
                codec::put_bytes(&mut out, name.as_bytes());
                // A table of plain values always serialises.
                let arguments = serde_json::to_vec(arguments).unwrap_or_default();
                codec::put_bytes(&mut out, &arguments);
            }
            Self::Remove { queue } => {
                out.put_u8(REMOVE);
                codec::put_uint(&mut out, *queue);
            }
            Self::Tick => out.put_u8(TICK),
            Self::Gone { broker } => {
                out.put_u8(GONE);
                out.put_i32(broker.0);
            }
        }
        out.freeze()
    }

    pub(crate) fn decode(mut input: Bytes) -> Result<Self, Malformed> {
        Ok(match codec::byte(&mut input)? {
            BATCH => {
                let (broker, boot) = {
                    let key = codec::session(&mut input)?;
                    (key.broker, key.number)
                };
                let seq = codec::uint(&mut input)?;
                let mut batches = Vec::new();
                for _ in 0..codec::count(&mut input)? {
                    let session = codec::uint(&mut input)?;
                    batches.push((session, codec::request::requests(&mut input)?));
                }
                Self::Batch(Origin { broker, boot, seq }, batches)
            }
            DECLARE => Self::Declare {
                queue: codec::uint(&mut input)?,
                vhost: text(&mut input)?,
                name: text(&mut input)?,
                arguments: {
                    let arguments = codec::bytes(&mut input)?;
                    serde_json::from_slice(&arguments).map_err(|_| Malformed)?
                },
            },
            REMOVE => Self::Remove {
                queue: codec::uint(&mut input)?,
            },
            TICK => Self::Tick,
            GONE => {
                let key = input.get(..4).and_then(|four| four.try_into().ok());
                let broker = i32::from_be_bytes(key.ok_or(Malformed)?);
                Self::Gone {
                    broker: BrokerId(broker),
                }
            }
            _ => return Err(Malformed),
        })
    }
}

pub(crate) fn encode_batch(origin: Origin, batches: &Batches) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(BATCH);
    let key = crate::queue::protocol::SessionKey {
        broker: origin.broker,
        number: origin.boot,
    };
    codec::put_session(&mut out, key);
    codec::put_uint(&mut out, origin.seq);
    codec::put_uint(&mut out, batches.len() as u64);
    for (session, requests) in batches {
        codec::put_uint(&mut out, *session);
        codec::request::put_requests(&mut out, requests);
    }
    out.freeze()
}

fn text(input: &mut Bytes) -> Result<String, Malformed> {
    let bytes = codec::bytes(input)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| Malformed)
}

//! Frames of [`crate::peer::Service::Queue`].

use bytes::{Buf, BufMut, Bytes, BytesMut};
use model::{BrokerId, ShardId};

use super::pusher::Push;
use crate::queue::pressure::Shortage;
use crate::queue::protocol::codec::{self, Malformed};
use crate::queue::quorum::command::Batches;

pub(super) enum Frame {
    /// A command for whoever leads the shard; answered by a [`Proposed`].
    Shard(ShardId, Bytes),
    /// Requests for classic queues of the receiver.
    Classic(Batches),
    /// Responses for sessions of the receiver.
    Push(Vec<Push>),
    /// Something the sender said may be lost.
    Resync,
    /// What the sender is short of, from now on.
    Shortage(Option<Shortage>),
}

/// What became of a command.
pub(crate) enum Proposed {
    /// Applied, with the shard's reply.
    Applied(Bytes),
    /// Without effect here: ask this one, if named.
    Elsewhere(Option<BrokerId>),
    /// It may still be applied.
    Unknown,
    /// Without effect, and will be each time.
    TooLarge,
}

const SHARD: u8 = 1;
const CLASSIC: u8 = 2;
const PUSH: u8 = 3;
const RESYNC: u8 = 4;
const SHORTAGE: u8 = 5;

impl Frame {
    pub(super) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Shard(shard, command) => {
                out.reserve(command.len() + 8);
                out.put_u8(SHARD);
                out.put_u32(shard.0);
                out.put_slice(command);
            }
            Self::Classic(batches) => {
                out.put_u8(CLASSIC);
                codec::put_uint(&mut out, batches.len() as u64);
                for (session, requests) in batches {
                    codec::put_uint(&mut out, *session);
                    codec::request::put_requests(&mut out, requests);
                }
            }
            Self::Push(pushes) => {
                out.put_u8(PUSH);
                codec::put_uint(&mut out, pushes.len() as u64);
                for push in pushes {
                    codec::put_uint(&mut out, push.session);
                    codec::response::put_responses(&mut out, &push.responses);
                }
            }
            Self::Resync => out.put_u8(RESYNC),
            Self::Shortage(shortage) => {
                out.put_u8(SHORTAGE);
                out.put_u8(Shortage::to_bits(*shortage));
            }
        }
        out.freeze()
    }

    pub(super) fn decode(mut input: Bytes) -> Result<Self, Malformed> {
        Ok(match codec::byte(&mut input)? {
            SHARD => {
                let shard = ShardId(input.try_get_u32().map_err(|_| Malformed)?);
                Self::Shard(shard, input)
            }
            CLASSIC => {
                let mut batches = Vec::new();
                for _ in 0..codec::count(&mut input)? {
                    let session = codec::uint(&mut input)?;
                    batches.push((session, codec::request::requests(&mut input)?));
                }
                Self::Classic(batches)
            }
            PUSH => {
                let mut pushes = Vec::new();
                for _ in 0..codec::count(&mut input)? {
                    pushes.push(Push {
                        session: codec::uint(&mut input)?,
                        responses: codec::response::responses(&mut input)?,
                    });
                }
                Self::Push(pushes)
            }
            RESYNC => Self::Resync,
            SHORTAGE => Self::Shortage(Shortage::of_bits(codec::byte(&mut input)?)),
            _ => return Err(Malformed),
        })
    }
}

impl Proposed {
    pub(super) fn encode(self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Applied(reply) => {
                out.put_u8(1);
                out.put_slice(&reply);
            }
            Self::Elsewhere(hint) => {
                out.put_u8(2);
                out.put_i32(hint.map_or(-1, |broker| broker.0));
            }
            Self::Unknown => out.put_u8(3),
            Self::TooLarge => out.put_u8(4),
        }
        out.freeze()
    }

    pub(super) fn decode(mut input: Bytes) -> Result<Self, Malformed> {
        Ok(match codec::byte(&mut input)? {
            1 => Self::Applied(input),
            2 => {
                let hint = input.try_get_i32().map_err(|_| Malformed)?;
                Self::Elsewhere((hint >= 0).then_some(BrokerId(hint)))
            }
            3 => Self::Unknown,
            4 => Self::TooLarge,
            _ => return Err(Malformed),
        })
    }
}

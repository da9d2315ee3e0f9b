//! Batches that a damaged log asks of another replica, to be put where they were.
//!
//! ```text
//! damaged: Refetch ── partition, offsets, bytes ──> Lender :leader or in sync
//!          driver  <── all batches between, or nothing ──
//! ```

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use commitlog::Hole;
use futures::{FutureExt, future::BoxFuture};
use model::{
    BrokerId, Offset, TopicId, TopicPartition,
    batch::{self, Batch},
};
use tokio::runtime;
use uuid::Uuid;

use crate::{
    partition::{
        Handle, Roster,
        driver::{Job, Mailbox},
        handle::Role,
    },
    peer::{self, Mesh, Service},
};

/// Bytes that are fetched to fill a hole; a larger one has the log copied.
const HOLE_BYTES_MAX: u64 = 16 << 20;
/// Rounds over all who may have it, while none of them can be reached.
const ROUNDS_MAX: usize = 6;
/// Pause between two rounds.
const ROUND_EVERY: Duration = Duration::from_secs(5);

/// Asks other replicas. Cheap to clone.
#[derive(Clone)]
pub(in crate::partition) struct Refetch {
    mesh: Mesh,
    runtime: runtime::Handle,
}

/// Answers those who ask.
pub(in crate::partition) struct Lender {
    pub this: BrokerId,
    pub roster: Roster,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    partition: TopicPartition,
    from: Offset,
    next: Offset,
    bytes: u64,
}

impl Refetch {
    pub(in crate::partition) fn new(mesh: Mesh, runtime: runtime::Handle) -> Self {
        Self { mesh, runtime }
    }

    /// Tells the driver behind `mailbox` what one of `sources` has for the hole, or that none has it.
    pub(in crate::partition) fn fill(
        &self,
        partition: TopicPartition,
        hole: Hole,
        sources: Vec<BrokerId>,
        mailbox: Mailbox,
    ) {
        let mesh = self.mesh.clone();
        self.runtime.spawn(async move {
            let batches = if hole.bytes() <= HOLE_BYTES_MAX {
                ask(&mesh, partition, &hole, &sources).await
            } else {
                None
            };
            mailbox.send(Job::Refetched {
                partition,
                hole,
                batches,
            });
        });
    }
}

async fn ask(
    mesh: &Mesh,
    partition: TopicPartition,
    hole: &Hole,
    sources: &[BrokerId],
) -> Option<Bytes> {
    let request = Request {
        partition,
        from: hole.from,
        next: hole.next,
        bytes: hole.bytes(),
    };
    let request = request.encode();
    for round in 0..ROUNDS_MAX {
        if round > 0 {
            tokio::time::sleep(ROUND_EVERY).await;
        }
        let mut answered = false;
        for source in sources {
            match mesh.call(*source, Service::Refetch, request.clone()).await {
                Ok(batches) if batches.is_empty() => answered = true,
                Ok(batches) if fits(&batches, hole) => return Some(batches),
                Ok(_) => {
                    answered = true;
                    tracing::warn!(
                        %partition,
                        broker = %source,
                        "batches that came for a damaged range are not those: another replica is asked"
                    );
                }
                Err(error) => {
                    tracing::debug!(%partition, %error, "damaged range is asked for again")
                }
            }
        }
        if answered {
            break;
        }
    }
    None
}

/// Whether these may be the batches of the hole: whole, as many bytes, and within its offsets. The log
/// looks closer before it takes them.
fn fits(batches: &Bytes, hole: &Hole) -> bool {
    let within = |batch: &Batch| {
        let header = &batch.header;
        header.base_offset >= hole.from
            && header.next_offset() <= hole.next
            && batch.verify_crc().is_ok()
    };
    batches.len() as u64 == hole.bytes()
        && batch::split(batches.clone()).is_ok_and(|batches| batches.iter().all(within))
}

impl peer::Handler for Lender {
    /// Nothing when this replica does not count, or has other batches there.
    fn call(&self, from: BrokerId, request: Bytes) -> BoxFuture<'static, Bytes> {
        let (this, roster) = (self.this, self.roster.clone());
        async move {
            let Some(request) = Request::decode(request) else {
                tracing::warn!(broker = %from, "malformed request for batches is ignored");
                return Bytes::new();
            };
            let Some(handle) = roster.get(request.partition).filter(|h| counts(h, this)) else {
                return Bytes::new();
            };
            let read = roster.readers().run(move || batches(&handle, &request));
            read.await.flatten().unwrap_or_default()
        }
        .boxed()
    }
}

/// Whether this replica leads or is in sync: others may have what was never committed.
fn counts(handle: &Handle, this: BrokerId) -> bool {
    let now = handle.0.snapshot.read();
    now.role == Role::Leader || now.isr.contains(&this)
}

/// All batches of the range, if they are as many bytes.
fn batches(handle: &Handle, request: &Request) -> Option<Bytes> {
    let mut out = BytesMut::new();
    let mut from = request.from;
    let bytes = usize::try_from(request.bytes.min(HOLE_BYTES_MAX)).ok()?;
    while from < request.next && out.len() < bytes {
        let read = handle
            .0
            .reader
            .read_until(from, request.next, bytes - out.len());
        let runs = match read {
            Ok(runs) => runs,
            Err(error) => {
                if let commitlog::Error::Corrupt { offset, .. } = error {
                    handle.suspect(offset);
                }
                return None;
            }
        };
        let before = from;
        for run in runs {
            for batch in batch::split(run).ok()? {
                from = batch.header.next_offset();
                out.extend_from_slice(&batch.bytes);
            }
        }
        if from <= before {
            break;
        }
    }
    (out.len() == bytes).then(|| out.freeze())
}

impl Request {
    fn encode(self) -> Bytes {
        let mut out = BytesMut::with_capacity(44);
        out.put_u128(self.partition.topic.0.as_u128());
        out.put_i32(self.partition.partition);
        out.put_i64(self.from.0);
        out.put_i64(self.next.0);
        out.put_u64(self.bytes);
        out.freeze()
    }

    fn decode(mut b: Bytes) -> Option<Self> {
        Some(Self {
            partition: TopicPartition {
                topic: TopicId(Uuid::from_u128(b.try_get_u128().ok()?)),
                partition: b.try_get_i32().ok()?,
            },
            from: Offset(b.try_get_i64().ok()?),
            next: Offset(b.try_get_i64().ok()?),
            bytes: b.try_get_u64().ok()?,
        })
    }
}

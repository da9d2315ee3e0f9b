//! The record batch, version 2: the bytes on disk are the bytes on the wire are the bytes between
//! replicas (KIP-98, "Message Format").
//!
//! Owns the layout: parsing the header, cutting a run of bytes into batches, walking uncompressed
//! records, building a batch, checking what a producer sends, and the few header fields a broker may
//! change. Never compresses or inflates (that needs C libraries and a bound chosen by the caller) and
//! never reads a clock.
//!
//! ```text
//! at  0  base offset      8      at 27  base timestamp  8
//! at  8  length           4      at 35  max timestamp   8
//! at 12  leader epoch     4      at 43  producer id     8
//! at 16  magic (2)        1      at 51  producer epoch  2
//! at 17  CRC32C           4      at 53  base sequence   4
//! at 21  attributes       2      at 57  record count    4
//! at 23  last offset delta 4     at 61  records
//! ```
//! The length counts what follows it; the CRC covers everything from the attributes on, so base
//! offset and leader epoch change without touching it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod builder;
mod compact;
mod held;
mod patch;
mod record;
#[cfg(test)]
mod tests;
pub mod validate;
mod varint;

use bytes::{Buf, Bytes};

pub use builder::Builder;
pub use compact::{Candidate, Kept};
pub use held::{DELIVER_AT, HELD_OFFSET, deliver_at, hide, hold, without_claims};
pub use patch::{place, set_max_timestamp, set_payload};
pub use record::{Record, Records};

use crate::{Epoch, Offset};

/// Bytes of a batch before its first record.
pub const HEADER_BYTES: usize = 61;
/// Base offset and length: what must be there to know how long a batch is.
pub const PREFIX_BYTES: usize = 12;
/// First byte that the CRC covers.
const CRC_FROM: usize = 21;
/// The only format that Kafka 4 stores.
pub const MAGIC: i8 = 2;

/// Attribute bits.
const COMPRESSION_MASK: i16 = 0x07;
const LOG_APPEND_TIME: i16 = 0x08;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;
/// The base timestamp's place says when tombstones may go.
const DELETE_HORIZON: i16 = 0x40;
/// Ours, among those that Kafka leaves unused: records wait in this batch for their time.
const HELD: i16 = 0x4000;
/// Ours: what waited in other batches comes to consumers in this one.
const HANDED_OVER: i16 = 0x2000;

/// Why bytes are not a batch, or a record in it is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("batch needs {needed} bytes, {present} are there")]
    Truncated { needed: usize, present: usize },
    #[error("batch length {0} is impossible")]
    Length(i32),
    #[error("batch has magic {0}, only 2 is known")]
    Magic(i8),
    #[error(
        "batch at offset {base_offset} has CRC {stored:#010x}, its bytes give {computed:#010x}"
    )]
    Crc {
        base_offset: Offset,
        stored: u32,
        computed: u32,
    },
    #[error("records are compressed (codec {0})")]
    Compressed(u8),
    #[error("record {index} of the batch is malformed: {what}")]
    Record { index: i32, what: &'static str },
    #[error("batch says {stated} records, its bytes hold {found}")]
    Count { stated: i32, found: i32 },
    /// Offset and epoch lie outside what the CRC covers.
    #[error("batch begins at offset {stored}, which does not fit behind {expected}")]
    Offset { stored: Offset, expected: Offset },
    #[error(
        "batch at offset {base_offset} says leader epoch {stored}, it was written in {expected}"
    )]
    Epoch {
        base_offset: Offset,
        stored: Epoch,
        expected: Epoch,
    },
}

/// Parsed header. Nothing is checked beyond lengths and magic: see [`validate`] for bytes of a
/// producer and [`Batch::verify_crc`] for bytes of a disk or peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub base_offset: Offset,
    /// Bytes after the length field.
    pub batch_length: i32,
    pub leader_epoch: Epoch,
    pub magic: i8,
    pub crc: u32,
    pub attributes: i16,
    pub last_offset_delta: i32,
    /// Milliseconds since 1970.
    pub base_timestamp: i64,
    /// Milliseconds since 1970; -1 when no record has a timestamp.
    pub max_timestamp: i64,
    /// -1 when the producer is not idempotent.
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub record_count: i32,
}

/// One whole batch and its parsed header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub header: Header,
    /// Exactly this batch.
    pub bytes: Bytes,
}

// === impl Header ===

impl Header {
    /// Reads the header at the start of `bytes`; the records need not be there.
    ///
    /// # Errors
    /// [`Invalid::Truncated`] below 61 bytes, [`Invalid::Length`] when the stated length cannot hold
    /// a header, [`Invalid::Magic`] for any other format.
    pub fn parse(bytes: &[u8]) -> Result<Self, Invalid> {
        // An old or foreign format is named as such even when it is too short for ours.
        if let Some(&magic) = bytes.get(16)
            && magic.cast_signed() != MAGIC
        {
            return Err(Invalid::Magic(magic.cast_signed()));
        }
        if bytes.len() < HEADER_BYTES {
            return Err(Invalid::Truncated {
                needed: HEADER_BYTES,
                present: bytes.len(),
            });
        }
        let mut b = bytes;
        let header = Self {
            base_offset: Offset(b.get_i64()),
            batch_length: b.get_i32(),
            leader_epoch: Epoch(b.get_i32()),
            magic: b.get_i8(),
            crc: b.get_u32(),
            attributes: b.get_i16(),
            last_offset_delta: b.get_i32(),
            base_timestamp: b.get_i64(),
            max_timestamp: b.get_i64(),
            producer_id: b.get_i64(),
            producer_epoch: b.get_i16(),
            base_sequence: b.get_i32(),
            record_count: b.get_i32(),
        };
        match usize::try_from(header.batch_length) {
            Ok(n) if n >= HEADER_BYTES - PREFIX_BYTES => Ok(header),
            _ => Err(Invalid::Length(header.batch_length)),
        }
    }

    /// Bytes of the whole batch, prefix included.
    pub fn size_bytes(&self) -> usize {
        PREFIX_BYTES.saturating_add(usize::try_from(self.batch_length).unwrap_or(0))
    }

    pub fn last_offset(&self) -> Offset {
        Offset(
            self.base_offset
                .0
                .saturating_add(i64::from(self.last_offset_delta)),
        )
    }

    fn offset_at(&self, delta: i32) -> Offset {
        Offset(self.base_offset.0.saturating_add(i64::from(delta)))
    }

    /// Offset that the batch after this one gets.
    pub fn next_offset(&self) -> Offset {
        Offset(self.last_offset().0.saturating_add(1))
    }

    /// 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd; 5 to 7 are unassigned.
    pub fn compression(&self) -> u8 {
        (self.attributes & COMPRESSION_MASK).to_le_bytes()[0]
    }

    /// True when the broker's time replaced the producer's: every record has `max_timestamp`.
    pub fn is_log_append_time(&self) -> bool {
        self.attributes & LOG_APPEND_TIME != 0
    }

    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    /// A transaction marker; consumers skip it.
    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }

    pub fn is_idempotent(&self) -> bool {
        self.producer_id >= 0
    }
}

// === impl Batch ===

impl Batch {
    /// Takes the batch at the start of `bytes`, without what follows it.
    ///
    /// # Errors
    /// As [`Header::parse`], and [`Invalid::Truncated`] when the records do not all follow.
    pub fn parse(bytes: &Bytes) -> Result<Self, Invalid> {
        let header = Header::parse(bytes)?;
        let size = header.size_bytes();
        if size > bytes.len() {
            return Err(Invalid::Truncated {
                needed: size,
                present: bytes.len(),
            });
        }
        Ok(Self {
            header,
            bytes: bytes.slice(..size),
        })
    }

    /// # Errors
    /// [`Invalid::Crc`] when the bytes are not those that were sealed.
    pub fn verify_crc(&self) -> Result<(), Invalid> {
        let computed = crc_of(&self.bytes);
        if computed == self.header.crc {
            return Ok(());
        }
        Err(Invalid::Crc {
            base_offset: self.header.base_offset,
            stored: self.header.crc,
            computed,
        })
    }

    /// What follows the header: records, or one compressed block of them.
    pub fn payload(&self) -> Bytes {
        self.bytes.slice(HEADER_BYTES.min(self.bytes.len())..)
    }

    /// The records in order. A compressed batch gives one [`Invalid::Compressed`]; inflate
    /// [`Self::payload`] and use [`Records::of_payload`].
    pub fn records(&self) -> Records {
        Records::new(self)
    }
}

/// Cuts a run of bytes into its batches. CRCs are not looked at.
///
/// # Errors
/// As [`Batch::parse`]; bytes left over are [`Invalid::Truncated`].
pub fn split(mut bytes: Bytes) -> Result<Vec<Batch>, Invalid> {
    let mut batches = Vec::new();
    while !bytes.is_empty() {
        let batch = Batch::parse(&bytes)?;
        bytes.advance(batch.bytes.len());
        batches.push(batch);
    }
    Ok(batches)
}

/// CRC32C of everything from the attributes on; of nothing when the bytes are too short.
fn crc_of(batch: &[u8]) -> u32 {
    let covered = batch.get(CRC_FROM..).unwrap_or_default();
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, covered);
    // The algorithm is 32 bits wide; the crate returns every width as u64.
    u32::try_from(sum & 0xffff_ffff).unwrap_or_default()
}

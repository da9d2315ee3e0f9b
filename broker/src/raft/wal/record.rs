//! One record of the write-ahead log: a 40-byte header, the payload, padding to 8 bytes.
//!
//! ```text
//! 0 crc32c  4 payload length  8 group  12 kind  13..16 zero  16 a  24 b  32 durable  40 payload
//! ```
//! The checksum covers the file's sequence number, the header after it and the payload, so that a
//! record which a recycled file still holds from an earlier use is not one of this file.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use bytes::{Buf, BufMut, Bytes};
use crc_fast::{CrcAlgorithm, Digest};

use super::super::GroupId;

pub(super) const HEADER_BYTES: usize = 40;
const CRC_BYTES: usize = 4;
const ALIGNMENT: usize = 8;

/// What a record says. Numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::raft) enum Kind {
    /// An entry without, with, or about membership; `a` = index, `b` = term.
    Blank,
    Normal,
    Membership,
    /// `a` = term, `b` = node << 1 | committed.
    Vote,
    /// Entries from index `a` on are void.
    Truncate,
    /// Entries up to `a` of term `b` are in a snapshot.
    Purge,
    /// The rest of the file is unused; a following file exists or is about to.
    End,
}

/// One record as it goes to disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::raft) struct Record {
    pub(in crate::raft) group: GroupId,
    pub(in crate::raft) kind: Kind,
    pub(in crate::raft) a: u64,
    pub(in crate::raft) b: u64,
    pub(in crate::raft) payload: Bytes,
}

/// A record as found, with where its payload lies in the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) record: Record,
    pub(super) payload_at: u64,
    /// All bytes of the file before this offset had been synced when the record was written.
    pub(super) durable: u64,
    pub(super) next: usize,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Blank => 1,
            Self::Normal => 2,
            Self::Membership => 3,
            Self::Vote => 4,
            Self::Truncate => 5,
            Self::Purge => 6,
            Self::End => 7,
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Blank,
            2 => Self::Normal,
            3 => Self::Membership,
            4 => Self::Vote,
            5 => Self::Truncate,
            6 => Self::Purge,
            7 => Self::End,
            _ => return None,
        })
    }
}

impl Record {
    pub(super) fn marker(kind: Kind) -> Self {
        Self {
            group: GroupId(0),
            kind,
            a: 0,
            b: 0,
            payload: Bytes::new(),
        }
    }

    /// Bytes taken in the file.
    pub(super) fn len(&self) -> usize {
        (HEADER_BYTES + self.payload.len()).next_multiple_of(ALIGNMENT)
    }

    pub(super) fn padding(&self) -> usize {
        self.len() - HEADER_BYTES - self.payload.len()
    }

    /// The header of this record in file `sequence`.
    pub(super) fn header(&self, sequence: u64, durable: u64) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let mut rest = header.split_at_mut(CRC_BYTES).1;
        rest.put_u32(u32::try_from(self.payload.len()).unwrap_or(u32::MAX));
        rest.put_u32(self.group.0);
        rest.put_u8(self.kind.byte());
        rest.put_slice(&[0; 3]);
        rest.put_u64(self.a);
        rest.put_u64(self.b);
        rest.put_u64(durable);
        let sum = checksum(sequence, header.split_at(CRC_BYTES).1, &self.payload);
        header
            .split_at_mut(CRC_BYTES)
            .0
            .copy_from_slice(&sum.to_be_bytes());
        header
    }

    /// The record at `at` of file `sequence`, if a whole and sound one is there.
    pub(super) fn find(file: &Bytes, sequence: u64, at: usize) -> Option<Found> {
        let mut header = file.get(at..at.checked_add(HEADER_BYTES)?)?;
        let covered = header.get(CRC_BYTES..)?;
        let crc = header.get_u32();
        let payload_len = usize::try_from(header.get_u32()).ok()?;
        let group = GroupId(header.get_u32());
        let kind = Kind::from_byte(header.get_u8())?;
        header.advance(3);
        let (a, b, durable) = (header.get_u64(), header.get_u64(), header.get_u64());
        let start = at + HEADER_BYTES;
        let end = start.checked_add(payload_len)?;
        let payload = file.get(start..end)?;
        if durable > at as u64 || checksum(sequence, covered, payload) != crc {
            return None;
        }
        Some(Found {
            record: Self {
                group,
                kind,
                a,
                b,
                payload: file.slice(start..end),
            },
            payload_at: start as u64,
            durable,
            next: end.next_multiple_of(ALIGNMENT),
        })
    }
}

fn checksum(sequence: u64, header: &[u8], payload: &[u8]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&sequence.to_be_bytes());
    digest.update(header);
    digest.update(payload);
    // A 32-bit checksum in a 64-bit return value.
    (digest.finalize() & 0xffff_ffff) as u32
}

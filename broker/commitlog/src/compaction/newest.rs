//! The newest offset of each key, in bounded memory.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
};

use model::Offset;
use siphasher::sip128::{Hasher128, SipHasher13};

/// Bytes that one key takes: digest, offset, the table's own byte, and the room that a growing table
/// leaves empty or holds twice.
const KEY_BYTES: usize = 64;

/// Keys are told apart by 128 bits of a keyed hash: two that are equal there are as unlikely as damage
/// that no checksum sees, and nobody can make them on purpose without the key.
pub(super) struct Newest {
    offsets: HashMap<[u64; 2], i64>,
    keys_max: usize,
    seed: (u64, u64),
    /// All below it were noted.
    upto: Offset,
}

impl Newest {
    pub(super) fn new(from: Offset, bytes_max: usize) -> Self {
        let random = || RandomState::new().build_hasher().finish();
        Self {
            offsets: HashMap::new(),
            keys_max: (bytes_max / KEY_BYTES).max(1),
            seed: (random(), random()),
            upto: from,
        }
    }

    pub(super) fn note(&mut self, key: &[u8], offset: Offset) {
        let digest = self.digest(key);
        self.offsets.insert(digest, offset.0);
    }

    /// All below `offset` were noted.
    pub(super) fn passed(&mut self, offset: Offset) {
        self.upto = self.upto.max(offset);
    }

    pub(super) fn upto(&self) -> Offset {
        self.upto
    }

    /// A batch more might be too many. One that was begun is noted whole.
    pub(super) fn is_full(&self) -> bool {
        self.offsets.len() >= self.keys_max
    }

    /// A newer record has this key.
    pub(super) fn has_newer(&self, key: &[u8], offset: Offset) -> bool {
        let newest = self.offsets.get(&self.digest(key));
        newest.is_some_and(|newest| *newest > offset.0)
    }

    fn digest(&self, key: &[u8]) -> [u64; 2] {
        let mut hasher = SipHasher13::new_with_keys(self.seed.0, self.seed.1);
        hasher.write(key);
        let digest = hasher.finish128();
        [digest.h1, digest.h2]
    }
}

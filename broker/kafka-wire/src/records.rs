//! [`Records`]: the record batches of one partition, as they lie in memory.

use bytes::{Bytes, BytesMut};

/// Record batches in wire order, in one or more pieces that are never opened here. A request has
/// one piece (a slice of its frame); a reply has as many as the log handed out, and they reach the
/// socket without being joined.
#[derive(Clone, Debug, Default)]
pub struct Records(Vec<Bytes>);

impl Records {
    /// Bytes in all pieces.
    pub fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Bytes::is_empty)
    }

    pub fn pieces(&self) -> &[Bytes] {
        &self.0
    }

    /// All pieces as one; copies only when there are several.
    pub fn into_bytes(mut self) -> Bytes {
        if self.0.len() == 1 {
            return self.0.pop().unwrap_or_default();
        }
        let mut joined = BytesMut::with_capacity(self.len());
        for piece in &self.0 {
            joined.extend_from_slice(piece);
        }
        joined.freeze()
    }
}

impl From<Bytes> for Records {
    fn from(piece: Bytes) -> Self {
        Self(vec![piece])
    }
}

impl From<Vec<Bytes>> for Records {
    fn from(pieces: Vec<Bytes>) -> Self {
        Self(pieces)
    }
}

/// Equal bytes are equal records, however they are cut.
impl PartialEq for Records {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.0.iter().flatten().eq(other.0.iter().flatten())
    }
}

//! Bytes that groups keep: what members say of themselves, and what their leader assigns to them. They are
//! counted for as long as anything keeps them, for members may be many and their sessions long.

use std::sync::Arc;

use bytes::Bytes;

use crate::net::{Claim, Room};

/// As long as one of the copies lives.
struct Counted {
    bytes: Vec<u8>,
    _claim: Claim,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Copies of the parts, in their order; `None` when the room has not enough left for them.
pub(super) fn keep(room: &Arc<Room>, parts: &[&[u8]]) -> Option<Vec<Bytes>> {
    let bytes = parts.concat();
    if bytes.len() > room.free_bytes() {
        return None;
    }
    let mut claim = room.claim();
    claim.set(bytes.len());
    let mut whole = Bytes::from_owner(Counted {
        bytes,
        _claim: claim,
    });
    Some(parts.iter().map(|p| whole.split_to(p.len())).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_takes_room_until_the_last_of_it_is_forgotten() {
        let room = Room::new(10);
        let mut kept = keep(&room, &[b"abc", b"", b"defg"]).unwrap();
        assert_eq!(kept, [&b"abc"[..], b"", b"defg"]);
        assert_eq!(room.free_bytes(), 3);
        assert_eq!(keep(&room, &[b"four"]), None);
        kept.truncate(1);
        assert_eq!(room.free_bytes(), 3, "one buffer holds all");
        kept.clear();
        assert_eq!(room.free_bytes(), 10);
        assert!(keep(&room, &[b"0123456789"]).is_some());
    }
}

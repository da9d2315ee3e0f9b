//! Where two logs part, found by leader epochs and never by the high watermark (KIP-101, KIP-279).
//!
//! A follower says at which offset it goes on and which epoch its last record has. The leader looks
//! up where that epoch ends in its own log; if that is earlier, or it only knows an older epoch, the
//! follower has records that the leader does not have, cuts, and asks again.

use model::{Epoch, Offset};

/// The leader's side: what it tells a follower that continues at `next` after a record of `epoch`.
/// `known` is the largest epoch at or below `epoch` in the leader's log and where it ends.
pub fn diverging(
    epoch: Option<Epoch>,
    next: Offset,
    known: (Epoch, Offset),
) -> Option<(Epoch, Offset)> {
    let epoch = epoch?;
    (known.0 < epoch || known.1 < next).then_some(known)
}

/// The follower's side: to where it cuts. `own` is what its own log says for the epoch that the leader
/// named, `end` is its end. Always below `end`, so that asking again comes to an end.
pub fn cut_to(leaders: (Epoch, Offset), own: (Epoch, Offset), end: Offset) -> Offset {
    // Where the follower has no such epoch, what it has of older ones is all that may be common.
    let own_end = if own.1 < Offset(0) { end } else { own.1 };
    let common = if own.0 == leaders.0 {
        own_end.min(leaders.1)
    } else {
        own_end
    };
    common.min(leaders.1.max(Offset(0))).min(end)
}

//! Which follower a leader sends a consumer to that reads in its own rack (KIP-392).
//!
//! Racks are the caller's: it names the followers of the rack that are in sync and alive.

use model::{BrokerId, Offset};

/// A follower's log as its leader knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follower {
    pub id: BrokerId,
    pub start: Offset,
    pub end: Offset,
}

/// The most caught up of those that have `offset`: one whose log begins later or ends earlier would only
/// send the consumer back.
pub fn nearest(followers: impl IntoIterator<Item = Follower>, offset: Offset) -> Option<BrokerId> {
    followers
        .into_iter()
        .filter(|follower| follower.start <= offset && offset <= follower.end)
        .max_by_key(|follower| (follower.end, follower.id))
        .map(|follower| follower.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLLOWERS: [Follower; 3] = [follower(1, 0, 10), follower(2, 5, 20), follower(3, 0, 15)];

    const fn follower(id: i32, start: i64, end: i64) -> Follower {
        Follower {
            id: BrokerId(id),
            start: Offset(start),
            end: Offset(end),
        }
    }

    #[test]
    fn the_most_caught_up_follower_that_has_the_offset_is_nearest() {
        for (offset, nearest_is) in [
            (0, Some(3)),
            (4, Some(3)),
            (5, Some(2)),
            (20, Some(2)),
            (21, None),
        ] {
            let found = nearest(FOLLOWERS, Offset(offset));
            assert_eq!(found, nearest_is.map(BrokerId), "offset {offset}");
        }
    }
}

//! When this broker last heard of every other one, and when that one last had the whole log of the group.
//!
//! Raft's leader knows neither: an idle group sends nothing. That a member is there is what the mesh tells;
//! a member that is there and has all is caught up now.

use std::collections::BTreeMap;

use model::BrokerId;

use crate::peer::Alive;

/// What is known of each peer. Bounded by the brokers that the mesh reaches out to.
#[derive(Clone, Debug, Default)]
pub(super) struct Followers(BTreeMap<BrokerId, Seen>);

/// Milliseconds since 1970; `None` = never, as far as this broker knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) heard_ms: Option<i64>,
    pub(super) caught_up_ms: Option<i64>,
    answers: bool,
}

impl Followers {
    /// Takes down what is so at `now_ms`; to be called whenever `alive` changes and before
    /// [`Self::seen`]. `has_all` tells whether a member has the whole log of the leader, which is this
    /// broker.
    pub(super) fn note(&mut self, now_ms: i64, alive: &Alive, has_all: impl Fn(BrokerId) -> bool) {
        self.0.retain(|id, _| alive.peers.contains_key(id));
        for (id, answers) in &alive.peers {
            let seen = self.0.entry(*id).or_default();
            // It was there until now.
            if *answers || seen.answers {
                seen.heard_ms = Some(now_ms);
                if has_all(*id) {
                    seen.caught_up_ms = Some(now_ms);
                }
            }
            seen.answers = *answers;
        }
    }

    pub(super) fn seen(&self, id: BrokerId) -> Seen {
        self.0.get(&id).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: BrokerId = BrokerId(1);

    fn times(followers: &Followers) -> (Option<i64>, Option<i64>) {
        let seen = followers.seen(OTHER);
        (seen.heard_ms, seen.caught_up_ms)
    }

    #[test]
    fn a_member_was_heard_until_it_was_gone_and_caught_up_while_it_had_all() {
        let mut followers = Followers::default();
        let alive = |answers| Alive {
            peers: [(OTHER, answers)].into(),
        };
        followers.note(10, &alive(false), |_| true);
        assert_eq!(times(&followers), (None, None), "never heard");
        followers.note(20, &alive(true), |_| true);
        assert_eq!(times(&followers), (Some(20), Some(20)));
        followers.note(30, &alive(true), |_| false);
        assert_eq!(times(&followers), (Some(30), Some(20)), "it lags");
        followers.note(40, &alive(false), |_| false);
        assert_eq!(times(&followers), (Some(40), Some(20)), "it has just gone");
        followers.note(50, &alive(false), |_| true);
        assert_eq!(times(&followers), (Some(40), Some(20)), "it is gone");
    }
}

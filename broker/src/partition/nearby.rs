//! Reading from a follower near the reader (KIP-392): whom a leader sends there, who serves, and how a
//! follower comes to hear of the high watermark at once.
//!
//! A follower that nobody reads from learns the watermark with the next records or after its long poll;
//! one that is read from says so to its leader, and is told whenever it moves.

use std::time::{Duration, Instant};

use machine::replica::nearby::{self, Follower};
use model::{BrokerId, Epoch, Offset};
use parking_lot::{Mutex, RwLock};

use super::{
    driver::Job,
    handle::{Handle, Role},
    read::ReadError,
};

/// So long after its last reader a follower still asks to be told of every watermark.
const READ_FOR: Duration = Duration::from_secs(30);

/// What one replica knows of reading nearby.
#[derive(Debug, Default)]
pub(super) struct Nearby {
    /// On a leader: followers' logs. No more than replicas.
    followers: RwLock<Vec<Reported>>,
    /// On a follower: when somebody read from it last.
    read_at: Mutex<Option<Instant>>,
}

/// What a follower said of itself.
#[derive(Clone, Copy, Debug)]
struct Reported {
    /// Leader epoch that it follows.
    epoch: Epoch,
    /// Its broker epoch.
    life: Option<i64>,
    follower: Follower,
}

impl Nearby {
    /// A follower says where its log begins and ends.
    pub(super) fn report(&self, epoch: Epoch, life: Option<i64>, follower: Follower) {
        let mut followers = self.followers.write();
        // Of an earlier epoch nothing is known any more.
        followers.retain(|known| known.epoch == epoch && known.follower.id != follower.id);
        followers.push(Reported {
            epoch,
            life,
            follower,
        });
    }

    /// Whether what a follower said last was said in another life than this, or that it has less than is
    /// committed: a broker that begins anew may have lost what it had (KIP-903).
    pub(super) fn is_outdated(&self, id: BrokerId, life: i64, high_watermark: Offset) -> bool {
        let followers = self.followers.read();
        let known = followers.iter().find(|known| known.follower.id == id);
        known.is_some_and(|known| {
            known.life.is_some_and(|said| said != life) || known.follower.end < high_watermark
        })
    }

    /// Somebody read from this follower not long ago.
    pub(super) fn is_read(&self) -> bool {
        self.read_at
            .lock()
            .is_some_and(|at| at.elapsed() < READ_FOR)
    }
}

impl Handle {
    /// Whether a consumer is served here: by the leader, and `nearby` by a follower too. One that has left
    /// the in-sync set refuses, which sends the consumer back to the leader.
    ///
    /// # Errors
    /// [`ReadError::NotLeader`], or what is wrong with the leader epoch that the consumer believes in.
    pub fn check_serves(&self, nearby: bool, believed: Option<Epoch>) -> Result<(), ReadError> {
        let now = self.0.snapshot.read();
        match believed {
            Some(epoch) if epoch < now.leader_epoch => {
                return Err(ReadError::FencedEpoch(now.leader_epoch));
            }
            Some(epoch) if epoch > now.leader_epoch => {
                return Err(ReadError::UnknownEpoch(now.leader_epoch));
            }
            _ => {}
        }
        if now.role == Role::Leader {
            return Ok(());
        }
        if nearby && now.in_sync {
            drop(now);
            self.note_reader();
            return Ok(());
        }
        Err(ReadError::NotLeader {
            leader: now.leader,
            epoch: now.leader_epoch,
        })
    }

    /// Where a consumer should read on instead of here: this replica leads, not in the consumer's rack, and
    /// an in-sync follower `in_rack` has `offset`. Nowhere else while the consumer believes in another
    /// epoch, which reading here will tell it.
    pub fn nearest(
        &self,
        offset: Offset,
        believed: Option<Epoch>,
        in_rack: impl Fn(BrokerId) -> bool,
    ) -> Option<BrokerId> {
        let now = self.0.snapshot.read();
        let epoch = now.leader_epoch;
        if now.role != Role::Leader
            || now.leader.is_none_or(&in_rack)
            || believed.is_some_and(|believed| believed != epoch)
            || !now.isr.iter().any(|id| in_rack(*id))
        {
            return None;
        }
        let followers = self.0.nearby.followers.read();
        let near = followers
            .iter()
            .filter(|known| known.epoch == epoch)
            .map(|known| known.follower)
            .filter(|follower| now.isr.contains(&follower.id) && in_rack(follower.id));
        nearby::nearest(near, offset)
    }

    /// Has the leader tell of watermarks at once from the first reader on.
    fn note_reader(&self) {
        let before = self.0.nearby.read_at.lock().replace(Instant::now());
        if before.is_none_or(|at| at.elapsed() >= READ_FOR) {
            self.0.mailbox.send(Job::Report {
                partition: self.0.partition,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_follower_said_in_an_earlier_life_or_below_the_watermark_is_outdated() {
        let nearby = Nearby::default();
        let follower = Follower {
            id: BrokerId(2),
            start: Offset(0),
            end: Offset(5),
        };
        let outdated = |life, watermark| nearby.is_outdated(BrokerId(2), life, Offset(watermark));
        assert!(!outdated(7, 0), "an older build says nothing");
        nearby.report(Epoch(1), Some(7), follower);
        assert!(!outdated(7, 5));
        assert!(outdated(8, 5));
        assert!(outdated(7, 6));
    }
}

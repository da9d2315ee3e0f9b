//! Commands that may come twice: a broker that has lost the leader on the way offers its command again,
//! and cannot know whether it was carried out. Each command has a number of its submitter, and one that
//! comes again gets the first answer and has no second effect.
//!
//! What is remembered is bounded: with each command the submitter says which numbers are settled, answered
//! or given up, and those are forgotten. What comes late under a settled number is left out. Only registered
//! brokers have answers remembered.

use imbl::OrdMap;
use model::BrokerId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::command::{Command, Reply};
use super::image::Image;

/// Open numbers of one life of a broker. A submitter with more of them is not believed: the lowest are
/// settled.
pub const OPEN_MAX: usize = 1024;
/// Lives of one broker of which answers are kept: the present one, and the one before, whose last
/// commands may still be under way.
const LIVES_MAX: usize = 2;

/// A command with what tells it from every other one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    pub id: RequestId,
    pub command: Command,
}

/// Names one request of one life of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestId {
    pub broker: BrokerId,
    /// Drawn when the broker's process starts.
    pub life: Uuid,
    pub number: u64,
    /// Nobody waits for the answers to numbers below this one any more.
    pub settled_below: u64,
}

/// What was answered to the lives of one broker, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answered(Vec<Life>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Life {
    life: Uuid,
    settled_below: u64,
    replies: OrdMap<u64, Reply>,
}

impl Image {
    /// As [`Image::apply`], but once for each [`RequestId`]. `None` when the submitter has settled it:
    /// nothing is done, and nobody waits for the answer.
    pub fn apply_once(&mut self, submission: Submission, now_ms: i64, index: u64) -> Option<Reply> {
        let reply = self.answer(submission, now_ms, index);
        self.forget_unregistered();
        reply
    }

    fn answer(&mut self, submission: Submission, now_ms: i64, index: u64) -> Option<Reply> {
        let Submission { id, command } = submission;
        self.index = index;
        let life = self.answered.entry(id.broker).or_default().life(id.life);
        life.settle(id.settled_below);
        if let Some(reply) = life.replies.get(&id.number) {
            return Some(reply.clone());
        }
        if id.number < life.settled_below {
            return None;
        }
        let reply = self.apply(command, now_ms, index);
        let life = self.answered.entry(id.broker).or_default().life(id.life);
        life.replies.insert(id.number, reply.clone());
        if life.replies.len() > OPEN_MAX
            && let Some(lowest) = life.replies.get_min().map(|(number, _)| *number)
        {
            life.settle(lowest + 1);
        }
        Some(reply)
    }

    /// A broker that is not registered has its answers remembered by nobody: it may never be. What it
    /// submits before does no harm when it is done again: its registration, and what leading this group
    /// asks of it (to fence by epoch, to adopt a default).
    fn forget_unregistered(&mut self) {
        let unregistered = |id: &BrokerId| !self.brokers.contains_key(id);
        let strangers: Vec<_> = self.answered.keys().copied().filter(unregistered).collect();
        for id in strangers {
            self.answered.remove(&id);
        }
    }
}

impl Answered {
    fn life(&mut self, life: Uuid) -> &mut Life {
        let known = self.0.iter().position(|known| known.life == life);
        let at = known.unwrap_or_else(|| {
            if self.0.len() == LIVES_MAX {
                self.0.remove(0);
            }
            self.0.push(Life {
                life,
                settled_below: 0,
                replies: OrdMap::new(),
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

impl Life {
    fn settle(&mut self, below: u64) {
        self.settled_below = self.settled_below.max(below);
        while let Some(lowest) = self.replies.get_min().map(|(number, _)| *number)
            && lowest < self.settled_below
        {
            self.replies.remove(&lowest);
        }
    }
}

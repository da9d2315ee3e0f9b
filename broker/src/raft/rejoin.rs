//! What a voter does that may have forgotten: its log of a group is empty, though the group may have
//! begun.
//!
//! A voter that lost its disk has lost two things that others count on: whom it promised its vote, and
//! what it acknowledged. Were it to vote again at once, it could elect a leader that lacks what was
//! committed with its help. So until it knows better it takes part in nothing; then, in order:
//!
//! 1. Every other voter says which term it has seen and how far its log reaches, and a majority of all
//!    voters remembers ([`super::formation`]). No promise can have been for a later term, since a
//!    candidate writes its own down before it asks; nothing can have been committed beyond those logs.
//! 2. It follows leaders of that term or a later one ([`Part::Rejoining`]). What it must reach is in a
//!    file, so that a restart half-way does not make a voter of it.
//! 3. Once its log reaches as far as any did, it is a [`Part::Voter`] as before.
//!
//! With as many voters gone for good as a group survives, the rest goes on without it; with one more,
//! nobody can tell what was committed, and it stays out.
//!
//! Why every other voter, and not a majority? A majority does know all that is committed. It need not know
//! what is on its way from this voter's earlier life. Of five voters, let Z stand for term 8, have this
//! one's vote and lose sight of the rest, and let this one lose its disk. The other three answer: term 7.
//! Were it to follow the leader of term 7, it could acknowledge an entry that is committed with it and one
//! of the three; then Z, back with the old vote and those of the other two, leads in term 8 without that
//! entry. Only Z can tell of the vote. As long as one voter is silent, the group has the voters that
//! remember, which are its majority, and does without this one.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::GroupId;
use super::types::{LogId, log_id, term};

/// The part that this broker takes in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its log is empty, and it does not know yet whether that is as it should be.
    Unknown,
    /// Follows, but does not vote until its log has come to the goal.
    Rejoining(Goal),
    /// As Raft has it. Also that of a broker which is no voter: nobody asks it.
    Voter,
}

/// What a voter that has forgotten goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Goal {
    /// Leaders of earlier terms are not followed: it may have promised its vote to a later one.
    pub(super) term: u64,
    /// Its log must reach this before it votes.
    pub(super) last: Option<LogId>,
}

/// What one voter says of itself when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// It is a [`Part::Voter`]: what follows is all it ever promised and acknowledged.
    pub(super) remembers: bool,
    /// As in [`super::Members`]: an empty log of it is a new one.
    pub(super) original: bool,
    /// Its disk has room for more than the votes of the group.
    pub(super) has_room: bool,
    /// The latest term in which it voted or followed; 0 before the first.
    pub(super) term: u64,
    pub(super) last: Option<LogId>,
}

impl Standing {
    /// Nothing can have been committed by it: it holds the first membership at most, which is written
    /// before there is a leader.
    pub(super) fn is_blank(&self) -> bool {
        self.last.is_none_or(|last| last.index == 0)
    }
}

impl Part {
    /// Whether it follows a leader of that term.
    pub(super) fn follows(self, leader_term: u64) -> bool {
        match self {
            Self::Unknown => false,
            Self::Rejoining(goal) => leader_term >= goal.term,
            Self::Voter => true,
        }
    }
}

/// The goals of the groups that this broker rejoins, a file each.
#[derive(Clone, Debug)]
pub(super) struct Goals {
    dir: PathBuf,
}

impl Goals {
    /// `dir` must exist.
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    fn path(&self, group: GroupId) -> PathBuf {
        self.dir.join(format!("{}.rejoin", group.0))
    }

    /// The goal that was set before the broker stopped; `None` = it is no matter of rejoining.
    pub(super) fn get(&self, group: GroupId) -> io::Result<Option<Goal>> {
        let path = self.path(group);
        match std::fs::read_to_string(&path) {
            Ok(text) => parse(&text).map(Some).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "{} is damaged; empty the data directory and let the broker rejoin from nothing",
                        path.display()
                    ),
                )
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets the goal, durably.
    pub(super) fn put(&self, group: GroupId, goal: Goal) -> io::Result<()> {
        let path = self.path(group);
        let temporary = path.with_extension("rejoin-temporary");
        let mut file = File::create(&temporary)?;
        let last = goal.last.map_or_else(
            || "- -".to_owned(),
            |last| format!("{} {}", term(&last), last.index),
        );
        let text = format!("{} {last}", goal.term);
        writeln!(file, "{text} {:08x}", seal(&text))?;
        file.sync_all()?;
        std::fs::rename(&temporary, &path)?;
        File::open(&self.dir)?.sync_all()
    }

    /// The goal is reached, and what reached it is durable.
    pub(super) fn remove(&self, group: GroupId) -> io::Result<()> {
        std::fs::remove_file(self.path(group))?;
        File::open(&self.dir)?.sync_all()
    }
}

/// A goal that was changed would have a voter vote too early.
fn seal(text: &str) -> u64 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, text.as_bytes())
}

/// `term last-term last-index seal`, the middle two `-` where there is no entry.
fn parse(text: &str) -> Option<Goal> {
    let (text, sealed) = text.strip_suffix('\n')?.rsplit_once(' ')?;
    if sealed != format!("{:08x}", seal(text)) {
        return None;
    }
    let mut words = text.split_whitespace();
    let (goal_term, last_term, last_index) = (words.next()?, words.next()?, words.next()?);
    let last = match (last_term, last_index) {
        ("-", "-") => None,
        (term, index) => Some(log_id(term.parse().ok()?, index.parse().ok()?)),
    };
    Some(Goal {
        term: goal_term.parse().ok()?,
        last,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_torn_or_changed_at_any_byte_is_not_believed() {
        let dir = tempfile::tempdir().expect("directory");
        let goals = Goals::new(dir.path());
        let goal = Goal {
            term: 12,
            last: Some(log_id(11, 40)),
        };
        goals.put(GroupId(3), goal).expect("written");
        assert_eq!(goals.get(GroupId(3)).expect("read"), Some(goal));
        let path = dir.path().join("3.rejoin");
        let whole = std::fs::read(&path).expect("there");
        for at in 0..whole.len() {
            let mut bent = whole.clone();
            bent[at] ^= 1;
            for image in [&bent[..], &whole[..at]] {
                std::fs::write(&path, image).expect("damaged");
                assert!(goals.get(GroupId(3)).is_err(), "byte {at}");
            }
        }
    }
}

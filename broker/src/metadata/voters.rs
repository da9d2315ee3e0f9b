//! Changes of the metadata voters (KIP-853), decided and carried out by the leader.
//!
//! One that is to leave and leads hands over first; its successor is asked again. The last voter stays.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use machine::metadata::image::Image;
use model::BrokerId;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::peer::{Alive, Mesh};
use crate::raft::{Group, Status};

/// How long a new voter may take to catch up.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A voter is named by its directory too: with another one it is another voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoterKey {
    pub id: BrokerId,
    pub directory: Uuid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoterChange {
    Add(VoterKey),
    Remove(VoterKey),
}

/// Why the voters stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum VoterRefusal {
    #[error("The voter id for {0} is already part of the set of voters {1}.")]
    Duplicate(String, String),
    #[error("Cannot remove voter {0} from the set of voters {1}")]
    NotFound(String, String),
    /// It does not follow the log under that id and directory.
    #[error(
        "{0} is not registered with that directory; start it, and name the directory.id in its meta.properties"
    )]
    Unknown(String),
    #[error(
        "broker {0} is no candidate; add it to controller.quorum.voters in its configuration and start it again"
    )]
    NoCandidate(BrokerId),
    /// It may still be done.
    #[error("{0}; see describe --replication, then try again")]
    TimedOut(String),
}

/// What the leader does about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Add(BrokerId),
    Remove(BrokerId),
    /// The voter that is to leave leads.
    HandOver,
    Refuse(VoterRefusal),
}

/// As Kafka writes a voter down.
fn shown(key: VoterKey) -> String {
    let directory = directory_text(key.directory);
    format!("ReplicaKey(id={}, directoryId={directory})", key.id)
}

/// An id as Kafka writes it.
pub(crate) fn directory_text(id: Uuid) -> String {
    URL_SAFE_NO_PAD.encode(id.as_bytes())
}

fn directory(image: &Image, id: BrokerId) -> Option<Uuid> {
    image.brokers.get(&id).map(|broker| broker.incarnation)
}

/// All of them, as Kafka writes them down.
fn voters(status: &Status, image: &Image) -> String {
    let key = |id: &BrokerId| VoterKey {
        id: *id,
        directory: directory(image, *id).unwrap_or_default(),
    };
    let shown: Vec<_> = status.voters.iter().map(|id| shown(key(id))).collect();
    format!("[{}]", shown.join(", "))
}

/// Decides on the leader, `this`.
fn decide(
    change: VoterChange,
    this: BrokerId,
    status: &Status,
    image: &Image,
    alive: &Alive,
) -> Step {
    let directory = |id| directory(image, id);
    match change {
        VoterChange::Add(key) => {
            if status.voters.contains(&key.id) {
                return Step::Refuse(VoterRefusal::Duplicate(shown(key), voters(status, image)));
            }
            if directory(key.id) != Some(key.directory) {
                return Step::Refuse(VoterRefusal::Unknown(shown(key)));
            }
            Step::Add(key.id)
        }
        VoterChange::Remove(key) => {
            // One that was unregistered is known by its id only.
            let same = directory(key.id).is_none_or(|known| known == key.directory);
            if !status.voters.contains(&key.id) || !same || status.voters.len() == 1 {
                return Step::Refuse(VoterRefusal::NotFound(shown(key), voters(status, image)));
            }
            if key.id != this {
                return Step::Remove(key.id);
            }
            let mut others = status.voters.iter().filter(|id| **id != this);
            if !others.any(|id| alive.is_alive(*id)) {
                return Step::Refuse(VoterRefusal::TimedOut(
                    "no other voter is there to lead in its place".to_owned(),
                ));
            }
            Step::HandOver
        }
    }
}

/// Carries a change out on the leader. `None` when this broker does not lead, or leads no more so that its
/// successor can do it.
pub(super) async fn change(
    group: &Group,
    mesh: &Mesh,
    image: &Image,
    asked: VoterChange,
) -> Option<Result<(), VoterRefusal>> {
    let this = mesh.this_broker();
    let status = group.status();
    if status.leader != Some(this) {
        return None;
    }
    let step = decide(asked, this, &status, image, &mesh.alive().borrow());
    let done = match step {
        Step::Refuse(refusal) => return Some(Err(refusal)),
        Step::HandOver => {
            tracing::info!("voter that is to leave hands over");
            group.hand_over();
            return None;
        }
        Step::Add(id) => {
            if !group.is_candidate(mesh, id).await {
                return Some(Err(VoterRefusal::NoCandidate(id)));
            }
            if !caught_up(group, id).await {
                let text = format!("broker {id} has not caught up");
                return Some(Err(VoterRefusal::TimedOut(text)));
            }
            tracing::info!(broker = %id, "broker becomes a voter");
            match group.add_voter(id).await {
                // Another has asked for the same.
                Ok(false) => {
                    let alive = mesh.alive().borrow().clone();
                    return match decide(asked, this, &group.status(), image, &alive) {
                        Step::Refuse(refusal) => Some(Err(refusal)),
                        // And a third for the opposite.
                        _ => None,
                    };
                }
                Ok(true) => Ok(()),
                Err(error) => Err(error),
            }
        }
        Step::Remove(id) => {
            tracing::info!(broker = %id, "broker is a voter no more");
            group.remove_voter(id).await
        }
    };
    Some(done.map_err(|error| VoterRefusal::TimedOut(error.to_string())))
}

async fn caught_up(group: &Group, id: BrokerId) -> bool {
    let until = Instant::now() + CATCH_UP_TIMEOUT;
    loop {
        let last = group.status().last_index;
        if group.progress().get(&id).copied().flatten() >= Some(last) {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        sleep(LOOK_AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use machine::metadata::command::Command;
    use machine::metadata::feature::Levels;

    use super::*;

    fn key(id: i32) -> VoterKey {
        VoterKey {
            id: BrokerId(id),
            directory: Uuid::from_u128(id.unsigned_abs().into()),
        }
    }

    /// Broker 0 leads; 0 to 3 are registered.
    fn check(voters: &[i32], alive: &[i32], change: VoterChange) -> Step {
        let mut image = Image::genesis();
        for id in 0..4 {
            let register = Command::RegisterBroker {
                id: BrokerId(id),
                incarnation: key(id).directory,
                rack: None,
                endpoints: Vec::new(),
                previous_epoch: None,
                levels: Levels::BUILD,
            };
            image.apply(register, 0, 1);
        }
        let status = Status {
            voters: voters.iter().copied().map(BrokerId).collect(),
            ..Status::default()
        };
        let peers = alive.iter().map(|id| (BrokerId(*id), true)).collect();
        let alive = Alive { peers };
        decide(change, BrokerId(0), &status, &image, &alive)
    }

    #[test]
    fn a_voter_is_added_once_and_by_its_directory() {
        let add = |key| check(&[0, 1, 2], &[1, 2, 3], VoterChange::Add(key));
        assert_eq!(add(key(3)), Step::Add(BrokerId(3)));
        assert!(matches!(
            add(key(1)),
            Step::Refuse(VoterRefusal::Duplicate(..))
        ));
        let other = VoterKey {
            directory: Uuid::from_u128(9),
            ..key(3)
        };
        assert!(matches!(add(other), Step::Refuse(VoterRefusal::Unknown(_))));
    }

    #[test]
    fn a_leader_that_is_to_leave_hands_over_to_one_that_is_there() {
        let remove = |id, voters, alive| check(voters, alive, VoterChange::Remove(key(id)));
        assert_eq!(remove(2, &[0, 1, 2], &[1]), Step::Remove(BrokerId(2)));
        assert_eq!(remove(0, &[0, 1, 2], &[2]), Step::HandOver);
        assert!(matches!(
            remove(0, &[0, 1, 2], &[]),
            Step::Refuse(VoterRefusal::TimedOut(_))
        ));
    }

    #[test]
    fn the_last_voter_and_one_that_is_none_are_not_found_as_in_kafka() {
        let remove = |id, voters| check(voters, &[1, 2, 3], VoterChange::Remove(key(id)));
        let Step::Refuse(refusal) = remove(0, &[0]) else {
            panic!("removed");
        };
        assert_eq!(
            refusal.to_string(),
            "Cannot remove voter ReplicaKey(id=0, directoryId=AAAAAAAAAAAAAAAAAAAAAA) from the set of voters [ReplicaKey(id=0, directoryId=AAAAAAAAAAAAAAAAAAAAAA)]"
        );
        assert!(matches!(
            remove(3, &[0, 1, 2]),
            Step::Refuse(VoterRefusal::NotFound(..))
        ));
    }
}

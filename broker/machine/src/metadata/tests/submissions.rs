use model::BrokerId;
use uuid::Uuid;

use super::super::command::{Command, Refusal, Reply};
use super::super::submission::{OPEN_MAX, RequestId, Submission};
use super::{Cluster, manual};

const RACKS: [&str; 2] = ["a", "b"];

impl Cluster {
    /// The command under a number of broker 0 in that life.
    fn submit(
        &mut self,
        life: u128,
        number: u64,
        settled_below: u64,
        command: Command,
    ) -> Option<Reply> {
        let id = RequestId {
            broker: BrokerId(0),
            life: Uuid::from_u128(life),
            number,
            settled_below,
        };
        let index = self.image.index + 1;
        let submission = Submission { id, command };
        self.image.apply_once(submission, self.now_ms, index)
    }

    /// The first id of a block of producer ids: each command that is carried out gives another.
    fn block(&mut self, life: u128, number: u64, settled_below: u64) -> Option<i64> {
        let command = Command::AllocateProducerIds {
            broker: BrokerId(0),
        };
        match self.submit(life, number, settled_below, command)? {
            Reply::ProducerIds { first, .. } => Some(first),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_command_that_comes_again_gets_the_first_answer_and_has_no_second_effect() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let id = cluster.create("t", manual(&[&[0, 1]]));
    let delete = Command::DeleteTopic { id };
    assert_eq!(cluster.submit(1, 0, 0, delete.clone()), Some(Reply::Done));
    let index = cluster.image.index;
    assert_eq!(cluster.submit(1, 0, 0, delete.clone()), Some(Reply::Done));
    assert_eq!(
        cluster.image.index,
        index + 1,
        "it is an entry all the same"
    );
    assert_eq!(
        cluster.submit(1, 1, 0, delete),
        Some(Reply::Refused(Refusal::UnknownTopic))
    );
    let first = cluster.block(1, 2, 0);
    assert_eq!(cluster.block(1, 2, 0), first);
    assert_ne!(cluster.block(1, 3, 0), first);
}

#[test]
fn what_is_settled_is_forgotten_and_left_out_when_it_comes_late() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let open = cluster.block(1, 1, 0);
    cluster.block(1, 0, 0);
    cluster.block(1, 2, 1);
    let before = cluster.image.next_producer_id;
    assert_eq!(cluster.block(1, 0, 0), None);
    assert_eq!(cluster.image.next_producer_id, before);
    assert_eq!(cluster.block(1, 1, 0), open);
}

#[test]
fn a_submitter_that_settles_nothing_is_settled() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let past = OPEN_MAX as u64;
    for number in 0..=past {
        assert!(cluster.block(1, number, 0).is_some());
    }
    assert_eq!(cluster.block(1, 0, 0), None);
    assert!(cluster.block(1, 1, 0).is_some());
}

#[test]
fn a_new_life_counts_anew_and_the_last_commands_of_the_one_before_are_known() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let old = cluster.block(1, 0, 0);
    let new = cluster.block(2, 0, 0);
    assert_ne!(new, old);
    assert_eq!(cluster.block(1, 0, 0), old);
    assert_eq!(cluster.block(2, 0, 0), new);
    cluster.block(3, 0, 0);
    assert_eq!(cluster.block(2, 0, 0), new);
}

#[test]
fn nothing_is_remembered_for_a_broker_that_is_not_registered() {
    let mut cluster = Cluster::with_racks(&RACKS);
    cluster.block(1, 0, 0);
    let stranger = RequestId {
        broker: BrokerId(9),
        life: Uuid::from_u128(1),
        number: 0,
        settled_below: 0,
    };
    let fence = Command::FenceBroker {
        id: BrokerId(1),
        epoch: cluster.epoch(1),
    };
    let submission = Submission {
        id: stranger,
        command: fence,
    };
    for _ in 0..2 {
        let index = cluster.image.index + 1;
        let reply = cluster.image.apply_once(submission.clone(), 0, index);
        assert_eq!(reply, Some(Reply::Done));
        let remembered: Vec<_> = cluster.image.answered.keys().copied().collect();
        assert_eq!(remembered, [BrokerId(0)]);
    }
}

#[test]
fn answers_are_part_of_the_image_as_it_is_stored() {
    let mut cluster = Cluster::with_racks(&RACKS);
    let first = cluster.block(1, 7, 7);
    let stored = serde_json::to_string(&cluster.image).unwrap();
    cluster.image = serde_json::from_str(&stored).unwrap();
    assert_eq!(cluster.block(1, 7, 7), first);
}

use super::*;

fn refusal(admission: Admission) -> Refusal {
    match admission {
        Admission::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

/// What comes of a batch of one record each of (epoch, sequence), in order.
fn outcomes(batches: &[(i16, i32)]) -> Vec<String> {
    let mut r = leader(1, &[1]);
    let mut end = 0;
    batches
        .iter()
        .enumerate()
        .map(|(i, (epoch, sequence))| {
            let outcome = r.admit(
                &header(5, *epoch, *sequence, 1),
                Ack::Leader,
                0,
                99,
                i as Token,
            );
            match outcome {
                Admission::Write { base_offset, .. } => {
                    end += 1;
                    r.written(Offset(end), 0);
                    format!("written at {base_offset}")
                }
                Admission::Duplicate(placed) => format!("was at {}", placed.base_offset),
                Admission::Refused(Refusal::OutOfOrder { .. }) => "out of order".into(),
                Admission::Refused(Refusal::StaleProducer { .. }) => "stale".into(),
                Admission::Refused(other) => format!("{other}"),
            }
        })
        .collect()
}

fn check(batches: &[(i16, i32)], last: &str) {
    assert_eq!(outcomes(batches).last().unwrap(), last, "{batches:?}");
}

#[test]
fn rules_for_sequences_and_epochs_are_those_measured() {
    check(&[(0, 1234)], "written at 0");
    check(&[(0, 0), (0, 1)], "written at 1");
    check(&[(0, 0), (0, 2)], "out of order");
    check(&[(0, 0), (0, 0)], "was at 0");
    check(&[(3, 0), (4, 1)], "out of order");
    check(&[(3, 7), (4, 0)], "written at 1");
    check(&[(3, 0), (2, 1)], "stale");
    check(&[(3, 0), (-1, 1)], "stale");
    check(&[(-1, 0)], "stale");
    check(&[(0, i32::MAX), (0, 0)], "written at 1");
}

#[test]
fn only_the_last_five_batches_are_recognised() {
    let mut six: Vec<(i16, i32)> = (0..6).map(|s| (0, s)).collect();
    six.push((0, 1));
    check(&six, "was at 1");
    *six.last_mut().unwrap() = (0, 0);
    check(&six, "out of order");
}

#[test]
fn same_first_sequence_with_another_length_is_out_of_order() {
    let mut r = leader(1, &[1]);
    r.admit(&header(5, 0, 0, 3), Ack::Leader, 0, 99, 1);
    r.written(Offset(3), 0);
    assert!(matches!(
        r.admit(&header(5, 0, 0, 2), Ack::Leader, 0, 99, 2),
        Admission::Refused(Refusal::OutOfOrder { expected: 3, .. })
    ));
}

#[test]
fn duplicate_is_answered_only_when_its_first_writing_is_committed() {
    let mut r = leader(2, &[1, 2]);
    let h = header(5, 0, 0, 2);
    assert!(matches!(
        r.admit(&h, Ack::InSync, 0, 99, 1),
        Admission::Write { .. }
    ));
    r.written(Offset(2), 0);
    let Admission::Duplicate(placed) = r.admit(&h, Ack::InSync, 0, 99, 2) else {
        panic!("not recognised");
    };
    assert_eq!(
        (placed.base_offset, placed.last_offset),
        (Offset(0), Offset(1))
    );
    assert_eq!(r.position_of(BrokerId(2), at(2), 1), [done(1), done(2)]);
    assert_eq!(r.high_watermark(), Offset(2));
}

#[test]
fn five_batches_in_one_wake_up_keep_their_order() {
    let mut r = leader(1, &[1]);
    for i in 0..5 {
        assert!(matches!(
            r.admit(&header(5, 0, i, 1), Ack::Leader, 0, 99, 1),
            Admission::Write { base_offset, .. } if base_offset == Offset(i64::from(i))
        ));
    }
}

#[test]
fn producers_survive_encoding_and_expire_by_time() {
    let mut producers = Producers::default();
    for id in 0..3 {
        for i in 0..7 {
            producers.observe(&Header {
                max_timestamp: id * 100,
                ..header(id, 2, i, 1)
            });
        }
    }
    let bytes = producers.encode();
    assert_eq!(Producers::decode(bytes.clone()), Some(producers.clone()));
    assert_eq!(Producers::decode(bytes.slice(..bytes.len() - 1)), None);
    producers.expire(99);
    assert_eq!(producers.len(), 2);
    producers.expire(100);
    assert_eq!(producers.len(), 1);
}

#[test]
fn what_was_sent_behind_a_refused_batch_is_refused_like_it() {
    let mut r = leader(2, &[1, 2]);
    let batch = |sequence| header(5, 0, sequence, 2);
    assert!(matches!(
        r.admit(&batch(0), Ack::InSync, 0, 99, 1),
        Admission::Write { .. }
    ));
    r.written(Offset(2), 0);
    r.assign(membership(0, 1, &[1]), 1);
    let not_enough = Refusal::NotEnough {
        in_sync: 1,
        required: 2,
    };
    assert_eq!(
        refusal(r.admit(&batch(2), Ack::InSync, 1, 99, 2)),
        not_enough
    );
    // The client has not heard of that when the set has grown again.
    r.assign(membership(0, 2, &[1, 2]), 2);
    for sequence in [4, 6] {
        assert_eq!(
            refusal(r.admit(&batch(sequence), Ack::InSync, 3, 99, 3)),
            not_enough
        );
    }
    // Now it has, and sends all of it again.
    for sequence in [2, 4, 6] {
        assert!(matches!(
            r.admit(&batch(sequence), Ack::InSync, 4, 99, 4),
            Admission::Write { base_offset, .. } if base_offset.0 == i64::from(sequence)
        ));
    }
    // A gap that nobody here has made is the client's.
    assert!(matches!(
        refusal(r.admit(&batch(10), Ack::InSync, 5, 99, 5)),
        Refusal::OutOfOrder { expected: 8, .. }
    ));
}

#[test]
fn first_batch_of_a_producer_is_not_overtaken_by_its_second() {
    let mut r = leader(1, &[1]);
    r.assign(
        Membership {
            leader: Some(BrokerId(2)),
            ..membership(1, 1, &[1, 2])
        },
        0,
    );
    let batch = |sequence| header(5, 0, sequence, 1);
    assert_eq!(
        refusal(r.admit(&batch(0), Ack::InSync, 0, 99, 1)),
        Refusal::NotLeader
    );
    r.assign(membership(2, 2, &[1, 2]), 1);
    assert_eq!(
        refusal(r.admit(&batch(1), Ack::InSync, 2, 99, 2)),
        Refusal::NotLeader
    );
    for sequence in [0, 1] {
        assert!(matches!(
            r.admit(&batch(sequence), Ack::InSync, 3, 99, 3),
            Admission::Write { .. }
        ));
    }
}

#[test]
fn what_was_sent_behind_a_batch_that_was_cut_off_is_refused() {
    let mut r = leader(1, &[1, 2]);
    let batch = |sequence| header(5, 0, sequence, 1);
    for sequence in [0, 1, 2] {
        r.admit(&batch(sequence), Ack::InSync, 0, 99, 1);
    }
    r.written(Offset(3), 0);
    r.assign(
        Membership {
            leader: Some(BrokerId(2)),
            ..membership(1, 1, &[1, 2])
        },
        1,
    );
    let mut left = Producers::default();
    left.observe(&batch(0));
    let ends = Ends {
        end: Offset(1),
        ..Ends::default()
    };
    r.truncated(ends, left, 2);
    r.assign(membership(2, 2, &[1, 2]), 3);
    assert_eq!(
        refusal(r.admit(&batch(3), Ack::InSync, 4, 99, 2)),
        Refusal::NotLeader
    );
    assert!(matches!(
        r.admit(&batch(1), Ack::InSync, 5, 99, 3),
        Admission::Write { .. }
    ));
}

#[test]
fn batch_that_is_left_out_for_good_is_a_gap_in_the_end() {
    let mut r = leader(2, &[1]);
    for sequence in [0, 1] {
        r.admit(&header(5, 0, sequence, 1), Ack::Leader, 0, 99, 1);
    }
    r.written(Offset(2), 0);
    r.admit(&header(5, 0, 2, 1), Ack::InSync, 0, 99, 2);
    let next = header(5, 0, 3, 1);
    assert!(matches!(
        refusal(r.admit(&next, Ack::Leader, 4_999, 9_999, 3)),
        Refusal::NotEnough { .. }
    ));
    assert!(matches!(
        refusal(r.admit(&next, Ack::Leader, 5_000, 9_999, 4)),
        Refusal::OutOfOrder { expected: 2, .. }
    ));
}

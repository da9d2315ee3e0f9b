use super::*;

#[test]
fn append_is_answered_when_every_in_sync_replica_has_it() {
    let mut r = leader(2, &[1, 2, 3]);
    assert_eq!(append(&mut r, &[10, 11], 5, 1), []);
    assert_eq!(r.position_of(BrokerId(2), at(10), 2), []);
    assert_eq!(r.position_of(BrokerId(3), at(5), 3), [done(10)]);
    assert_eq!(r.high_watermark(), Offset(5));
    assert_eq!(r.position_of(BrokerId(3), at(10), 4), [done(11)]);
    assert_eq!(r.high_watermark(), Offset(10));
}

#[test]
fn single_replica_answers_itself_whatever_minimum_is_asked_for() {
    let mut r = Replica::new(
        BrokerId(1),
        rules(2),
        Ends::default(),
        Offset(0),
        Producers::default(),
    );
    let alone = Membership {
        replicas: ids(&[1]),
        ..membership(0, 0, &[1])
    };
    r.assign(alone, 0);
    assert_eq!(append(&mut r, &[1], 1, 0), [done(1)]);
    assert_eq!(r.high_watermark(), Offset(1));
}

#[test]
fn too_few_in_sync_replicas_refuse_before_writing_but_only_for_full_acknowledgement() {
    let mut r = leader(2, &[1]);
    let h = header(-1, 0, 0, 1);
    assert_eq!(
        r.admit(&h, Ack::InSync, 0, 1000, 1),
        Admission::Refused(Refusal::NotEnough {
            in_sync: 1,
            required: 2
        })
    );
    assert!(matches!(
        r.admit(&h, Ack::Leader, 0, 1000, 2),
        Admission::Write { .. }
    ));
    assert_eq!(
        r.written(Offset(1), 0),
        [done(2)],
        "and the watermark stays"
    );
    assert_eq!(r.high_watermark(), Offset(0));
}

#[test]
fn append_whose_replicas_left_times_out_as_any_other() {
    let mut r = leader(2, &[1, 2]);
    append(&mut r, &[1], 1, 0);
    assert_eq!(r.next_deadline(), Some(1000));
    assert_eq!(r.assign(membership(0, 1, &[1]), 10), []);
    assert_eq!(
        r.tick(1000),
        [Effect::Answer {
            token: 1,
            outcome: Err(Refusal::Timeout)
        }]
    );
}

#[test]
fn append_that_nobody_follows_times_out() {
    let mut r = leader(2, &[1, 2]);
    append(&mut r, &[1], 1, 0);
    assert_eq!(r.tick(999), []);
    assert_eq!(
        r.tick(1000),
        [Effect::Answer {
            token: 1,
            outcome: Err(Refusal::Timeout)
        }]
    );
}

#[test]
fn lost_leadership_fails_what_waits() {
    let mut r = leader(2, &[1, 2]);
    append(&mut r, &[1, 2], 1, 0);
    let other = Membership {
        leader: Some(BrokerId(2)),
        ..membership(1, 1, &[1, 2])
    };
    let effects = r.assign(other, 5);
    assert_eq!(effects.len(), 2);
    assert!(effects.iter().all(|e| matches!(
        e,
        Effect::Answer {
            outcome: Err(Refusal::NotLeader),
            ..
        }
    )));
    assert_eq!(
        r.assign(membership(0, 0, &[1]), 6),
        [],
        "what is older is ignored"
    );
    assert!(!r.is_leading());
}

#[test]
fn slow_follower_is_proposed_to_leave_and_the_watermark_waits_for_the_answer() {
    let mut r = leader(2, &[1, 2, 3]);
    append(&mut r, &[1], 1, 0);
    r.position_of(BrokerId(2), at(1), 1);
    assert_eq!(
        r.tick(LAG_MS),
        [Effect::Answer {
            token: 1,
            outcome: Err(Refusal::Timeout)
        }]
    );
    assert_eq!(r.next_deadline(), Some(LAG_MS + 1));
    assert_eq!(r.tick(LAG_MS + 1), [proposal(0, 0, &[1, 2])]);
    assert_eq!(r.high_watermark(), Offset(0), "not before it is agreed");
    assert_eq!(r.assign(membership(0, 1, &[1, 2]), LAG_MS + 2), []);
    assert_eq!(r.high_watermark(), Offset(1));
}

#[test]
fn idle_partition_keeps_its_followers_however_long() {
    let mut r = leader(2, &[1, 2, 3]);
    append(&mut r, &[1], 1, 0);
    r.position_of(BrokerId(2), at(1), 1);
    r.position_of(BrokerId(3), at(1), 1);
    assert_eq!(r.tick(1000 * LAG_MS), []);
    assert_eq!(r.next_deadline(), None);
    // The first record after a long silence does not make them late.
    append(&mut r, &[2], 1, 1000 * LAG_MS);
    assert_eq!(r.tick(1000 * LAG_MS + 10), []);
}

#[test]
fn caught_up_follower_joins_and_counts_from_the_proposal_on() {
    let mut r = leader(1, &[1]);
    append(&mut r, &[1], 4, 0);
    assert_eq!(r.position_of(BrokerId(2), at(3), 1), []);
    assert_eq!(
        r.position_of(BrokerId(2), at(4), 2),
        [proposal(0, 0, &[1, 2])]
    );
    assert_eq!(append(&mut r, &[2], 1, 3), [], "the proposed member counts");
    assert_eq!(
        r.assign(membership(0, 1, &[1, 2]), 4),
        [],
        "and still does when agreed"
    );
    assert_eq!(r.position_of(BrokerId(2), at(5), 5), [done(2)]);
    assert_eq!(r.high_watermark(), Offset(5));
}

#[test]
fn proposed_member_counts_until_it_is_refused_or_a_later_version_is_known() {
    let mut r = leader(1, &[1]);
    assert_eq!(
        r.position_of(BrokerId(2), at(0), 1),
        [proposal(0, 0, &[1, 2])]
    );
    assert_eq!(r.assign(membership(0, 0, &[1]), 2), [], "the same again");
    assert_eq!(append(&mut r, &[1], 1, 3), []);
    assert_eq!(r.proposal_refused(-1, 4), [], "an earlier proposal");
    assert_eq!(append(&mut r, &[2], 1, 5), []);
    let mut other = r.assign(membership(0, 1, &[1]), 6);
    assert_eq!(
        other.drain(..2).collect::<Vec<_>>(),
        [done(1), done(2)],
        "whatever was proposed for the version before can no longer be agreed on"
    );
}

#[test]
fn refusal_lets_the_watermark_go_on_without_the_proposed_member() {
    let mut r = leader(1, &[1]);
    r.position_of(BrokerId(2), at(0), 1);
    assert_eq!(append(&mut r, &[1], 1, 2), []);
    assert_eq!(r.proposal_refused(0, 3), [done(1)]);
    assert_eq!(r.high_watermark(), Offset(1));
}

#[test]
fn refused_proposal_is_made_again_later() {
    let mut r = leader(1, &[1]);
    assert_eq!(
        r.position_of(BrokerId(2), at(0), 1),
        [proposal(0, 0, &[1, 2])]
    );
    r.proposal_refused(0, 2);
    assert_eq!(r.position_of(BrokerId(2), at(0), 3), []);
    let again = r.next_deadline().unwrap();
    assert_eq!(r.tick(again), [proposal(0, 0, &[1, 2])]);
}

#[test]
fn member_that_lost_committed_records_is_put_out_at_once() {
    let mut r = leader(2, &[1, 2, 3]);
    append(&mut r, &[1], 10, 0);
    r.position_of(BrokerId(2), at(10), 1);
    r.position_of(BrokerId(3), at(10), 1);
    assert_eq!(r.high_watermark(), Offset(10));
    assert_eq!(
        r.position_of(BrokerId(3), at(4), 2),
        [proposal(0, 0, &[1, 2])]
    );
    assert_eq!(r.high_watermark(), Offset(10));
}

#[test]
fn follower_joins_only_with_all_that_the_new_leader_took_over() {
    let ends = Ends {
        start: Offset(0),
        end: Offset(8),
        synced: Offset(8),
    };
    let mut r = Replica::new(BrokerId(1), rules(1), ends, Offset(5), Producers::default());
    r.assign(membership(3, 7, &[1, 2]), 0);
    assert!(!r.is_watermark_settled());
    assert_eq!(
        r.position_of(BrokerId(3), at(6), 1),
        [],
        "above the watermark, below the epoch"
    );
    assert_eq!(r.position_of(BrokerId(2), at(8), 2), []);
    assert_eq!(r.high_watermark(), Offset(8));
    assert!(r.is_watermark_settled());
    assert_eq!(
        r.position_of(BrokerId(3), at(8), 3),
        [proposal(3, 7, &[1, 2, 3])]
    );
}

#[test]
fn when_only_synced_records_count_both_sides_wait_for_their_disks() {
    let mut r = leader(2, &[1, 2]);
    r.reconfigure(
        Rules {
            synced_only: true,
            ..rules(2)
        },
        0,
    );
    append(&mut r, &[1], 2, 0);
    let written = Position {
        next: Offset(2),
        held: Offset(0),
    };
    assert_eq!(r.position_of(BrokerId(2), written, 1), []);
    assert_eq!(r.synced(Offset(2), 2), []);
    assert_eq!(r.position_of(BrokerId(2), at(2), 3), [done(1)]);
    assert_eq!(r.high_watermark(), Offset(2));
}

#[test]
fn failed_write_fails_its_appends_and_frees_its_offsets() {
    let mut r = leader(1, &[1]);
    append(&mut r, &[1], 1, 0);
    let h = header(9, 0, 0, 3);
    assert!(matches!(
        r.admit(&h, Ack::Leader, 0, 1000, 2),
        Admission::Write { .. }
    ));
    let effects = r.write_failed("no space left", 0);
    assert!(matches!(
        effects[..],
        [Effect::Answer {
            token: 2,
            outcome: Err(Refusal::Storage(_))
        }]
    ));
    assert_eq!(
        r.admit(&h, Ack::Leader, 0, 1000, 3),
        Admission::Write {
            base_offset: Offset(1),
            epoch: Epoch(0)
        },
        "not taken for a duplicate"
    );
}

#[test]
fn follower_goes_no_further_than_its_own_log() {
    let mut r = Replica::new(
        BrokerId(2),
        rules(1),
        Ends::default(),
        Offset(0),
        Producers::default(),
    );
    r.assign(membership(0, 0, &[1, 2]), 0);
    let ends = Ends {
        end: Offset(5),
        ..Ends::default()
    };
    r.copied(ends, Offset(9));
    assert_eq!(r.high_watermark(), Offset(5));
}

#[test]
fn appends_wait_on_where_the_leader_goes_on_in_the_next_epoch_and_not_in_a_later_one() {
    let mut r = leader(1, &[1, 2]);
    assert_eq!(append(&mut r, &[10], 5, 1), []);
    assert_eq!(r.assign(membership(1, 1, &[1, 2]), 2), []);
    assert_eq!(r.position_of(BrokerId(2), at(5), 3), [done(10)]);
    assert_eq!(append(&mut r, &[11], 5, 4), []);
    let failed = Effect::Answer {
        token: 11,
        outcome: Err(Refusal::NotLeader),
    };
    assert_eq!(r.assign(membership(3, 2, &[1, 2]), 5), [failed]);
}

#[test]
fn member_that_has_just_joined_has_as_long_as_every_other_to_catch_up() {
    let mut replica = leader(2, &[1]);
    let now_ms = 10 * LAG_MS;
    let five = header(-1, 0, 0, 5);
    replica.admit(&five, Ack::Leader, now_ms, now_ms + 1000, 1);
    replica.written(Offset(5), now_ms);
    // Too few are in sync for the watermark to move, so whoever has nothing may join.
    let effects = replica.position_of(BrokerId(2), at(0), now_ms);
    assert_eq!(effects, [proposal(0, 0, &[1, 2])]);
    assert_eq!(replica.assign(membership(0, 1, &[1, 2]), now_ms), []);
    let effects = replica.tick(now_ms + LAG_MS + 1);
    assert_eq!(effects, [proposal(0, 1, &[1])]);
}

fn lost(r: &mut Replica, unheard: &[i32], now_ms: i64) -> Vec<Effect> {
    r.lost(Arc::new(ids(unheard).into_iter().collect()), now_ms)
}

#[test]
fn follower_whose_connection_is_lost_leaves_with_the_first_record_it_lacks() {
    let mut r = leader(2, &[1, 2, 3]);
    for follower in [2, 3] {
        r.position_of(BrokerId(follower), at(0), 1);
    }
    assert_eq!(lost(&mut r, &[2], 2), [], "an idle one lacks nothing");
    assert_eq!(r.next_deadline(), None);
    assert_eq!(append(&mut r, &[10], 1, 3), [proposal(0, 0, &[1, 3])]);
    assert_eq!(r.position_of(BrokerId(3), at(1), 4), []);
    assert_eq!(r.assign(membership(0, 1, &[1, 3]), 5), [done(10)]);
}

#[test]
fn lost_follower_stays_when_too_few_would_remain() {
    let mut r = leader(2, &[1, 2, 3]);
    for follower in [2, 3] {
        r.position_of(BrokerId(follower), at(0), 1);
    }
    append(&mut r, &[10], 1, 2);
    assert_eq!(lost(&mut r, &[2, 3], 3), []);
    assert_eq!(r.next_deadline(), Some(1002), "of the append");
    // One of them is back: now enough remain.
    assert_eq!(lost(&mut r, &[2], 4), [proposal(0, 0, &[1, 3])]);
}

#[test]
fn lost_follower_that_is_back_stays() {
    let mut r = leader(2, &[1, 2, 3]);
    for follower in [2, 3] {
        r.position_of(BrokerId(follower), at(0), 1);
    }
    assert_eq!(lost(&mut r, &[2], 2), []);
    assert_eq!(lost(&mut r, &[], 3), []);
    assert_eq!(append(&mut r, &[10], 1, 4), []);
}

#[test]
fn follower_that_heard_before_its_leader_that_it_was_put_out_need_not_say_twice_where_it_is() {
    let mut r = leader(2, &[1, 2, 3]);
    assert_eq!(r.position_as_of(0, BrokerId(3), at(0), 1), []);
    assert_eq!(r.position_as_of(1, BrokerId(2), at(0), 2), []);
    let effects = r.assign(membership(0, 1, &[1]), 3);
    assert_eq!(
        effects,
        [proposal(0, 1, &[1, 2])],
        "and 3 has not said it since"
    );
}

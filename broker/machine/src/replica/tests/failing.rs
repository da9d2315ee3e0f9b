use super::*;

fn refused(token: Token) -> Effect {
    Effect::Answer {
        token,
        outcome: Err(Refusal::Storage("full".into())),
    }
}

fn fail(r: &mut Replica, now_ms: i64) -> Vec<Effect> {
    r.fail("full", now_ms)
}

#[test]
fn leader_that_fails_refuses_what_waits_and_goes_without_moving_its_watermark() {
    let mut r = leader(2, &[1, 2, 3]);
    append(&mut r, &[1], 1, 0);
    assert_eq!(
        fail(&mut r, 1),
        [refused(1), Effect::Resign { partition_epoch: 0 }]
    );
    assert_eq!(
        r.admit(&header(-1, 0, 0, 1), Ack::InSync, 0, 1000, 2),
        Admission::Refused(Refusal::Storage("full".into()))
    );
    r.position_of(BrokerId(2), at(1), 2);
    assert_eq!(r.position_of(BrokerId(3), at(1), 3), []);
    assert_eq!(r.high_watermark(), Offset(0));
    assert!(!r.may_recover());
    let other = Membership {
        leader: Some(BrokerId(2)),
        ..membership(1, 1, &[2, 3])
    };
    assert_eq!(r.assign(other, 4), []);
    assert!(r.may_recover());
}

#[test]
fn follower_that_fails_goes_too_and_asks_again_when_it_was_not_heard() {
    let mut r = Replica::new(
        BrokerId(2),
        rules(1),
        Ends::default(),
        Offset(0),
        Producers::default(),
    );
    r.assign(membership(0, 3, &[1, 2]), 0);
    let resign = Effect::Resign { partition_epoch: 3 };
    assert_eq!(fail(&mut r, 0), std::slice::from_ref(&resign));
    assert_eq!(r.tick(10_000), [], "not while the answer is awaited");
    r.resignation_refused(3, 10_000);
    let again = r.next_deadline().unwrap();
    assert!(again > 10_000);
    assert_eq!(r.tick(again), [resign]);
    assert_eq!(
        r.assign(membership(0, 4, &[1, 2, 3]), 20_000),
        [Effect::Resign { partition_epoch: 4 }],
        "another version, and still in it"
    );
}

#[test]
fn last_member_stays_until_another_has_joined() {
    let mut r = leader(1, &[1]);
    append(&mut r, &[1], 2, 0);
    assert_eq!(fail(&mut r, 1), []);
    assert!(r.may_recover());
    assert_eq!(
        r.position_of(BrokerId(2), at(2), 2),
        [proposal(0, 0, &[1, 2])]
    );
    assert_eq!(
        r.assign(membership(0, 1, &[1, 2]), 3),
        [Effect::Resign { partition_epoch: 1 }]
    );
}

#[test]
fn recovered_leader_goes_on_at_the_end_of_its_log() {
    let mut r = leader(1, &[1]);
    append(&mut r, &[1], 2, 0);
    fail(&mut r, 1);
    let ends = Ends {
        end: Offset(3),
        synced: Offset(3),
        ..Ends::default()
    };
    assert_eq!(r.recovered(ends, None, 2), []);
    assert_eq!(r.high_watermark(), Offset(3), "a part had been written");
    assert!(matches!(
        r.admit(&header(-1, 0, 0, 1), Ack::InSync, 0, 1000, 2),
        Admission::Write {
            base_offset: Offset(3),
            ..
        }
    ));
}

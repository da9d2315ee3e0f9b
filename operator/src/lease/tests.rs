use super::*;

fn lease(holder: &str, renewed: i64) -> Lease {
    Lease {
        metadata: ObjectMeta::default(),
        spec: Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: Some(MicroTime(Timestamp::from_second(renewed).unwrap())),
            ..LeaseSpec::default()
        }),
    }
}

#[test]
fn a_lease_is_free_only_after_its_duration_without_a_renewal_by_the_watchers_own_clock() {
    let begun = Instant::now();
    let after = |seconds| begun + Duration::from_secs(seconds);
    let mut watched = Watched::default();
    // However old the holder's clock says it is: another machine's clock proves nothing.
    assert!(!watched.is_free(&lease("other", 0), begun));
    assert!(!watched.is_free(&lease("other", 0), after(14)));
    assert!(
        !watched.is_free(&lease("other", 1), after(15)),
        "renewed meanwhile"
    );
    assert!(!watched.is_free(&lease("other", 1), after(29)));
    assert!(watched.is_free(&lease("other", 1), after(30)));
}

#[test]
fn a_lease_without_a_holder_is_free_at_once() {
    assert!(Watched::default().is_free(&lease("", 0), Instant::now()));
}

#[test]
fn a_holder_gives_up_before_anybody_else_may_take_over() {
    assert!(RENEW_DEADLINE + RENEW_EVERY < DURATION);
}

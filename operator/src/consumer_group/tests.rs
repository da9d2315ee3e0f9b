use super::*;
use crds::duration::Duration as Time;

fn group(partitions: &[(&str, i64, Option<f64>)]) -> admin::Group {
    admin::Group {
        summary: admin::GroupSummary {
            id: "g".into(),
            state: "Stable".into(),
            protocol_type: "consumer".into(),
            members: 2,
            lag_records: 0,
            lag_seconds: None,
        },
        coordinator: 0,
        protocol: "range".into(),
        membership: vec![],
        partitions: partitions
            .iter()
            .map(|(topic, records, seconds)| admin::GroupPartition {
                topic: (*topic).into(),
                partition: 0,
                committed: 0,
                end: None,
                lag_records: Some(*records),
                lag_seconds: *seconds,
            })
            .collect(),
    }
}

fn lag(records: i64, seconds: i64) -> Lag {
    Lag {
        records,
        max_time: Time::from_millis(seconds * 1000),
    }
}

#[test]
fn lag_is_the_sum_of_records_and_the_worst_time_over_declared_topics() {
    let g = group(&[
        ("a", 5, Some(1.9)),
        ("a", 7, Some(70.4)),
        ("other", 1000, Some(9999.0)),
    ]);
    let seen = observe(&["a".to_owned(), "b".to_owned()], Some(&g));
    assert_eq!(seen.lag, Some(lag(12, 70)));
    assert_eq!(seen.uncommitted, ["b"]);
}

#[test]
fn a_group_that_never_was_has_no_lag_rather_than_none_of_it() {
    let seen = observe(&["a".to_owned()], None);
    assert_eq!((seen.lag, seen.state), (None, None));
    let slo = Slo {
        max_lag_time: Some(Time::from_millis(1000)),
        max_lag_records: None,
    };
    assert_eq!(within(&slo, None).holds, None);
}

#[test]
fn the_objective_is_judged_by_time_and_by_records() {
    let slo = Slo {
        max_lag_time: Some(Time::from_millis(60_000)),
        max_lag_records: Some(100),
    };
    assert_eq!(within(&slo, Some(&lag(100, 60))).holds, Some(true));
    assert_eq!(within(&slo, Some(&lag(0, 61))).reason, "LagTime");
    assert_eq!(within(&slo, Some(&lag(101, 0))).reason, "LagRecords");
}

#[test]
fn small_moves_of_the_lag_are_not_written() {
    assert_eq!(steady(lag(105, 60), Some(&lag(100, 60))), lag(100, 60));
    assert_eq!(steady(lag(120, 60), Some(&lag(100, 60))), lag(120, 60));
    assert_eq!(steady(lag(1, 0), Some(&lag(0, 0))), lag(1, 0));
}

use super::*;
use crds::argument::Argument;
use crds::cluster_ref::ClusterRef;
use crds::duration::{Duration, Limit};
use crds::topic::Retention;

const THREE: Facts = Facts { brokers: 3 };

fn spec(partitions: Option<i32>, rf: Option<i32>, min: Option<i32>) -> TopicSpec {
    TopicSpec {
        cluster_ref: ClusterRef {
            name: "main".into(),
        },
        name: None,
        partitions,
        replication_factor: rf,
        min_in_sync: min,
        retention: None,
        config: BTreeMap::new(),
        deletion_policy: None,
    }
}

fn topic(partitions: usize, rf: usize, configs: &[(&str, &str)]) -> admin::Topic {
    admin::Topic {
        name: "t".into(),
        id: "id".into(),
        internal: false,
        partitions: (0..partitions)
            .map(|n| admin::Partition {
                partition: i32::try_from(n).unwrap(),
                replicas: (0..i32::try_from(rf).unwrap()).collect(),
                isr: vec![0],
                leader: Some(0),
                leader_epoch: 0,
            })
            .collect(),
        configs: configs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        min_insync_replicas: 1,
    }
}

fn refused(spec: &TopicSpec, observed: Option<&admin::Topic>) -> (&'static str, &'static str) {
    let refusal = plan(spec, observed, &THREE, &[]).unwrap_err();
    (refusal.field, refusal.reason)
}

#[test]
fn an_absent_topic_is_created_with_what_the_spec_states_and_no_more() {
    let mut s = spec(Some(12), Some(3), Some(2));
    s.retention = Some(Retention {
        time: Some(Limit::For(Duration::from_millis(1000))),
        bytes: None,
    });
    assert_eq!(
        plan(&s, None, &THREE, &[]).unwrap(),
        Plan::Create(admin::TopicSpec {
            partitions: Some(12),
            replication_factor: Some(3),
            configs: [("min.insync.replicas", "2"), ("retention.ms", "1000")]
                .map(|(k, v)| (k.to_owned(), Some(v.to_owned())))
                .into(),
        })
    );
    assert_eq!(
        plan(&spec(None, None, None), None, &THREE, &[]).unwrap(),
        Plan::Create(admin::TopicSpec::default())
    );
}

#[test]
fn a_topic_as_asked_for_is_left_alone_whatever_else_is_set_on_it() {
    let there = topic(
        12,
        3,
        &[("min.insync.replicas", "2"), ("leader.throttled", "x")],
    );
    let s = spec(Some(12), Some(3), Some(2));
    assert_eq!(plan(&s, Some(&there), &THREE, &[]).unwrap(), Plan::Nothing);
    let silent = spec(None, None, None);
    assert_eq!(
        plan(&silent, Some(&there), &THREE, &[]).unwrap(),
        Plan::Nothing
    );
}

#[test]
fn partitions_grow_and_never_shrink() {
    let there = topic(6, 3, &[]);
    let Plan::Alter {
        spec: put, grows, ..
    } = plan(&spec(Some(12), None, None), Some(&there), &THREE, &[]).unwrap()
    else {
        panic!("not altered")
    };
    assert_eq!(
        (put.partitions, put.replication_factor, grows),
        (Some(12), None, Some((6, 12)))
    );
    assert_eq!(
        refused(&spec(Some(3), None, None), Some(&there)),
        ("partitions", "PartitionsShrink")
    );
}

#[test]
fn replicas_above_the_brokers_or_other_than_the_topics_are_refused() {
    assert_eq!(
        refused(&spec(None, Some(4), None), None),
        ("replicationFactor", "TooFewBrokers")
    );
    let there = topic(1, 2, &[]);
    assert_eq!(
        refused(&spec(None, Some(4), None), Some(&there)),
        ("replicationFactor", "TooFewBrokers")
    );
    assert_eq!(
        refused(&spec(None, Some(3), None), Some(&there)),
        ("replicationFactor", "ReplicationFactorFixed")
    );
    assert_eq!(
        refused(&spec(None, None, Some(3)), Some(&there)),
        ("minInSync", "TooFewReplicas")
    );
}

#[test]
fn configs_that_drifted_are_set_again_and_those_taken_out_are_reset() {
    let mut s = spec(None, None, Some(2));
    s.config
        .insert("max.message.bytes".into(), Argument::Number(1000));
    let there = topic(
        1,
        3,
        &[
            ("max.message.bytes", "5"),
            ("min.insync.replicas", "2"),
            ("retention.ms", "7"),
        ],
    );
    let before = ["retention.ms".to_owned(), "retention.bytes".to_owned()];
    let Plan::Alter {
        spec: put,
        grows: None,
        changes,
    } = plan(&s, Some(&there), &THREE, &before).unwrap()
    else {
        panic!("not altered")
    };
    assert_eq!(
        put.configs,
        BTreeMap::from([
            ("max.message.bytes".to_owned(), Some("1000".to_owned())),
            ("retention.ms".to_owned(), None),
        ])
    );
    assert_eq!(
        changes,
        ["max.message.bytes: 5 -> 1000", "retention.ms: 7 -> default"]
    );
}

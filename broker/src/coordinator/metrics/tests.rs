use api::admin::{Group, GroupMember, GroupPartition, GroupSummary, MemberPartitions};
use prometheus_client::registry::Registry;

use super::*;

#[derive(Debug)]
struct Fixed(Report);

impl Collector for Fixed {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        encode_groups(&self.0, encoder)
    }
}

#[derive(Debug)]
struct FixedDead(Vec<DeadLettered>);

impl Collector for FixedDead {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        encode_dead_letters(&self.0, encoder)
    }
}

fn text(report: Report, dead: Vec<DeadLettered>) -> String {
    let mut registry = Registry::with_prefix("millrace");
    registry
        .sub_registry_with_prefix("group")
        .register_collector(Box::new(Fixed(report)));
    registry
        .sub_registry_with_prefix("dead_letter")
        .register_collector(Box::new(FixedDead(dead)));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}

fn partition(partition: i32, lag: Option<(i64, f64)>) -> GroupPartition {
    GroupPartition {
        topic: "flights".into(),
        partition,
        committed: 5,
        end: lag.map(|(records, _)| 5 + records),
        lag_records: lag.map(|(records, _)| records),
        lag_seconds: lag.map(|(_, seconds)| seconds),
    }
}

fn group() -> Group {
    Group {
        summary: GroupSummary {
            id: "g".into(),
            state: "Stable".into(),
            protocol_type: "consumer".into(),
            members: 2,
            lag_records: 7,
            lag_seconds: Some(1.5),
        },
        coordinator: 0,
        protocol: "range".into(),
        membership: vec![GroupMember {
            member_id: "m".into(),
            instance_id: None,
            client_id: "c".into(),
            host: "/127.0.0.1".into(),
            assigned: vec![MemberPartitions {
                topic: "flights".into(),
                partitions: vec![1, 2, 3, 4],
            }],
        }],
        partitions: vec![
            partition(0, Some((7, 1.5))),
            partition(1, Some((0, 0.0))),
            partition(2, None),
        ],
    }
}

#[test]
fn series_carry_the_names_that_rules_read() {
    let dead = DeadLettered {
        topic: "flights.dlq".into(),
        partition: 0,
        records: 3,
    };
    let report = Report {
        groups: vec![group()],
    };
    let text = text(report, vec![dead]);
    for line in [
        r#"millrace_group_lag_records{group="g",topic="flights",partition="0"} 7"#,
        r#"millrace_group_lag_seconds{group="g",topic="flights",partition="0"} 1.5"#,
        r#"millrace_group_lag_seconds{group="g",topic="flights",partition="1"} 0.0"#,
        r#"millrace_group_lag_seconds_max{group="g",topic="flights"} 1.5"#,
        r#"millrace_group_partitions_uncommitted{group="g"} 2"#,
        r#"millrace_group_members{group="g"} 2"#,
        r#"millrace_dead_letter_topic_records_total{topic="flights.dlq",partition="0"} 3"#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(
        !text.contains(r#"partition="2""#),
        "unknown is absent:\n{text}"
    );
}

#[test]
fn no_group_makes_no_series() {
    let text = text(Report::default(), Vec::new());
    assert_eq!(text, "# EOF\n");
}

#[test]
fn a_topic_is_for_dead_letters_by_config_or_by_name() {
    let mut image = Image::default();
    let is = |image: &Image, name: &str| is_dead_letter(image, &name.into());
    assert!(is(&image, "orders.dlq"));
    assert!(is(&image, "orders-dlq"));
    assert!(!is(&image, "orders"));
    let set = |image: &mut Image, name: &str, value: &str| {
        image
            .configs
            .entry(ConfigResource::Topic(name.into()))
            .or_default()
            .insert(DEAD_LETTER_CONFIG.into(), value.into());
    };
    set(&mut image, "rejects", "true");
    set(&mut image, "orders.dlq", "false");
    assert!(is(&image, "rejects"));
    assert!(!is(&image, "orders.dlq"));
}

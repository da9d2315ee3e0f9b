use super::*;

fn layout(brokers: u16) -> Layout {
    Layout {
        cluster_id: "c".to_owned(),
        brokers,
        voters: voters(brokers),
        data: PathBuf::from("/data"),
        ports: Ports::moved(100, brokers).unwrap(),
        queue_memory_bytes: 3000,
    }
}

#[test]
fn third_of_three_brokers_gets_its_own_ports_zone_and_the_whole_quorum() {
    let text = layout(3).properties(2, None);
    for line in [
        "node.id=2",
        "broker.rack=zone-c",
        "listeners=KAFKA://localhost:9194,AMQP://localhost:5774,ADMIN://localhost:9746,PEER://127.0.0.1:7746",
        "log.dirs=/data/broker-2",
        "controller.quorum.voters=0@127.0.0.1:7744,1@127.0.0.1:7745,2@127.0.0.1:7746",
        "default.replication.factor=3",
        "min.insync.replicas=2",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
}

#[test]
fn brokers_of_one_machine_share_its_memory_unless_the_manifest_says_otherwise() {
    let share = |brokers, spec: Option<&BrokerClusterSpec>| {
        let text = layout(brokers).properties(0, spec);
        let mut lines = text.lines().rev();
        let value = lines.find_map(|l| l.strip_prefix("millrace.queue.memory.bytes="));
        value.map(str::to_owned)
    };
    assert_eq!(share(1, None).as_deref(), Some("3000"));
    assert_eq!(share(3, None).as_deref(), Some("1000"));
    let spec = serde_json::json!({
        "storage": { "size": "1Gi" }, "config": { "millrace.queue.memory.bytes": 7 },
    });
    let spec: BrokerClusterSpec = serde_json::from_value(spec).unwrap();
    // The last of two equal keys wins.
    assert_eq!(share(3, Some(&spec)).as_deref(), Some("7"));
}

#[test]
fn single_broker_replicates_to_itself_alone() {
    let text = layout(1).properties(0, None);
    for line in [
        "default.replication.factor=1",
        "offsets.topic.replication.factor=1",
        "min.insync.replicas=1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
}

#[test]
fn ports_past_the_last_one_are_refused() {
    assert!(Ports::moved(65535 - api::port::ADMIN, 1).is_some());
    assert_eq!(Ports::moved(65535 - api::port::ADMIN, 2), None);
    assert_eq!(Ports::moved(u16::MAX, 1), None);
}

use kafka_wire::messages::{
    create_partitions, create_topics, delete_topics, describe_configs, describe_topic_partitions,
    incremental_alter_configs, init_producer_id, metadata,
};
use kafka_wire::{ErrorCode, Str};

use crate::kafka::testing::{self, Client, Server};

async fn connect(settings: &str) -> (Server, Client) {
    let server = testing::serve(settings).await;
    let client = Client::connect(&server).await;
    (server, client)
}

fn topic(
    name: &str,
    num_partitions: i32,
    configs: &[(&str, &str)],
) -> create_topics::CreatableTopic {
    create_topics::CreatableTopic {
        name: Str::from(name),
        num_partitions,
        replication_factor: 1,
        configs: configs
            .iter()
            .map(|(name, value)| create_topics::CreatableTopicConfig {
                name: Str::from(*name),
                value: Some(Str::from(*value)),
            })
            .collect(),
        ..create_topics::CreatableTopic::default()
    }
}

async fn create(client: &mut Client, topics: Vec<create_topics::CreatableTopic>) -> Vec<i16> {
    let request = create_topics::Request {
        topics,
        ..create_topics::Request::default()
    };
    let response = client.call(7, &request).await;
    response
        .topics
        .iter()
        .map(|topic| topic.error_code)
        .collect()
}

#[tokio::test]
async fn topics_are_refused_with_kafkas_codes() {
    let (_server, mut client) = connect("").await;
    let cases = vec![
        topic("fine", 3, &[("retention.ms", "1000")]),
        topic("..", 1, &[]),
        topic(&"x".repeat(250), 1, &[]),
        topic("none", 0, &[]),
        topic("configs", 1, &[("retention.ms", "soon")]),
        topic("unknown-config", 1, &[("retention", "1")]),
        // Named twice, refused, and told once.
        topic("twice", 1, &[]),
        topic("twice", 1, &[]),
        create_topics::CreatableTopic {
            replication_factor: 2,
            ..topic("too-many-replicas", 1, &[])
        },
    ];
    let wanted = [
        ErrorCode::None,
        ErrorCode::InvalidTopicException,
        ErrorCode::InvalidTopicException,
        ErrorCode::InvalidPartitions,
        ErrorCode::InvalidConfig,
        ErrorCode::InvalidConfig,
        ErrorCode::InvalidRequest,
        ErrorCode::InvalidReplicationFactor,
    ];
    assert_eq!(
        create(&mut client, cases).await,
        wanted.map(ErrorCode::code)
    );
    let again = create(&mut client, vec![topic("fine", 1, &[])]).await;
    assert_eq!(again, [ErrorCode::TopicAlreadyExists.code()]);
}

#[tokio::test]
async fn a_topic_is_created_described_grown_and_deleted() {
    let (_server, mut client) = connect("num.partitions=4").await;
    assert_eq!(create(&mut client, vec![topic("t", -1, &[])]).await, [0]);

    let all = metadata::Request {
        topics: None,
        ..metadata::Request::default()
    };
    let mut seen = client.call(12, &all).await;
    // The coordinator makes a topic of its own in the meantime.
    seen.topics.retain(|topic| !topic.is_internal);
    assert_eq!(seen.topics.len(), 1);
    assert_eq!(seen.topics[0].partitions.len(), 4);
    assert_eq!(seen.topics[0].partitions[0].leader_id, 1);
    assert_eq!(seen.controller_id, 1);

    let grow = create_partitions::Request {
        topics: vec![create_partitions::CreatePartitionsTopic {
            name: Str::from_static("t"),
            count: 6,
            assignments: None,
        }],
        ..create_partitions::Request::default()
    };
    let request = create_partitions::Request {
        timeout_ms: 10_000,
        ..grow
    };
    assert_eq!(client.call(3, &request).await.results[0].error_code, 0);
    let again = client.call(3, &request).await;
    assert_eq!(
        again.results[0].error_code,
        ErrorCode::InvalidPartitions.code()
    );

    let mut page = describe_topic_partitions::Request {
        topics: vec![describe_topic_partitions::TopicRequest {
            name: Str::from_static("t"),
        }],
        response_partition_limit: 4,
        ..describe_topic_partitions::Request::default()
    };
    let first = client.call(0, &page).await;
    assert_eq!(first.topics[0].partitions.len(), 4);
    let next = first.next_cursor.unwrap();
    page.cursor = Some(describe_topic_partitions::RequestCursor {
        topic_name: next.topic_name,
        partition_index: next.partition_index,
    });
    let second = client.call(0, &page).await;
    assert_eq!(second.topics[0].partitions.len(), 2);
    assert_eq!(second.next_cursor, None);

    let delete = delete_topics::Request {
        topics: vec![delete_topics::DeleteTopicState {
            topic_id: seen.topics[0].topic_id,
            ..delete_topics::DeleteTopicState::default()
        }],
        timeout_ms: 10_000,
        ..delete_topics::Request::default()
    };
    let gone = client.call(6, &delete).await;
    assert_eq!(gone.responses[0].error_code, 0);
    assert_eq!(gone.responses[0].name, Some(Str::from_static("t")));
    let again = client.call(6, &delete).await;
    assert_eq!(
        again.responses[0].error_code,
        ErrorCode::UnknownTopicId.code()
    );
}

#[tokio::test]
async fn configs_change_one_by_one_and_tell_where_they_come_from() {
    let (_server, mut client) = connect("log.retention.ms=3600000").await;
    assert_eq!(create(&mut client, vec![topic("t", 1, &[])]).await, [0]);
    let describe = describe_configs::Request {
        resources: vec![describe_configs::DescribeConfigsResource {
            resource_type: 2,
            resource_name: Str::from_static("t"),
            configuration_keys: Some(vec![Str::from_static("retention.ms")]),
        }],
        include_synonyms: true,
        ..describe_configs::Request::default()
    };
    let before = client.call(4, &describe).await;
    let line = &before.results[0].configs[0];
    assert_eq!(line.value, Some(Str::from_static("3600000")));
    assert_eq!(line.config_source, 4);

    let alter = |operation, value: Option<&'static str>| incremental_alter_configs::Request {
        resources: vec![incremental_alter_configs::AlterConfigsResource {
            resource_type: 2,
            resource_name: Str::from_static("t"),
            configs: vec![incremental_alter_configs::AlterableConfig {
                name: Str::from_static("retention.ms"),
                config_operation: operation,
                value: value.map(Str::from_static),
            }],
        }],
        validate_only: false,
    };
    let set = client.call(1, &alter(0, Some("5000"))).await;
    assert_eq!(set.responses[0].error_code, 0);
    let after = client.call(4, &describe).await;
    let line = &after.results[0].configs[0];
    assert_eq!(line.value, Some(Str::from_static("5000")));
    assert_eq!(line.config_source, 1);
    assert_eq!(
        line.synonyms.len(),
        3,
        "own, file, default of log.retention.hours"
    );

    let bad = client.call(1, &alter(0, Some("-7"))).await;
    assert_eq!(bad.responses[0].error_code, ErrorCode::InvalidConfig.code());
    let not_a_list = client.call(1, &alter(2, Some("1"))).await;
    assert_eq!(
        not_a_list.responses[0].error_code,
        ErrorCode::InvalidConfig.code()
    );
    let removed = client.call(1, &alter(1, None)).await;
    assert_eq!(removed.responses[0].error_code, 0);
    let last = client.call(4, &describe).await;
    assert_eq!(last.results[0].configs[0].config_source, 4);
}

#[tokio::test]
async fn producer_ids_are_never_given_twice_and_transactions_are_refused() {
    let (_server, mut client) = connect("").await;
    let request = init_producer_id::Request::default();
    let first = client.call(4, &request).await;
    let second = client.call(4, &request).await;
    assert_eq!((first.error_code, second.error_code), (0, 0));
    assert_ne!(first.producer_id, second.producer_id);
    let transactional = init_producer_id::Request {
        transactional_id: Some(Str::from_static("tx")),
        ..request
    };
    let refused = client.call(4, &transactional).await;
    assert_eq!(refused.error_code, ErrorCode::UnsupportedVersion.code());
}

#[test]
fn creation_under_way_is_not_begun_again_and_their_number_is_bounded() {
    let creations = super::Creations::default();
    assert!(creations.begin("t"));
    assert!(!creations.begin("t"));
    let more = (0..).take_while(|n| creations.begin(&format!("t{n}")));
    assert_eq!(more.count() + 1, super::CREATIONS_MAX);
    creations.end("t");
    assert!(creations.begin("t"));
}

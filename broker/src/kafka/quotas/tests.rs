use kafka_wire::messages::{
    alter_client_quotas, create_topics, describe_client_quotas, metadata, produce,
};
use kafka_wire::{ErrorCode, Records, Str};
use tokio::time::Instant;

use crate::kafka::testing::{self, Client, Server};

async fn connect() -> (Server, Client) {
    let server = testing::serve("").await;
    let client = Client::connect(&server).await;
    (server, client)
}

/// `*` is the default.
fn name(name: &str) -> Option<Str> {
    (name != "*").then(|| Str::from(name))
}

async fn alter(client: &mut Client, entity: &[(&str, &str)], key: &str, value: f64) -> String {
    let request = alter_client_quotas::Request {
        entries: vec![alter_client_quotas::RequestEntryData {
            entity: entity
                .iter()
                .map(|(kind, of)| alter_client_quotas::RequestEntityData {
                    entity_type: Str::from(*kind),
                    entity_name: name(of),
                })
                .collect(),
            ops: vec![alter_client_quotas::OpData {
                key: Str::from(key),
                value,
                remove: value == -2.0,
            }],
        }],
        validate_only: false,
    };
    let entry = client.call(1, &request).await.entries.remove(0);
    entry.error_message.unwrap_or_default().to_string()
}

/// Entities that a filter finds, sorted, or the message of the refusal.
async fn find(client: &mut Client, filter: &[(&str, i8, &str)], strict: bool) -> Vec<String> {
    let request = describe_client_quotas::Request {
        components: filter
            .iter()
            .map(
                |(kind, match_type, of)| describe_client_quotas::ComponentData {
                    entity_type: Str::from(*kind),
                    match_type: *match_type,
                    r#match: (*match_type == 0).then(|| Str::from(*of)),
                },
            )
            .collect(),
        strict,
    };
    let response = client.call(1, &request).await;
    let Some(entries) = response.entries else {
        return vec![response.error_message.unwrap_or_default().to_string()];
    };
    let mut found: Vec<String> = entries
        .iter()
        .map(|entry| {
            let parts = entry.entity.iter().map(|part| {
                format!(
                    "{}={}",
                    part.entity_type,
                    part.entity_name.as_deref().unwrap_or("*")
                )
            });
            parts.collect::<Vec<_>>().join(" ")
        })
        .collect();
    found.sort();
    found
}

#[tokio::test]
async fn limits_are_refused_in_kafkas_words() {
    let (_server, mut client) = connect().await;
    let produce = "producer_byte_rate";
    type Entity<'a> = &'a [(&'a str, &'a str)];
    let cases: &[(Entity<'_>, &str, f64, &str)] = &[
        (&[("user", "u")], produce, 5.0, ""),
        (
            &[("user", "u")],
            produce,
            0.0,
            "Quota producer_byte_rate must be greater than 0",
        ),
        (
            &[("user", "u")],
            produce,
            f64::NAN,
            "Quota producer_byte_rate must be a finite number",
        ),
        (
            &[("user", "u")],
            produce,
            1.5,
            "producer_byte_rate cannot be a fractional value.",
        ),
        (
            &[("user", "u")],
            produce,
            1e30,
            "Proposed value for producer_byte_rate is too large for a LONG.",
        ),
        (&[("user", "u")], produce, 2.9999999, ""),
        (&[("user", "u")], "request_percentage", 0.5, ""),
        (
            &[("user", "u")],
            "foo",
            5.0,
            "Invalid configuration key foo",
        ),
        (&[("user", "u")], "foo", -2.0, ""),
        (&[("user", "")], produce, 5.0, "Empty user not supported"),
        (
            &[("foo", "x")],
            produce,
            5.0,
            "Unhandled client quota entity type: foo",
        ),
        (&[], produce, 5.0, "Invalid empty client quota entity"),
        (
            &[("ip", "127.0.0.1")],
            produce,
            5.0,
            "Invalid configuration key producer_byte_rate",
        ),
        (
            &[("ip", "127.0.0.1"), ("user", "u")],
            "connection_creation_rate",
            5.0,
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (
            &[("ip", "127.0.0.1")],
            "connection_creation_rate",
            3e9,
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
    ];
    for (entity, key, value, message) in cases {
        assert_eq!(
            alter(&mut client, entity, key, *value).await,
            *message,
            "{entity:?}"
        );
    }
}

#[tokio::test]
async fn a_filter_finds_entities_with_its_parts_and_a_strict_one_none_with_others() {
    let (_server, mut client) = connect().await;
    let entities: &[&[(&str, &str)]] = &[
        &[("user", "u")],
        &[("user", "u"), ("client-id", "c")],
        &[("user", "*"), ("client-id", "c")],
        &[("client-id", "*")],
    ];
    for entity in entities {
        assert_eq!(
            alter(&mut client, entity, "consumer_byte_rate", 1e9).await,
            ""
        );
    }
    let user = ("user", 0, "u");
    assert_eq!(find(&mut client, &[], false).await.len(), 4);
    assert_eq!(find(&mut client, &[], true).await.len(), 0);
    assert_eq!(
        find(&mut client, &[user], false).await,
        ["user=u", "user=u client-id=c"]
    );
    assert_eq!(find(&mut client, &[user], true).await, ["user=u"]);
    assert_eq!(
        find(&mut client, &[("user", 2, ""), ("client-id", 0, "c")], true).await,
        ["user=* client-id=c", "user=u client-id=c"]
    );
    assert_eq!(
        find(&mut client, &[("client-id", 1, "")], false).await,
        ["client-id=*"]
    );
    assert_eq!(
        find(&mut client, &[user, ("ip", 2, "")], false).await,
        [
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component."
        ]
    );
    assert_eq!(
        find(&mut client, &[("foo", 2, "")], false).await,
        ["Unsupported entity type foo"]
    );
    assert_eq!(
        alter(&mut client, entities[0], "consumer_byte_rate", -2.0).await,
        ""
    );
    assert_eq!(find(&mut client, &[user], true).await.len(), 0);
}

/// A lower bound of time holds on a slow machine too.
#[tokio::test]
async fn a_client_over_its_quota_is_answered_at_once_and_not_read_for_as_long_as_it_was_told() {
    let (_server, mut client) = connect().await;
    let limit = [("client-id", "*")];
    assert_eq!(
        alter(&mut client, &limit, "producer_byte_rate", 1000.0).await,
        ""
    );
    let request = |bytes: usize| produce::Request {
        acks: 1,
        topic_data: vec![produce::TopicProduceData {
            name: Str::from_static("t"),
            partition_data: vec![produce::PartitionProduceData {
                index: 0,
                records: Some(Records::from(vec![vec![0; bytes].into()])),
            }],
            ..produce::TopicProduceData::default()
        }],
        ..produce::Request::default()
    };
    let within = client.call(9, &request(100)).await;
    assert_eq!(within.throttle_time_ms, 0);
    // Ten seconds' worth is free at first, and about 0.1 s' worth comes on top.
    let over = client.call(9, &request(10_000)).await;
    assert!(over.throttle_time_ms > 0);
    let told = u128::try_from(over.throttle_time_ms).unwrap();
    let begun = Instant::now();
    let unrelated = client.call(9, &metadata::Request::default()).await;
    assert_eq!(unrelated.throttle_time_ms, 0);
    // The clock ran between the answer and here, a little.
    assert!(begun.elapsed().as_millis() + 50 >= told, "{told} ms");
}

#[tokio::test]
async fn topics_beyond_the_quota_of_mutations_are_refused_by_name() {
    let (_server, mut client) = connect().await;
    let key = "controller_mutation_rate";
    assert_eq!(alter(&mut client, &[("user", "*")], key, 0.1).await, "");
    let topic = |name| create_topics::CreatableTopic {
        name: Str::from_static(name),
        num_partitions: 2,
        replication_factor: 1,
        ..create_topics::CreatableTopic::default()
    };
    let request = create_topics::Request {
        topics: vec![topic("a"), topic("b"), topic("c")],
        validate_only: true,
        ..create_topics::Request::default()
    };
    // 1.1 partitions were saved up: the first overdraws that.
    let response = client.call(6, &request).await;
    let codes: Vec<i16> = response
        .topics
        .iter()
        .map(|topic| topic.error_code)
        .collect();
    let exceeded = ErrorCode::ThrottlingQuotaExceeded.code();
    assert_eq!(codes, [0, exceeded, exceeded]);
    assert!(response.throttle_time_ms > 0);
}

#[tokio::test]
async fn limit_of_an_address_is_kept_under_its_common_spelling() {
    let (_server, mut client) = connect().await;
    for spelled in ["::ffff:10.0.0.1", "0:0:0:0:0:0:0:1"] {
        let limit = [("ip", spelled)];
        assert_eq!(
            alter(&mut client, &limit, "connection_creation_rate", 1.0).await,
            ""
        );
    }
    assert_eq!(
        find(&mut client, &[("ip", 2, "")], true).await,
        ["ip=10.0.0.1", "ip=::1"]
    );
}

#[tokio::test]
async fn connections_beyond_the_quota_of_an_address_are_closed() {
    let (server, mut client) = connect().await;
    let limit = [("ip", "127.0.0.1")];
    // Ten are free at first.
    assert_eq!(
        alter(&mut client, &limit, "connection_creation_rate", 1.0).await,
        ""
    );
    let mut refused = 0;
    for _ in 0..12 {
        let mut another = Client::connect(&server).await;
        if another
            .try_call(9, &metadata::Request::default())
            .await
            .is_none()
        {
            refused += 1;
        }
    }
    assert!(refused > 0);
}

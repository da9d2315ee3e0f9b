//! A topic that delays delivery, as clients see it.

use std::time::{SystemTime, UNIX_EPOCH};

use kafka_wire::Str;
use kafka_wire::messages::{fetch, incremental_alter_configs, list_offsets};

use super::client::Client;
use super::fetch::{bytes, fetch, only};
use super::{batch, create, leader, topic_of};
use crate::cluster::Cluster;

const KEY: &str = "millrace.delivery.delay.ms";

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

async fn delay(client: &mut Client, delay_ms: i64) {
    let request = incremental_alter_configs::Request {
        resources: vec![incremental_alter_configs::AlterConfigsResource {
            resource_type: 2,
            resource_name: Str::from_static("t"),
            configs: vec![incremental_alter_configs::AlterableConfig {
                name: Str::from_static(KEY),
                value: Some(Str::from(delay_ms.to_string())),
                ..incremental_alter_configs::AlterableConfig::default()
            }],
        }],
        ..incremental_alter_configs::Request::default()
    };
    let altered = client.call(1, &request).await;
    assert_eq!(altered.responses[0].error_code, 0, "{altered:?}");
}

/// The latest offset.
async fn latest(client: &mut Client) -> i64 {
    let request = list_offsets::Request {
        topics: vec![list_offsets::ListOffsetsTopic {
            name: Str::from_static("t"),
            partitions: vec![list_offsets::ListOffsetsPartition {
                timestamp: -1,
                ..list_offsets::ListOffsetsPartition::default()
            }],
        }],
        ..list_offsets::Request::default()
    };
    let response = client.call(9, &request).await;
    let found = &response.topics[0].partitions[0];
    assert_eq!(found.error_code, 0);
    found.offset
}

async fn is_empty(client: &mut Client) {
    let fetched = only(client.call(12, &fetch(0, 0)).await);
    assert_eq!((fetched.error_code, fetched.high_watermark), (0, 0));
    assert_eq!(bytes(fetched), 0);
    assert_eq!(latest(client).await, 0);
}

#[tokio::test]
async fn what_waits_is_not_there_until_a_long_poll_gets_it_when_its_time_has_come() {
    let mut cluster = Cluster::start(3).await;
    create(&cluster, "t", 1, 3, &[(KEY, "3600000")]).await;
    let first = leader(&cluster, "t");
    let mut client = Client::connect(&cluster, first).await;
    let produced = client.produce("t", batch(&["a"])).await;
    assert_eq!((produced.error_code, produced.base_offset), (0, 0));
    let stamp = produced.log_append_time_ms;
    is_empty(&mut client).await;

    cluster.stop_broker(first).await;
    let other = (first + 1) % 3;
    let image = cluster
        .sees(other, |image| {
            let topic = topic_of(image, "t").unwrap();
            topic.partitions[0]
                .leader
                .is_some_and(|id| id.0 != i32::try_from(first).unwrap())
        })
        .await;
    let next = topic_of(&image, "t").unwrap().partitions[0].leader.unwrap();
    let next = usize::try_from(next.0).unwrap();
    let mut client = Client::connect(&cluster, next).await;
    // The new leader may not know yet that it is.
    while only(client.call(12, &fetch(0, 0)).await).error_code != 0 {
        tokio::task::yield_now().await;
    }
    let mut admin = Client::connect(&cluster, next).await;
    let delay_ms = now_ms() - stamp + 1000;
    client.send(12, &fetch(0, 60_000)).await;
    delay(&mut admin, delay_ms).await;
    let fetched = only(client.receive::<fetch::Request>(12).await);
    assert!(now_ms() >= stamp + delay_ms);
    assert_eq!(fetched.high_watermark, 1);
    assert!(bytes(fetched) > 0);
    assert_eq!(latest(&mut client).await, 1);
}

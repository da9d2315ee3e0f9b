//! A partition moves while it is written to, and those that it moves between are killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broker::metadata::Handle;
use kafka_wire::Str;
use kafka_wire::messages::fetch::{FetchPartition, FetchTopic, Request};
use machine::metadata::command::{Assignment, Command, Reassignment, Reply};
use machine::metadata::image::{ConfigResource, Image, Listener, Partition};
use model::batch::{self, Builder};
use model::{BrokerId, Offset, TopicId};
use tokio::sync::watch;
use tokio::time::timeout;
use uuid::Uuid;

use super::batch_of;
use super::client::{Client, produce};
use crate::cluster::{Cluster, LONG};

const TOPIC: TopicId = TopicId(Uuid::from_u128(7));
/// Who leads both the partition and the metadata, who stays, who receives.
const LEADING: usize = 0;
const STAYING: usize = 1;
const RECEIVING: usize = 2;
/// Bytes of a record: enough of them that copying takes a while under the throttle.
const VALUE_BYTES: usize = 8 << 10;
/// Bytes per second.
const THROTTLE: &str = "50000";

fn ids(brokers: &[usize]) -> Vec<BrokerId> {
    let id = |broker: &usize| BrokerId(i32::try_from(*broker).unwrap());
    brokers.iter().map(id).collect()
}

fn partition(image: &Image) -> &Partition {
    &image.topics[&TOPIC].partitions[0]
}

fn value(number: i32) -> String {
    format!("{number:0>VALUE_BYTES$}")
}

async fn submit(cluster: &Cluster, command: Command) -> Reply {
    let submitted = cluster.metadata(STAYING).submit(command);
    let reply = timeout(LONG, submitted).await.unwrap().unwrap();
    assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
    reply
}

async fn set(cluster: &Cluster, resource: ConfigResource, key: &str, value: Option<&str>) {
    let changes = vec![(key.to_owned(), value.map(str::to_owned))];
    submit(cluster, Command::AlterConfigs { resource, changes }).await;
}

/// Produces numbered records, one at a time and idempotently, each until it is acknowledged by all.
struct Writer {
    metadata: Handle,
    acknowledged: watch::Sender<usize>,
    stop: Arc<AtomicBool>,
}

impl Writer {
    /// The offset of each record.
    async fn run(self) -> Vec<i64> {
        let mut offsets = Vec::new();
        let mut connected = None;
        while !self.stop.load(Ordering::Relaxed) {
            let number = i32::try_from(offsets.len()).unwrap();
            let mut client = match connected.take() {
                Some(client) => client,
                None => timeout(LONG, self.connect()).await.unwrap(),
            };
            let attempt = timeout(LONG, attempt(&mut client, number)).await;
            // Whoever does not take it may lead no more, or not know yet that it leads: it is asked for anew.
            if let Some(offset) = attempt.unwrap() {
                offsets.push(offset);
                self.acknowledged.send_replace(offsets.len());
                connected = Some(client);
            }
        }
        offsets
    }

    /// To the leader, once one is there.
    async fn connect(&self) -> Client {
        let mut images = self.metadata.watch();
        loop {
            let address = leader_address(&images.borrow_and_update());
            if let Some(address) = address
                && let Ok(client) = Client::try_connect(&address).await
            {
                return client;
            }
            // It was killed: another one will be named.
            images.changed().await.unwrap();
        }
    }
}

/// The offset of the record, if it was acknowledged.
async fn attempt(client: &mut Client, number: i32) -> Option<i64> {
    let records = Builder::new(Offset(0)).producer(4, 0, number);
    let records = batch_of(records, &[&value(number)]);
    let request = produce("t", -1, Some(records));
    let response = client.try_call(9, &request).await.ok()?;
    let answer = &response.responses[0].partition_responses[0];
    (answer.error_code == 0).then_some(answer.base_offset)
}

fn leader_address(image: &Image) -> Option<String> {
    let broker = image.brokers.get(&partition(image).leader?)?;
    let mut endpoints = broker.endpoints.iter();
    let kafka = endpoints.find(|endpoint| endpoint.listener == Listener::Kafka)?;
    Some(format!("{}:{}", kafka.host, kafka.port))
}

/// Every record of the partition, in order, with its offset.
async fn read(address: &str, upto: i64) -> Vec<(i64, String)> {
    let mut client = Client::try_connect(address).await.unwrap();
    let mut found = Vec::new();
    let mut next = 0;
    while next < upto {
        let request = Request {
            max_wait_ms: 500,
            min_bytes: 1,
            topics: vec![FetchTopic {
                topic: Str::from_static("t"),
                partitions: vec![FetchPartition {
                    partition: 0,
                    fetch_offset: next,
                    partition_max_bytes: 1 << 20,
                    ..FetchPartition::default()
                }],
                ..FetchTopic::default()
            }],
            ..Request::default()
        };
        let mut response = client.call(12, &request).await;
        let answer = response.responses.remove(0).partitions.remove(0);
        assert_eq!(answer.error_code, 0);
        let bytes = answer.records.map(|records| records.into_bytes());
        for batch in batch::split(bytes.unwrap_or_default()).unwrap() {
            for record in batch.records() {
                let record = record.unwrap();
                let text = String::from_utf8(record.value.unwrap().to_vec()).unwrap();
                found.push((record.offset.0, text));
            }
            next = batch.header.next_offset().0;
        }
    }
    found
}

#[tokio::test]
async fn a_partition_moves_under_load_though_the_receiver_and_the_controller_are_killed() {
    let settings = ["log.segment.delete.delay.ms=0"];
    let mut cluster = Cluster::start_with(3, &[LEADING, RECEIVING], &settings).await;
    cluster.controller_is(LEADING).await;
    submit(
        &cluster,
        Command::CreateTopic {
            name: "t".to_owned(),
            id: TOPIC,
            assignment: Assignment::Manual(vec![ids(&[LEADING, STAYING])]),
            configs: Vec::new(),
        },
    )
    .await;
    let throttled = format!("0:{RECEIVING}");
    let (topic, receiver) = (
        ConfigResource::Topic("t".into()),
        ConfigResource::Broker(ids(&[RECEIVING])[0]),
    );
    let replicas = "follower.replication.throttled.replicas";
    let rate = "follower.replication.throttled.rate";
    set(&cluster, topic, replicas, Some(&throttled)).await;
    set(&cluster, receiver.clone(), rate, Some(THROTTLE)).await;

    let (acknowledged, mut progress) = watch::channel(0);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = Writer {
        metadata: cluster.metadata(STAYING).clone(),
        acknowledged,
        stop: stop.clone(),
    };
    let writing = tokio::spawn(writer.run());
    let mut written = async |more: usize| {
        let upto = *progress.borrow() + more;
        let reached = progress.wait_for(|count| *count >= upto);
        timeout(LONG, reached).await.unwrap().unwrap();
    };
    written(300).await;

    let reassigned = submit(
        &cluster,
        Command::ReassignPartitions {
            partitions: vec![Reassignment {
                topic: TOPIC,
                partition: 0,
                replicas: Some(ids(&[STAYING, RECEIVING])),
            }],
            allow_factor_change: false,
        },
    );
    assert_eq!(reassigned.await, Reply::Reassigned(vec![None]));
    written(20).await;
    cluster.kill_broker(RECEIVING);
    written(20).await;
    assert!(partition(&cluster.metadata(STAYING).image()).is_moving());
    cluster.start_process(RECEIVING);
    cluster.all_in().await;
    written(20).await;
    cluster.kill_broker(LEADING);
    written(20).await;
    set(&cluster, receiver, rate, None).await;
    let moved = |image: &Image| {
        let p = partition(image);
        p.replicas == ids(&[STAYING, RECEIVING]) && !p.is_moving()
    };
    let image = cluster.sees(STAYING, moved).await;
    assert_eq!(partition(&image).isr, ids(&[STAYING, RECEIVING]));
    written(20).await;
    stop.store(true, Ordering::Relaxed);
    let offsets = writing.await.unwrap();

    let address = leader_address(&cluster.metadata(STAYING).image()).unwrap();
    let last = *offsets.last().unwrap();
    let found = read(&address, last + 1).await;
    let expected: Vec<_> = (0..).map(value).take(offsets.len()).collect();
    let found: Vec<_> = found.into_iter().map(|(_, value)| value).collect();
    assert_eq!(found.len(), expected.len(), "each of them once");
    assert!(found == expected, "and in order");

    // What the one that was down still has is nobody's: it finds that out before it is let in.
    let log = cluster
        .data_dir(LEADING)
        .join(format!("partitions/{TOPIC}-0"));
    assert!(log.exists());
    cluster.start_process(LEADING);
    cluster.all_in().await;
    assert!(!log.exists());
}

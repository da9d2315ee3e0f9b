use kafka_wire::ErrorCode;
use kafka_wire::messages::elect_leaders::{Request, TopicPartitions};
use machine::metadata::command::{Assignment, Command, Reply};
use model::{BrokerId, TopicId};
use uuid::Uuid;

use super::super::testing::{Client, Server, serve};

const UNCLEAN: i8 = 1;

async fn submit(server: &Server, command: Command) -> Reply {
    server.front.metadata.submit(command).await.unwrap()
}

async fn elect(server: &Server, topic: &str) -> i16 {
    let request = Request {
        election_type: UNCLEAN,
        topic_partitions: Some(vec![TopicPartitions {
            topic: topic.into(),
            partitions: vec![0],
        }]),
        timeout_ms: 10_000,
    };
    let response = Client::connect(server).await.call(2, &request).await;
    assert_eq!(response.error_code, 0);
    response.replica_election_results[0].partition_result[0].error_code
}

/// `kafka-leader-election --election-type unclean` after the one replica lost its disk.
#[tokio::test]
async fn an_unclean_election_is_held_where_nobody_leads_and_somebody_can() {
    let server = serve("").await;
    let create = Command::CreateTopic {
        name: "t".to_owned(),
        id: TopicId(Uuid::from_u128(1)),
        assignment: Assignment::Manual(vec![vec![BrokerId(1)]]),
        configs: Vec::new(),
    };
    submit(&server, create).await;
    assert_eq!(
        elect(&server, "t").await,
        ErrorCode::ElectionNotNeeded.code()
    );
    let (id, endpoints) = {
        let image = server.front.metadata.image();
        let broker = &image.brokers[&BrokerId(1)];
        (broker.id, broker.endpoints.clone())
    };
    submit(&server, Command::FenceBroker { id, epoch: 1 }).await;
    let register = Command::RegisterBroker {
        id,
        incarnation: Uuid::from_u128(2),
        rack: None,
        endpoints,
        previous_epoch: None,
        levels: machine::metadata::feature::Levels::BUILD,
    };
    let Reply::Registered { epoch } = submit(&server, register).await else {
        panic!("not registered");
    };
    assert_eq!(
        elect(&server, "t").await,
        ErrorCode::EligibleLeadersNotAvailable.code()
    );
    submit(&server, Command::UnfenceBroker { id, epoch }).await;
    let leader = || {
        let image = server.front.metadata.image();
        let topic = image.topics.values().next();
        topic.and_then(|topic| topic.partitions[0].leader)
    };
    assert_eq!(leader(), None, "it lost what it had");
    assert_eq!(elect(&server, "t").await, ErrorCode::None.code());
    assert_eq!(leader(), Some(BrokerId(1)));
}

use kafka_wire::ErrorCode;
use kafka_wire::messages::{alter_partition_reassignments as alter, list_partition_reassignments};
use machine::metadata::command::{Assignment, Command};
use model::{BrokerId, TopicId};
use uuid::Uuid;

use super::super::testing::{Client, serve};

fn topic(name: &str, partitions: Vec<(i32, Option<Vec<i32>>)>) -> alter::ReassignableTopic {
    let partitions = partitions.into_iter();
    alter::ReassignableTopic {
        name: name.into(),
        partitions: partitions
            .map(|(partition_index, replicas)| alter::ReassignablePartition {
                partition_index,
                replicas,
            })
            .collect(),
    }
}

#[tokio::test]
async fn each_partition_is_answered_in_its_place_and_what_moves_is_listed() {
    let server = serve("").await;
    for command in [
        Command::RegisterBroker {
            id: BrokerId(2),
            incarnation: Uuid::from_u128(2),
            rack: None,
            endpoints: Vec::new(),
            previous_epoch: None,
            levels: machine::metadata::feature::Levels::BUILD,
        },
        Command::CreateTopic {
            name: "t".to_owned(),
            id: TopicId(Uuid::from_u128(1)),
            assignment: Assignment::Manual(vec![vec![BrokerId(1)]; 3]),
            configs: Vec::new(),
        },
    ] {
        server.front.metadata.submit(command).await.unwrap();
    }
    let mut client = Client::connect(&server).await;
    let request = alter::Request {
        topics: vec![
            topic("none", vec![(0, None)]),
            topic(
                "t",
                vec![(7, None), (0, Some(vec![2])), (1, Some(vec![9])), (2, None)],
            ),
        ],
        ..alter::Request::default()
    };
    let response = client.call(1, &request).await;
    let answers: Vec<_> = response
        .responses
        .iter()
        .flat_map(|topic| &topic.partitions)
        .map(|p| (p.partition_index, p.error_code))
        .collect();
    assert_eq!(
        answers,
        [
            (0, ErrorCode::UnknownTopicOrPartition.code()),
            (7, ErrorCode::UnknownTopicOrPartition.code()),
            (0, 0),
            (1, ErrorCode::InvalidReplicaAssignment.code()),
            (2, ErrorCode::NoReassignmentInProgress.code()),
        ]
    );
    let listed = client
        .call(0, &list_partition_reassignments::Request::default())
        .await;
    assert_eq!(listed.topics.len(), 1);
    let moves = &listed.topics[0].partitions;
    assert_eq!(moves.len(), 1);
    assert_eq!(moves[0].replicas, [2, 1]);
    assert_eq!(moves[0].adding_replicas, [2]);
    assert_eq!(moves[0].removing_replicas, [1]);
}

//! Codes and shapes as Kafka 4.4 answers them, over a socket. What groups do is tested in the machine.

use bytes::Bytes;
use kafka_wire::messages::{
    create_topics, delete_groups, describe_groups, find_coordinator, heartbeat, join_group,
    leave_group, list_groups, offset_commit, offset_delete, offset_fetch, sync_group,
};
use kafka_wire::{ErrorCode, Str};
use uuid::Uuid;

use crate::kafka::testing::{Client, Server, serve};

async fn connect() -> (Server, Client) {
    let server = serve("").await;
    let mut client = Client::connect(&server).await;
    let topic = create_topics::CreatableTopic {
        name: "t".into(),
        num_partitions: 2,
        replication_factor: 1,
        ..create_topics::CreatableTopic::default()
    };
    let request = create_topics::Request {
        topics: vec![topic],
        timeout_ms: 1000,
        ..create_topics::Request::default()
    };
    let created = client.call(7, &request).await;
    assert_eq!(created.topics[0].error_code, 0);
    (server, client)
}

fn join(group: &str, member_id: &str) -> join_group::Request {
    join_group::Request {
        group_id: group.into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        member_id: member_id.into(),
        protocol_type: "consumer".into(),
        protocols: vec![join_group::JoinGroupRequestProtocol {
            name: "range".into(),
            metadata: Bytes::from_static(b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff"),
        }],
        ..join_group::Request::default()
    }
}

/// A group with one member that has its assignment.
async fn stable(client: &mut Client, group: &str) -> Str {
    let first = client.call(9, &join(group, "")).await;
    assert_eq!(first.error_code, ErrorCode::MemberIdRequired.code());
    assert!(first.member_id.starts_with("test-"), "{}", first.member_id);
    let joined = client.call(9, &join(group, &first.member_id)).await;
    assert_eq!((joined.error_code, joined.generation_id), (0, 1));
    assert_eq!(joined.leader, joined.member_id);
    let sync = sync_group::Request {
        group_id: group.into(),
        generation_id: 1,
        member_id: joined.member_id.clone(),
        assignments: vec![sync_group::SyncGroupRequestAssignment {
            member_id: joined.member_id.clone(),
            assignment: Bytes::from_static(b"assigned"),
        }],
        ..sync_group::Request::default()
    };
    let synced = client.call(5, &sync).await;
    assert_eq!(
        (synced.error_code, &synced.assignment[..]),
        (0, &b"assigned"[..])
    );
    joined.member_id
}

fn commit(group: &str, generation: i32, member: &str) -> offset_commit::Request {
    let partition = |partition_index| offset_commit::OffsetCommitRequestPartition {
        partition_index,
        committed_offset: 5,
        committed_metadata: Some("m".into()),
        ..offset_commit::OffsetCommitRequestPartition::default()
    };
    let topic = |name: &str, partitions: &[i32]| offset_commit::OffsetCommitRequestTopic {
        name: name.into(),
        partitions: partitions.iter().map(|p| partition(*p)).collect(),
        ..offset_commit::OffsetCommitRequestTopic::default()
    };
    offset_commit::Request {
        group_id: group.into(),
        generation_id_or_member_epoch: generation,
        member_id: member.into(),
        topics: vec![topic("gone", &[0]), topic("t", &[0, 9, 1])],
        ..offset_commit::Request::default()
    }
}

fn codes(response: &offset_commit::Response) -> Vec<i16> {
    let partitions = response.topics.iter().flat_map(|t| &t.partitions);
    partitions.map(|p| p.error_code).collect()
}

async fn fetched(client: &mut Client, group: &str) -> Vec<(i32, i64, i16)> {
    let request = offset_fetch::Request {
        group_id: group.into(),
        topics: Some(vec![offset_fetch::OffsetFetchRequestTopic {
            name: "t".into(),
            partition_indexes: vec![0, 1],
        }]),
        ..offset_fetch::Request::default()
    };
    let response = client.call(7, &request).await;
    assert_eq!(response.error_code, 0);
    let partitions = response.topics.iter().flat_map(|t| &t.partitions);
    partitions
        .map(|p| (p.partition_index, p.committed_offset, p.error_code))
        .collect()
}

#[tokio::test]
async fn a_coordinator_is_found_for_groups_and_refused_for_what_is_not_served() {
    let (server, mut client) = connect().await;
    let mut request = find_coordinator::Request {
        coordinator_keys: vec!["g".into(), "h".into()],
        ..find_coordinator::Request::default()
    };
    let found = client.call(6, &request).await.coordinators;
    assert_eq!(found.len(), 2);
    assert_eq!((found[1].error_code, found[1].node_id), (0, 1));
    assert_eq!(found[1].port, i32::from(server.address.port()));
    for (key_type, code) in [
        (1, ErrorCode::UnsupportedVersion),
        (2, ErrorCode::InvalidRequest),
        (9, ErrorCode::InvalidRequest),
    ] {
        request.key_type = key_type;
        let found = client.call(6, &request).await.coordinators;
        assert_eq!((found[0].error_code, found[0].node_id), (code.code(), -1));
    }
    let old = find_coordinator::Request {
        key: "g".into(),
        ..find_coordinator::Request::default()
    };
    assert_eq!(client.call(0, &old).await.node_id, 1);
}

#[tokio::test]
async fn joins_are_answered_with_kafkas_codes() {
    let (_server, mut client) = connect().await;
    let cases: [(join_group::Request, ErrorCode); 5] = [
        (join("", ""), ErrorCode::InvalidGroupId),
        (
            join_group::Request {
                session_timeout_ms: 5_999,
                ..join("g", "")
            },
            ErrorCode::InvalidSessionTimeout,
        ),
        (
            join_group::Request {
                protocols: Vec::new(),
                ..join("g", "")
            },
            ErrorCode::InconsistentGroupProtocol,
        ),
        (join("g", "nobody"), ErrorCode::UnknownMemberId),
        (join("g", ""), ErrorCode::MemberIdRequired),
    ];
    for (request, code) in cases {
        let response = client.call(9, &request).await;
        assert_eq!(response.error_code, code.code(), "{request:?}");
        assert_eq!(response.protocol_name, None);
    }
    // Up to version 3 there is no round trip for an id, up to 6 no null.
    let joined = client.call(3, &join("old", "")).await;
    assert_eq!((joined.error_code, joined.generation_id), (0, 1));
    let refused = client.call(3, &join("old", "nobody")).await;
    assert_eq!(refused.protocol_name, Some(Str::default()));
}

#[tokio::test]
async fn heartbeats_and_leaving_are_answered_with_kafkas_codes() {
    let (_server, mut client) = connect().await;
    let member = stable(&mut client, "g").await;
    for (group, id, generation, code) in [
        ("g", &*member, 1, ErrorCode::None),
        ("g", &*member, 2, ErrorCode::IllegalGeneration),
        ("g", "nobody", 1, ErrorCode::UnknownMemberId),
        ("unknown", "nobody", 1, ErrorCode::UnknownMemberId),
    ] {
        let request = heartbeat::Request {
            group_id: group.into(),
            generation_id: generation,
            member_id: id.into(),
            group_instance_id: None,
        };
        assert_eq!(client.call(4, &request).await.error_code, code.code());
    }
    let unknown = ErrorCode::UnknownMemberId.code();
    let old = leave_group::Request {
        group_id: "unknown".into(),
        member_id: "nobody".into(),
        ..leave_group::Request::default()
    };
    assert_eq!(client.call(2, &old).await.error_code, unknown);
    let identity = |id: &str| leave_group::MemberIdentity {
        member_id: id.into(),
        ..leave_group::MemberIdentity::default()
    };
    let request = leave_group::Request {
        group_id: "g".into(),
        members: vec![identity("nobody"), identity(&member)],
        ..leave_group::Request::default()
    };
    let left = client.call(5, &request).await;
    let codes: Vec<_> = left.members.iter().map(|m| m.error_code).collect();
    assert_eq!((left.error_code, codes), (0, vec![unknown, 0]));
}

#[tokio::test]
async fn commits_are_answered_with_kafkas_codes_per_partition() {
    let (_server, mut client) = connect().await;
    let missing = ErrorCode::UnknownTopicOrPartition.code();
    let all = |code: ErrorCode| vec![missing, code.code(), missing, code.code()];
    let answered = client.call(9, &commit("simple", -1, "")).await;
    assert_eq!(codes(&answered), all(ErrorCode::None));
    assert_eq!(fetched(&mut client, "simple").await, [(0, 5, 0), (1, 5, 0)]);
    let answered = client.call(9, &commit("new", 3, "m")).await;
    assert_eq!(codes(&answered), all(ErrorCode::GroupIdNotFound));
    let answered = client.call(8, &commit("new", 3, "m")).await;
    assert_eq!(codes(&answered), all(ErrorCode::IllegalGeneration));

    let member = stable(&mut client, "g").await;
    let answered = client.call(9, &commit("g", 1, &member)).await;
    assert_eq!(codes(&answered), all(ErrorCode::None));
    let answered = client.call(9, &commit("g", 2, &member)).await;
    assert_eq!(codes(&answered), all(ErrorCode::IllegalGeneration));
    let answered = client.call(9, &commit("g", -1, "")).await;
    assert_eq!(codes(&answered), all(ErrorCode::UnknownMemberId));
}

#[tokio::test]
async fn an_offset_that_is_not_there_is_minus_one_without_an_error() {
    let (_server, mut client) = connect().await;
    assert_eq!(
        fetched(&mut client, "unknown").await,
        [(0, -1, 0), (1, -1, 0)]
    );
    let all = offset_fetch::Request {
        groups: vec![offset_fetch::OffsetFetchRequestGroup {
            group_id: "unknown".into(),
            topics: None,
            ..offset_fetch::OffsetFetchRequestGroup::default()
        }],
        ..offset_fetch::Request::default()
    };
    let response = client.call(8, &all).await;
    assert_eq!(
        (
            response.groups[0].error_code,
            response.groups[0].topics.len()
        ),
        (0, 0)
    );
}

#[tokio::test]
async fn topics_are_named_by_id_from_version_10_on() {
    let (server, mut client) = connect().await;
    let image = server.front.metadata.image();
    let id = image.topic_names.get("t").unwrap().0;
    let mut request = commit("g", -1, "");
    request.topics[0].topic_id = Uuid::from_u128(1);
    request.topics[1].topic_id = id;
    let answered = client.call(10, &request).await;
    let missing = ErrorCode::UnknownTopicOrPartition.code();
    let unknown = ErrorCode::UnknownTopicId.code();
    assert_eq!(codes(&answered), [unknown, 0, missing, 0]);
    let topic = |topic_id| offset_fetch::OffsetFetchRequestTopics {
        topic_id,
        partition_indexes: vec![0],
        ..offset_fetch::OffsetFetchRequestTopics::default()
    };
    let request = offset_fetch::Request {
        groups: vec![offset_fetch::OffsetFetchRequestGroup {
            group_id: "g".into(),
            topics: Some(vec![topic(id), topic(Uuid::from_u128(1))]),
            ..offset_fetch::OffsetFetchRequestGroup::default()
        }],
        ..offset_fetch::Request::default()
    };
    let group = client.call(10, &request).await.groups.remove(0);
    let first = &group.topics[0].partitions[0];
    assert_eq!((first.committed_offset, first.error_code), (5, 0));
    let second = &group.topics[1].partitions[0];
    assert_eq!((second.committed_offset, second.error_code), (-1, unknown));
}

#[tokio::test]
async fn an_unknown_group_is_dead_before_version_6_and_not_found_after() {
    let (_server, mut client) = connect().await;
    let request = describe_groups::Request {
        groups: vec!["unknown".into()],
        ..describe_groups::Request::default()
    };
    let old = client.call(5, &request).await.groups.remove(0);
    assert_eq!((old.error_code, &*old.group_state), (0, "Dead"));
    let new = client.call(6, &request).await.groups.remove(0);
    assert_eq!(new.error_code, ErrorCode::GroupIdNotFound.code());
    assert_eq!(
        new.error_message.as_deref(),
        Some("Group unknown not found.")
    );
}

#[tokio::test]
async fn tools_see_groups_with_and_without_members() {
    let (_server, mut client) = connect().await;
    let member = stable(&mut client, "g").await;
    client.call(9, &commit("simple", -1, "")).await;
    let list = |states: &[&str]| list_groups::Request {
        states_filter: states.iter().map(|s| Str::from(*s)).collect(),
        ..list_groups::Request::default()
    };
    let names = |response: list_groups::Response| -> Vec<(String, String)> {
        let groups = response.groups.iter();
        groups
            .map(|g| (g.group_id.to_string(), g.group_state.to_string()))
            .collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        names(client.call(5, &list(&[])).await),
        [pair("g", "Stable"), pair("simple", "Empty")]
    );
    assert_eq!(
        names(client.call(5, &list(&["empty"])).await),
        [pair("simple", "Empty")]
    );
    let request = describe_groups::Request {
        groups: vec!["g".into(), "".into()],
        include_authorized_operations: true,
    };
    let groups = client.call(6, &request).await.groups;
    assert_eq!(
        (&*groups[0].protocol_data, groups[0].authorized_operations),
        ("range", 3400)
    );
    let described = &groups[0].members[0];
    assert_eq!(
        (&described.member_id, &*described.client_id),
        (&member, "test")
    );
    assert_eq!(&*described.client_host, "/127.0.0.1");
    assert_eq!(groups[1].error_code, ErrorCode::GroupIdNotFound.code());
}

#[tokio::test]
async fn groups_and_offsets_are_deleted_unless_they_are_in_use() {
    let (_server, mut client) = connect().await;
    let member = stable(&mut client, "g").await;
    client.call(9, &commit("g", 1, &member)).await;
    client.call(9, &commit("simple", -1, "")).await;
    let partition =
        |partition_index| offset_delete::OffsetDeleteRequestPartition { partition_index };
    let delete_offsets = |group: &str| offset_delete::Request {
        group_id: group.into(),
        topics: vec![offset_delete::OffsetDeleteRequestTopic {
            name: "t".into(),
            partitions: vec![partition(0), partition(9)],
        }],
    };
    let missing = ErrorCode::UnknownTopicOrPartition.code();
    for (group, top, code) in [
        ("g", 0, ErrorCode::GroupSubscribedToTopic.code()),
        ("simple", 0, 0),
        ("unknown", ErrorCode::GroupIdNotFound.code(), 0),
    ] {
        let deleted = client.call(0, &delete_offsets(group)).await;
        assert_eq!(deleted.error_code, top, "{group}");
        if let Some(topic) = deleted.topics.first() {
            let codes: Vec<_> = topic.partitions.iter().map(|p| p.error_code).collect();
            assert_eq!(codes, [code, missing], "{group}");
        }
    }
    assert_eq!(
        fetched(&mut client, "simple").await,
        [(0, -1, 0), (1, 5, 0)]
    );
    let request = delete_groups::Request {
        groups_names: vec!["g".into(), "simple".into(), "unknown".into()],
    };
    let results = client.call(3, &request).await.results;
    let codes: Vec<_> = results.iter().map(|r| r.error_code).collect();
    assert_eq!(
        codes,
        [
            ErrorCode::NonEmptyGroup.code(),
            0,
            ErrorCode::GroupIdNotFound.code()
        ]
    );
}

#[tokio::test]
async fn what_members_say_has_a_bound_and_whoever_finds_no_room_tries_again() {
    let server = serve("millrace.kafka.group.bytes=1000\n").await;
    let mut client = Client::connect(&server).await;
    let mut large = join("large", "");
    large.protocols[0].metadata = Bytes::from(vec![0; 990]);
    let first = client.call(9, &large).await;
    large.member_id = first.member_id.clone();
    assert_eq!(client.call(9, &large).await.error_code, 0);
    let refused = client.call(9, &join("g", "")).await;
    assert_eq!(
        refused.error_code,
        ErrorCode::CoordinatorNotAvailable.code()
    );
    let leave = leave_group::Request {
        group_id: "large".into(),
        member_id: first.member_id,
        ..leave_group::Request::default()
    };
    assert_eq!(client.call(2, &leave).await.error_code, 0);
    let admitted = client.call(9, &join("g", "")).await;
    assert_eq!(admitted.error_code, ErrorCode::MemberIdRequired.code());
}

use std::collections::BTreeMap;

use api::admin::{
    Binding, ConfigChanges, Destination, ErrorCode, ExchangeKind, ExchangeSpec, Outcome,
    PermitRequest, QueueKind, QueueSpec, TopicSpec,
};
use api::client::Admin;
use model::BrokerId;
use uuid::Uuid;

use super::*;
use crate::peer::Mesh;
use crate::{coordinator, partition, queue};

/// The API over metadata that lives in this process, with three active brokers, of which this is 0.
struct Served {
    admin: Admin,
    metadata: metadata::Handle,
    started: watch::Sender<bool>,
    stopping: CancellationToken,
    _stop: tokio_util::sync::DropGuard,
}

async fn serve_it() -> Served {
    let this = BrokerId(0);
    let metadata = metadata::Handle::in_memory(this, Image::genesis());
    for id in 0..3 {
        register(&metadata, id).await;
    }
    let config = "node.id=0\ncluster.id=c\nlisteners=PEER://localhost:1\nlog.dirs=/nowhere\n\
                  controller.quorum.voters=0@localhost:1\ndefault.replication.factor=3\n\
                  min.insync.replicas=2\n";
    let telemetry = Telemetry::default();
    let (started, is_started) = watch::channel(false);
    let stopping = CancellationToken::new();
    let parts = Parts {
        config: Arc::new(Config::parse(config, &[]).unwrap()),
        metadata: metadata.clone(),
        queues: Queues::detached(this, queue::Config::default()),
        coordinators: Coordinators::start(
            coordinator::Config::default(),
            metadata.clone(),
            partition::Roster::default(),
            Mesh::alone(this),
            &telemetry,
        ),
        telemetry,
        started: is_started,
        stopping: stopping.clone(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let stop = CancellationToken::new();
    let opening = Opening::default();
    opening.open(parts);
    tokio::spawn(serve(vec![listener], opening, stop.clone()));
    Served {
        admin: Admin::new([address]).unwrap(),
        metadata,
        started,
        stopping,
        _stop: stop.drop_guard(),
    }
}

async fn register(metadata: &metadata::Handle, id: i32) {
    let id = BrokerId(id);
    let command = Command::RegisterBroker {
        id,
        incarnation: Uuid::from_u128(1),
        rack: None,
        endpoints: Vec::new(),
        previous_epoch: None,
        levels: machine::metadata::feature::Levels::BUILD,
    };
    let Ok(Reply::Registered { epoch }) = metadata.submit(command).await else {
        panic!("not registered");
    };
    let unfenced = metadata.submit(Command::UnfenceBroker { id, epoch }).await;
    assert_eq!(unfenced, Ok(Reply::Done));
}

fn configs(pairs: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
    let pair = |(key, value): &(&str, Option<&str>)| ((*key).to_owned(), value.map(str::to_owned));
    pairs.iter().map(pair).collect()
}

fn queue_spec(kind: QueueKind) -> QueueSpec {
    QueueSpec {
        kind,
        durable: true,
        auto_delete: false,
        arguments: BTreeMap::new(),
    }
}

#[tokio::test]
async fn topic_is_created_with_defaults_grown_and_never_shrunk() {
    let Served { admin, .. } = &serve_it().await;
    let made = admin.put_topic("t", &TopicSpec::default()).await.unwrap();
    assert_eq!(made.outcome, Outcome::Created);
    assert_eq!(made.object.partitions.len(), 1);
    assert_eq!(made.object.replication_factor(), 3);
    assert_eq!(made.object.min_insync_replicas, 2);

    let spec = TopicSpec {
        partitions: Some(4),
        configs: configs(&[("retention.ms", Some("1000"))]),
        ..TopicSpec::default()
    };
    let grown = admin.put_topic("t", &spec).await.unwrap();
    assert_eq!(grown.outcome, Outcome::Altered);
    assert_eq!(grown.object.partitions.len(), 4);
    assert_eq!(grown.object.configs["retention.ms"], "1000");
    let again = admin.put_topic("t", &spec).await.unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);

    let fewer = TopicSpec {
        partitions: Some(2),
        ..TopicSpec::default()
    };
    let error = admin.put_topic("t", &fewer).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::Invalid));
    assert!(error.to_string().starts_with("partitions: "), "{error}");

    admin.delete_topic("t").await.unwrap();
    assert!(admin.topic("t").await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn topic_that_cannot_be_is_refused_with_its_field() {
    let Served { admin, .. } = &serve_it().await;
    let check = async |spec: TopicSpec, starts: &str| {
        let error = admin.put_topic("t", &spec).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::Invalid), "{error}");
        assert!(error.to_string().starts_with(starts), "{error}");
    };
    let wide = TopicSpec {
        replication_factor: Some(4),
        ..TopicSpec::default()
    };
    check(wide, "replication_factor: ").await;
    let unknown = TopicSpec {
        configs: configs(&[("retention.mss", Some("1"))]),
        ..TopicSpec::default()
    };
    check(unknown, "configs.retention.mss: ").await;
    let wrong = TopicSpec {
        configs: configs(&[("retention.ms", Some("soon"))]),
        ..TopicSpec::default()
    };
    check(wrong, "configs.retention.ms: ").await;
}

#[tokio::test]
async fn queue_is_declared_once_and_not_otherwise() {
    let Served { admin, .. } = &serve_it().await;
    let spec = queue_spec(QueueKind::Quorum);
    let made = admin.put_queue("/", "q", &spec).await.unwrap();
    assert_eq!(made.outcome, Outcome::Created);
    assert_eq!(made.object.members.len(), 3);
    assert!(made.object.arguments.is_empty());
    let again = admin.put_queue("/", "q", &spec).await.unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
    let classic = queue_spec(QueueKind::Classic);
    let error = admin.put_queue("/", "q", &classic).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::Conflict), "{error}");
    let missing = admin.queue("other", "q").await.unwrap_err();
    assert!(missing.is_not_found());
}

#[tokio::test]
async fn binding_is_made_and_taken_back_and_both_may_be_repeated() {
    let Served { admin, .. } = &serve_it().await;
    let spec = queue_spec(QueueKind::Classic);
    admin.put_queue("/", "q", &spec).await.unwrap();
    let exchange = ExchangeSpec {
        kind: ExchangeKind::Topic,
        durable: true,
        auto_delete: false,
        internal: false,
        arguments: BTreeMap::new(),
    };
    admin.put_exchange("/", "x", &exchange).await.unwrap();
    let binding = Binding {
        destination: Destination::Queue("q".to_owned()),
        routing_key: "a.#".to_owned(),
        arguments: BTreeMap::new(),
    };
    for _ in 0..2 {
        admin.bind("/", "x", &binding).await.unwrap();
        let bound = admin.exchange("/", "x").await.unwrap().bindings;
        assert_eq!(bound, std::slice::from_ref(&binding));
    }
    for _ in 0..2 {
        admin.unbind("/", "x", &binding).await.unwrap();
        assert!(admin.exchange("/", "x").await.unwrap().bindings.is_empty());
    }
    let error = admin.put_exchange("/", "amq.mine", &exchange).await;
    assert_eq!(error.unwrap_err().code(), Some(ErrorCode::Invalid));
}

#[tokio::test]
async fn one_restart_permit_is_given_at_a_time() {
    let Served { admin, .. } = &serve_it().await;
    let request = |broker, holder: &str| PermitRequest {
        broker,
        holder: holder.to_owned(),
        ttl_ms: 60_000,
    };
    let first = admin
        .acquire_restart_permit(&request(1, "a"))
        .await
        .unwrap();
    let renewed = admin.acquire_restart_permit(&request(1, "a")).await;
    assert_eq!(renewed.unwrap().token, first.token);
    let other = admin.acquire_restart_permit(&request(2, "b")).await;
    assert_eq!(other.unwrap_err().code(), Some(ErrorCode::PermitHeld));
    admin.release_restart_permit(&first.token).await.unwrap();
    assert_eq!(admin.restart_permit().await.unwrap(), None);
    admin
        .acquire_restart_permit(&request(2, "b"))
        .await
        .unwrap();
}

#[tokio::test]
async fn permit_is_refused_while_another_broker_is_away() {
    let Served {
        admin, metadata, ..
    } = &serve_it().await;
    admin.put_topic("t", &TopicSpec::default()).await.unwrap();
    let epoch = metadata.image().brokers[&BrokerId(2)].epoch;
    let fence = Command::FenceBroker {
        id: BrokerId(2),
        epoch,
    };
    metadata.submit(fence).await.unwrap();
    let request = PermitRequest {
        broker: 1,
        holder: "a".to_owned(),
        ttl_ms: 1000,
    };
    let error = admin.acquire_restart_permit(&request).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UnsafeToStop));
    assert!(error.to_string().contains("t-0"), "{error}");
}

#[tokio::test]
async fn drained_broker_leads_nothing() {
    let Served { admin, .. } = &serve_it().await;
    admin.put_topic("t", &TopicSpec::default()).await.unwrap();
    let leader = admin.topic("t").await.unwrap().partitions[0].leader;
    let drained = admin.drain(leader.unwrap()).await.unwrap();
    assert_eq!((drained.leaders, drained.stuck), (0, 0));
    let moved = admin.topic("t").await.unwrap().partitions[0].leader;
    assert!(moved.is_some() && moved != leader);
}

#[tokio::test]
async fn change_stream_answers_when_something_changes() {
    let Served { admin, .. } = &serve_it().await;
    let since = admin.cluster().await.unwrap().index;
    let waiting = {
        let admin = admin.clone();
        tokio::spawn(async move { admin.changes(since, Duration::from_secs(50)).await })
    };
    admin.put_topic("t", &TopicSpec::default()).await.unwrap();
    assert!(waiting.await.unwrap().unwrap().index > since);
    let at_once = admin.changes(u64::MAX, Duration::ZERO).await.unwrap();
    assert!(at_once.index > since);
}

#[tokio::test]
async fn a_broker_that_stops_is_not_ready_and_keeps_nobody_waiting_for_changes() {
    let served = serve_it().await;
    let admin = served.admin.clone();
    let since = admin.cluster().await.unwrap().index;
    let waiting = tokio::spawn({
        let admin = admin.clone();
        async move { admin.changes(since, Duration::from_secs(50)).await }
    });
    served.started.send_replace(true);
    while !admin.ready().await.unwrap() {
        tokio::task::yield_now().await;
    }
    served.stopping.cancel();
    assert!(!admin.ready().await.unwrap());
    // Too late to wait, or told at once that nothing has changed.
    match waiting.await.unwrap() {
        Ok(changes) => assert_eq!(changes.index, since),
        Err(error) => assert_eq!(error.code(), Some(ErrorCode::Unavailable)),
    }
    let refused = admin.changes(since, Duration::ZERO).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::Unavailable));
}

#[tokio::test]
async fn cluster_configs_are_checked_before_they_are_set() {
    let Served { admin, .. } = &serve_it().await;
    let change = |key, value| ConfigChanges {
        configs: configs(&[(key, value)]),
    };
    let set = change("log.retention.ms", Some("5000"));
    let now = admin.alter_configs(&set).await.unwrap();
    assert_eq!(now.configs["log.retention.ms"], "5000");
    let error = admin.alter_configs(&change("node.id", Some("3"))).await;
    assert_eq!(error.unwrap_err().code(), Some(ErrorCode::Invalid));
    let gone = admin.alter_configs(&change("log.retention.ms", None)).await;
    assert!(gone.unwrap().configs.is_empty());
}

#[tokio::test]
async fn broker_is_ready_once_started_and_caught_up() {
    let Served {
        admin,
        metadata,
        started,
        ..
    } = &serve_it().await;
    assert!(!admin.ready().await.unwrap());
    started.send_replace(true);
    let mut images = metadata.watch();
    // Catching up is noticed by a task of its own.
    while !admin.ready().await.unwrap() {
        tokio::task::yield_now().await;
    }
    let epoch = metadata.image().brokers[&BrokerId(0)].epoch;
    let fence = Command::FenceBroker {
        id: BrokerId(0),
        epoch,
    };
    metadata.submit(fence).await.unwrap();
    images.changed().await.unwrap();
    assert!(!admin.ready().await.unwrap());
}

#[tokio::test]
async fn overview_counts_brokers_and_an_absent_object_is_told_as_such() {
    let Served { admin, .. } = &serve_it().await;
    let error = admin.topic("a/b").await.unwrap_err();
    assert!(error.is_not_found());
    let overview = admin.cluster().await.unwrap();
    assert_eq!(overview.brokers.len(), 3);
    assert_eq!(overview.cluster_id, "c");
    assert!(admin.groups().await.unwrap().is_empty());
}

/// Status and text of a plain GET.
async fn get_text(address: std::net::SocketAddr, path: &str) -> (u16, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

#[tokio::test]
async fn a_broker_that_waits_for_its_peers_is_alive_and_says_why_it_is_not_ready() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let opening = Opening::default();
    let stop = CancellationToken::new();
    tokio::spawn(serve(vec![listener], opening.clone(), stop.clone()));
    assert_eq!(get_text(address, "/healthz").await.0, 200);
    let (status, why) = get_text(address, "/readyz").await;
    assert_eq!((status, &*why), (503, "starting: reading the logs\n"));

    let dir = tempfile::tempdir().unwrap();
    let this = BrokerId(0);
    let mesh = Mesh::alone(this);
    let groups = crate::raft::Groups::open(dir.path(), Default::default(), mesh.clone(), ());
    let groups = groups.unwrap();
    let voters = [0, 1, 2].map(|id| crate::config::Voter {
        id: BrokerId(id),
        host: "localhost".to_owned(),
        port: 1,
    });
    let started =
        metadata::Handle::start(&groups, mesh.clone(), &voters, metadata::Config::default()).await;
    opening.join(started.unwrap(), mesh.alive());
    assert_eq!(get_text(address, "/healthz").await.0, 200);
    let (status, why) = get_text(address, "/readyz").await;
    assert_eq!(status, 503);
    assert!(
        why.contains("these voters cannot be reached: 1, 2"),
        "{why}"
    );
    stop.cancel();
    groups.close().await;
}

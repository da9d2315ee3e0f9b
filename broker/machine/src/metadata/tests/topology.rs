use std::collections::BTreeSet;

use model::BrokerId;
use uuid::Uuid;

use super::super::command::{Command, Refusal, Reply};
use super::super::image::{Destination, ExchangeKind, QueueKind};
use super::super::topology::awaits_brokers;
use super::Cluster;
use crate::value::{Table, Value};

fn exchange(name: &str, kind: ExchangeKind, auto_delete: bool) -> Command {
    Command::DeclareExchange {
        vhost: "/".to_owned(),
        name: name.to_owned(),
        kind,
        durable: true,
        auto_delete,
        internal: false,
        arguments: Table::new(),
    }
}

fn queue(name: &str, quorum: bool, durable: bool, arguments: &[(&str, Value)]) -> Command {
    Command::DeclareQueue {
        vhost: "/".to_owned(),
        name: name.to_owned(),
        quorum,
        home: BrokerId(0),
        durable,
        auto_delete: false,
        exclusive: None,
        arguments: arguments
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
    }
}

fn bind(source: &str, destination: Destination) -> Command {
    Command::Bind {
        vhost: "/".to_owned(),
        source: source.to_owned(),
        destination,
        routing_key: "k".to_owned(),
        arguments: Table::new(),
    }
}

fn text(refusal: &Refusal) -> String {
    refusal.to_string()
}

const CREATED: Reply = Reply::Declared { created: true };
const THERE: Reply = Reply::Declared { created: false };

#[test]
fn declaring_twice_alike_is_one_queue() {
    let mut cluster = Cluster::with_racks(&["a"]);
    assert_eq!(cluster.apply(queue("q", false, true, &[])), CREATED);
    let ignored = [("x-whatever", Value::Int(1))];
    assert_eq!(cluster.apply(queue("q", false, true, &ignored)), THERE);
}

#[test]
fn an_inequivalent_declaration_names_the_property() {
    let mut cluster = Cluster::with_racks(&["a"]);
    cluster.apply(queue("q", false, true, &[]));
    let refusal = cluster.refused(queue("q", false, false, &[]));
    assert_eq!(
        text(&refusal),
        "inequivalent arg 'durable' for queue 'q' in vhost '/': received 'false' but current is 'true'"
    );
    let ttl = [("x-message-ttl", Value::Int(1000))];
    let refusal = cluster.refused(queue("q", false, true, &ttl));
    assert_eq!(
        text(&refusal),
        "inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received the value '1000' of type 'signedint' but current is none"
    );
    let refusal = cluster.refused(queue("q", true, true, &[]));
    assert!(text(&refusal).contains("received 'quorum' but current is 'classic'"));
    cluster.apply(exchange("e", ExchangeKind::Direct, false));
    let refusal = cluster.refused(exchange("e", ExchangeKind::Fanout, false));
    assert_eq!(
        text(&refusal),
        "inequivalent arg 'type' for exchange 'e' in vhost '/': received 'fanout' but current is 'direct'"
    );
}

#[test]
fn an_exclusive_queue_is_locked_for_others() {
    let mut cluster = Cluster::with_racks(&["a"]);
    let declare = |token| Command::DeclareQueue {
        vhost: "/".to_owned(),
        name: "mine".to_owned(),
        quorum: false,
        home: BrokerId(0),
        durable: false,
        auto_delete: false,
        exclusive: Some(Uuid::from_u128(token)),
        arguments: Table::new(),
    };
    assert_eq!(cluster.apply(declare(1)), CREATED);
    assert_eq!(cluster.apply(declare(1)), THERE);
    assert!(matches!(cluster.refused(declare(2)), Refusal::Locked(_)));
}

#[test]
fn a_deleted_queue_takes_its_bindings_and_auto_delete_exchanges_with_it() {
    let mut cluster = Cluster::with_racks(&["a"]);
    cluster.apply(queue("q", false, true, &[]));
    cluster.apply(exchange("upper", ExchangeKind::Fanout, true));
    cluster.apply(exchange("lower", ExchangeKind::Fanout, true));
    let lower = Destination::Exchange("lower".into());
    let bound = Destination::Queue("q".into());
    assert_eq!(cluster.apply(bind("upper", lower)), CREATED);
    assert_eq!(cluster.apply(bind("lower", bound.clone())), CREATED);
    assert_eq!(cluster.apply(bind("lower", bound)), THERE);
    cluster.done(Command::DeleteQueue {
        vhost: "/".to_owned(),
        name: "q".to_owned(),
    });
    let vhost = &cluster.image.vhosts["/"];
    assert!(vhost.bindings.is_empty());
    assert!(!vhost.exchanges.contains_key("lower"));
    assert!(!vhost.exchanges.contains_key("upper"));
}

#[test]
fn an_exchange_in_use_is_deleted_only_without_if_unused() {
    let mut cluster = Cluster::with_racks(&["a"]);
    cluster.apply(queue("q", false, true, &[]));
    cluster.apply(exchange("e", ExchangeKind::Topic, false));
    cluster.apply(bind("e", Destination::Queue("q".into())));
    let delete = |if_unused| Command::DeleteExchange {
        vhost: "/".to_owned(),
        name: "e".to_owned(),
        if_unused,
    };
    assert_eq!(
        text(&cluster.refused(delete(true))),
        "exchange 'e' in vhost '/' in use"
    );
    cluster.done(delete(false));
    cluster.done(delete(false));
    assert!(cluster.image.vhosts["/"].bindings.is_empty());
}

#[test]
fn binding_needs_both_ends() {
    let mut cluster = Cluster::with_racks(&["a"]);
    cluster.apply(queue("q", false, true, &[]));
    for (source, destination, missing) in [
        ("none", Destination::Queue("q".into()), "none"),
        ("amq.topic", Destination::Queue("gone".into()), "gone"),
        ("amq.topic", Destination::Exchange("gone".into()), "gone"),
    ] {
        let refusal = cluster.refused(bind(source, destination));
        assert_eq!(refusal, Refusal::NotFound(missing.into()));
    }
}

#[test]
fn quorum_queues_are_spread_over_shards_and_shards_over_brokers() {
    let mut cluster = Cluster::with_racks(&["a", "b", "c"]);
    let used: BTreeSet<_> = (0..8)
        .map(|n| {
            let name = format!("q{n}");
            cluster.apply(queue(&name, true, true, &[]));
            match cluster.image.vhosts["/"].queues[name.as_str()].kind {
                QueueKind::Quorum { shard } => shard,
                QueueKind::Classic { .. } => panic!("classic"),
            }
        })
        .collect();
    assert_eq!(used.len(), 8);
    let leaders: BTreeSet<_> = cluster.image.shards.values().map(|s| s.preferred).collect();
    assert_eq!(leaders.len(), 3);
    assert!(cluster.image.shards.values().all(|s| s.members.len() == 3));
}

#[test]
fn an_image_tells_a_deleted_queue_from_one_it_has_not_come_to() {
    let mut cluster = Cluster::with_racks(&["a"]);
    cluster.apply(queue("old", false, true, &[]));
    let before = cluster.image.clone();
    cluster.apply(queue("new", false, true, &[]));
    let id = cluster.image.vhosts["/"].queues["new"].id;
    cluster.done(Command::DeleteQueue {
        vhost: "/".to_owned(),
        name: "new".to_owned(),
    });
    assert!(id < before.index, "ids are no indexes");
    assert!(!before.has_declared(id));
    assert!(cluster.image.has_declared(id));
}

#[test]
fn the_first_quorum_queue_awaits_the_brokers_that_shards_need() {
    let first = queue("q", true, true, &[]);
    for (registered, expected, awaits) in [
        (1, 1, false),
        (1, 3, true),
        (2, 3, true),
        (3, 3, false),
        (3, 5, false),
    ] {
        let cluster = Cluster::with_racks(&["a", "b", "c"][..registered]);
        let image = &cluster.image;
        assert_eq!(awaits_brokers(image, &first, expected), awaits);
        let classic = queue("q", false, true, &[]);
        assert!(!awaits_brokers(image, &classic, expected));
    }
    let mut cluster = Cluster::with_racks(&["a"]);
    cluster.apply(first);
    let second = queue("second", true, true, &[]);
    assert!(!awaits_brokers(&cluster.image, &second, 3));
}

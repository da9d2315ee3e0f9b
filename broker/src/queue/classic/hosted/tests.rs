//! One queue without its driver.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use commitlog::Shutdown;
use machine::metadata::image::{Queue, QueueKind};
use model::BrokerId;

use super::Hosted;
use crate::queue::classic::Context;
use crate::queue::links::Links;
use crate::queue::outbox::Outbox;
use crate::queue::protocol::{Op, Reply, Response, SessionKey};
use crate::queue::sync::Syncer;
use crate::queue::testing::{text, transient};
use crate::queue::{Config, Metrics};

const HERE: BrokerId = BrokerId(1);
const SESSION: SessionKey = SessionKey {
    broker: HERE,
    number: 1,
};

fn context(dir: &Path) -> Context {
    let links = Arc::new(Links::new(HERE, Config::default(), None));
    Context {
        syncer: Syncer::start(links.clone()).unwrap(),
        links,
        metrics: Metrics::default(),
        dir: dir.to_owned(),
        opened_after: Shutdown::Clean,
        index: 0,
    }
}

fn queue() -> Arc<Queue> {
    Arc::new(Queue {
        vhost: "/".into(),
        name: "q".into(),
        id: 1,
        kind: QueueKind::Classic { home: HERE },
        durable: false,
        auto_delete: false,
        exclusive: None,
        arguments: machine::value::Table::new(),
    })
}

/// What the queue answers to a get.
fn get(hosted: &mut Hosted, context: &Context) -> Reply {
    let mut outbox = Outbox::default();
    let get = Op::Get {
        consumer: 1,
        call: 1,
        no_ack: false,
    };
    hosted.take(SESSION, get, 1, context, &mut outbox);
    let mut responses = outbox.drain().flat_map(|(_, responses)| responses);
    match responses.next() {
        Some(Response::Called { reply, .. }) => reply,
        other => panic!("no answer but {other:?}"),
    }
}

#[test]
fn a_get_passes_over_a_message_that_has_lost_its_body() {
    let dir = tempfile::tempdir().unwrap();
    let context = context(dir.path());
    let mut hosted = Hosted::open(queue(), dir.path().join("1"), &context, 1);
    for (publish, body) in [(1, "lost"), (2, "kept"), (3, "lost, too")] {
        let publish = Op::Publish {
            publish,
            message: Arc::new(transient(body)),
        };
        hosted.take(SESSION, publish, 1, &context, &mut Outbox::default());
    }
    for position in [0, 2] {
        hosted.store.settle(position);
    }
    let Reply::Got(Some((delivered, _))) = get(&mut hosted, &context) else {
        panic!("there is one");
    };
    assert_eq!(text(&delivered.message), "kept");
    assert_eq!(get(&mut hosted, &context), Reply::Got(None));
    assert_eq!(hosted.machine.unacked_len(), 1, "the one that was given");
}

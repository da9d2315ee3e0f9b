//! Classic queues used from a broker that is not their home.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use model::BrokerId;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::frame::Frame;
use super::{announcer, broker_link};
use crate::peer::{self, Handler, Mesh, Service};
use crate::queue::testing::{Broker, mesh_with, message};
use crate::queue::{Outcome, Shortage};

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_of_another_broker_is_used_like_one_here() {
    let (home, other) = Broker::pair().await;
    home.declare("q", true, &[]).await;
    let queue = other.declare("q", true, &[]).await;
    let mut client = other.client();
    for number in 0..300 {
        client.send(&queue, message(&number.to_string()));
    }
    client.session.flush();
    client.hear(|client| client.confirms.len() == 300).await;
    assert!(client.confirms.values().all(|ack| *ack));
    client.consume(&queue, 50).await;
    let mut bodies = Vec::new();
    while bodies.len() < 300 {
        bodies.extend(client.bodies(1).await);
        client.settle_all(Outcome::Ack);
    }
    let expected: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    assert_eq!(bodies, expected);
    let stats = client.session.stats(&queue).await.unwrap();
    assert_eq!((stats.ready, stats.unacked, stats.consumers), (0, 0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_home_cancels_consumers_and_refuses_publishes() {
    let (home, other) = Broker::pair().await;
    home.declare("q", true, &[]).await;
    let queue = other.declare("q", true, &[]).await;
    let mut client = other.client();
    let consumer = client.consume(&queue, 0).await;
    home.mesh.close();
    other.mesh.set_peers(BTreeMap::new());
    assert!(!client.put(&queue, message("lost")).await);
    drop((home, consumer));
}

/// Hears of shortages, and answers or does not.
struct Ear {
    heard: mpsc::UnboundedSender<Option<Shortage>>,
    answers: bool,
}

impl Handler for Ear {
    fn call(&self, _from: BrokerId, request: Bytes) -> BoxFuture<'static, Bytes> {
        if let Ok(Frame::Shortage(shortage)) = Frame::decode(request) {
            self.heard.send(shortage).unwrap();
        }
        if self.answers {
            futures::future::ready(Bytes::new()).boxed()
        } else {
            futures::future::pending().boxed()
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_does_not_answer_keeps_no_other_from_hearing_of_a_shortage() {
    let patient = peer::Config {
        call_timeout: Duration::from_secs(3_600),
        ..peer::Config::default()
    };
    let (mesh, _) = mesh_with(BrokerId(1), patient).await;
    let mut peers = BTreeMap::new();
    let mut ears = Vec::new();
    for (broker, answers) in [(BrokerId(2), false), (BrokerId(3), true)] {
        let (other, address) = mesh_with(broker, peer::Config::default()).await;
        let (heard, hearing) = mpsc::unbounded_channel();
        other.serve(Service::Queue, Arc::new(Ear { heard, answers }));
        peers.insert(broker, address);
        ears.push((other, hearing));
    }
    mesh.set_peers(peers);
    let mut alive = mesh.alive();
    let both = alive.wait_for(|alive| alive.peers.values().all(|answers| *answers));
    drop(both.await.unwrap());
    let (here, watched) = watch::channel(None);
    tokio::spawn(announcer::run(mesh.clone(), watched));
    here.send_replace(Some(Shortage::Disk));
    assert_eq!(ears[0].1.recv().await, Some(Some(Shortage::Disk)));
    assert_eq!(ears[1].1.recv().await, Some(Some(Shortage::Disk)));
    here.send_replace(None);
    assert_eq!(ears[1].1.recv().await, Some(None));
}

#[tokio::test]
async fn a_frame_that_has_waited_as_long_as_a_call_may_take_is_not_sent() {
    let broker = BrokerId(1);
    let mesh = Mesh::alone(broker);
    let (heard, mut hearing) = mpsc::unbounded_channel();
    let answers = true;
    mesh.serve(Service::Queue, Arc::new(Ear { heard, answers }));
    let frame = Frame::Shortage(None);
    let late = Instant::now() - mesh.call_timeout();
    let outcome = broker_link::call(&mesh, broker, &frame, late).await;
    assert_eq!(outcome, Err(peer::Error::Timeout(broker)));
    assert!(hearing.try_recv().is_err());
    let outcome = broker_link::call(&mesh, broker, &frame, Instant::now()).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(hearing.recv().await, Some(None));
}

//! Classic queues used from a broker that is not their home.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use crate::queue::Outcome;
use crate::queue::testing::{Broker, message};

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

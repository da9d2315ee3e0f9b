//! Whose shortage counts, and what it holds back.
#![allow(clippy::unwrap_used)]

use model::BrokerId;

use super::{Pressure, Shortage};
use crate::queue::testing::{Broker, message, transient};
use crate::queue::{Config, Outcome};

/// So little memory that the scenes below fill it.
fn small() -> Config {
    Config {
        memory_bytes_max: 1 << 20,
        // Whatever disk the tests run on.
        disk_free_bytes_min: 1,
        ..Config::default()
    }
}

#[test]
fn a_shortage_anywhere_is_one_episode_until_the_last_has_ended() {
    let pressure = Pressure::default();
    let anywhere = pressure.anywhere();
    assert_eq!(pressure.episode(), None);
    pressure.set_other(BrokerId(2), Some(Shortage::Memory));
    assert_eq!(*anywhere.borrow(), Some(Shortage::Memory));
    let first = pressure.episode();
    assert!(first.is_some());
    pressure.set_here(Some(Shortage::Disk));
    assert_eq!(*anywhere.borrow(), Some(Shortage::Both));
    pressure.set_other(BrokerId(2), None);
    assert_eq!(*anywhere.borrow(), Some(Shortage::Disk));
    assert_eq!(pressure.episode(), first);
    pressure.set_here(None);
    assert_eq!((*anywhere.borrow(), pressure.episode()), (None, None));
    pressure.set_here(Some(Shortage::Disk));
    assert_ne!(pressure.episode(), first);
}

#[test]
fn every_shortage_survives_the_mesh() {
    let all = [Shortage::Memory, Shortage::Disk, Shortage::Both].map(Some);
    for shortage in all.into_iter().chain([None]) {
        assert_eq!(Shortage::of_bits(Shortage::to_bits(shortage)), shortage);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn quorum_bodies_block_publishers_everywhere_until_consumers_have_made_room() {
    let (home, other) = Broker::pair_with(small()).await;
    let queue = home.declare_quorum("q", &[]).await;
    let mut client = home.client();
    let mut shortage = home.queues.pressure();
    let mut elsewhere = other.queues.pressure();
    let body = "x".repeat(100 << 10);
    let mut bystander = home.client();
    bystander.put(&queue, message(&body)).await;
    while shortage.borrow().is_none() {
        client.put(&queue, message(&body)).await;
    }
    assert_eq!(*shortage.borrow_and_update(), Some(Shortage::Memory));
    elsewhere.wait_for(Option::is_some).await.unwrap();
    assert!(!bystander.session.is_blocked(), "it did not publish since");
    client.put(&queue, message(&body)).await;
    assert!(client.session.is_blocked());
    let mut consumer = home.client();
    consumer.consume(&queue, 0).await;
    assert!(!consumer.session.is_blocked());
    let published = client.confirms.len() + bystander.confirms.len();
    consumer.bodies(published).await;
    consumer.settle_all(Outcome::Ack);
    client.session.capacity().await;
    assert!(!client.session.is_blocked());
    shortage.wait_for(Option::is_none).await.unwrap();
    elsewhere.wait_for(Option::is_none).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn classic_caches_give_way_to_the_log_before_publishers_wait() {
    let broker = Broker::bounded(small());
    let queues = [
        broker.declare("a", true, &[]).await,
        broker.declare("b", false, &[]).await,
    ];
    let mut client = broker.client();
    let filler = "x".repeat(50 << 10);
    for number in 0..60 {
        for queue in &queues {
            client.session.capacity().await;
            client.send(queue, transient(&format!("{number} {filler}")));
            client.session.flush();
        }
    }
    client.hear(|client| client.confirms.len() == 120).await;
    let mut shortage = broker.queues.pressure();
    shortage.wait_for(Option::is_none).await.unwrap();
    assert!(broker.queues.links.budget().used_bytes() < 1 << 20);
    for queue in &queues {
        client.consume(queue, 0).await;
        let bodies = client.bodies(60).await;
        for (number, body) in bodies.iter().enumerate() {
            assert!(body.starts_with(&format!("{number} ")), "place {number}");
        }
        client.settle_all(Outcome::Ack);
    }
}

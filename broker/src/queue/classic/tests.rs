//! Classic queues through sessions, on a disk, over restarts.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use machine::metadata::command::Command;
use machine::metadata::image::Queue;
use machine::value::Value;

use crate::queue::testing::{Broker, message, text, transient};
use crate::queue::{self, ConsumeRequest, Outcome};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_is_delivered_in_order_and_acked() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    for number in 0..500 {
        client.send(&queue, message(&number.to_string()));
    }
    client.session.flush();
    client.hear(|client| client.confirms.len() == 500).await;
    assert!(client.confirms.values().all(|ack| *ack));
    client.consume(&queue, 0).await;
    let expected: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    assert_eq!(client.bodies(500).await, expected);
    client.settle_all(Outcome::Ack);
    let stats = client.session.stats(&queue).await.unwrap();
    assert_eq!((stats.ready, stats.unacked, stats.consumers), (0, 0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn persistent_messages_survive_a_restart_but_not_settled_or_transient_ones() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    for body in ["1", "2", "3"] {
        assert!(client.put(&queue, message(body)).await);
    }
    assert!(client.put(&queue, transient("lost")).await);
    assert!(client.put(&queue, message("4")).await);
    let (first, left) = client.get(&queue).await.unwrap();
    assert_eq!((text(&first.message), left), ("1".to_owned(), 4));
    client.session.settle([first.receipt], Outcome::Ack);
    client.session.flush();
    let (second, _) = client.get(&queue).await.unwrap();
    assert_eq!(text(&second.message), "2");
    let broker = broker.restart();
    let mut client = broker.client();
    client.consume(&queue, 0).await;
    assert_eq!(client.bodies(3).await, ["2", "3", "4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn transient_queue_is_deleted_when_its_home_restarts() {
    let broker = Broker::new();
    broker.declare("q", false, &[]).await;
    let broker = broker.restart();
    let mut images = broker.metadata.watch();
    let gone = images.wait_for(|image| image.vhosts["/"].queues.is_empty());
    gone.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exclusive_queue_goes_that_is_made_when_its_owner_has_left() {
    let broker = Broker::new();
    let (stays, leaves) = (broker.queues.owner(), broker.queues.owner());
    leaves.leave();
    for (name, owner) in [("kept", &stays), ("late", &leaves)] {
        let declare = Command::DeclareQueue {
            vhost: "/".to_owned(),
            name: name.to_owned(),
            quorum: false,
            home: broker.metadata.this_broker(),
            durable: false,
            auto_delete: false,
            exclusive: Some(owner.id()),
            arguments: machine::value::Table::new(),
        };
        broker.metadata.submit(declare).await.unwrap();
    }
    let mut images = broker.metadata.watch();
    let gone = images.wait_for(|image| !image.vhosts["/"].queues.contains_key("late"));
    gone.await.unwrap();
    assert!(broker.find("kept").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_beyond_the_cache_is_read_back_in_order() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    let filler = "x".repeat(100 << 10);
    for number in 0..200 {
        let body = format!("{number} {filler}");
        client.session.capacity().await;
        client.send(
            &queue,
            if number % 3 == 0 {
                transient(&body)
            } else {
                message(&body)
            },
        );
        client.session.flush();
    }
    client.hear(|client| client.confirms.len() == 200).await;
    client.consume(&queue, 0).await;
    let bodies = client.bodies(200).await;
    for (number, body) in bodies.iter().enumerate() {
        assert!(body.starts_with(&format!("{number} ")), "place {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_message_goes_to_the_dead_letter_exchange_with_its_history() {
    let broker = Broker::new();
    let dead = broker.declare("dead", true, &[]).await;
    let arguments = [
        ("x-dead-letter-exchange", Value::String(String::new())),
        (
            "x-dead-letter-routing-key",
            Value::String("dead".to_owned()),
        ),
    ];
    let queue = broker.declare("q", true, &arguments).await;
    let mut client = broker.client();
    client.put(&queue, message("poison")).await;
    client.consume(&queue, 1).await;
    client.bodies(1).await;
    client.settle_all(Outcome::Reject);
    client.consume(&dead, 1).await;
    client.bodies(1).await;
    let letter = &client.deliveries[0].message;
    assert_eq!(
        (text(letter).as_str(), &*letter.routing_key),
        ("poison", "dead")
    );
    let headers = letter.deaths.as_ref().unwrap().headers();
    assert_eq!(
        headers["x-first-death-queue"],
        Value::String("q".to_owned())
    );
    assert_eq!(
        headers["x-first-death-reason"],
        Value::String("rejected".to_owned())
    );
    let Value::Array(deaths) = &headers["x-death"] else {
        panic!("x-death is no array: {headers:?}");
    };
    let Value::Table(death) = &deaths[0] else {
        panic!("a death is no table: {headers:?}");
    };
    assert_eq!(death["count"], Value::Int(1));
    let keys = Value::Array(vec![Value::String("key".to_owned())]);
    assert_eq!(death["routing-keys"], keys);
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_message_is_dead_lettered_once_and_a_cycle_is_cut() {
    let broker = Broker::new();
    let own = [
        ("x-message-ttl", Value::Int(1)),
        ("x-dead-letter-exchange", Value::String(String::new())),
        (
            "x-dead-letter-routing-key",
            Value::String("dead".to_owned()),
        ),
    ];
    let dead = broker.declare("dead", true, &[]).await;
    let queue = broker.declare("q", true, &own).await;
    let circle = [
        ("x-message-ttl", Value::Int(1)),
        ("x-dead-letter-exchange", Value::String(String::new())),
        (
            "x-dead-letter-routing-key",
            Value::String("circle".to_owned()),
        ),
    ];
    let circle = broker.declare("circle", true, &circle).await;
    let mut client = broker.client();
    client.put(&circle, message("round")).await;
    client.put(&queue, message("old")).await;
    client.consume(&dead, 0).await;
    assert_eq!(client.bodies(1).await, ["old"]);
    let letter = &client.deliveries[0].message;
    assert_eq!(letter.deaths.as_ref().unwrap().entries.len(), 1);
    loop {
        let stats = client.session.stats(&circle).await.unwrap();
        if stats.ready == 0 && stats.unacked == 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_channel_gives_back_what_it_holds() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    for body in ["1", "2", "3"] {
        client.put(&queue, message(body)).await;
    }
    let mut other = broker.client();
    other.consume(&queue, 2).await;
    assert_eq!(other.bodies(2).await, ["1", "2"]);
    let channel = other.channel;
    other.session.close_channel(channel);
    client.consume(&queue, 0).await;
    assert_eq!(client.bodies(3).await, ["1", "2", "3"]);
    let redelivered: Vec<bool> = client.deliveries.iter().map(|d| d.redelivered).collect();
    assert_eq!(redelivered, [true, true, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_connection_gives_back_what_it_holds() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    client.put(&queue, message("1")).await;
    let mut other = broker.client();
    assert!(other.get(&queue).await.is_some());
    drop(other);
    client.consume(&queue, 0).await;
    assert_eq!(client.bodies(1).await, ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_ack_consumer_is_fed_as_far_as_its_socket_takes_it() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    let many = 5_000;
    for number in 0..many {
        client.send(&queue, transient(&number.to_string()));
    }
    client.session.flush();
    let request = ConsumeRequest {
        channel: client.channel,
        queue: queue.clone(),
        no_ack: true,
        exclusive: false,
        prefetch: 0,
        priority: 0,
    };
    client.session.consume(request).await.unwrap();
    let stats = client.session.stats(&queue).await.unwrap();
    assert_eq!(stats.unacked, 2_000);
    assert_eq!(client.bodies(many).await.len(), many);
    client.events.written();
    let stats = client.session.stats(&queue).await.unwrap();
    assert_eq!((stats.ready, stats.unacked), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn full_queue_nacks_the_publisher() {
    let broker = Broker::new();
    let arguments = [
        ("x-max-length", Value::Int(1)),
        ("x-overflow", Value::String("reject-publish".to_owned())),
    ];
    let queue = broker.declare("q", true, &arguments).await;
    let mut client = broker.client();
    assert!(client.put(&queue, message("1")).await);
    assert!(!client.put(&queue, message("2")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_queue_cancels_its_consumers_and_confirms_what_comes_late() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    let consumer = client.consume(&queue, 0).await;
    let delete = Command::DeleteQueue {
        vhost: "/".to_owned(),
        name: "q".to_owned(),
    };
    broker.metadata.submit(delete).await.unwrap();
    client.hear(|client| !client.cancelled.is_empty()).await;
    assert_eq!(client.cancelled, [(consumer, false)]);
    assert!(client.put(&queue, message("late")).await);
    let missing = client.session.get(client.channel, &queue, true).await;
    assert_eq!(missing.unwrap_err(), queue::Error::NotFound("q".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_ok_comes_after_the_deliveries_under_way() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    client.put(&queue, message("1")).await;
    let consumer = client.consume(&queue, 0).await;
    client.session.cancel(consumer);
    client.hear(|client| !client.cancelled.is_empty()).await;
    assert_eq!(client.cancelled, [(consumer, true)]);
    assert_eq!(client.deliveries.len(), 1);
    client.put(&queue, message("2")).await;
    let stats = client.session.stats(&queue).await.unwrap();
    assert_eq!((stats.ready, stats.unacked, stats.consumers), (1, 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn unroutable_publish_is_confirmed() {
    let broker = Broker::new();
    let mut client = broker.client();
    let channel = client.channel;
    client
        .session
        .publish(channel, Some(1), &[], message("nowhere"));
    client.hear(|client| client.confirms.contains_key(&1)).await;
    assert!(client.confirms[&1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn settled_segments_are_deleted_from_the_head() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    client.consume(&queue, 0).await;
    let body = "x".repeat(512 << 10);
    let rounds = 150;
    for _ in 0..rounds {
        client.put(&queue, message(&body)).await;
        client.hear(|client| !client.deliveries.is_empty()).await;
        client.settle_all(Outcome::Ack);
    }
    client.session.stats(&queue).await.unwrap();
    let dir = broker.dir.path().join("queues").join(queue.id.to_string());
    let logs = std::fs::read_dir(dir).unwrap();
    let logs = logs.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().ends_with(".log")
    });
    // 75 MiB went through segments of 32 MiB.
    assert!(logs.count() <= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_cannot_be_opened_leaves_the_directory_unclean() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    broker.client().put(&queue, message("kept")).await;
    assert!(broker.queues.close(), "all is well");
    let files = broker.dir.path().join("queues").join(queue.id.to_string());
    std::fs::remove_dir_all(&files).unwrap();
    std::fs::write(&files, "no directory").unwrap();
    let again = Broker::over(broker.dir, broker.metadata);
    assert!(!again.queues.close());
}

/// What stands where the files of a queue would be.
fn files(broker: &Broker, queue: &Queue) -> std::path::PathBuf {
    broker.dir.path().join("queues").join(queue.id.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_whose_disk_took_nothing_refuses_and_then_serves_again() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    assert!(client.put(&queue, transient("in memory")).await);
    let files = files(&broker, &queue);
    std::fs::write(&files, "no directory").unwrap();
    assert!(!client.put(&queue, message("refused")).await);
    assert!(!client.put(&queue, transient("refused, too")).await);
    let stats = client.session.stats(&queue).await.unwrap();
    assert_eq!(stats.ready, 1, "what is refused is not kept");
    std::fs::remove_file(&files).unwrap();
    while !client.put(&queue, message("later")).await {}
    client.consume(&queue, 0).await;
    assert_eq!(client.bodies(2).await, ["in memory", "later"]);
    assert!(client.deliveries.iter().all(|d| !d.redelivered));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failed_sync_nothing_confirmed_is_lost_and_nothing_delivered_twice() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    for body in ["1", "2"] {
        assert!(client.put(&queue, message(body)).await);
    }
    assert!(client.put(&queue, transient("3")).await);
    client.consume(&queue, 1).await;
    assert_eq!(client.bodies(1).await, ["1"]);
    // A sync ends with this file.
    let point = files(&broker, &queue).join("recovery-point");
    let synced = std::fs::read(&point).unwrap();
    std::fs::remove_file(&point).unwrap();
    std::fs::create_dir(&point).unwrap();
    assert!(!client.put(&queue, message("refused")).await);
    std::fs::remove_dir(&point).unwrap();
    std::fs::write(&point, synced).unwrap();
    while !client.put(&queue, message("4")).await {}
    let mut delivered = Vec::new();
    for _ in 0..4 {
        delivered.extend(client.bodies(1).await);
        assert!(client.deliveries.iter().all(|d| !d.redelivered));
        client.settle_all(Outcome::Ack);
    }
    assert_eq!(delivered, ["1", "2", "3", "4"]);
    assert!(client.put(&queue, message("5")).await);
    let broker = broker.restart();
    let mut client = broker.client();
    client.consume(&queue, 0).await;
    assert_eq!(client.bodies(1).await, ["5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_could_not_be_opened_has_its_messages_when_it_can() {
    let broker = Broker::new();
    let queue = broker.declare("q", true, &[]).await;
    assert!(broker.client().put(&queue, message("kept")).await);
    assert!(broker.queues.close());
    let files = files(&broker, &queue);
    let aside = broker.dir.path().join("aside");
    std::fs::rename(&files, &aside).unwrap();
    std::fs::write(&files, "no directory").unwrap();
    let broker = Broker::over(broker.dir, broker.metadata);
    let mut client = broker.client();
    let crashed = queue::Error::Crashed("q".into());
    let got = client.session.get(client.channel, &queue, true).await;
    assert_eq!(got.unwrap_err(), crashed);
    std::fs::remove_file(&files).unwrap();
    std::fs::rename(&aside, &files).unwrap();
    while client.session.stats(&queue).await.is_err() {}
    client.consume(&queue, 0).await;
    assert_eq!(client.bodies(1).await, ["kept"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_that_expires_at_once_is_dead_lettered_whole_and_in_order() {
    let broker = Broker::new();
    let dead = broker.declare("dead", true, &[]).await;
    let arguments = [
        ("x-message-ttl", Value::Int(1)),
        ("x-dead-letter-exchange", Value::String(String::new())),
        (
            "x-dead-letter-routing-key",
            Value::String("dead".to_owned()),
        ),
    ];
    let queue = broker.declare("q", true, &arguments).await;
    let mut client = broker.client();
    let filler = "x".repeat(100 << 10);
    // More than may be on its way at a time.
    for number in 0..300 {
        client.session.capacity().await;
        client.send(&queue, transient(&format!("{number} {filler}")));
        client.session.flush();
    }
    client.consume(&dead, 0).await;
    let bodies = client.bodies(300).await;
    for (number, body) in bodies.iter().enumerate() {
        assert!(body.starts_with(&format!("{number} ")), "place {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "fills the file system of TMPDIR: mount one of some 24 MB there"]
async fn a_really_full_disk_refuses_and_takes_again_when_there_is_room() {
    let broker = Broker::bounded(queue::Config {
        // Else publishers wait before anything fails.
        disk_free_bytes_min: 1,
        ..queue::Config::default()
    });
    let queue = broker.declare("q", true, &[]).await;
    let mut client = broker.client();
    assert!(client.put(&queue, message("first")).await);
    let mut confirmed = vec!["first".to_owned()];
    let ballast = broker.dir.path().join("ballast");
    std::fs::write(&ballast, vec![1; 12 << 20]).unwrap();
    let filler = "x".repeat(100_000);
    loop {
        let body = format!("{} {filler}", confirmed.len());
        if !client.put(&queue, message(&body)).await {
            break;
        }
        confirmed.push(body);
    }
    assert!(!client.put(&queue, message("no room")).await);
    client.consume(&queue, 1).await;
    client.bodies(1).await;
    std::fs::remove_file(&ballast).unwrap();
    while !client.put(&queue, message("last")).await {}
    confirmed.push("last".to_owned());
    assert!(client.deliveries.iter().all(|d| !d.redelivered));
    drop(client);
    let mut broker = broker;
    for _ in 0..2 {
        let mut client = broker.client();
        client.consume(&queue, 0).await;
        assert!(client.bodies(confirmed.len()).await == confirmed);
        drop(client);
        broker = broker.restart();
    }
}

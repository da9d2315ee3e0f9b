//! Records that name the time of their delivery.

use model::batch::{DELIVER_AT, HELD_OFFSET, Record};

use super::*;

/// Records with these values; those with a time name it.
fn timed(mut builder: Builder, of: &[(&str, Option<&str>)]) -> Bytes {
    for (value, at) in of {
        let at = at.map(|at| (DELIVER_AT.as_bytes(), Some(at.as_bytes())));
        builder.push_with_headers(
            clock::wall_ms(),
            None,
            Some(value.as_bytes()),
            at.as_slice(),
        );
    }
    builder.build().unwrap()
}

fn records(handle: &Handle) -> Vec<Record> {
    let data = handle.read(from(0, Limit::HighWatermark)).unwrap();
    let runs = data.batches.into_iter();
    let batches = runs.flat_map(|run| batch::split(run).unwrap());
    batches
        .inspect(|batch| batch.verify_crc().unwrap())
        .flat_map(|batch| batch.records().map(Result::unwrap).collect::<Vec<_>>())
        .collect()
}

async fn send(handle: &Handle, batch: Bytes) -> Result<Appended, AppendError> {
    handle.append(append(batch, Acks::All)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_not_there_until_the_time_that_it_names_and_then_comes_behind() {
    // From memory, and from the disk.
    for config in [Config::default(), forgetful()] {
        let (cluster, partition, handle) = lone(config, &[]).await;
        let at_ms = clock::wall_ms() + 400;
        let at = at_ms.to_string();
        let mixed = timed(Builder::default(), &[("waits", Some(&at)), ("plain", None)]);
        let sent = send(&handle, mixed).await.unwrap();
        assert_eq!((sent.base_offset, sent.last_offset), (Offset(0), Offset(1)));
        put(&handle, "behind").await;
        cluster.until(1, partition, |s| s.held == 1).await;
        let seen = records(&handle);
        if clock::wall_ms() < at_ms {
            let values: Vec<_> = seen.iter().map(|r| r.value.clone().unwrap()).collect();
            assert!(!values.contains(&Bytes::from("waits")), "{values:?}");
        }
        cluster
            .until(1, partition, |s| s.held == 0 && s.readable_end == Offset(5))
            .await;
        assert!(clock::wall_ms() >= at_ms);
        let last = records(&handle).pop().unwrap();
        assert_eq!(last.value.as_deref(), Some(&b"waits"[..]));
        assert_eq!((last.offset, last.timestamp), (Offset(4), at_ms));
        let place = last.headers.iter().find(|(key, _)| key == HELD_OFFSET);
        assert_eq!(place.unwrap().1.as_deref(), Some(&b"0"[..]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_leader_and_a_restart_hand_over_what_waits_and_no_record_twice() {
    let mut cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let leader = cluster.handle(1, partition);
    let at = (clock::wall_ms() + 3000).to_string();
    let once = timed(
        Builder::default().producer(7, 0, 0),
        &[("first", Some(&at)), ("second", Some(&at))],
    );
    assert_eq!(
        send(&leader, once.clone()).await.unwrap().base_offset,
        Offset(0)
    );
    cluster.until(2, partition, |s| s.held == 2).await;
    cluster.fence(1).await;
    let leader = cluster
        .until(2, partition, |s| s.role == Role::Leader)
        .await;
    // Its producer has not heard the answer, and asks the new leader.
    assert_eq!(send(&leader, once).await.unwrap().base_offset, Offset(0));
    for left in [Shutdown::Unclean, Shutdown::Clean] {
        assert!(cluster.stop(2).await);
        cluster.resume(2, left);
    }
    let leader = cluster
        .until(2, partition, |s| s.held == 0 && s.readable_end == Offset(4))
        .await;
    assert_eq!(read(&leader, Limit::HighWatermark), ["first", "second"]);
    assert!(cluster.stop(2).await);
    cluster.resume(2, Shutdown::Unclean);
    let leader = cluster
        .until(2, partition, |s| s.role == Role::Leader && s.held == 0)
        .await;
    put(&leader, "third").await;
    assert_eq!(
        read(&leader, Limit::HighWatermark),
        ["first", "second", "third"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_is_none_or_too_far_and_too_much_that_waits_are_refused() {
    let configs = [
        ("millrace.delivery.at.max.ms", "3600000"),
        ("millrace.delivery.held.bytes", "300"),
    ];
    let (cluster, partition, handle) = lone(Config::default(), &configs).await;
    let now_ms = clock::wall_ms();
    let wrong = timed(Builder::default(), &[("a", Some("5")), ("b", Some("soon"))]);
    let refused = send(&handle, wrong).await;
    assert!(
        matches!(&refused, Err(AppendError::InvalidRecord { indexes, .. }) if indexes == &[1]),
        "{refused:?}"
    );
    let far = (now_ms + 4_000_000).to_string();
    let refused = send(&handle, timed(Builder::default(), &[("a", Some(&far))])).await;
    assert!(
        matches!(&refused, Err(AppendError::DeliveryTooFar { indexes, .. }) if indexes == &[0]),
        "{refused:?}"
    );
    let late = (now_ms + 3_000_000).to_string();
    let large = "v".repeat(150);
    let waits = timed(Builder::default(), &[(&large, Some(&late))]);
    assert!(send(&handle, waits.clone()).await.is_ok());
    let refused = send(&handle, waits.clone()).await;
    assert!(
        matches!(refused, Err(AppendError::Storage(_))),
        "{refused:?}"
    );
    // Nothing is held up by what waits, nor deleted beyond it.
    put(&handle, "plain").await;
    assert_eq!(handle.delete_records(Offset::UNKNOWN).await, Ok(Offset(0)));
    let compacted = cluster.topic(&[1], &[("cleanup.policy", "compact")]).await;
    let mut keyed = Builder::default();
    let header = (DELIVER_AT.as_bytes(), Some(late.as_bytes()));
    keyed.push_with_headers(now_ms, Some(b"k"), None, &[header]);
    let refused = send(&cluster.handle(1, compacted), keyed.build().unwrap()).await;
    assert!(
        matches!(&refused, Err(AppendError::InvalidRecord { indexes, .. }) if indexes == &[0]),
        "{refused:?}"
    );
    // No producer may say of itself that its records wait, or did.
    let mut claiming = batch::hold(values(&["visible"]));
    claiming = batch::place(claiming, Offset(0), model::Epoch(-1));
    send(&handle, claiming).await.unwrap();
    cluster.until(1, partition, |s| s.held == 1).await;
    assert_eq!(read(&handle, Limit::HighWatermark), ["plain", "visible"]);
}

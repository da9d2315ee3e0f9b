use super::*;

const HOUR: (&str, &str) = ("millrace.delivery.delay.ms", "3600000");

impl Cluster {
    async fn delay(&self, partition: TopicPartition, delay_ms: i64) {
        let name = self.metadata.image().topics[&partition.topic].name.clone();
        self.submit(Command::AlterConfigs {
            resource: machine::metadata::image::ConfigResource::Topic(name),
            changes: vec![(HOUR.0.into(), Some(delay_ms.to_string()))],
        })
        .await;
    }

    /// Waits until the broker knows of the delay.
    async fn until_delay(&self, broker: i32, partition: TopicPartition, delay_ms: i64) {
        let mut changes = self.brokers[&broker].partitions.roster().changes();
        while self.handle(broker, partition).delivery_delay_ms() != delay_ms {
            changes.changed().await.unwrap();
        }
    }

    /// Waits until consumers can read up to `end` from this replica.
    async fn readable(&self, broker: i32, partition: TopicPartition, end: i64) -> Handle {
        self.until(broker, partition, |s| s.readable_end == Offset(end))
            .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_waits_is_acknowledged_and_not_there_for_consumers() {
    let (cluster, partition, handle) = lone(Config::default(), &[HOUR]).await;
    let mut b = Builder::default();
    // Neither an old nor a coming time of the producer counts.
    b.push(5, None, Some(b"a"));
    b.push(i64::MAX / 2, None, Some(b"b"));
    let sent = append(b.build().unwrap(), Acks::All);
    let appended = handle.append(sent).await.unwrap();
    let stamp = appended.log_append_time.expect("told");
    let status = handle.status();
    assert_eq!(
        (status.high_watermark, status.readable_end),
        (Offset(2), Offset(0))
    );
    let data = handle.read(from(0, Limit::HighWatermark)).unwrap();
    assert!(data.batches.is_empty());
    assert_eq!(data.high_watermark, Offset(0));
    assert_eq!(handle.max_timestamp(), Ok(None));
    // All that is there is nothing, and what is not there cannot be deleted.
    assert_eq!(handle.delete_records(Offset::UNKNOWN).await, Ok(Offset(0)));
    assert!(matches!(
        handle.delete_records(Offset(1)).await,
        Err(DeleteError::OffsetOutOfRange { end: Offset(0), .. })
    ));
    cluster.delay(partition, 0).await;
    cluster.readable(1, partition, 2).await;
    assert_eq!(read(&handle, Limit::HighWatermark), ["a", "b"]);
    let newest = handle.max_timestamp().unwrap().unwrap();
    assert_eq!(newest.timestamp, stamp);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_comes_by_the_clock_alone_and_never_early() {
    let delay = ("millrace.delivery.delay.ms", "300");
    let (cluster, partition, handle) = lone(Config::default(), &[delay]).await;
    for value in ["a", "b"] {
        let sent = append(values(&[value]), Acks::All);
        let stamp = handle.append(sent).await.unwrap().log_append_time.unwrap();
        let end = handle.status().high_watermark.0;
        cluster.readable(1, partition, end).await;
        assert!(clock::wall_ms() >= stamp + 300);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restarted_and_new_leaders_hold_back_the_same_records() {
    let mut cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    put(&cluster.handle(1, partition), "before").await;
    cluster.delay(partition, 3_600_000).await;
    cluster.until_delay(1, partition, 3_600_000).await;
    put(&cluster.handle(1, partition), "waits").await;
    for broker in [1, 2] {
        let replica = cluster
            .until(broker, partition, |s| s.high_watermark == Offset(2))
            .await;
        assert_eq!(replica.status().readable_end, Offset(1), "broker {broker}");
    }
    for left in [Shutdown::Unclean, Shutdown::Clean] {
        assert!(cluster.stop(1).await);
        cluster.resume(1, left);
        let again = cluster
            .until(1, partition, |s| s.high_watermark == Offset(2))
            .await;
        assert_eq!(again.status().readable_end, Offset(1));
    }
    cluster.fence(1).await;
    let new = cluster
        .until(2, partition, |s| s.role == Role::Leader)
        .await;
    assert_eq!(read(&new, Limit::HighWatermark), ["before"]);
    put(&new, "behind").await;
    assert_eq!(new.status().readable_end, Offset(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_delay_counts_from_the_append_and_hides_nothing_again() {
    let delay = ("millrace.delivery.delay.ms", "1");
    let (mut cluster, partition, handle) = lone(Config::default(), &[delay]).await;
    put(&handle, "a").await;
    cluster.readable(1, partition, 1).await;
    cluster.delay(partition, 3_600_000).await;
    cluster.until_delay(1, partition, 3_600_000).await;
    put(&handle, "b").await;
    assert_eq!(read(&handle, Limit::HighWatermark), ["a"]);
    assert!(cluster.stop(1).await);
    // It is lowered while nobody is there, and raised again.
    cluster.delay(partition, 1).await;
    cluster.resume(1, Shutdown::Clean);
    cluster.readable(1, partition, 2).await;
    cluster.delay(partition, 3_600_000).await;
    cluster.until_delay(1, partition, 3_600_000).await;
    for left in [Shutdown::Unclean, Shutdown::Clean] {
        assert!(cluster.stop(1).await);
        cluster.resume(1, left);
        let again = cluster.readable(1, partition, 2).await;
        put(&again, "c").await;
        assert_eq!(read(&again, Limit::HighWatermark), ["a", "b"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_takes_nothing_that_nobody_could_read_yet() {
    let config = Config {
        drivers: 1,
        sweep_ms: 10,
        ..Config::default()
    };
    let bounds = [("retention.bytes", "0"), ("segment.bytes", "16384")];
    let (cluster, waiting, handle) = lone(config, &[HOUR, bounds[0], bounds[1]]).await;
    let swept = cluster.topic(&[1], &bounds).await;
    let large = "v".repeat(10_000);
    for _ in 0..3 {
        put(&handle, &large).await;
    }
    // Every log is looked at before one is looked at twice.
    for n in 1..=2 {
        for _ in 0..2 {
            put(&cluster.handle(1, swept), &large).await;
        }
        cluster
            .until(1, swept, |s| s.log_start >= Offset(2 * n - 1))
            .await;
    }
    assert_eq!(handle.status().log_start, Offset(0));
    cluster.delay(waiting, 0).await;
    cluster
        .until(1, waiting, |s| s.log_start >= Offset(2))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_batches_that_wait_come_in_order_and_whole() {
    let (cluster, partition, handle) = lone(forgetful(), &[HOUR]).await;
    for n in 0..2000 {
        let sent = append(values(&[&n.to_string()]), Acks::Leader);
        handle.append(sent).await.unwrap();
    }
    assert_eq!(handle.status().readable_end, Offset(0));
    cluster.delay(partition, 1).await;
    cluster.readable(1, partition, 2000).await;
    let expected: Vec<_> = (0..2000).map(|n| n.to_string()).collect();
    assert_eq!(read(&handle, Limit::HighWatermark), expected);
}

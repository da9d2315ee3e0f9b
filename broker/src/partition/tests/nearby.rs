use super::*;

fn on(broker: i32) -> impl Fn(BrokerId) -> bool {
    move |id| id == BrokerId(broker)
}

#[tokio::test(flavor = "multi_thread")]
async fn consumer_is_sent_to_a_follower_in_sync_and_back_when_that_has_left() {
    let cluster = Cluster::start(3).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let leader = cluster.handle(1, partition);
    put(&leader, "a").await;
    let sent = |offset, rack| leader.nearest(Offset(offset), None, on(rack));
    assert_eq!(sent(0, 2), Some(BrokerId(2)));
    assert_eq!(sent(1, 2), Some(BrokerId(2)), "the next to come");
    assert_eq!(sent(2, 2), None, "nobody has it");
    assert_eq!(sent(0, 1), None, "the leader is there");
    assert_eq!(sent(0, 3), None, "no replica is there");
    let follower = cluster.handle(2, partition);
    assert_eq!(follower.check_serves(true, None), Ok(()));
    let not_leader = |served| matches!(served, Err(ReadError::NotLeader { leader, .. }) if leader == Some(BrokerId(1)));
    assert!(not_leader(follower.check_serves(false, None)));

    cluster.fence(2).await;
    cluster.until(1, partition, |s| s.isr.len() == 1).await;
    assert_eq!(leader.nearest(Offset(0), None, on(2)), None);
    let follower = cluster.until(2, partition, |s| s.isr.len() == 1).await;
    assert!(not_leader(follower.check_serves(true, None)));
}

#[tokio::test(flavor = "multi_thread")]
async fn watermark_reaches_a_follower_that_is_read_from_at_once() {
    let quiet = Config {
        // Longer than a call between brokers takes at most, and than this test waits.
        fetch_wait_ms: 3_600_000,
        ..Config::default()
    };
    let cluster = Cluster::start_with(2, quiet).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    cluster
        .handle(2, partition)
        .check_serves(true, None)
        .unwrap();
    for end in 1..=3 {
        put(&cluster.handle(1, partition), "v").await;
        let moved = cluster.until(2, partition, |s| s.high_watermark == Offset(end));
        let follower = tokio::time::timeout(Duration::from_secs(20), moved).await;
        assert_eq!(
            read(&follower.unwrap(), Limit::HighWatermark).len() as i64,
            end
        );
    }
}

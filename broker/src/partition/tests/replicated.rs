use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_by_all_means_on_every_replica_byte_for_byte() {
    let cluster = Cluster::start(3).await;
    let partition = cluster
        .topic(&[1, 2, 3], &[("min.insync.replicas", "2")])
        .await;
    let leader = cluster.handle(1, partition);
    let mut appends = Vec::new();
    for i in 0..20 {
        appends.push(leader.append(append(values(&[&format!("v{i}")]), Acks::All)));
    }
    for (i, appended) in futures::future::join_all(appends)
        .await
        .into_iter()
        .enumerate()
    {
        assert_eq!(appended.unwrap().base_offset, Offset(i as i64));
    }
    let expected = leader
        .read(from(0, Limit::HighWatermark))
        .unwrap()
        .batches
        .concat();
    assert_eq!(read(&leader, Limit::HighWatermark).len(), 20);
    for follower in [2, 3] {
        let replica = cluster
            .until(follower, partition, |s| s.high_watermark == Offset(20))
            .await;
        let bytes = replica
            .read(from(0, Limit::LogEnd))
            .unwrap()
            .batches
            .concat();
        assert_eq!(bytes, expected);
        assert_eq!(replica.status().role, Role::Follower);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn follower_refuses_appends_and_names_the_leader() {
    let cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let refused = cluster
        .handle(2, partition)
        .append(append(values(&["v"]), Acks::Leader))
        .await;
    assert!(
        matches!(
            refused,
            Err(AppendError::NotLeader {
                leader: Some(BrokerId(1)),
                ..
            })
        ),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_only_the_old_leader_had_give_way_to_the_new_leaders() {
    let cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let old = cluster.handle(1, partition);
    put(&old, "both").await;

    cluster.disconnect(2);
    for value in ["lost 1", "lost 2", "lost 3"] {
        old.append(append(values(&[value]), Acks::Leader))
            .await
            .unwrap();
    }
    let unacknowledged = append(values(&["lost 4"]), Acks::All);
    let waiting = tokio::spawn({
        let old = old.clone();
        async move { old.append(unacknowledged).await }
    });
    cluster
        .until(1, partition, |s| s.log_end == Offset(5))
        .await;
    cluster.fence(1).await;
    assert!(matches!(
        waiting.await.unwrap(),
        Err(AppendError::NotLeader { .. })
    ));
    let new = cluster
        .until(2, partition, |s| s.role == Role::Leader)
        .await;
    put(&new, "kept").await;

    cluster.register(1).await;
    let old = cluster
        .until(1, partition, |s| s.high_watermark == Offset(2))
        .await;
    assert_eq!(read(&old, Limit::LogEnd), ["both", "kept"]);
    cluster.until(2, partition, |s| s.isr.len() == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lagging_follower_leaves_the_set_and_returns_when_it_has_caught_up() {
    let config = Config {
        lag_max_ms: 300,
        ..Config::default()
    };
    let cluster = Cluster::start_with(3, config).await;
    let partition = cluster
        .topic(&[1, 2, 3], &[("min.insync.replicas", "3")])
        .await;
    let leader = cluster.handle(1, partition);
    put(&leader, "a").await;
    cluster.disconnect(3);
    leader
        .append(append(values(&["b"]), Acks::Leader))
        .await
        .unwrap();
    cluster.until(1, partition, |s| s.isr.len() == 2).await;
    let refused = leader.append(append(values(&["c"]), Acks::All)).await;
    assert_eq!(
        refused,
        Err(AppendError::NotEnoughReplicas {
            in_sync: 2,
            required: 3
        })
    );
    assert_eq!(
        leader.status().high_watermark,
        Offset(1),
        "not under the minimum"
    );
    cluster.connect(3);
    // It joins at the watermark and may be put out once more before it reaches the end: the error
    // is one that clients try again on.
    loop {
        cluster.until(1, partition, |s| s.isr.len() == 3).await;
        match leader.append(append(values(&["d"]), Acks::All)).await {
            Ok(_) => break,
            Err(AppendError::NotEnoughReplicas { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(read(&leader, Limit::HighWatermark), ["a", "b", "d"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn flush_before_acknowledgement_waits_for_every_disk() {
    let cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[("flush.messages", "1")]).await;
    let leader = cluster.handle(1, partition);
    for i in 0..5 {
        put(&leader, &format!("v{i}")).await;
        for broker in [1, 2] {
            let synced = cluster.handle(broker, partition).0.reader.synced_offset();
            assert_eq!(synced, Offset(i + 1), "broker {broker}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_records_go_on_followers_too() {
    let cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let leader = cluster.handle(1, partition);
    for _ in 0..4 {
        put(&leader, "v").await;
    }
    assert_eq!(leader.delete_records(Offset(3)).await, Ok(Offset(3)));
    assert!(matches!(
        leader.delete_records(Offset(5)).await,
        Err(DeleteError::OffsetOutOfRange { .. })
    ));
    put(&leader, "v").await;
    cluster
        .until(2, partition, |s| s.log_start == Offset(3))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_replica_starts_where_the_leaders_log_starts() {
    let cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    cluster.disconnect(2);
    cluster.fence(2).await;
    let leader = cluster.until(1, partition, |s| s.isr.len() == 1).await;
    for _ in 0..4 {
        put(&leader, "v").await;
    }
    leader.delete_records(Offset(3)).await.unwrap();
    cluster.connect(2);
    cluster.register(2).await;
    let follower = cluster
        .until(2, partition, |s| s.high_watermark == Offset(4))
        .await;
    assert_eq!(follower.status().log_start, Offset(3));
    cluster.until(1, partition, |s| s.isr.len() == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_whose_disk_fails_hands_over_and_stays_out() {
    let cluster = Cluster::start(3).await;
    let partition = cluster.topic(&[1, 2, 3], &[]).await;
    let old = cluster.handle(1, partition);
    put(&old, "kept").await;
    fail_sync(&old, std::io::ErrorKind::Other);
    let new = cluster
        .until(2, partition, |s| s.role == Role::Leader)
        .await;
    assert_eq!(new.status().isr, [BrokerId(2), BrokerId(3)]);
    put(&new, "more").await;
    assert_eq!(read(&new, Limit::HighWatermark), ["kept", "more"]);
    cluster
        .until(1, partition, |s| s.role == Role::Follower)
        .await;
    assert_eq!(old.status().log_end, Offset(1), "it does not follow");
}

#[tokio::test(flavor = "multi_thread")]
async fn follower_without_room_leaves_the_set_and_returns_when_there_is_some() {
    let cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let leader = cluster.handle(1, partition);
    put(&leader, "a").await;
    let mut image = cluster.metadata.watch();
    let isr = |image: &Image| image.topics[&partition.topic].partitions[0].isr.len();
    fail_sync(
        &cluster.handle(2, partition),
        std::io::ErrorKind::StorageFull,
    );
    image.wait_for(|image| isr(image) == 1).await.unwrap();
    put(&leader, "b").await;
    image.wait_for(|image| isr(image) == 2).await.unwrap();
    cluster
        .until(2, partition, |s| s.log_end == Offset(2))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_log_is_copied_again_only_when_the_cluster_does_without_it() {
    let mut cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let leader = cluster.handle(1, partition);
    for value in ["a", "b"] {
        put(&leader, value).await;
    }
    cluster
        .until(2, partition, |s| s.log_end == Offset(2))
        .await;
    assert!(cluster.stop(2).await);
    let segment = segment_of(cluster.directory(2), partition);
    rewrite(&segment, &damaged(&std::fs::read(&segment).unwrap()));
    let mut image = cluster.metadata.watch();
    image.borrow_and_update();
    // The cluster still counts on it: nobody has noticed that it was away.
    cluster.resume(2, Shutdown::Unclean);
    let isr = |image: &Image| image.topics[&partition.topic].partitions[0].isr.len();
    image.wait_for(|image| isr(image) == 1).await.unwrap();
    image.wait_for(|image| isr(image) == 2).await.unwrap();
    let copied = cluster
        .until(2, partition, |s| s.log_end == Offset(2))
        .await;
    assert_eq!(read(&copied, Limit::LogEnd), ["a", "b"]);
}

/// Waits until a replica's file has these bytes again.
async fn whole_again(cluster: &Cluster, broker: i32, segment: &Path, whole: &[u8]) {
    let mut changes = cluster.brokers[&broker].partitions.roster().changes();
    while std::fs::read(segment).unwrap() != whole {
        changes.changed().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_fills_the_hole_that_a_reader_finds_with_what_its_follower_has() {
    let cluster = Cluster::start_with(2, forgetful()).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let leader = cluster.handle(1, partition);
    for value in ["a", "b"] {
        put(&leader, value).await;
    }
    let segment = segment_of(cluster.directory(1), partition);
    let whole = std::fs::read(&segment).unwrap();
    rewrite(&segment, &damaged(&whole));
    let found = leader.read(from(0, Limit::HighWatermark));
    assert!(matches!(found, Err(ReadError::Damaged { .. })), "{found:?}");
    whole_again(&cluster, 1, &segment, &whole).await;
    assert_eq!(read(&leader, Limit::HighWatermark), ["a", "b"]);
    let status = leader.status();
    assert_eq!((status.role, status.isr.len()), (Role::Leader, 2));
    put(&leader, "c").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_that_nobody_reads_is_read_again_and_its_hole_filled_by_the_leader() {
    let config = Config {
        scrub_every_ms: 10,
        sweep_ms: 10,
        ..forgetful()
    };
    let cluster = Cluster::start_with(2, config).await;
    let partition = cluster.topic(&[1, 2], &[("flush.messages", "1")]).await;
    for value in ["a", "b"] {
        put(&cluster.handle(1, partition), value).await;
    }
    let segment = segment_of(cluster.directory(2), partition);
    let whole = std::fs::read(&segment).unwrap();
    rewrite(&segment, &damaged(&whole));
    whole_again(&cluster, 2, &segment, &whole).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_whose_hole_nobody_can_fill_hands_over_and_copies_its_log_again() {
    let cluster = Cluster::start_with(2, forgetful()).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let leader = cluster.handle(1, partition);
    for value in ["a", "b"] {
        put(&leader, value).await;
    }
    let segment = segment_of(cluster.directory(1), partition);
    let whole = std::fs::read(&segment).unwrap();
    // Another log with the same file says where the hole is.
    let same = tempfile::tempdir().unwrap();
    let same_segment = same.path().join(segment.file_name().unwrap());
    std::fs::write(&same_segment, &whole).unwrap();
    let (log, _) = commitlog::Log::open(same.path(), commitlog::Config::default()).unwrap();
    for file in [&segment, &same_segment] {
        rewrite(file, &damaged(&whole));
    }
    leader.0.mailbox.send(Job::Refetched {
        partition,
        hole: log.hole_at(Offset(0)).unwrap().unwrap(),
        batches: None,
    });
    let new = cluster
        .until(2, partition, |s| s.role == Role::Leader)
        .await;
    let copied = cluster
        .until(1, partition, |s| s.log_end == Offset(2))
        .await;
    assert_eq!(read(&copied, Limit::LogEnd), ["a", "b"]);
    cluster.until(2, partition, |s| s.isr.len() == 2).await;
    put(&new, "c").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_that_a_follower_refused_is_not_overtaken_when_that_one_leads() {
    let cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let send = |to: Handle, sequence| async move {
        let sent = to.append(append(producer(sequence), Acks::All)).await;
        sent.map(|appended| appended.base_offset.0)
    };
    let (old, new) = (cluster.handle(1, partition), cluster.handle(2, partition));
    assert_eq!(send(old, 0).await, Ok(0));
    let refused = send(new.clone(), 1).await;
    assert!(matches!(refused, Err(AppendError::NotLeader { .. })));
    cluster.fence(1).await;
    cluster
        .until(2, partition, |s| s.role == Role::Leader)
        .await;
    // The client had sent this before it heard of that.
    let refused = send(new.clone(), 2).await;
    assert!(
        matches!(refused, Err(AppendError::NotLeader { .. })),
        "{refused:?}"
    );
    assert_eq!(send(new.clone(), 1).await, Ok(1));
    assert_eq!(send(new, 2).await, Ok(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn log_that_cannot_be_read_holds_up_no_other_and_not_for_ever() {
    let cluster = Cluster::start_with(2, forgetful()).await;
    let bad = cluster.topic(&[1, 2], &[]).await;
    let good = cluster.topic(&[1, 2], &[]).await;
    // Nobody else is in sync: the leader leads on.
    cluster.disconnect(2);
    cluster.fence(2).await;
    for partition in [bad, good] {
        for value in ["a", "b"] {
            cluster
                .handle(1, partition)
                .append(append(values(&[value]), Acks::Leader))
                .await
                .unwrap();
        }
    }
    let segment = segment_of(cluster.directory(1), bad);
    let whole = std::fs::read(&segment).unwrap();
    rewrite(&segment, &damaged(&whole));
    cluster.connect(2);
    cluster.register(2).await;
    cluster.until(2, good, |s| s.log_end == Offset(2)).await;
    let follower = cluster.handle(2, bad);
    assert!(follower.status().log_end < Offset(2));
    rewrite(&segment, &whole);
    cluster.until(2, bad, |s| s.log_end == Offset(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restarted_leader_knows_what_was_committed_before_its_followers_say_so() {
    let mut cluster = Cluster::start(2).await;
    let partition = cluster.topic(&[1, 2], &[]).await;
    let leader = cluster.handle(1, partition);
    for value in ["a", "b"] {
        put(&leader, value).await;
    }
    cluster.disconnect(2);
    leader
        .append(append(values(&["c"]), Acks::Leader))
        .await
        .unwrap();
    assert!(cluster.stop(1).await);
    cluster.resume(1, Shutdown::Clean);
    let leader = cluster
        .until(1, partition, |s| s.role == Role::Leader)
        .await;
    assert_eq!(read(&leader, Limit::HighWatermark), ["a", "b"]);
    assert!(!leader.status().watermark_settled);
}

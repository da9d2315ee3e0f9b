use model::batch::Batch;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn restart_finds_records_and_producers_again() {
    let (mut cluster, partition, handle) = lone(Config::default(), &[]).await;
    for sequence in 0..3 {
        handle
            .append(append(producer(sequence), Acks::All))
            .await
            .unwrap();
    }
    for left in [Shutdown::Unclean, Shutdown::Clean] {
        assert!(cluster.stop(1).await);
        cluster.resume(1, left);
        let handle = cluster
            .until(1, partition, |s| s.high_watermark == Offset(3))
            .await;
        let again = handle.append(append(producer(1), Acks::All)).await.unwrap();
        assert_eq!(
            again.base_offset,
            Offset(1),
            "a duplicate is answered with its place"
        );
        let gap = handle.append(append(producer(5), Acks::All)).await;
        assert!(matches!(
            gap,
            Err(AppendError::OutOfOrderSequence { expected: 3, .. })
        ));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_of_a_stopped_broker_say_so() {
    let (cluster, _, handle) = lone(Config::default(), &[]).await;
    cluster.stop(1).await;
    let late = tokio::time::timeout(
        Duration::from_secs(10),
        handle.append(append(values(&["v"]), Acks::All)),
    );
    assert_eq!(late.await.expect("answered"), Err(AppendError::Stopping));
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_topic_leaves_no_files() {
    let (cluster, partition, handle) = lone(Config::default(), &[]).await;
    put(&handle, "v").await;
    let directory = cluster.brokers[&1].directory.path().join("partitions");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
    let roster = cluster.brokers[&1].partitions.roster();
    let mut changes = roster.changes();
    cluster
        .submit(Command::DeleteTopic {
            id: partition.topic,
        })
        .await;
    changes
        .wait_for(|_| roster.get(partition).is_none())
        .await
        .unwrap();
    // Files go after the handle: stopping waits for the driver.
    cluster.stop(1).await;
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_limits_hold_from_the_next_append_on() {
    let (cluster, partition, handle) = lone(Config::default(), &[]).await;
    put(&handle, "v").await;
    let name = cluster.metadata.image().topics[&partition.topic]
        .name
        .clone();
    let mut changes = cluster.brokers[&1].partitions.roster().changes();
    changes.borrow_and_update();
    cluster
        .submit(Command::AlterConfigs {
            resource: machine::metadata::image::ConfigResource::Topic(name),
            changes: vec![
                ("max.message.bytes".into(), Some("70".into())),
                (
                    "message.timestamp.type".into(),
                    Some("LogAppendTime".into()),
                ),
            ],
        })
        .await;
    changes.changed().await.unwrap();
    assert!(matches!(
        handle
            .append(append(values(&["too long for that"]), Acks::All))
            .await,
        Err(AppendError::MessageTooLarge { max: 70, .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn brokers_time_replaces_the_producers_where_the_topic_says_so() {
    let cluster = Cluster::start(1).await;
    let configs = [("message.timestamp.type", "LogAppendTime")];
    let partition = cluster.topic(&[1], &configs).await;
    let handle = cluster.handle(1, partition);
    let mut b = Builder::default();
    b.push(5, None, Some(b"v"));
    let appended = handle
        .append(append(b.build().unwrap(), Acks::All))
        .await
        .unwrap();
    let time = appended.log_append_time.expect("told");
    assert!(time > 5);
    let found = handle.offset_for_time(6).unwrap().unwrap();
    assert_eq!((found.offset, found.timestamp), (Offset(0), time));
}

#[tokio::test(flavor = "multi_thread")]
async fn record_is_found_by_time_inside_a_compressed_batch() {
    let (_cluster, _, handle) = lone(Config::default(), &[]).await;
    let mut b = Builder::default();
    for t in [100, 300, 200] {
        b.push(t, None, Some(b"v"));
    }
    handle
        .append(append(compressed(&b.build().unwrap()), Acks::All))
        .await
        .unwrap();
    for (asked, found) in [(0, Some(0)), (101, Some(1)), (300, Some(1)), (301, None)] {
        let offset = handle.offset_for_time(asked).unwrap().map(|f| f.offset.0);
        assert_eq!(offset, found, "asked {asked}");
    }
    let newest = handle.max_timestamp().unwrap().unwrap();
    assert_eq!((newest.offset, newest.timestamp), (Offset(1), 300));
}

#[tokio::test(flavor = "multi_thread")]
async fn faulty_batches_are_told_apart() {
    let cluster = Cluster::start(1).await;
    let partition = cluster.topic(&[1], &[("cleanup.policy", "compact")]).await;
    let handle = cluster.handle(1, partition);
    let bad = |bytes: Bytes| handle.append(append(bytes, Acks::All));

    assert!(matches!(
        bad(Bytes::new()).await,
        Err(AppendError::NotOneBatch(_))
    ));
    assert!(matches!(
        bad(producer(0)).await,
        Err(AppendError::InvalidRecord { indexes, .. }) if indexes == [0]
    ));
    let mut flipped = values(&["v"]).to_vec();
    *flipped.last_mut().unwrap() ^= 1;
    assert_eq!(bad(flipped.into()).await, Err(AppendError::CorruptMessage));
    let mut cut = compressed(&values(&["v"])).to_vec();
    cut.truncate(cut.len() - 12);
    let length = i32::try_from(cut.len() - 12).unwrap();
    cut[8..12].copy_from_slice(&length.to_be_bytes());
    let resealed = batch::set_max_timestamp(cut.into(), 5, false);
    assert!(matches!(
        bad(resealed).await,
        Err(AppendError::InvalidRecord { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn epochs_of_readers_are_checked() {
    let (_cluster, _, handle) = lone(Config::default(), &[]).await;
    put(&handle, "v").await;
    let epoch = handle.status().leader_epoch;
    let with = |by: i32| Read {
        leader_epoch: Some(model::Epoch(epoch.0 + by)),
        ..from(0, Limit::HighWatermark)
    };
    assert!(handle.read(with(0)).is_ok());
    assert_eq!(
        handle.read(with(1)).unwrap_err(),
        ReadError::UnknownEpoch(epoch)
    );
    assert_eq!(
        handle.read(with(-1)).unwrap_err(),
        ReadError::FencedEpoch(epoch)
    );
    let of_the_future = Read {
        last_fetched_epoch: Some(model::Epoch(epoch.0 + 1)),
        ..from(1, Limit::HighWatermark)
    };
    assert!(matches!(
        handle.read(of_the_future),
        Err(ReadError::OffsetOutOfRange { .. })
    ));
    assert!(matches!(
        handle.read(from(2, Limit::HighWatermark)),
        Err(ReadError::OffsetOutOfRange { end: Offset(1), .. })
    ));
    assert_eq!(handle.epoch_end(epoch), (epoch, Offset(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_records_go_without_traffic() {
    let config = Config {
        sweep_ms: 50,
        ..Config::default()
    };
    let cluster = Cluster::start_with(1, config).await;
    let configs = [("retention.ms", "200"), ("file.delete.delay.ms", "0")];
    let partition = cluster.topic(&[1], &configs).await;
    let handle = cluster.handle(1, partition);
    put(&handle, "v").await;
    cluster
        .until(1, partition, |s| {
            s.log_start == Offset(1) && s.size_bytes == 0
        })
        .await;
}

/// The same batch with its payload as an lz4 frame.
pub(super) fn compressed(plain: &Bytes) -> Bytes {
    use std::io::Write;
    let mut encoder = lz4_flex::frame::FrameEncoder::new(plain[..61].to_vec());
    encoder.write_all(&plain[61..]).unwrap();
    let mut bytes = encoder.finish().unwrap();
    let length = i32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes[22] |= 3;
    let newest = batch::Header::parse(plain).unwrap().max_timestamp;
    batch::set_max_timestamp(bytes.into(), newest, false)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_opened_leaves_the_directory_unclean() {
    let mut cluster = Cluster::start(1).await;
    let partition = cluster.topic(&[1], &[]).await;
    put(&cluster.handle(1, partition), "v").await;
    assert!(cluster.stop(1).await, "all is well");
    let segment = segment_of(cluster.directory(1), partition);
    let log = segment.parent().unwrap();
    std::fs::remove_dir_all(log).unwrap();
    std::fs::write(log, "no directory").unwrap();
    cluster.resume(1, Shutdown::Unclean);
    assert!(!cluster.stop(1).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_disk_has_is_not_read_from_memory() {
    for (config, cached) in [(Config::default(), true), (forgetful(), false)] {
        let cluster = Cluster::start_with(1, config).await;
        let partition = cluster.topic(&[1], &[]).await;
        let handle = cluster.handle(1, partition);
        for value in ["a", "b"] {
            put(&handle, value).await;
        }
        let from_memory = handle.read_cached(from(0, Limit::HighWatermark)).unwrap();
        assert_eq!(from_memory.is_some(), cached);
        let at_the_end = handle.read_cached(from(2, Limit::HighWatermark)).unwrap();
        assert!(at_the_end.is_some_and(|data| data.batches.is_empty()));
        assert_eq!(read(&handle, Limit::HighWatermark), ["a", "b"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_compressed_batch_keeps_its_place_before_a_small_one() {
    let (_cluster, _, handle) = lone(Config::default(), &[]).await;
    // Inflates to more than is checked on the spot.
    let mut b = Builder::default().producer(7, 0, 0);
    b.push(clock::wall_ms(), None, Some(&vec![b'v'; 4 << 20]));
    let large = compressed(&b.build().unwrap());
    let (large, small) = tokio::join!(
        handle.append(append(large, Acks::All)),
        handle.append(append(producer(1), Acks::All)),
    );
    assert_eq!(large.unwrap().base_offset, Offset(0));
    assert_eq!(small.unwrap().base_offset, Offset(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn inflated_record_is_held_to_the_topics_limit() {
    let cluster = Cluster::start(1).await;
    let configs = [("max.decompressed.message.bytes", "1000")];
    let partition = cluster.topic(&[1], &configs).await;
    let handle = cluster.handle(1, partition);
    for (bytes, taken) in [(900, true), (1000, false)] {
        let mut b = Builder::default();
        b.push(clock::wall_ms(), None, Some(&vec![b'v'; bytes]));
        let plain = b.build().unwrap();
        let appended = handle.append(append(compressed(&plain), Acks::All)).await;
        assert_eq!(appended.is_ok(), taken, "{appended:?}");
        assert!(handle.append(append(plain, Acks::All)).await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn topic_that_names_a_codec_has_every_batch_stored_with_it() {
    let cluster = Cluster::start_with(1, forgetful()).await;
    let text = "the same again, ".repeat(20_000);
    let mut b = Builder::default().producer(7, 0, 0);
    b.push(clock::wall_ms(), Some(b"key"), Some(text.as_bytes()));
    let plain = b.build().unwrap();
    let types = ["uncompressed", "gzip", "snappy", "lz4", "zstd"];
    for (stored, name) in (0..).zip(types) {
        for time in ["CreateTime", "LogAppendTime"] {
            let configs = [("compression.type", name), ("message.timestamp.type", time)];
            for sent in [plain.clone(), compressed(&plain)] {
                let partition = cluster.topic(&[1], &configs).await;
                let handle = cluster.handle(1, partition);
                let before = Batch::parse(&sent).unwrap();
                let appended = handle.append(append(sent, Acks::All)).await.unwrap();
                let mut data = handle.read(from(0, Limit::HighWatermark)).unwrap();
                let batch = Batch::parse(&data.batches.remove(0)).unwrap();
                let header = batch.header;
                batch.verify_crc().unwrap();
                assert_eq!(header.compression(), stored, "{name}");
                let kept = |h: &batch::Header| (h.producer_id, h.base_sequence, h.record_count);
                assert_eq!(kept(&header), kept(&before.header));
                if time == "CreateTime" {
                    assert_eq!(header.max_timestamp, before.header.max_timestamp);
                } else {
                    assert_eq!(Some(header.max_timestamp), appended.log_append_time);
                }
                if header.compression() == before.header.compression() {
                    assert_eq!(batch.payload(), before.payload(), "as it came");
                }
                let records = match stored {
                    0 => batch.payload(),
                    codec => inflate::inflate(codec, &batch.payload(), 1 << 20).unwrap(),
                };
                assert_eq!(records, plain[61..]);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_given_a_damaged_batch_of_the_only_replica_and_the_rest_is_read() {
    let (cluster, partition, handle) = lone(forgetful(), &[("index.interval.bytes", "0")]).await;
    for value in ["a", "b", "c"] {
        put(&handle, value).await;
    }
    let segment = segment_of(cluster.directory(1), partition);
    rewrite(&segment, &damaged(&std::fs::read(&segment).unwrap()));
    for _ in 0..2 {
        let found = handle.read(from(0, Limit::HighWatermark));
        assert!(matches!(found, Err(ReadError::Damaged { .. })), "{found:?}");
    }
    let behind = handle.read(from(1, Limit::HighWatermark)).unwrap();
    assert_eq!(
        batch::split(behind.batches.concat().into()).unwrap().len(),
        2
    );
    put(&handle, "d").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn producers_are_refused_before_the_disk_is_full_and_readers_and_coordinators_are_not() {
    let config = Config {
        disk_free_bytes_min: u64::MAX,
        ..Config::default()
    };
    let (_cluster, _, handle) = lone(config, &[]).await;
    let kept = Append {
        origin: Origin::Coordinator,
        ..append(values(&["kept"]), Acks::All)
    };
    handle.append(kept).await.unwrap();
    let refused = handle.append(append(values(&["no"]), Acks::All)).await;
    let Err(AppendError::Storage(why)) = refused else {
        panic!("{refused:?}");
    };
    assert!(why.contains("millrace.disk.free.limit.bytes"), "{why}");
    assert_eq!(read(&handle, Limit::HighWatermark), ["kept"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lone_replica_without_room_refuses_and_goes_on_when_there_is_some() {
    let (cluster, _, handle) = lone(Config::default(), &[]).await;
    put(&handle, "kept").await;
    let mut changes = cluster.brokers[&1].partitions.roster().changes();
    fail_sync(&handle, std::io::ErrorKind::StorageFull);
    let refused = handle.append(append(values(&["refused"]), Acks::All)).await;
    assert!(
        matches!(refused, Err(AppendError::Storage(_))),
        "{refused:?}"
    );
    assert_eq!(read(&handle, Limit::HighWatermark), ["kept"]);
    // There is room on this disk: the next look finds it.
    let take = || handle.append(append(values(&["taken"]), Acks::All));
    while take().await.is_err() {
        changes.changed().await.unwrap();
    }
    assert_eq!(read(&handle, Limit::HighWatermark), ["kept", "taken"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "fills the file system of TMPDIR: mount one of some 24 MB there"]
async fn full_disk_refuses_and_takes_again_what_fits_when_there_is_room() {
    let (mut cluster, partition, handle) = lone(Config::default(), &[]).await;
    let directory = cluster.brokers[&1].directory.path().to_owned();
    let ballast = directory.join("ballast");
    std::fs::write(&ballast, vec![1; 12 << 20]).unwrap();
    let value = "v".repeat(100_000);
    let write = || handle.append(append(values(&[&value]), Acks::All));
    let mut taken = 0;
    let refused = loop {
        match write().await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, AppendError::Storage(_)), "{refused:?}");
    assert!(write().await.is_err(), "there is no room yet");
    let mut changes = cluster.brokers[&1].partitions.roster().changes();
    std::fs::remove_file(&ballast).unwrap();
    // What is back may be gone again at once: the room was still being freed.
    while write().await.is_err() {
        changes.changed().await.unwrap();
    }
    for left in [Shutdown::Unclean, Shutdown::Clean] {
        assert!(cluster.stop(1).await);
        cluster.resume(1, left);
        cluster
            .until(1, partition, |s| s.high_watermark == Offset(taken + 1))
            .await;
    }
}

use super::*;

/// Records of one key in a batch that is compressed.
fn versions(key: &str, n: usize) -> Bytes {
    let mut b = Builder::default();
    for i in 0..n {
        let value = format!("{key} {i}, and some more of it");
        b.push(
            clock::wall_ms(),
            Some(key.as_bytes()),
            Some(value.as_bytes()),
        );
    }
    lone::compressed(&b.build().unwrap())
}

fn records(handle: &Handle) -> Vec<(i64, String)> {
    let data = handle.read(from(0, Limit::HighWatermark)).unwrap();
    let batches = data
        .batches
        .into_iter()
        .flat_map(|run| batch::split(run).unwrap());
    batches
        .flat_map(|b| {
            let payload = match b.header.compression() {
                0 => b.payload(),
                codec => inflate::inflate(codec, &b.payload(), 1 << 20).unwrap(),
            };
            batch::Records::of_payload(b.header, payload).collect::<Vec<_>>()
        })
        .map(|r| r.unwrap())
        .map(|r| {
            (
                r.offset.0,
                String::from_utf8(r.key.unwrap().to_vec()).unwrap(),
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_replica_of_a_compacted_topic_keeps_the_newest_of_each_key() {
    let config = Config {
        compact_every_ms: 20,
        tails_bytes_max: 0,
        ..Config::default()
    };
    let cluster = Cluster::start_with(3, config).await;
    let configs = [
        ("cleanup.policy", "compact"),
        ("min.cleanable.dirty.ratio", "0"),
        ("segment.bytes", "16384"),
    ];
    let partition = cluster.topic(&[1, 2, 3], &configs).await;
    let handle = cluster.handle(1, partition);
    for key in ["a", "b", "a", "b"] {
        let batch = append(versions(key, 10), Acks::All);
        handle.append(batch).await.unwrap();
    }
    // Fills the segment and closes it.
    for _ in 0..3 {
        let mut b = Builder::default();
        b.push(clock::wall_ms(), Some(b"large"), Some(&[7; 10_000]));
        let batch = append(b.build().unwrap(), Acks::All);
        handle.append(batch).await.unwrap();
    }
    for broker in 1..=3 {
        let handle = cluster
            .until(broker, partition, |s| {
                s.high_watermark == Offset(43) && s.size_bytes < 25_000
            })
            .await;
        let left = records(&handle);
        assert_eq!(left.last(), Some(&(42, "large".into())));
        assert!(left.contains(&(29, "a".into())) && left.contains(&(39, "b".into())));
        assert!(left.len() < 10, "{left:?}");
    }
}

#[test]
fn nothing_is_compacted_where_the_cleaner_is_disabled() {
    let every_ms = |line: &str| {
        let text = format!(
            "node.id=1\ncluster.id=test\nlog.dirs=/nonexistent\n\
             listeners=KAFKA://127.0.0.1:0,PEER://127.0.0.1:0\n\
             controller.quorum.voters=1@127.0.0.1:1\n{line}"
        );
        Config::of(&crate::Config::parse(&text, &[]).unwrap()).compact_every_ms
    };
    assert_eq!(every_ms("log.cleaner.enable=false"), i64::MAX);
    let default = Config::default().compact_every_ms;
    assert_eq!(every_ms("log.cleaner.enable=True"), default);
    assert_eq!(every_ms(""), default);
}

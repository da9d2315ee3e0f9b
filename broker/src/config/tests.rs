use std::path::Path;

use machine::metadata::image::Listener;

use super::Config;

const SMALL: &str = "node.id=1\ncluster.id=c\nlisteners=KAFKA://:9092,PEER://[::1]:7644\nlog.dirs=/tmp/x\ncontroller.quorum.voters=1@a:7644\n";

fn check_refused(change: &str, expected: &str) {
    let error = Config::parse(SMALL, &[change.to_owned()]).expect_err(change);
    assert!(error.to_string().contains(expected), "{change}: {error}");
}

#[test]
fn the_smallest_file_is_read() {
    let config = Config::parse(SMALL, &[]).expect("valid");
    assert_eq!(config.node_id.0, 1);
    let peer = config.listener(Listener::Peer).expect("peer");
    assert_eq!((peer.host.as_str(), peer.port), ("::1", 7644));
    assert_eq!(config.advertised.len(), 2);
}

#[test]
fn an_override_wins_over_the_file() {
    let config = Config::parse(SMALL, &["node.id=7".to_owned()]).expect("valid");
    assert_eq!(config.node_id.0, 7);
}

#[test]
fn each_refusal_names_the_key_and_what_to_do() {
    check_refused(
        "node.id=-1",
        "Invalid value -1 for configuration node.id: Value must be at least 0",
    );
    check_refused("cluster.id=", "lacks cluster.id");
    check_refused("listeners=KAFKA://:1", "add PEER://host:7644");
    check_refused("listeners=FTP://:1", "'FTP://:1' is not NAME://host:port");
    check_refused("controller.quorum.voters=1@a:1,2@b:1", "name 1, 3 or 5");
    check_refused("controller.quorum.voters=1@a:1,1@b:1,2@c:1", "occurs twice");
    check_refused("log.dirs=/a,/b", "one directory");
    check_refused("millrace.peer.suspect.ms=10", "more than twice");
    check_refused("nonsense", "not key=value");
}

#[test]
fn bounds_of_queues_and_groups_are_read_and_checked() {
    let given = "millrace.queue.session.inflight.bytes.max=1\nmillrace.queue.consumer.unwritten.max=2\nmillrace.queue.cache.bytes.max=3\nmillrace.queue.drivers=4\nmillrace.queue.memory.bytes=9\nmillrace.disk.free.limit.bytes=10\nmillrace.queue.consumer.unwritten.bytes.max=11\nmillrace.wal.files=5\nmillrace.raft.entry.commands=6\nmillrace.raft.entry.bytes=7\nmillrace.raft.waiting.commands=8\n";
    let config = Config::parse(SMALL, &[given.to_owned()]).expect("valid");
    let queue = &config.queue;
    assert_eq!(queue.session_inflight_bytes_max, 1);
    assert_eq!(queue.consumer_unwritten_max, 2);
    assert_eq!((queue.cache_bytes_max, queue.drivers), (3, 4));
    assert_eq!((queue.memory_bytes_max, queue.disk_free_bytes_min), (9, 10));
    assert_eq!(queue.consumer_unwritten_bytes_max, 11);
    let raft = &config.raft;
    assert_eq!((raft.wal_files_max, raft.entry_commands_max), (5, 6));
    assert_eq!((raft.entry_bytes_max, raft.waiting_commands_max), (7, 8));
    check_refused("millrace.queue.drivers=0", "at least 1");
    check_refused("millrace.queue.drivers=257", "no more than 256");
    check_refused(
        "millrace.queue.consumer.unwritten.max=4294967296",
        "Not a number of type INT",
    );
    check_refused("millrace.wal.file.bytes=4096", "at least 1048576");
    check_refused("millrace.raft.entry.bytes=100000000", "at most half");
}

#[test]
fn every_own_key_that_is_read_is_in_the_catalogue_with_its_default() {
    let config = Config::parse(SMALL, &[]).expect("valid");
    let (raft, queue) = (&config.raft, &config.queue);
    for (key, default) in [
        ("millrace.wal.file.bytes", raft.wal_file_bytes),
        ("millrace.wal.files", raft.wal_files_max),
        ("millrace.wal.waiting.bytes", raft.wal_waiting_bytes_max),
        ("millrace.raft.snapshot.log.bytes", raft.snapshot_log_bytes),
        ("millrace.raft.entry.commands", raft.entry_commands_max),
        ("millrace.raft.entry.bytes", raft.entry_bytes_max),
        ("millrace.raft.waiting.commands", raft.waiting_commands_max),
        (
            "millrace.queue.session.inflight.bytes.max",
            queue.session_inflight_bytes_max,
        ),
        ("millrace.queue.cache.bytes.max", queue.cache_bytes_max),
        ("millrace.queue.drivers", queue.drivers),
        ("millrace.peer.frame.bytes", config.peer.frame_bytes_max),
        ("millrace.peer.queue.bytes", config.peer.queue_bytes_max),
        ("millrace.peer.calls", config.peer.calls_max),
    ] {
        let definition = api::config::catalogue(api::config::Scope::Broker).get(key);
        let shown = definition.expect(key).default;
        assert_eq!(shown, Some(default.to_string().as_str()), "{key}");
    }
}

#[test]
fn a_value_of_any_known_key_is_refused_in_kafkas_words() {
    check_refused(
        "num.partitions=many",
        "Invalid value many for configuration num.partitions: Not a number of type INT",
    );
    check_refused(
        "log.cleanup.policy=shred",
        "Invalid value shred for configuration log.cleanup.policy",
    );
}

#[test]
fn an_unknown_key_of_our_own_is_refused_with_the_one_that_was_meant() {
    check_refused(
        "millrace.peer.suspekt.ms=1",
        "no configuration key millrace.peer.suspekt.ms: write millrace.peer.suspect.ms or remove it",
    );
    check_refused(
        "millrace.nothing.like.it=1",
        "millrace.nothing.like.it: remove it",
    );
}

#[test]
fn another_unknown_key_is_told_and_does_no_harm() {
    let given = "num.partition=3\ncustom.plugin.class=x\n".to_owned();
    let config = Config::parse(SMALL, &[given]).expect("valid");
    let unknown: Vec<_> = config
        .unknown
        .iter()
        .map(|u| (&*u.key, u.nearest))
        .collect();
    assert_eq!(
        unknown,
        [
            ("custom.plugin.class", None),
            ("num.partition", Some("num.partitions"))
        ]
    );
}

#[test]
fn every_own_key_in_the_code_is_in_the_catalogue() {
    fn visit(dir: &Path, found: &mut Vec<String>) {
        for item in std::fs::read_dir(dir).expect("readable") {
            let path = item.expect("readable").path();
            if path.is_dir() {
                visit(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
                let code = std::fs::read_to_string(&path).expect("text");
                let quoted = code.split('"').filter(|part| {
                    part.strip_prefix("millrace.")
                        .is_some_and(|name| !name.is_empty())
                });
                let is_name = |c: char| c.is_ascii_lowercase() || c == '.';
                found.extend(quoted.filter(|q| q.chars().all(is_name)).map(str::to_owned));
            }
        }
    }
    let mut found = Vec::new();
    visit(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    assert!(found.len() > 30, "the keys were not found in the code");
    let catalogues =
        [api::config::Scope::Broker, api::config::Scope::Topic].map(api::config::catalogue);
    for key in found {
        let known = catalogues.iter().any(|keys| keys.get(&key).is_some());
        assert!(known, "{key} is read but has no row in the catalogue");
    }
}

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
    check_refused("node.id=-1", "node.id=-1 is not valid: give a whole number");
    check_refused("cluster.id=", "lacks cluster.id");
    check_refused("listeners=KAFKA://:1", "add PEER://host:7644");
    check_refused("listeners=FTP://:1", "'FTP://:1' is not NAME://host:port");
    check_refused("controller.quorum.voters=1@a:1,2@b:1", "name 1, 3 or 5");
    check_refused("controller.quorum.voters=1@a:1,1@b:1,2@c:1", "occurs twice");
    check_refused("log.dirs=/a,/b", "one directory");
    check_refused("millrace.peer.suspect.ms=10", "more than twice");
    check_refused("nonsense", "not key=value");
}

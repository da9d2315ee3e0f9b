//! `millrace local` as a user runs it: the real binary, real files, real ports.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use tempfile::TempDir;

const TOPIC: &str = "\
apiVersion: millrace.dev/v1alpha1
kind: Topic
metadata:
  name: orders
spec:
  clusterRef:
    name: shop
  partitions: 3
  replicationFactor: 3
";

/// A directory of manifests and a place for data.
struct Place {
    dir: TempDir,
}

impl Place {
    fn with(manifest: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("manifests")).unwrap();
        fs::write(dir.path().join("manifests/shop.yaml"), manifest).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `millrace local` on ports moved by `offset`.
    fn local(&self, offset: u16) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_millrace"));
        command
            .arg("local")
            .arg("-f")
            .arg(self.path("manifests"))
            .arg("--data")
            .arg(self.path("data"))
            .args(["--port-offset", &offset.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// Runs a command that is expected to fail; its standard error.
fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    text
}

fn one_sentence(text: &str) {
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("millrace: "), "{text}");
}

/// An offset to the default ports that no other running test has, as long as this lives. The ports
/// lie below the range that systems hand out by themselves.
struct Offset {
    offset: u16,
    _claim: TcpListener,
}

impl Offset {
    const FIRST: u16 = 10_000;
    /// Ports of one kind in a cluster of three, and one to spare.
    const STEP: u16 = 4;
    /// More would let the ports of one kind run into those of another.
    const COUNT: u16 = 130;
    const DEFAULTS: [u16; 4] = [9092, 5672, 9644, 7644];

    fn claim() -> Self {
        (0..Self::COUNT)
            .map(|nth| Self::FIRST + Self::STEP * nth)
            .find_map(|offset| {
                // Nothing but these tests binds here, so that a bound socket is a claim.
                let claim = TcpListener::bind(("127.77.0.1", offset)).ok()?;
                let free = Self::DEFAULTS.iter().all(|default| {
                    let mut ports = (0..3).map(|i| default + offset + i);
                    ports.all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
                });
                free.then_some(Self {
                    offset,
                    _claim: claim,
                })
            })
            .unwrap()
    }
}

#[test]
fn manifest_that_cannot_be_is_named_by_file_line_and_field() {
    let place = Place::with(&TOPIC.replace("partitions: 3", "partitions: none"));
    let text = refused(&mut place.local(0));
    let line = format!(
        "{}:8: spec.partitions: ",
        place.path("manifests/shop.yaml").display()
    );
    assert!(text.starts_with(&line), "{text}");
    assert!(
        !place.path("data").exists(),
        "refused before anything is made"
    );
    let mut check = Command::new(env!("CARGO_BIN_EXE_millrace"));
    let text = refused(check.arg("check").arg("-f").arg(place.path("manifests")));
    assert!(text.starts_with(&line), "{text}");
}

#[test]
fn nothing_to_check_is_not_right() {
    let empty = tempfile::tempdir().unwrap();
    let mut check = Command::new(env!("CARGO_BIN_EXE_millrace"));
    let text = refused(check.arg("check").arg("-f").arg(empty.path()));
    assert!(text.contains("no Millrace resource"), "{text}");
}

#[test]
fn more_replicas_than_brokers_are_named_by_line() {
    let place = Place::with(TOPIC);
    let text = refused(place.local(0).args(["--brokers", "2"]));
    assert!(
        text.contains("shop.yaml:9: spec.replicationFactor: "),
        "{text}"
    );
}

#[test]
fn port_in_use_is_told_in_one_sentence() {
    let place = Place::with(TOPIC);
    let offset = Offset::claim();
    let taken = TcpListener::bind(("127.0.0.1", 9092 + offset.offset + 1)).unwrap();
    let text = refused(&mut place.local(offset.offset));
    one_sentence(&text);
    let port = taken.local_addr().unwrap().port();
    assert!(
        text.contains(&format!("port {port} (Kafka of broker 1)")),
        "{text}"
    );
    assert!(text.contains("--port-offset"), "{text}");
}

#[test]
fn corrupt_and_foreign_directories_are_told_in_one_sentence_and_left_alone() {
    let place = Place::with(TOPIC);
    let data = place.path("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("thesis.txt"), "years").unwrap();
    let text = refused(&mut place.local(0));
    one_sentence(&text);
    assert!(text.contains("holds no local cluster"), "{text}");

    fs::write(data.join("cluster.json"), "{").unwrap();
    let text = refused(&mut place.local(0));
    one_sentence(&text);
    assert!(text.contains("cluster.json cannot be understood"), "{text}");
    assert_eq!(fs::read_to_string(data.join("cluster.json")).unwrap(), "{");
    assert_eq!(
        fs::read_to_string(data.join("thesis.txt")).unwrap(),
        "years"
    );
}

#[test]
fn directory_that_cannot_be_made_is_told_in_one_sentence() {
    let place = Place::with(TOPIC);
    fs::write(place.path("data"), "a file").unwrap();
    let text = refused(&mut place.local(0));
    one_sentence(&text);
    assert!(text.contains("--data"), "{text}");
}

#[test]
fn ready_file_that_cannot_be_written_is_refused_before_anything_is_made() {
    let place = Place::with(TOPIC);
    for unwritable in ["nowhere/ready", "manifests"] {
        let mut command = place.local(0);
        let text = refused(command.arg("--ready-file").arg(place.path(unwritable)));
        one_sentence(&text);
        assert!(text.contains(unwritable), "{text}");
        assert!(!place.path("data").exists());
    }
}

/// A running local cluster. Killed when dropped, if it was not stopped.
struct Cluster {
    child: Child,
    printed: BufReader<ChildStdout>,
    /// What it has printed so far.
    text: String,
    ready: PathBuf,
}

impl Cluster {
    /// Returns once everything is served.
    fn start(place: &Place, offset: &Offset) -> Self {
        let ready = place.path("ready");
        let mut command = place.local(offset.offset);
        let mut child = command.arg("--ready-file").arg(&ready).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let mut cluster = Self {
            child,
            printed,
            text: String::new(),
            ready,
        };
        while !cluster.text.ends_with("Stop with Ctrl-C.\n") {
            if cluster.printed.read_line(&mut cluster.text).unwrap() == 0 {
                let (status, text) = cluster.end();
                panic!("ended with {status}: {text}{}", logs(&place.path("data")));
            }
        }
        cluster
    }

    /// SIGTERM; what it printed.
    fn stop(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let (status, text) = self.end();
        assert!(status.success(), "{status}: {text}");
        assert!(!self.ready.exists());
        text
    }

    /// Waits for its end; how it ended and all it printed.
    fn end(&mut self) -> (ExitStatus, String) {
        let mut text = std::mem::take(&mut self.text);
        self.printed.read_to_string(&mut text).unwrap();
        if let Some(mut err) = self.child.stderr.take() {
            err.read_to_string(&mut text).unwrap();
        }
        (self.child.wait().unwrap(), text)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A verb against broker 0; its standard output.
fn ask(offset: &Offset, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_millrace"))
        .args(arguments)
        .args(["--admin", &format!("localhost:{}", 9644 + offset.offset)])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    String::from_utf8(output.stdout).unwrap()
}

fn logs(data: &Path) -> String {
    let mut text = String::new();
    for i in 0..3 {
        let log = data.join(format!("broker-{i}.log"));
        text += &fs::read_to_string(log).unwrap_or_default();
    }
    text
}

#[test]
fn cluster_serves_its_manifests_refuses_a_second_process_and_is_found_again() {
    let place = Place::with(TOPIC);
    let offset = Offset::claim();
    let cluster = Cluster::start(&place, &offset);

    let brokers = ask(&offset, &["cluster"]);
    for zone in ["zone-a", "zone-b", "zone-c"] {
        assert!(brokers.contains(zone), "{brokers}");
    }
    assert_eq!(brokers.matches("serving").count(), 3, "{brokers}");
    let topics = ask(&offset, &["topic", "list", "-o", "json"]);
    let topics: serde_json::Value = serde_json::from_str(&topics).unwrap();
    assert_eq!(topics[0]["name"], "orders");
    assert_eq!(topics[0]["partitions"].as_array().unwrap().len(), 3);
    let id = topics[0]["id"].clone();

    let text = refused(place.local(offset.offset).env("RUST_LOG", "off"));
    one_sentence(&text);
    assert!(
        text.contains("in use by another millrace process"),
        "{text}"
    );

    let text = cluster.stop();
    assert!(text.contains("Topic          orders  created"), "{text}");

    let again = Cluster::start(&place, &offset);
    let topics = ask(&offset, &["topic", "list", "-o", "json"]);
    let topics: serde_json::Value = serde_json::from_str(&topics).unwrap();
    assert_eq!(topics[0]["id"], id, "{}", logs(&place.path("data")));
    let text = again.stop();
    assert!(text.contains("Topic          orders  unchanged"), "{text}");
}

#[test]
fn brokers_never_outlive_a_killed_parent() {
    let place = Place::with(TOPIC);
    let offset = Offset::claim();
    drop(Cluster::start(&place, &offset));
    // The kernel lets go of a broker's lock when the broker is dead.
    for i in 0..3 {
        let lock = File::open(place.path(&format!("data/broker-{i}/.lock"))).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    }
}

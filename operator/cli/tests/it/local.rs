//! `millrace local` as a user runs it: the real binary, real files, real ports.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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
            .arg("--ready-file")
            .arg(self.path("ready"))
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

/// Ports that nobody else in this test run uses: a socket is kept on the first one until the caller
/// starts what needs them.
fn free_offset() -> u16 {
    let bases = [9092, 5672, 9644, 7644];
    (0..200)
        .map(|_| {
            let probe = TcpListener::bind("127.0.0.1:0").unwrap();
            probe.local_addr().unwrap().port() % 20_000 + 20_000
        })
        .find(|offset| {
            let ports = bases
                .iter()
                .flat_map(|base| (0..3).map(move |i| base + offset + i));
            ports
                .clone()
                .all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        })
        .unwrap()
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
    let offset = free_offset();
    let taken = TcpListener::bind(("127.0.0.1", 9092 + offset + 1)).unwrap();
    let text = refused(&mut place.local(offset));
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

/// A running local cluster. Killed when dropped, if it was not stopped.
struct Cluster {
    child: Child,
    ready: PathBuf,
}

impl Cluster {
    /// Returns once everything is served.
    fn start(place: &Place, offset: u16) -> Self {
        let child = place.local(offset).spawn().unwrap();
        let ready = place.path("ready");
        let mut cluster = Self { child, ready };
        while !cluster.ready.exists() {
            if let Some(status) = cluster.child.try_wait().unwrap() {
                panic!("ended with {status}: {}", said(&mut cluster.child));
            }
            std::thread::yield_now();
        }
        cluster
    }

    /// SIGTERM; what it printed.
    fn stop(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        let text = said(&mut self.child);
        assert!(status.success(), "{status}: {text}");
        assert!(!self.ready.exists());
        text
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn said(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut text).unwrap();
    }
    if let Some(mut err) = child.stderr.take() {
        err.read_to_string(&mut text).unwrap();
    }
    text
}

/// A verb against broker 0; its standard output.
fn ask(offset: u16, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_millrace"))
        .args(arguments)
        .args(["--admin", &format!("localhost:{}", 9644 + offset)])
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
#[ignore = "node.rs does not run a broker yet"]
fn cluster_serves_its_manifests_refuses_a_second_process_and_is_found_again() {
    let place = Place::with(TOPIC);
    let offset = free_offset();
    let cluster = Cluster::start(&place, offset);

    let brokers = ask(offset, &["cluster"]);
    for zone in ["zone-a", "zone-b", "zone-c"] {
        assert!(brokers.contains(zone), "{brokers}");
    }
    assert_eq!(brokers.matches("serving").count(), 3, "{brokers}");
    let topics = ask(offset, &["topic", "list", "-o", "json"]);
    let topics: serde_json::Value = serde_json::from_str(&topics).unwrap();
    assert_eq!(topics[0]["name"], "orders");
    assert_eq!(topics[0]["partitions"].as_array().unwrap().len(), 3);
    let id = topics[0]["id"].clone();

    let text = refused(place.local(offset).env("RUST_LOG", "off"));
    one_sentence(&text);
    assert!(
        text.contains("in use by another millrace process"),
        "{text}"
    );

    let text = cluster.stop();
    assert!(text.contains("Topic          orders  created"), "{text}");

    let again = Cluster::start(&place, offset);
    let topics = ask(offset, &["topic", "list", "-o", "json"]);
    let topics: serde_json::Value = serde_json::from_str(&topics).unwrap();
    assert_eq!(topics[0]["id"], id, "{}", logs(&place.path("data")));
    let text = again.stop();
    assert!(text.contains("Topic          orders  unchanged"), "{text}");
}

#[test]
#[ignore = "node.rs does not run a broker yet"]
fn brokers_never_outlive_a_killed_parent() {
    let place = Place::with(TOPIC);
    let offset = free_offset();
    drop(Cluster::start(&place, offset));
    // The ports are free again as soon as the kernel has delivered the deaths.
    for i in 0..3 {
        while TcpListener::bind(("127.0.0.1", 9644 + offset + i)).is_err() {
            std::thread::yield_now();
        }
    }
}

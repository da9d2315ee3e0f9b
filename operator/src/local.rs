//! Local mode: a cluster on one machine from the same manifests and the same plans as on
//! Kubernetes. Child processes stand for pods, loopback ports for Services, files for the API server.
//!
//! ```text
//! manifest::read -> data_dir::open -> layout -> children::start -> ready? -> apply -> ready file
//!                                                  ^ died ─ started again           | until told to stop
//! ```

use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::client::{self, Admin};
use kube::ResourceExt;
use tokio::process::Command;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

pub mod children;
pub mod data_dir;
pub mod layout;
pub mod manifest;

mod apply;
mod broker_log;
mod report;

use children::{Children, Event};
use data_dir::DataDir;
use layout::{LISTENERS, Layout, Ports};
use manifest::Manifests;
use report::Report;

/// Brokers of a new cluster when neither `--brokers` nor a BrokerCluster says.
const BROKERS_DEFAULT: u16 = 3;
/// Pause between two looks at whether the brokers are ready.
const READY_PAUSE: Duration = Duration::from_millis(25);
/// How often waiting brokers are named while they keep everybody waiting.
const WAITING_NOTICE: Duration = Duration::from_secs(10);

/// What `millrace local` was told.
#[derive(Clone, Debug)]
pub struct Options {
    /// File or directory of manifests; absent = an empty cluster.
    pub manifests: Option<PathBuf>,
    /// Absent = as the BrokerCluster says, else as many as the data directory holds, else 3.
    pub brokers: Option<u16>,
    pub data: PathBuf,
    /// Added to every port.
    pub port_offset: u16,
    /// Written once everything is served; removed at the stop.
    pub ready_file: Option<PathBuf>,
    /// What one broker that had this machine for itself would let bodies of queues take
    /// (`millrace.queue.memory.bytes`); the brokers share it.
    pub queue_memory_bytes: usize,
    /// The program that runs one broker: `PROGRAM broker --config FILE --exit-with-parent`.
    pub program: PathBuf,
}

/// Why local mode ended otherwise than by being told to. One sentence each that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Manifests(#[from] manifest::Error),
    #[error(transparent)]
    DataDir(#[from] data_dir::Error),
    #[error(
        "--brokers {asked} is not possible; give a number from 1 to {}",
        layout::BROKERS_MAX
    )]
    Brokers { asked: i64 },
    #[error("--port-offset {offset} moves a port past 65535; give a smaller one")]
    PortOffset { offset: u16 },
    #[error(
        "port {port} ({listener} of broker {broker}) is taken on {address}: {source}; stop what uses it, or move every port with --port-offset"
    )]
    Port {
        port: u16,
        listener: &'static str,
        broker: u16,
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot write {path}: {source}; make it writable or name another place")]
    Write { path: PathBuf, source: io::Error },
    #[error("broker {broker} did not start: {said}; all it said is in {log}")]
    BrokerStopped {
        broker: u16,
        said: String,
        log: PathBuf,
    },
    #[error("broker {broker} cannot be run: {source}")]
    NotRunnable { broker: u16, source: io::Error },
    #[error("signals cannot be waited for: {0}")]
    Signals(io::Error),
    #[error(transparent)]
    Admin(#[from] client::Error),
}

/// Runs a cluster until SIGTERM, SIGINT or SIGHUP, which end it well. Must be called on the main
/// thread (see [`Children::start`]).
///
/// # Errors
/// See [`Error`]. Whatever was started has been stopped by then.
pub async fn run(options: Options, out: impl Write) -> Result<(), Error> {
    let mut report = Report::new(out);
    let manifests = match &options.manifests {
        Some(path) => manifest::read(path)?,
        None => Manifests::default(),
    };
    if let Some(file) = &options.ready_file {
        check_ready_file(file)?;
    }
    let dir = open_data_dir(&options, &manifests)?;
    let layout = lay_out(&options, &dir)?;
    manifests.fit(layout.brokers)?;
    check_ports(&layout)?;
    dir.keep()?;
    prepare(&layout, &manifests, options.ready_file.as_deref())?;

    let mut told = Told::listen().map_err(Error::Signals)?;
    let found = if dir.fresh { "new data" } else { "data found" };
    report.say(format_args!(
        "starting {} brokers, {found} in {}",
        layout.brokers,
        layout.data.display()
    ));
    let mut children = start(&layout, options.program.clone());
    let result = serve(
        &options,
        &layout,
        &manifests,
        &mut children,
        &mut told,
        &mut report,
    )
    .await;
    if result.is_ok() {
        report.say("stopping");
    }
    children.stop(told.wait()).await;
    if let Some(file) = &options.ready_file {
        remove(file)?;
    }
    result
}

/// From the start of the brokers to the order to stop.
async fn serve(
    options: &Options,
    layout: &Layout,
    manifests: &Manifests,
    children: &mut Children,
    told: &mut Told,
    report: &mut Report<impl Write>,
) -> Result<(), Error> {
    let admin = Admin::new(layout.addresses(2))?;
    tokio::select! {
        result = bring_up(&admin, layout, manifests, report) => result?,
        error = first_failure(children, layout) => return Err(error),
        () = told.wait() => return Ok(()),
    }
    report.endpoints(layout);
    if let Some(file) = &options.ready_file {
        write_ready_file(file, layout)?;
    }
    loop {
        tokio::select! {
            event = children.event() => tell(event, layout, report),
            () = told.wait() => return Ok(()),
        }
    }
}

async fn bring_up(
    admin: &Admin,
    layout: &Layout,
    manifests: &Manifests,
    report: &mut Report<impl Write>,
) -> Result<(), Error> {
    let started = Instant::now();
    wait_ready(layout, report).await?;
    let seconds = started.elapsed().as_secs_f32();
    report.say(format_args!(
        "{} brokers ready after {seconds:.1} s",
        layout.brokers
    ));
    for line in &manifests.skipped {
        report.say(format_args!("skipped, not a Millrace resource: {line}"));
    }
    for problem in &manifests.doubtful {
        report.say(problem);
    }
    let names = manifests.names();
    report.table(names.iter().map(String::as_str));
    let brokers = usize::from(layout.brokers);
    let refused = apply::apply(admin, manifests, brokers, report).await;
    Ok(manifest::refuse(refused)?)
}

/// Returns once every broker says that it is ready.
async fn wait_ready(layout: &Layout, report: &mut Report<impl Write>) -> Result<(), Error> {
    let mut notice = Instant::now() + WAITING_NOTICE;
    for (i, address) in layout.addresses(2).into_iter().enumerate() {
        let broker = Admin::new([address])?;
        while !broker.ready().await.unwrap_or(false) {
            if Instant::now() >= notice {
                report.say(format_args!("still waiting for broker {i}"));
                notice = Instant::now() + WAITING_NOTICE;
            }
            sleep(READY_PAUSE).await;
        }
    }
    Ok(())
}

/// A broker that ends before the cluster has ever served is not started again: it would most likely
/// end the same way, and a person is waiting for the reason.
async fn first_failure(children: &mut Children, layout: &Layout) -> Error {
    loop {
        match children.event().await {
            Event::Started { index, pid } => tracing::debug!(broker = index, pid, "started"),
            Event::Died { index, status, .. } => {
                let log = layout.log_file(index);
                return Error::BrokerStopped {
                    broker: index,
                    said: broker_log::last_sentence(&log).unwrap_or_else(|| status.to_string()),
                    log,
                };
            }
            Event::NotStarted { index, error, .. } => {
                return Error::NotRunnable {
                    broker: index,
                    source: error,
                };
            }
        }
    }
}

fn tell(event: Event, layout: &Layout, report: &mut Report<impl Write>) {
    match event {
        Event::Started { index, pid } => {
            report.say(format_args!("broker {index} runs as process {pid}"));
        }
        Event::Died {
            index,
            status,
            restart_in,
        } => report.say(format_args!(
            "broker {index} ended ({status}), starts again {}; see {}",
            after(restart_in),
            layout.log_file(index).display()
        )),
        Event::NotStarted {
            index,
            error,
            restart_in,
        } => report.say(format_args!(
            "broker {index} cannot be run ({error}), tried again {}",
            after(restart_in)
        )),
    }
}

fn after(delay: Duration) -> String {
    if delay.is_zero() {
        return "at once".to_owned();
    }
    format!("in {} s", delay.as_secs())
}

// === preparation ===

fn open_data_dir(options: &Options, manifests: &Manifests) -> Result<DataDir, Error> {
    let declared = manifests.cluster.as_ref().map(|c| c.resource.spec.replicas);
    let asked = match (options.brokers, declared) {
        (Some(n), _) => Some(i64::from(n)),
        (None, Some(n)) => Some(i64::from(n)),
        (None, None) => None,
    };
    let brokers = match asked {
        None => None,
        Some(n) => match u16::try_from(n) {
            Ok(n) if (1..=layout::BROKERS_MAX).contains(&n) => Some(n),
            _ => return Err(Error::Brokers { asked: n }),
        },
    };
    let id = || Uuid::new_v4().simple().to_string();
    Ok(DataDir::open(&options.data, brokers, BROKERS_DEFAULT, id)?)
}

fn lay_out(options: &Options, dir: &DataDir) -> Result<Layout, Error> {
    let brokers = dir.cluster.brokers;
    let offset = options.port_offset;
    Ok(Layout {
        cluster_id: dir.cluster.id.clone(),
        brokers,
        voters: dir.cluster.voters,
        data: dir.path.clone(),
        ports: Ports::moved(offset, brokers).ok_or(Error::PortOffset { offset })?,
        queue_memory_bytes: options.queue_memory_bytes,
    })
}

/// Binds every port once and lets it go, so that a person reads which one is taken and not a
/// broker's log.
fn check_ports(layout: &Layout) -> Result<(), Error> {
    for broker in 0..layout.brokers {
        for (port, listener) in layout.ports.of(broker).into_iter().zip(LISTENERS) {
            let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
            for address in [v4, v6] {
                match TcpListener::bind(address) {
                    Err(source) if address.is_ipv4() || in_use(&source) => {
                        return Err(Error::Port {
                            port,
                            listener,
                            broker,
                            address,
                            source,
                        });
                    }
                    // A machine without IPv6 is served on IPv4 alone.
                    Err(_) | Ok(_) => {}
                }
            }
        }
    }
    Ok(())
}

fn in_use(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

fn prepare(layout: &Layout, manifests: &Manifests, ready_file: Option<&Path>) -> Result<(), Error> {
    if let Some(file) = ready_file {
        remove(file)?;
    }
    let spec = manifests.cluster.as_ref().map(|c| &c.resource.spec);
    for i in 0..layout.brokers {
        let path = layout.config_file(i);
        std::fs::write(&path, layout.properties(i, spec))
            .map_err(|source| Error::Write { path, source })?;
        let dir = layout.broker_dir(i);
        std::fs::create_dir_all(&dir).map_err(|source| Error::Write { path: dir, source })?;
        let log = layout.log_file(i);
        broker_log::rotate(&log).map_err(|source| Error::Write { path: log, source })?;
    }
    Ok(())
}

/// A process group of its own keeps Ctrl-C for this process, which stops the brokers in order.
fn start(layout: &Layout, program: PathBuf) -> Children {
    let of = layout.clone();
    Children::start(layout.brokers, move |i| {
        let (out, err) = broker_log::open(&of.log_file(i))?;
        let mut command = Command::new(&program);
        command
            .arg("broker")
            .arg("--config")
            .arg(of.config_file(i))
            .arg("--exit-with-parent")
            .stdin(std::process::Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0);
        Ok(command)
    })
}

// === the ready file ===

/// Whether it can be written later, found out where it will first be written. What another process
/// may have put at `file` itself stays.
fn check_ready_file(file: &Path) -> Result<(), Error> {
    let unusable = |source| Error::Write {
        path: file.to_owned(),
        source,
    };
    if file.is_dir() {
        return Err(unusable(io::ErrorKind::IsADirectory.into()));
    }
    let beside = beside(file);
    std::fs::write(&beside, "").map_err(unusable)?;
    remove(&beside)
}

fn beside(file: &Path) -> PathBuf {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    beside.into()
}

/// Appears whole: written beside and renamed.
fn write_ready_file(file: &Path, layout: &Layout) -> Result<(), Error> {
    let [kafka, amqp, admin] = [0, 1, 2].map(|n| layout.addresses(n).join(","));
    let text = format!("kafka={kafka}\namqp={amqp}\nadmin={admin}\n");
    let beside = beside(file);
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, file))
        .map_err(|source| Error::Write {
            path: file.to_owned(),
            source,
        })
}

fn remove(file: &Path) -> Result<(), Error> {
    match std::fs::remove_file(file) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Write {
            path: file.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

// === being told to stop ===

/// The signals that mean "stop".
struct Told {
    signals: [Signal; 3],
}

impl Told {
    fn listen() -> io::Result<Self> {
        let on = |kind| signal(kind);
        Ok(Self {
            signals: [
                on(SignalKind::interrupt())?,
                on(SignalKind::terminate())?,
                on(SignalKind::hangup())?,
            ],
        })
    }

    async fn wait(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

impl Manifests {
    /// Names of all resources in the order in which they are applied.
    fn names(&self) -> Vec<String> {
        let cluster = self.cluster.iter().map(|l| l.resource.name_any());
        cluster
            .chain(self.topics.iter().map(|l| l.resource.name_any()))
            .chain(self.queues.iter().map(|l| l.resource.name_any()))
            .chain(self.exchanges.iter().map(|l| l.resource.name_any()))
            .chain(self.groups.iter().map(|l| l.resource.name_any()))
            .collect()
    }
}

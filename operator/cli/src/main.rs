//! The one binary: argument parsing and hand-over. The only place where broker and operator meet.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod output;
mod runtime;
mod verb;

/// Logs and queues for unmodified Kafka and AMQP clients.
#[derive(Parser)]
#[command(name = "millrace", version, max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run one broker of a cluster
    Broker(verb::broker::Args),
    /// Reconcile the resources of millrace.dev in Kubernetes
    Operator(operator::args::Args),
    /// Wait until a broker's pod carries its rack
    #[command(hide = true)]
    AwaitRack { file: PathBuf },
    /// Run a cluster on this machine from manifests, without Kubernetes
    Local(verb::local::Args),
    /// Check manifests without running anything
    Check(verb::check::Args),
    /// Show the cluster; ask whether a broker may stop; drain one
    Cluster(verb::cluster::Args),
    /// List, show, create, change and delete topics
    Topic(verb::topic::Args),
    /// List, show, declare and delete queues
    Queue(verb::queue::Args),
    /// List, show and delete consumer groups
    Group(verb::group::Args),
    /// Show how far consumer groups are behind, in records and seconds
    Lag(verb::group::LagArgs),
    /// Make a line of the users file that AMQP clients log in by
    AmqpUser(verb::amqp_user::Args),
}

fn main() -> ExitCode {
    let result = match Args::parse().verb {
        Verb::Broker(args) => verb::broker::run(args),
        Verb::Operator(args) => verb::operator::run(args),
        Verb::AwaitRack { file } => verb::operator::await_rack(&file),
        Verb::Local(args) => verb::local::run(args),
        Verb::Check(args) => verb::check::run(&args),
        Verb::Cluster(args) => runtime::one_thread(verb::cluster::run(args)),
        Verb::Topic(args) => runtime::one_thread(verb::topic::run(args)),
        Verb::Queue(args) => runtime::one_thread(verb::queue::run(args)),
        Verb::Group(args) => runtime::one_thread(verb::group::run(args)),
        Verb::Lag(args) => runtime::one_thread(verb::group::lag(args)),
        Verb::AmqpUser(args) => verb::amqp_user::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", output::sentence(&error));
            ExitCode::FAILURE
        }
    }
}

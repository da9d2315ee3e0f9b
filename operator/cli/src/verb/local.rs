//! `millrace local`: a cluster on this machine.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use operator::local::{self, Options};

use crate::runtime;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File or directory of manifests; left out: an empty cluster
    #[arg(short = 'f', long = "filename", value_name = "DIR")]
    manifests: Option<PathBuf>,
    /// Number of brokers [default: as the BrokerCluster or the data says, else 3]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=i64::from(local::layout::BROKERS_MAX)))]
    brokers: Option<u16>,
    /// Where data is kept and found again
    #[arg(long, value_name = "DIR", default_value = "millrace-data")]
    data: PathBuf,
    /// Added to every port
    #[arg(long, value_name = "N", default_value_t = 0)]
    port_offset: u16,
    /// Written once everything is served, with the addresses; removed at the stop
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    runtime::log("warn");
    let options = Options {
        manifests: args.manifests,
        brokers: args.brokers,
        data: args.data,
        port_offset: args.port_offset,
        ready_file: args.ready_file,
        queue_memory_bytes: broker::queue::Config::default().memory_bytes_max,
        program: std::env::current_exe().context("cannot find this program's own file")?,
    };
    runtime::one_thread(async move { Ok(local::run(options, std::io::stdout()).await?) })
}

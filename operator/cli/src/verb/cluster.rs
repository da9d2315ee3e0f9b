//! `millrace cluster`: brokers, verdicts, drains.

use anyhow::Result;
use api::admin::{Cluster, Listener, Verdict};
use clap::Subcommand;

use super::Target;
use crate::output::{Table, known, show};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    /// The brokers and what they carry (the default)
    Show,
    /// Ask whether a broker may stop now, and what that would do
    Verdict { broker: i32 },
    /// Move partition leaderships away from a broker
    Drain { broker: i32 },
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let admin = args.target.admin()?;
    let format = args.target.output;
    match args.verb.unwrap_or(Verb::Show) {
        Verb::Show => show(format, &admin.cluster().await?, brokers),
        Verb::Verdict { broker } => show(format, &admin.verdict(broker).await?, verdict),
        Verb::Drain { broker } => show(format, &admin.drain(broker).await?, |d| {
            let mut table = Table::new(["BROKER", "STILL LEADS", "CANNOT MOVE"]);
            table.row([d.broker, count(d.leaders), count(d.stuck)].map(|n| n.to_string()));
            table
        }),
    }
}

fn brokers(cluster: &Cluster) -> Table<7> {
    let mut table = Table::new([
        "BROKER", "RACK", "STATE", "ROLE", "KAFKA", "LEADS", "REPLICAS",
    ]);
    for broker in &cluster.brokers {
        let state = match (broker.fenced, broker.draining) {
            (true, _) => "fenced",
            (_, true) => "draining",
            _ => "serving",
        };
        let role = match (
            cluster.controller == Some(broker.id),
            cluster.voters.contains(&broker.id),
        ) {
            (true, _) => "controller",
            (_, true) => "voter",
            _ => "learner",
        };
        let kafka = broker.endpoint(Listener::Kafka);
        table.row([
            broker.id.to_string(),
            known(broker.rack.clone()),
            state.to_owned(),
            role.to_owned(),
            known(kafka.map(|e| format!("{}:{}", e.host, e.port))),
            broker.leaders.to_string(),
            broker.replicas.to_string(),
        ]);
    }
    table
}

fn verdict(verdict: &Verdict) -> Table<2> {
    let word = if verdict.may_stop { "yes" } else { "no" };
    let mut table = Table::new(["MAY STOP", word]);
    let mut line = |what: &str, names: Vec<String>| {
        if !names.is_empty() {
            table.row([what.to_owned(), names.join(" ")]);
        }
    };
    let names = |partitions: &[api::admin::PartitionName]| {
        partitions.iter().map(ToString::to_string).collect()
    };
    line("would go offline", names(&verdict.would_go_offline));
    line("would block writes", names(&verdict.would_block_writes));
    line("would lose a majority", groups(&verdict.quorum_critical));
    line("leads", names(&verdict.would_lose_acks));
    line("tolerated", names(&verdict.tolerated));
    line("tolerated groups", groups(&verdict.tolerated_groups));
    table
}

fn groups(groups: &[api::admin::QuorumGroup]) -> Vec<String> {
    groups.iter().map(ToString::to_string).collect()
}

fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

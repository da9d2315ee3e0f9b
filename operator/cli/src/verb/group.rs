//! `millrace group` and `millrace lag`.

use anyhow::Result;
use api::admin::{Group, GroupSummary};
use clap::Subcommand;

use super::Target;
use crate::output::{Table, known, print, show};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Args)]
pub(crate) struct LagArgs {
    #[command(flatten)]
    target: Target,
    /// One group, by partition, with `-` where it has committed nothing; left out: all groups
    group: Option<String>,
}

#[derive(Subcommand)]
enum Verb {
    /// All groups
    List,
    /// The members of one group and what is assigned to them
    Show { group: String },
    /// Delete a group that has no members, and its offsets
    Delete { group: String },
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let admin = args.target.admin()?;
    let format = args.target.output;
    match args.verb {
        Verb::List => show(format, &admin.groups().await?, |groups| summary(groups)),
        Verb::Show { group } => show(format, &admin.group(&group).await?, members),
        Verb::Delete { group } => {
            admin.delete_group(&group).await?;
            print(&format!("group '{group}' is deleted\n"))
        }
    }
}

pub(crate) async fn lag(args: LagArgs) -> Result<()> {
    let admin = args.target.admin()?;
    let format = args.target.output;
    match args.group {
        None => show(format, &admin.groups().await?, |groups| summary(groups)),
        Some(group) => show(format, &admin.group(&group).await?, partitions),
    }
}

fn summary(groups: &[GroupSummary]) -> Table<5> {
    let mut table = Table::new(["GROUP", "STATE", "MEMBERS", "LAG", "LAG SECONDS"]);
    for group in groups {
        table.row([
            group.id.clone(),
            group.state.clone(),
            group.members.to_string(),
            group.lag_records.to_string(),
            seconds(group.lag_seconds),
        ]);
    }
    table
}

fn members(group: &Group) -> Table<4> {
    let mut table = Table::new(["MEMBER", "CLIENT", "HOST", "ASSIGNED"]);
    for member in &group.membership {
        let assigned: Vec<String> = member
            .assigned
            .iter()
            .map(|topic| format!("{}:{}", topic.topic, crate::output::list(&topic.partitions)))
            .collect();
        table.row([
            member.member_id.clone(),
            member.client_id.clone(),
            member.host.clone(),
            assigned.join(" "),
        ]);
    }
    table
}

fn partitions(group: &Group) -> Table<6> {
    let mut table = Table::new([
        "TOPIC",
        "PARTITION",
        "COMMITTED",
        "END",
        "LAG",
        "LAG SECONDS",
    ]);
    let committed = group.partitions.iter().map(|p| {
        [
            p.topic.clone(),
            p.partition.to_string(),
            p.committed.to_string(),
            known(p.end),
            known(p.lag_records),
            seconds(p.lag_seconds),
        ]
    });
    let uncommitted = group.uncommitted().into_iter().map(|(topic, partition)| {
        let unknown = || known(None::<i64>);
        let (topic, partition) = (topic.to_owned(), partition.to_string());
        [topic, partition, unknown(), unknown(), unknown(), unknown()]
    });
    committed.chain(uncommitted).for_each(|row| table.row(row));
    table
}

fn seconds(value: Option<f64>) -> String {
    known(value.map(|s| format!("{s:.1}")))
}

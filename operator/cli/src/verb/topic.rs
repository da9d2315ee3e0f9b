//! `millrace topic`.

use anyhow::Result;
use api::admin::{Put, Topic, TopicSpec};
use clap::Subcommand;

use super::{Target, key_value};
use crate::output::{Table, known, list, print, show};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// All topics
    List {
        /// Those of the cluster itself too
        #[arg(long)]
        internal: bool,
    },
    /// The partitions of one topic, with leaders and in-sync replicas
    Show { name: String },
    /// Create a topic, or change what can be changed of it
    Put {
        name: String,
        /// Grows only [default for a new topic: the cluster's num.partitions]
        #[arg(long)]
        partitions: Option<i32>,
        /// Fixed once created [default: the cluster's default.replication.factor]
        #[arg(long)]
        replication_factor: Option<i16>,
        /// A config to set; may be given more than once
        #[arg(long = "config", value_name = "KEY=VALUE", value_parser = key_value)]
        configs: Vec<(String, String)>,
        /// A config to take back to its default; may be given more than once
        #[arg(long = "delete-config", value_name = "KEY")]
        removed: Vec<String>,
    },
    /// Delete a topic and its records
    Delete { name: String },
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let admin = args.target.admin()?;
    let format = args.target.output;
    match args.verb {
        Verb::List { internal } => {
            let mut topics = admin.topics().await?;
            topics.retain(|t| internal || !t.internal);
            show(format, &topics, |topics| summary(topics))
        }
        Verb::Show { name } => show(format, &admin.topic(&name).await?, partitions),
        Verb::Put {
            name,
            partitions,
            replication_factor,
            configs,
            removed,
        } => {
            let set = configs.into_iter().map(|(key, value)| (key, Some(value)));
            let spec = TopicSpec {
                partitions,
                replication_factor,
                configs: set
                    .chain(removed.into_iter().map(|key| (key, None)))
                    .collect(),
            };
            let put: Put<Topic> = admin.put_topic(&name, &spec).await?;
            show(format, &put, |put| {
                summary(std::slice::from_ref(&put.object))
            })
        }
        Verb::Delete { name } => {
            admin.delete_topic(&name).await?;
            print(&format!("topic '{name}' is deleted\n"))
        }
    }
}

fn summary(topics: &[Topic]) -> Table<6> {
    let mut table = Table::new(["TOPIC", "PARTITIONS", "RF", "MIN ISR", "OFFLINE", "CONFIGS"]);
    for topic in topics {
        let offline = topic.partitions.iter().filter(|p| p.leader.is_none());
        let configs: Vec<String> = topic
            .configs
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        table.row([
            topic.name.clone(),
            topic.partitions.len().to_string(),
            topic.replication_factor().to_string(),
            topic.min_insync_replicas.to_string(),
            offline.count().to_string(),
            configs.join(" "),
        ]);
    }
    table
}

fn partitions(topic: &Topic) -> Table<5> {
    let mut table = Table::new(["PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR"]);
    for partition in &topic.partitions {
        table.row([
            partition.partition.to_string(),
            known(partition.leader),
            partition.leader_epoch.to_string(),
            list(&partition.replicas),
            list(&partition.isr),
        ]);
    }
    table
}

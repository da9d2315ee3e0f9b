//! `millrace queue`.

use anyhow::Result;
use api::admin::{Put, Queue, QueueKind, QueueSpec};
use clap::{Subcommand, ValueEnum};

use super::{Target, key_value};
use crate::output::{Table, known, list, print, show};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: Target,
    /// Virtual host
    #[arg(long, global = true, default_value = "/")]
    vhost: String,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// All queues of the virtual host
    List,
    /// One queue
    Show { name: String },
    /// Declare a durable queue
    Put {
        name: String,
        #[arg(long = "type", value_enum, default_value_t)]
        kind: Kind,
        /// An argument; a value that is a JSON number or boolean is sent as one
        #[arg(long = "argument", value_name = "KEY=VALUE", value_parser = key_value)]
        arguments: Vec<(String, String)>,
    },
    /// Delete a queue and its messages
    Delete {
        name: String,
        /// Only when nothing consumes from it
        #[arg(long)]
        if_unused: bool,
        /// Only when it holds no message
        #[arg(long)]
        if_empty: bool,
    },
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Kind {
    #[default]
    Quorum,
    Classic,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let admin = args.target.admin()?;
    let (format, vhost) = (args.target.output, args.vhost);
    match args.verb {
        Verb::List => show(format, &admin.queues(&vhost).await?, |all| summary(all)),
        Verb::Show { name } => show(format, &admin.queue(&vhost, &name).await?, |queue| {
            summary(std::slice::from_ref(queue))
        }),
        Verb::Put {
            name,
            kind,
            arguments,
        } => {
            let spec = QueueSpec {
                kind: match kind {
                    Kind::Quorum => QueueKind::Quorum,
                    Kind::Classic => QueueKind::Classic,
                },
                durable: true,
                auto_delete: false,
                arguments: arguments
                    .into_iter()
                    .map(|(key, value)| (key, argument(value)))
                    .collect(),
            };
            let put: Put<Queue> = admin.put_queue(&vhost, &name, &spec).await?;
            show(format, &put, |put| {
                summary(std::slice::from_ref(&put.object))
            })
        }
        Verb::Delete {
            name,
            if_unused,
            if_empty,
        } => {
            admin
                .delete_queue(&vhost, &name, if_unused, if_empty)
                .await?;
            print(&format!("queue '{name}' is deleted\n"))
        }
    }
}

fn argument(text: String) -> serde_json::Value {
    match serde_json::from_str(&text) {
        Ok(value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => value,
        _ => text.into(),
    }
}

fn summary(queues: &[Queue]) -> Table<7> {
    let mut table = Table::new([
        "QUEUE",
        "TYPE",
        "LEADER",
        "MEMBERS",
        "READY",
        "UNACKED",
        "CONSUMERS",
    ]);
    for queue in queues {
        table.row([
            queue.name.clone(),
            format!("{:?}", queue.kind).to_lowercase(),
            known(queue.leader),
            list(&queue.members),
            known(queue.ready),
            known(queue.unacked),
            known(queue.consumers),
        ]);
    }
    table
}

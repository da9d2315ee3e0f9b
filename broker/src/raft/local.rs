//! A group of one that keeps nothing: what it is told, it applies. Stands in for a real group in
//! tests of the machines' drivers.

use model::BrokerId;
use tokio::sync::watch;

use super::group::Queue;
use super::{Config, Entry, Group, StateMachine};
use crate::clock::wall_ms;

pub(super) fn start(
    config: &Config,
    command_bytes_max: usize,
    this: BrokerId,
    mut machine: impl StateMachine,
) -> Group {
    let (queue, mut waiting) = Queue::new(config, command_bytes_max);
    let entry_commands_max = config.entry_commands_max;
    let (leader, leader_seen) = watch::channel(Some(this));
    tokio::spawn(async move {
        let _leader = leader;
        machine.leadership(true, 1);
        let mut batch = Vec::new();
        let mut index = 0;
        while waiting.recv_many(&mut batch, entry_commands_max).await > 0 {
            index += 1;
            let (commands, replies): (Vec<_>, Vec<_>) =
                batch.drain(..).map(|p| (p.command, p.reply)).unzip();
            let entry = Entry {
                index,
                term: 1,
                now_ms: wall_ms(),
                commands,
                leading: true,
            };
            let outcomes = match machine.apply(&entry) {
                Ok(outcomes) => outcomes,
                Err(unknown) => {
                    tracing::error!(%unknown, "the group stops");
                    return;
                }
            };
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                // The proposer may have gone away.
                let _gone = reply.send(Ok(outcome));
            }
        }
    });
    Group {
        queue,
        leader: leader_seen,
        voters: watch::channel(vec![this]).1,
        replicated: None,
    }
}

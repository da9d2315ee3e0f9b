//! What a shard's leader proposes by itself: queues that the metadata added or removed, time passing,
//! brokers that are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use machine::metadata::image::{Image, Queue, QueueKind};
use machine::queue::NEVER;
use model::{BrokerId, ShardId};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::command::Command;
use crate::peer::Alive;
use crate::queue::host;
use crate::queue::protocol::QueueId;
use crate::raft::Group;

/// A broker that does not answer for this long has lost its consumers; a shorter silence is a hiccup
/// of the network, after which they go on.
const GONE_AFTER: Duration = Duration::from_secs(10);

/// What the shard tells its keeper after each entry.
#[derive(Default)]
pub(crate) struct Outlook {
    known: Mutex<Known>,
    changed: Notify,
}

#[derive(Default)]
struct Known {
    leading: bool,
    next_deadline_ms: Option<i64>,
    declared: BTreeSet<QueueId>,
}

impl Outlook {
    pub(super) fn update<'a>(
        &self,
        next_deadline_ms: i64,
        declared: impl ExactSizeIterator<Item = &'a QueueId>,
    ) {
        let mut known = self.known.lock();
        let deadline = (next_deadline_ms != NEVER).then_some(next_deadline_ms);
        let mut changed = known.next_deadline_ms != deadline;
        known.next_deadline_ms = deadline;
        if known.declared.len() != declared.len() {
            known.declared = declared.copied().collect();
            changed = true;
        }
        drop(known);
        if changed {
            self.changed.notify_one();
        }
    }

    pub(super) fn set_leading(&self, leading: bool) {
        self.known.lock().leading = leading;
        self.changed.notify_one();
    }

    /// Whether every one of these is declared in the shard.
    pub(crate) fn declares(&self, queues: impl IntoIterator<Item = QueueId>) -> bool {
        let known = self.known.lock();
        queues
            .into_iter()
            .all(|queue| known.declared.contains(&queue))
    }
}

/// Runs until the group's broker goes down.
pub(crate) async fn run(
    shard: ShardId,
    outlook: Arc<Outlook>,
    group: Group,
    mut images: watch::Receiver<Arc<Image>>,
    mut alive: watch::Receiver<Alive>,
) {
    let mut silent: BTreeMap<BrokerId, Instant> = BTreeMap::new();
    loop {
        let (leading, deadline) = {
            let known = outlook.known.lock();
            (known.leading, known.next_deadline_ms)
        };
        if leading {
            let image = images.borrow_and_update().clone();
            for command in changes(shard, &outlook, &image) {
                propose(shard, &group, &command).await;
            }
            if deadline.is_some_and(|deadline| deadline <= host::now_ms()) {
                propose(shard, &group, &Command::Tick).await;
                continue;
            }
            let gone = gone(&mut silent, &alive.borrow_and_update());
            for broker in gone {
                propose(shard, &group, &Command::Gone { broker }).await;
            }
        }
        let now = Instant::now();
        let due = deadline.filter(|_| leading).map(|deadline| {
            let wait = deadline.saturating_sub(host::now_ms()).max(1);
            now + Duration::from_millis(wait.unsigned_abs())
        });
        let due = silent.values().copied().chain(due).min();
        let due = due.unwrap_or(now + Duration::from_secs(3_600));
        tokio::select! {
            () = outlook.changed.notified() => {}
            () = sleep_until(due) => {}
            changed = images.changed() => if changed.is_err() { return },
            changed = alive.changed() => if changed.is_err() { return },
        }
    }
}

async fn propose(shard: ShardId, group: &Group, command: &Command) {
    if let Err(error) = group.propose(command.encode()).await {
        // Tried again after the next change, or by the next leader.
        tracing::debug!(%shard, %error, "proposal of a shard's keeper failed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What of the image the shard does not have yet, or has no longer.
pub(super) fn changes(shard: ShardId, outlook: &Outlook, image: &Image) -> Vec<Command> {
    let known = outlook.known.lock();
    let queues = image
        .vhosts
        .values()
        .flat_map(|vhost| vhost.queues.values());
    let mut wanted = BTreeSet::new();
    let mut commands = Vec::new();
    for queue in queues.filter(|queue| queue.kind == QueueKind::Quorum { shard }) {
        wanted.insert(queue.id);
        if !known.declared.contains(&queue.id) {
            commands.push(declare(queue));
        }
    }
    // An image that has not come to the queue's declaration yet says nothing about it.
    let dropped = known.declared.iter();
    let dropped = dropped.filter(|id| image.has_declared(**id) && !wanted.contains(id));
    commands.extend(dropped.map(|id| Command::Remove { queue: *id }));
    commands
}

pub(crate) fn declare(queue: &Queue) -> Command {
    Command::Declare {
        queue: queue.id,
        vhost: queue.vhost.to_string(),
        name: queue.name.to_string(),
        arguments: queue.arguments.clone(),
    }
}

/// Brokers whose silence has lasted; each is named once per silence.
fn gone(silent: &mut BTreeMap<BrokerId, Instant>, alive: &Alive) -> Vec<BrokerId> {
    let now = Instant::now();
    silent.retain(|broker, _| !alive.is_alive(*broker));
    for (broker, answers) in &alive.peers {
        if !answers {
            silent.entry(*broker).or_insert(now + GONE_AFTER);
        }
    }
    let due: Vec<BrokerId> = silent
        .iter()
        .filter(|(_, due)| **due <= now)
        .map(|(broker, _)| *broker)
        .collect();
    for broker in &due {
        // Far away rather than removed: it stays silent, and is named again only much later.
        silent.insert(*broker, now + Duration::from_secs(3_600));
    }
    due
}

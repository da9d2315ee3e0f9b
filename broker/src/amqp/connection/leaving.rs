//! The ends: of a channel, and of the connection. What they held is given up before the client hears
//! close-ok, so that whoever declares or passively declares a queue afterwards finds it as it will stay.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use machine::metadata::image::Queue;
use tokio::time::timeout;

use super::Connection;
use super::operation::{Operation, Over};
use crate::amqp::channel::Channel;
use crate::amqp::topology::{self, Client};
use crate::queue::Session;

/// How long close-ok waits for what has to be given up; the rest is given up after it.
const GIVE_UP_TIMEOUT: Duration = Duration::from_secs(5);

/// Auto-delete queues that a channel remembers before it forgets those that are gone.
const REMEMBERED_MAX: usize = 64;

impl Channel {
    /// Remembers an auto-delete queue that has a consumer of this channel.
    pub(super) fn remember(&mut self, queue: &Arc<Queue>, client: &Client) {
        if !queue.auto_delete || self.auto_delete.iter().any(|known| known.id == queue.id) {
            return;
        }
        if self.auto_delete.len() >= REMEMBERED_MAX {
            let vhost = client.vhost();
            self.auto_delete.retain(|known| {
                let there = vhost.queues.get(&known.name);
                there.is_some_and(|there| there.id == known.id)
            });
        }
        self.auto_delete.push(queue.clone());
    }
}

impl Connection {
    /// The channel's consumers leave, and what it holds goes back to the queues. Its auto-delete queues
    /// may go now.
    pub(super) fn drop_channel(&mut self, number: u16) -> Vec<Arc<Queue>> {
        let Some(channel) = self.channels.remove(&number) else {
            return Vec::new();
        };
        self.numbers.remove(&channel.id);
        self.session.close_channel(channel.id);
        self.waiting_bytes -= channel.queued.bytes();
        self.metrics.channels.dec();
        let consumers = i64::try_from(channel.consumers.len()).unwrap_or_default();
        self.metrics.consumers.dec_by(consumers);
        channel.auto_delete
    }

    /// The client closes a channel.
    pub(super) fn close_channel(&mut self, number: u16) {
        let auto_delete = self.drop_channel(number);
        if auto_delete.is_empty() {
            self.wire.close_channel_ok(number);
            return;
        }
        let client = self.client.clone();
        self.operations.push(Box::pin(async move {
            await_deletion(&client, auto_delete).await;
            Over::Left(number)
        }));
    }

    /// Gives up everything, then says the last words if there is somebody `listening`.
    pub(super) async fn leave(mut self, listening: bool) {
        let mut auto_delete = Vec::new();
        for number in self.channels.keys().copied().collect::<Vec<_>>() {
            auto_delete.extend(self.drop_channel(number));
        }
        self.session.flush();
        let Self {
            socket,
            mut wire,
            client,
            session,
            mut operations,
            declares,
            ..
        } = self;
        if declares == 0 {
            // Nobody waits for the answers: a consumer that is being attached leaves.
            operations.clear();
        }
        let mut giving_up = Box::pin(give_up(client, session, operations, auto_delete));
        let in_time = timeout(GIVE_UP_TIMEOUT, &mut giving_up).await.is_ok();
        if listening {
            wire.close_ok();
            socket.finish(wire.output().split()).await;
        }
        if !in_time {
            giving_up.await;
        }
    }
}

async fn give_up(
    client: Arc<Client>,
    session: Session,
    mut operations: FuturesUnordered<Operation>,
    auto_delete: Vec<Arc<Queue>>,
) {
    // A declare under way may still make an exclusive queue, which should be gone before close-ok. One
    // that makes it later makes a queue without owner.
    while operations.next().await.is_some() {}
    client.owner.leave();
    // Consumers leave before the queues that only this connection could use go away.
    drop(session);
    for queue in topology::queue::exclusive_queues(&client) {
        if let Err(error) = topology::queue::delete_now(&client, &queue.name).await {
            tracing::warn!(queue = %queue.name, %error, "exclusive queue is not deleted; it is tried again");
            client.front.queues.delete_abandoned(&queue);
        }
    }
    await_deletion(&client, auto_delete).await;
}

/// Waits until auto-delete queues that have lost their last consumer are gone, but not for ever: the
/// metadata group may not have answered their host.
async fn await_deletion(client: &Client, queues: Vec<Arc<Queue>>) {
    let deletion = topology::queue::await_deletion(client, queues);
    if timeout(GIVE_UP_TIMEOUT, deletion).await.is_err() {
        tracing::warn!("an auto-delete queue is still there; its host goes on to try to delete it");
    }
}

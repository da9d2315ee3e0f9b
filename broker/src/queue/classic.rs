//! Classic queues of this broker: a few driver threads, each carrying its share of the queues.
//!
//! A driver drains its mailbox, tells the machines, then writes once per touched queue and answers once
//! per session. Confirms of persistent messages in durable queues leave by `sync`, after the disk has
//! them; all else is answered by the driver itself. A queue begins and ends with the metadata image.

mod hosted;
mod outage;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use commitlog::Shutdown;
use imbl::ordmap::DiffItem;
use machine::metadata::image::{Image, Queue, QueueKind, Vhost};
use model::BrokerId;

use self::hosted::Hosted;
use super::dead_letter::Publisher;
use super::host;
use super::links::{Batch, Links};
use super::metrics::Metrics;
use super::outbox::Outbox;
use super::protocol::QueueId;
use super::sync::{Syncer, Unsynced};

/// Inputs handled before the queues are written and sessions answered.
const BATCHES_MAX: usize = 1_024;

/// Bytes of bodies that leave the caches at one wake-up while memory is tight.
const SHRINK_BYTES: usize = 4 << 20;

/// What a driver is told.
pub(crate) enum Input {
    Batch(Batch),
    /// The metadata changed.
    Follow(Arc<Image>),
    /// A broker is gone: its consumers leave.
    Gone(BrokerId),
    /// A sync failed: these publishes are not safe, and the queue's log is poisoned.
    NotSynced {
        queue: QueueId,
        unsynced: Vec<Unsynced>,
        error: commitlog::Error,
    },
    /// Memory is tight: the caches give way.
    Shrink,
    /// Write, close, end.
    Stop,
}

/// Where a driver's queues live and who it talks to.
pub(crate) struct Context {
    pub(crate) links: Arc<Links>,
    pub(crate) metrics: Metrics,
    pub(crate) syncer: Syncer,
    /// `DIR/queues`: one directory per durable queue that ever had a record.
    pub(crate) dir: PathBuf,
    pub(crate) opened_after: Shutdown,
    pub(crate) index: usize,
}

pub(crate) fn start(
    context: Context,
    image: Arc<Image>,
) -> std::io::Result<(Sender<Input>, JoinHandle<bool>)> {
    let (sender, inbox) = mpsc::channel();
    let name = format!("queue-{}", context.index);
    let thread = thread::Builder::new().name(name).spawn(move || {
        let mut driver = Driver::new(context);
        driver.follow(&image);
        driver.run(&inbox)
    })?;
    Ok((sender, thread))
}

struct Driver {
    context: Context,
    image: Arc<Image>,
    queues: HashMap<QueueId, Hosted>,
    /// Next look at a queue's clock.
    timers: BTreeSet<(i64, QueueId)>,
    touched: BTreeSet<QueueId>,
    /// Whose caches have still to give way.
    shrinking: Vec<QueueId>,
    outbox: Outbox,
    letters: Publisher,
}

impl Driver {
    fn new(context: Context) -> Self {
        Self {
            letters: Publisher::new(Arc::clone(&context.links)),
            image: Arc::default(),
            queues: HashMap::new(),
            timers: BTreeSet::new(),
            touched: BTreeSet::new(),
            shrinking: Vec::new(),
            outbox: Outbox::default(),
            context,
        }
    }

    /// Whether every queue was closed cleanly in the end.
    fn run(&mut self, inbox: &Receiver<Input>) -> bool {
        loop {
            let first = match self.timers.first() {
                _ if !self.shrinking.is_empty() => inbox.recv_timeout(Duration::ZERO),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some((due, _)) => {
                    let wait = due.saturating_sub(host::now_ms());
                    inbox.recv_timeout(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
                }
            };
            let now_ms = host::now_ms();
            let mut stop = false;
            let first = match first {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return self.close(),
            };
            let inputs = first.into_iter().chain(inbox.try_iter());
            for input in inputs.take(BATCHES_MAX) {
                match input {
                    Input::Batch(batch) => self.take(batch, now_ms),
                    Input::Follow(image) => self.follow(&image),
                    Input::Gone(broker) => self.gone(broker, now_ms),
                    Input::NotSynced {
                        queue,
                        unsynced,
                        error,
                    } => self.not_synced(queue, unsynced, error, now_ms),
                    Input::Shrink => self.shrinking = self.queues.keys().copied().collect(),
                    Input::Stop => stop = true,
                }
            }
            self.tick(now_ms);
            self.shrink();
            self.write(now_ms);
            self.letters.flush();
            self.context.links.answer(&mut self.outbox);
            if stop {
                return self.close();
            }
        }
    }

    fn take(&mut self, batch: Batch, now_ms: i64) {
        let session = batch.session;
        for request in batch.requests {
            if !self.queues.contains_key(&request.queue) {
                // Declared a moment ago: the newest image has it, but for requests of a broker whose
                // image is further than the one here.
                let image = self.context.links.image();
                self.follow(&image);
            }
            let Some(queue) = self.queues.get_mut(&request.queue) else {
                let deleted = self.image.has_declared(request.queue);
                host::missing(session, &request.op, deleted, &mut self.outbox);
                continue;
            };
            queue.take(session, request.op, now_ms, &self.context, &mut self.outbox);
            queue.settle_effects(
                now_ms,
                &self.context,
                &self.image,
                &mut self.letters,
                &mut self.outbox,
            );
            self.touched.insert(request.queue);
        }
        drop(batch.permit);
    }

    /// Brings the queues in line with the image.
    fn follow(&mut self, image: &Arc<Image>) {
        if image.index < self.image.index {
            return;
        }
        let before = std::mem::replace(&mut self.image, image.clone());
        let mut ended = Vec::new();
        let mut begun = Vec::new();
        for change in before.vhosts.diff(&image.vhosts) {
            let (old, new): (Option<&Arc<Vhost>>, Option<&Arc<Vhost>>) = match change {
                DiffItem::Add(_, new) => (None, Some(new)),
                DiffItem::Update { old, new } => (Some(old.1), Some(new.1)),
                DiffItem::Remove(_, old) => (Some(old), None),
            };
            let none = Arc::default();
            let old = old.unwrap_or(&none);
            let new = new.unwrap_or(&none);
            for change in old.queues.diff(&new.queues) {
                match change {
                    DiffItem::Add(_, new) => begun.push(new.clone()),
                    DiffItem::Update { old, new } if old.1.id != new.1.id => {
                        ended.push(old.1.clone());
                        begun.push(new.1.clone());
                    }
                    DiffItem::Update { .. } => {}
                    DiffItem::Remove(_, old) => ended.push(old.clone()),
                }
            }
        }
        for queue in ended {
            self.end(&queue);
        }
        begun.retain(|queue| self.carries(queue));
        for queue in &begun {
            self.begin(queue);
        }
    }

    fn carries(&self, queue: &Queue) -> bool {
        let links = &self.context.links;
        matches!(queue.kind, QueueKind::Classic { home } if home == links.broker())
            && links.driver_of(queue.id) == self.context.index
    }

    fn begin(&mut self, queue: &Arc<Queue>) {
        if self.context.links.owners().have_left(queue) {
            self.context.links.delete_abandoned(queue);
        }
        let dir = self.context.dir.join(queue.id.to_string());
        let hosted = Hosted::open(queue.clone(), dir, &self.context, host::now_ms());
        self.queues.insert(queue.id, hosted);
        self.touched.insert(queue.id);
    }

    fn end(&mut self, queue: &Queue) {
        if let Some(hosted) = self.queues.remove(&queue.id) {
            self.timers.remove(&(hosted.timer, queue.id));
            self.touched.remove(&queue.id);
            hosted.delete(&mut self.outbox, &self.context);
        }
    }

    fn gone(&mut self, broker: BrokerId, now_ms: i64) {
        for (id, queue) in &mut self.queues {
            if queue.gone(broker, now_ms) {
                queue.settle_effects(
                    now_ms,
                    &self.context,
                    &self.image,
                    &mut self.letters,
                    &mut self.outbox,
                );
                self.touched.insert(*id);
            }
        }
    }

    fn not_synced(
        &mut self,
        id: QueueId,
        unsynced: Vec<Unsynced>,
        error: commitlog::Error,
        now_ms: i64,
    ) {
        match self.queues.get_mut(&id) {
            Some(queue) => {
                queue.not_synced(unsynced, &error.into(), now_ms, &mut self.outbox);
                self.touched.insert(id);
            }
            None => {
                // Deleted, and its files with it. What was published to it is confirmed and gone.
                tracing::debug!(queue = id, %error, "a deleted queue was not synced");
                for unsynced in unsynced {
                    self.outbox.confirm(unsynced.session, unsynced.publish);
                }
            }
        }
    }

    /// Part of what memory has to give back.
    fn shrink(&mut self) {
        let mut left = SHRINK_BYTES;
        while let Some(id) = self.shrinking.last().copied() {
            if !self.context.links.budget().is_tight() {
                self.shrinking.clear();
                return;
            }
            if left == 0 {
                return;
            }
            let queue = self.queues.get_mut(&id);
            let freed = queue.map_or(0, |queue| queue.shrink(left));
            if freed > 0 {
                self.touched.insert(id);
            }
            if freed < left {
                self.shrinking.pop();
            }
            left = left.saturating_sub(freed);
        }
    }

    fn tick(&mut self, now_ms: i64) {
        while let Some((due, id)) = self.timers.first().copied() {
            if due > now_ms {
                break;
            }
            self.timers.pop_first();
            if let Some(queue) = self.queues.get_mut(&id) {
                queue.tick(now_ms);
                queue.settle_effects(
                    now_ms,
                    &self.context,
                    &self.image,
                    &mut self.letters,
                    &mut self.outbox,
                );
                self.touched.insert(id);
            }
        }
    }

    /// One write per touched queue, its sync under way, its next timer set.
    fn write(&mut self, now_ms: i64) {
        while let Some(id) = self.touched.pop_first() {
            let Some(queue) = self.queues.get_mut(&id) else {
                continue;
            };
            if let Some(job) = queue.write(now_ms, &mut self.outbox)
                && let Err(job) = self.context.syncer.submit(job)
            {
                for unsynced in job.waiting {
                    self.outbox.refuse(unsynced.session, unsynced.publish);
                }
            }
            let timer = queue.next_timer(now_ms);
            if timer != queue.timer {
                self.timers.remove(&(queue.timer, id));
                queue.timer = timer;
                if timer != machine::queue::NEVER {
                    self.timers.insert((timer, id));
                }
            }
            queue.observe(&self.context, now_ms);
        }
    }

    fn close(&mut self) -> bool {
        let queues: BTreeMap<QueueId, Hosted> = self.queues.drain().collect();
        // Every one is closed, also after one that failed.
        let mut cleanly = true;
        for queue in queues.into_values() {
            cleanly &= queue.close(host::now_ms());
        }
        cleanly
    }
}

//! Clients: producers as librdkafka is one, and consumers.
//!
//! An idempotent producer has up to five batches under way; after a failure it hears what becomes of
//! them and goes on from the first that is not acknowledged. It must never hear that it is out of order
//! or that its epoch is old: it has done nothing wrong.

use std::collections::{BTreeMap, VecDeque};

use machine::{
    metadata::image::Image,
    replica::{Ack, Refusal},
};
use model::{
    BrokerId, Epoch, Offset, TopicPartition,
    batch::{Batch, Builder},
};

use crate::{
    event::{Attempt, Connection, Event, Job, NodeId},
    ledger::{Value, value},
    node::Node,
    quorum::place,
    world::World,
};

const UNDER_WAY_MAX: usize = 5;
/// A producer gives up waiting for an answer.
const REQUEST_TIMEOUT_US: u64 = 1_500_000;
/// The broker gives up waiting for the in-sync set.
const ACK_TIMEOUT_MS: i64 = 1_000;

#[derive(Debug)]
pub(crate) struct Producer {
    pub(crate) partition: TopicPartition,
    pub(crate) ack: Ack,
    pub(crate) idempotent: bool,
    /// Records before this one are acknowledged.
    acknowledged: u64,
    next: u64,
    broker: NodeId,
    connection: Option<Connection>,
    /// The newest that it has heard of.
    epoch: Epoch,
    draining: bool,
    under_way: VecDeque<Sent>,
    next_attempt: u64,
    /// Records of each batch, by its first: the same whenever it is sent.
    sizes: BTreeMap<u64, u64>,
    sizes_upto: u64,
}

#[derive(Debug)]
struct Sent {
    attempt: u64,
    first: u64,
    count: u64,
    since_us: u64,
    outcome: Option<Result<Offset, Option<Refusal>>>,
}

#[derive(Debug)]
pub(crate) struct Consumer {
    pub(crate) partition: TopicPartition,
    next: Offset,
    /// The newest that it has heard of: an older leader is not asked.
    epoch: Epoch,
}

impl Producer {
    pub(crate) fn new(partition: TopicPartition, ack: Ack, idempotent: bool) -> Self {
        Self {
            partition,
            ack,
            idempotent,
            acknowledged: 0,
            next: 0,
            broker: 0,
            connection: None,
            epoch: Epoch(0),
            draining: false,
            under_way: VecDeque::new(),
            next_attempt: 0,
            sizes: BTreeMap::new(),
            sizes_upto: 0,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    fn batch(&self, index: usize, first: u64, count: u64) -> Batch {
        let mut builder = Builder::default();
        if self.idempotent {
            let sequence = i32::try_from(first).unwrap();
            builder = builder.producer(1000 + index as i64, 0, sequence);
        }
        for number in first..first + count {
            let value = value(index, number);
            // Sizes differ: batches end anywhere in a sector.
            let size = usize::try_from(number * 131 % 700).unwrap();
            let key = value.to_be_bytes();
            builder.push(1_700_000_000_000, Some(&key), Some(&vec![b'v'; size]));
        }
        Batch::parse(&builder.build().unwrap()).unwrap()
    }
}

impl Consumer {
    pub(crate) fn new(partition: TopicPartition) -> Self {
        Self {
            partition,
            next: Offset(0),
            epoch: Epoch(0),
        }
    }
}

impl World {
    pub(crate) fn client_delay(&mut self) -> u64 {
        let latest = self.plan.delay_max_us;
        self.plan.dice.between(50, latest)
    }

    /// A producer hears, gives up and sends.
    pub(crate) fn produce(&mut self, index: usize) {
        self.hear(index);
        let rough = self.is_rough();
        let producer = &mut self.producers[index];
        let late = producer
            .under_way
            .front()
            .is_some_and(|sent| self.now_us.saturating_sub(sent.since_us) > REQUEST_TIMEOUT_US);
        if late {
            // The connection is closed: nothing more is heard of what was sent on it.
            producer.under_way.clear();
        }
        if producer.under_way.is_empty() {
            producer.draining = false;
            if producer.idempotent {
                producer.next = producer.acknowledged;
            }
            let partition = producer.partition;
            let (known, epoch) = self.believed_leader(partition);
            let after = self.plan.dice.between(1_000, 40_000);
            if epoch < self.producers[index].epoch {
                // A leader of the past is not asked again.
                self.later(after, Event::Producer(index));
                return;
            }
            self.producers[index].epoch = epoch;
            let life = self.nodes[known].life;
            let producer = &mut self.producers[index];
            producer.broker = known;
            producer.connection = Some(Connection {
                producer: index,
                number: producer.connection.map_or(0, |c| c.number + 1),
                life,
            });
            self.client_busy_until[index] = self.now_us;
        }
        let producer = &mut self.producers[index];
        if rough && !producer.draining && producer.under_way.len() < UNDER_WAY_MAX {
            let count = self.plan.dice.between(1, 3);
            self.send_batch(index, count);
        } else if producer.under_way.is_empty() && !rough && producer.idempotent {
            // What it sent and never heard of it sends again, so that nothing is open at the end.
            if producer.next < self.producers[index].sent_upto() {
                self.send_batch(index, 1);
            }
        }
        let after = self.plan.dice.between(1_000, 40_000);
        self.later(after, Event::Producer(index));
    }

    fn send_batch(&mut self, index: usize, count: u64) {
        let delay = self.client_delay();
        let producer = &mut self.producers[index];
        let count = producer.batch_at(count);
        let (first, to) = (producer.next, producer.broker);
        let attempt = Attempt {
            producer: index,
            number: producer.next_attempt,
        };
        producer.next_attempt += 1;
        producer.next += count;
        producer.under_way.push_back(Sent {
            attempt: attempt.number,
            first,
            count,
            since_us: self.now_us,
            outcome: None,
        });
        let event = Event::Produce {
            to,
            partition: producer.partition,
            batch: producer.batch(index, first, count),
            ack: producer.ack,
            timeout_ms: ACK_TIMEOUT_MS,
            attempt,
            on: producer.connection.unwrap(),
        };
        self.note(|| format!("producer {index} sends {first} + {count} to {to} as {attempt:?}"));
        // In order on one connection.
        let at = (self.now_us + delay).max(self.client_busy_until[index]);
        self.client_busy_until[index] = at;
        self.at(at, event);
    }

    /// A batch comes to a broker.
    pub(crate) fn append(&mut self, to: NodeId, event: Event) {
        let Event::Produce {
            partition,
            batch,
            ack,
            timeout_ms,
            attempt,
            on,
            ..
        } = event
        else {
            return;
        };
        let node = &self.nodes[to];
        // Whoever opens its logs does not take connections yet.
        let takes = node.is_up() && node.hosted.contains_key(&partition);
        if !takes || node.life != on.life || self.broken_connections.contains(&on) {
            // What is behind it on the same connection does not arrive either.
            self.broken_connections.insert(on);
            self.later(
                1_000,
                Event::Produced {
                    attempt,
                    outcome: Err(None),
                },
            );
        } else {
            self.job(
                to,
                Job::Append {
                    partition,
                    batch,
                    ack,
                    timeout_ms,
                    attempt,
                },
            );
        }
    }

    /// An answer comes to a producer.
    pub(crate) fn produced(&mut self, attempt: Attempt, outcome: Result<Offset, Option<Refusal>>) {
        let lost = self.is_rough() && self.plan.dice.chance(self.plan.loss_per_mille);
        let producer = &mut self.producers[attempt.producer];
        let mut under_way = producer.under_way.iter_mut();
        if let Some(sent) = under_way.find(|s| s.attempt == attempt.number && !lost) {
            sent.outcome = Some(outcome);
        }
        self.hear(attempt.producer);
    }

    fn hear(&mut self, index: usize) {
        loop {
            let producer = &mut self.producers[index];
            if producer
                .under_way
                .front()
                .is_none_or(|s| s.outcome.is_none())
            {
                return;
            }
            let Some(sent) = producer.under_way.pop_front() else {
                return;
            };
            match sent.outcome.unwrap() {
                Ok(base) => {
                    let end = sent.first + sent.count;
                    producer.acknowledged = producer.acknowledged.max(end);
                    if producer.ack == Ack::InSync {
                        let partition = producer.partition;
                        let values: Vec<Value> =
                            (sent.first..end).map(|n| value(index, n)).collect();
                        self.ledger.acknowledged(partition, base, &values);
                    }
                }
                Err(refusal) => {
                    producer.draining = true;
                    let wronged = matches!(
                        refusal,
                        Some(Refusal::OutOfOrder { .. } | Refusal::StaleProducer { .. })
                    );
                    if wronged && producer.ack == Ack::InSync {
                        self.ledger.broken(format!(
                            "[I3] producer {index} is told of {}: {refusal:?}",
                            sent.first
                        ));
                    }
                }
            }
        }
    }

    /// Who leads, as a client would have it: now and then it knows nothing, or something old.
    fn believed_leader(&mut self, partition: TopicPartition) -> (NodeId, Epoch) {
        let any = self.plan.dice.index(self.nodes.len());
        if self.plan.dice.chance(100) {
            return (any, Epoch::UNKNOWN);
        }
        // As some broker has it.
        let asked = &self.nodes[any];
        let image = if asked.is_up() && self.plan.dice.chance(300) {
            self.image_of(any)
        } else {
            self.quorum.image()
        };
        match leader_in(image, partition) {
            Some((leader, epoch)) => (place(leader), epoch),
            None => (any, Epoch::UNKNOWN),
        }
    }

    /// A consumer asks for what comes next.
    pub(crate) fn consume(&mut self, index: usize) {
        let after = self.plan.dice.between(5_000, 60_000);
        self.later(after, Event::Consumer(index));
        let partition = self.consumers[index].partition;
        let (n, epoch) = self.believed_leader(partition);
        let node = &self.nodes[n];
        let consumer = &mut self.consumers[index];
        if !node.is_up() || node.is_paused(self.now_us) || epoch < consumer.epoch {
            return;
        }
        consumer.epoch = epoch;
        let Some(read) = read(node, partition, epoch, consumer.next) else {
            return;
        };
        match read {
            Ok(batches) => {
                for batch in batches {
                    self.ledger.observed(partition, &batch);
                    self.consumers[index].next = batch.header.next_offset();
                }
            }
            Err((start, end)) => {
                let next = self.consumers[index].next;
                if next < start && start <= self.ledger.first_kept(partition) {
                    self.consumers[index].next = start;
                } else {
                    self.ledger.broken(format!(
                        "[I1] a consumer at {next} is told that {partition} has {start} to {end}"
                    ));
                }
            }
        }
    }
}

impl Producer {
    /// The record after the last that was ever sent.
    fn sent_upto(&self) -> u64 {
        self.sizes_upto
    }

    /// How many records the batch has that begins with the next record: as the first time, if it goes
    /// out again.
    fn batch_at(&mut self, count: u64) -> u64 {
        let known = self.sizes.get(&self.next).copied();
        let count = known.unwrap_or(count);
        self.sizes.insert(self.next, count);
        self.sizes_upto = self.sizes_upto.max(self.next + count);
        count
    }
}

fn leader_in(image: &Image, partition: TopicPartition) -> Option<(BrokerId, Epoch)> {
    let topic = image.topics.get(&partition.topic)?;
    let number = usize::try_from(partition.partition).ok()?;
    let agreed = topic.partitions.get(number)?;
    Some((agreed.leader?, agreed.leader_epoch))
}

/// What a leader gives a consumer at `from`, or where its log begins and ends when that is outside.
/// `None` when it does not lead in that epoch.
fn read(
    node: &Node,
    partition: TopicPartition,
    epoch: Epoch,
    from: Offset,
) -> Option<Result<Vec<Batch>, (Offset, Offset)>> {
    let hosted = node.leads(partition, epoch)?;
    let reader = hosted.local.reader();
    let (start, end) = (reader.start_offset(), reader.end_offset());
    if from < start || from > end {
        return Some(Err((start, end)));
    }
    let runs = reader
        .read_until(from, hosted.shown.high_watermark, 4_000)
        .ok()?;
    let batches = runs
        .into_iter()
        .flat_map(|run| model::batch::split(run).unwrap());
    Some(Ok(batches.collect()))
}

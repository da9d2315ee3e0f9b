//! The metadata log as brokers see it: one order of commands, which each of them hears of sooner or
//! later. How the quorum agrees on it is not simulated.

use machine::metadata::{
    command::{Command, Reply},
    image::Image,
    submission::{RequestId, Submission},
};
use model::BrokerId;
use uuid::Uuid;

use crate::{
    event::{Asked, Event, NodeId},
    node::Place,
    world::World,
};

/// Milliseconds for which a silent broker is not missed.
const SUSPECT_AFTER_MS: u64 = 400;
/// Between looks at who is there.
const SUPERVISE_EVERY_MS: u64 = 100;
/// A pause before a broker asks again.
const AGAIN_MS: u64 = 100;
/// Before a proposal of unknown outcome is made again.
const PROPOSE_AGAIN_MS: u64 = 250;

#[derive(Debug)]
pub(crate) struct Quorum {
    /// The image after each entry; the first is before any.
    images: Vec<Image>,
    /// Numbers of what the supervisor itself submits.
    next: u64,
    /// When each node was last seen.
    pub(crate) seen_us: Vec<u64>,
    /// When a replica left an in-sync set last.
    pub(crate) shrunk_ms: i64,
}

impl Quorum {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            images: vec![Image::genesis()],
            next: 0,
            seen_us: vec![0; nodes],
            shrunk_ms: 0,
        }
    }

    /// As many entries as there are.
    fn len(&self) -> usize {
        self.images.len() - 1
    }

    pub(crate) fn image(&self) -> &Image {
        self.images.last().unwrap()
    }

    pub(crate) fn image_at(&self, applied: usize) -> &Image {
        &self.images[applied]
    }

    /// Puts a submission into the log.
    fn append(&mut self, submission: Submission, now_ms: i64) -> Option<(u64, Reply)> {
        let mut image = self.image().clone();
        let index = self.images.len() as u64;
        let reply = image.apply_once(submission, now_ms, index);
        if has_shrunk(self.image(), &image) {
            self.shrunk_ms = now_ms;
        }
        self.images.push(image);
        reply.map(|reply| (index, reply))
    }
}

impl World {
    /// A command of the supervisor or of whoever prepares the run: carried out at once.
    pub(crate) fn command(&mut self, command: Command) -> Reply {
        let number = self.quorum.next;
        self.quorum.next += 1;
        let id = RequestId {
            broker: BrokerId(0),
            life: Uuid::nil(),
            number,
            settled_below: number,
        };
        self.note(|| format!("quorum: {command:?}"));
        let now_ms = i64::try_from(self.now_us / 1000).unwrap();
        let answer = self.quorum.append(Submission { id, command }, now_ms);
        self.announce();
        answer.unwrap().1
    }

    /// Every broker hears of it when its time comes.
    fn announce(&mut self) {
        for n in 0..self.nodes.len() {
            if self.nodes[n].is_up() {
                let life = self.nodes[n].life;
                let after = self.plan.dice.between(200, 20_000);
                self.later(after, Event::Apply(n, life));
            }
        }
    }

    /// A broker has something for the quorum.
    pub(crate) fn submit(&mut self, n: NodeId, asked: Asked) {
        let life = self.nodes[n].life;
        let command = self.command_of(n, &asked);
        let Some(command) = command else { return };
        let node = &mut self.nodes[n];
        let number = node.next_submission;
        node.next_submission += 1;
        node.asked.insert(number, asked);
        let settled_below = node.asked.first_key_value().map_or(number, |(k, _)| *k);
        let id = RequestId {
            broker: node.broker(),
            life: Uuid::from_u128(((n as u128) << 64) | u128::from(life)),
            number,
            settled_below,
        };
        self.note(|| format!("{n} submits {number}: {command:?}"));
        let submission = Submission { id, command };
        // It may be lost on the way there, or its answer on the way back; offered twice, it counts once.
        let lost = self.is_cut_from_quorum(n) || self.plan.dice.chance(self.trouble_per_mille());
        let unheard = self.plan.dice.chance(self.trouble_per_mille());
        if lost || unheard {
            let after = self.plan.dice.between(200_000, 2_000_000);
            self.later(after, Event::Replied(n, life, number, None));
        }
        if lost {
            return;
        }
        let offers = 1 + u64::from(self.plan.dice.chance(50));
        for _ in 0..offers {
            // What nobody waits for any more may come much later.
            let latest = if unheard { 400_000 } else { 20_000 };
            let after = self.plan.dice.between(300, latest);
            let heard = if unheard { u32::MAX } else { life };
            self.later(after, Event::Offered(Box::new(submission.clone()), heard));
        }
    }

    fn trouble_per_mille(&self) -> u64 {
        if self.is_rough() { 60 } else { 0 }
    }

    pub(crate) fn offered(&mut self, submission: Submission, heard: u32) {
        let n = place(submission.id.broker);
        let number = submission.id.number;
        let now_ms = i64::try_from(self.now_us / 1000).unwrap();
        let answer = self.quorum.append(submission, now_ms);
        self.note(|| format!("quorum: {number} of {n}: {answer:?}"));
        self.announce();
        if let Some(answer) = answer
            && heard == self.nodes[n].life
        {
            let after = self.plan.dice.between(200, 10_000);
            self.later(after, Event::Replied(n, heard, number, Some(answer)));
        }
    }

    fn command_of(&self, n: NodeId, asked: &Asked) -> Option<Command> {
        let node = &self.nodes[n];
        let id = node.broker();
        Some(match asked {
            Asked::Registration => Command::RegisterBroker {
                id,
                incarnation: node.incarnation,
                rack: None,
                endpoints: Vec::new(),
                previous_epoch: None,
                levels: machine::metadata::feature::Levels::BUILD,
            },
            Asked::Unfence => Command::UnfenceBroker {
                id,
                epoch: node.epoch()?,
            },
            Asked::Drain => Command::DrainBroker {
                id,
                epoch: node.epoch()?,
            },
            Asked::Proposal(_, _, proposal) => proposal.command(),
            Asked::Resignation(partition, partition_epoch) => Command::ResignReplica {
                topic: partition.topic,
                partition: partition.partition,
                replica: id,
                partition_epoch: *partition_epoch,
            },
        })
    }

    /// The quorum's answer to a node, or none in time.
    pub(crate) fn replied(&mut self, n: NodeId, number: u64, answer: Option<(u64, Reply)>) {
        let Some(asked) = self.nodes[n].asked.remove(&number) else {
            return;
        };
        if let Some((index, _)) = &answer {
            // Its effect is in the image here before the answer is.
            self.apply_to(n, usize::try_from(*index).unwrap());
        }
        let reply = answer.map(|(_, reply)| reply);
        self.answered(n, asked, reply);
    }

    /// A node's image moves on.
    pub(crate) fn apply(&mut self, n: NodeId) {
        if self.is_cut_from_quorum(n) {
            let life = self.nodes[n].life;
            self.later(50_000, Event::Apply(n, life));
            return;
        }
        let known = self.nodes[n].applied;
        let all = self.quorum.len();
        let behind = all.saturating_sub(known);
        if behind > 0 {
            // Several at once look like one.
            let upto = known + 1 + self.plan.dice.index(behind);
            self.apply_to(n, upto);
            if upto < all {
                let life = self.nodes[n].life;
                let after = self.plan.dice.between(100, 10_000);
                self.later(after, Event::Apply(n, life));
            }
        }
    }

    fn apply_to(&mut self, n: NodeId, index: usize) {
        if index > self.nodes[n].applied {
            self.nodes[n].applied = index;
            self.follow_image(n);
        }
    }

    pub(crate) fn image_of(&self, n: NodeId) -> &Image {
        self.quorum.image_at(self.nodes[n].applied)
    }

    /// As the broker's registration does: it asks to be let in whenever it finds itself fenced.
    fn keep_in(&mut self, n: NodeId) {
        let node = &self.nodes[n];
        let broker = node.broker();
        let Some(epoch) = node.epoch() else { return };
        let fenced = self
            .image_of(n)
            .brokers
            .get(&broker)
            .is_some_and(|known| known.epoch == epoch && known.fenced);
        let asks = node.asked.values().any(|a| matches!(a, Asked::Unfence));
        if fenced && !asks && !node.closing {
            self.submit(n, Asked::Unfence);
        }
    }

    /// What the node does about its new image.
    fn follow_image(&mut self, n: NodeId) {
        if self.nodes[n].place == Place::Serving {
            let id = self.nodes[n].broker();
            let known = self.image_of(n).brokers.get(&id).map(|b| b.epoch);
            if known > self.nodes[n].epoch() {
                // A registration of its last life came late: as if another had its name, it stops.
                self.superseded(n);
                return;
            }
            self.assign_changed(n);
            self.keep_in(n);
        }
    }

    fn answered(&mut self, n: NodeId, asked: Asked, reply: Option<Reply>) {
        let life = self.nodes[n].life;
        match asked {
            Asked::Registration => match reply {
                Some(Reply::Registered { epoch }) => self.serve(n, epoch),
                _ => self.later(AGAIN_MS * 1000, Event::Submit(n, life, Asked::Registration)),
            },
            Asked::Unfence => {
                if !matches!(reply, Some(Reply::Done)) {
                    self.later(AGAIN_MS * 1000, Event::Submit(n, life, Asked::Unfence));
                }
            }
            Asked::Drain => {}
            Asked::Proposal(partition, partition_epoch, proposal) => {
                self.proposal_answered(n, partition, partition_epoch, proposal, reply);
            }
            Asked::Resignation(partition, partition_epoch) => {
                if replica::Verdict::of(reply) != replica::Verdict::Settled {
                    self.resignation_refused(n, partition, partition_epoch);
                }
            }
        }
    }

    /// Again, after a pause, if it is still wanted.
    pub(crate) fn submit_again(&mut self, n: NodeId, asked: Asked) {
        if matches!(asked, Asked::Unfence) {
            self.keep_in(n);
        } else {
            self.submit(n, asked);
        }
    }

    pub(crate) fn propose_later(&mut self, n: NodeId, asked: Asked) {
        let life = self.nodes[n].life;
        self.later(PROPOSE_AGAIN_MS * 1000, Event::Submit(n, life, asked));
    }

    /// The leader of the group looks at who is there: fences the silent, gives leaderships back.
    pub(crate) fn supervise(&mut self) {
        for n in 0..self.nodes.len() {
            let there = self.nodes[n].is_up()
                && !self.nodes[n].is_paused(self.now_us)
                && !self.is_cut_from_quorum(n);
            if there {
                self.quorum.seen_us[n] = self.now_us;
            }
            let silent_us = self.now_us - self.quorum.seen_us[n];
            let wrongly = self.is_rough() && !self.is_quiet() && self.plan.dice.chance(3);
            let known = self.quorum.image().brokers.get(&self.nodes[n].broker());
            // Another data directory answers under its id.
            let other = there && known.is_some_and(|b| b.incarnation != self.nodes[n].incarnation);
            if silent_us > SUSPECT_AFTER_MS * 1000 || wrongly || other {
                self.fence(n);
            }
        }
        if self.plan.dice.chance(30) && self.has_imbalance() {
            self.command(Command::ElectPreferred { partitions: None });
        }
        self.later(SUPERVISE_EVERY_MS * 1000, Event::Supervise);
    }

    fn fence(&mut self, n: NodeId) {
        let id = self.nodes[n].broker();
        let known = self.quorum.image().brokers.get(&id);
        if let Some(epoch) = known.filter(|b| !b.fenced).map(|b| b.epoch) {
            self.command(Command::FenceBroker { id, epoch });
        }
    }

    fn has_imbalance(&self) -> bool {
        let image = self.quorum.image();
        let mut partitions = image.topics.values().flat_map(|t| &t.partitions);
        partitions.any(|p| {
            p.replicas.first().is_some_and(|preferred| {
                p.leader != Some(*preferred)
                    && p.isr.contains(preferred)
                    && image.is_active(*preferred)
            })
        })
    }
}

fn has_shrunk(before: &Image, after: &Image) -> bool {
    before.topics.iter().any(|(id, topic)| {
        let now = after.topics.get(id).into_iter().flat_map(|t| &t.partitions);
        let mut pairs = topic.partitions.iter().zip(now);
        pairs.any(|(old, new)| old.isr.iter().any(|member| !new.isr.contains(member)))
    })
}

pub(crate) fn place(broker: BrokerId) -> NodeId {
    usize::try_from(broker.0 - 1).unwrap()
}

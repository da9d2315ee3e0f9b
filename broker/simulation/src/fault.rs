//! What goes wrong, within what the plan's promise allows.
//!
//! Processes may die, hang and be cut off as they like. Power and disks are lost only so that the
//! promise of the topic holds ([`Promise`]): without `flush.messages=1` one broker at a time, when
//! nothing else has gone wrong for as long as it takes to have everything on disk, and nothing else
//! does until the cluster knows. The same holds for a disk that is replaced.

use std::{collections::BTreeSet, sync::Arc};

use machine::metadata::image::Partition;
use model::Offset;

use crate::{
    dice::Dice,
    event::{Asked, Event, Job, NodeId, Wound},
    plan::Promise,
    world::World,
};

/// For so long nothing else may go wrong, before and after a loss: longer than it takes to sync, or to
/// miss a broker.
const APART_US: u64 = 700_000;
/// A loss that may not come for so long is called off.
const PLANNED_US: u64 = 6_000_000;

/// What may be lost for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// What is not on the disk.
    Power,
    Disk,
}

impl World {
    fn count(&mut self, fault: &'static str) {
        *self.faults.entry(fault).or_default() += 1;
    }

    /// Nothing else is to go wrong now.
    pub(crate) fn is_quiet(&self) -> bool {
        self.planned.is_some() || self.now_us < self.quiet_until_us
    }

    pub(crate) fn fault(&mut self) {
        if !self.is_rough() {
            return;
        }
        if let Some((loss, n, since_us)) = self.planned {
            self.later(50_000, Event::Fault);
            if self.may_lose(n) {
                self.planned = None;
                self.quiet_until_us = self.now_us + APART_US;
                match loss {
                    Loss::Power => self.cut_power_now(n),
                    Loss::Disk => self.replace_disk(n),
                }
            } else if self.now_us > since_us + PLANNED_US {
                self.planned = None;
            }
            return;
        }
        let every = self.plan.fault_every_ms * 1000;
        let after = self.plan.dice.between(every / 4, every * 2);
        self.later(after, Event::Fault);
        if self.is_quiet() {
            return;
        }
        let n = self.plan.dice.index(self.nodes.len());
        let drawn = self.plan.dice.roll(100);
        if !(18..39).contains(&drawn) {
            self.fault_us = self.now_us;
        }
        match drawn {
            0..18 => self.kill(n),
            18..34 => self.cut_power(n),
            34..39 => self.plan_loss(Loss::Disk, n),
            39..52 => self.pause(n),
            52..62 => self.cut_off(n, false),
            62..72 => self.cut_off(n, true),
            72..80 => self.cut_quorum(n),
            80..86 => self.fill_disk(n),
            86..91 => self.stop_cleanly(n),
            91..96 => self.delete_records(),
            _ => self.kill_all(),
        }
    }

    fn plan_loss(&mut self, loss: Loss, n: NodeId) {
        if self.plan.promise != Promise::OneInMemory {
            self.planned = Some((loss, n, self.now_us));
        }
    }

    /// Whether everybody else has, on a disk, what this one has.
    fn may_lose(&self, n: NodeId) -> bool {
        let broker = self.nodes[n].broker();
        let needed = |p: &Partition| p.isr.contains(&broker) && p.isr.len() == 1;
        let well = self.nodes.iter().all(|node| {
            node.is_up() && !node.is_paused(self.now_us) && !node.disk.is_full() && !node.closing
        });
        // What is under way could leave this one alone in sync.
        let proposed = |a: &Asked| matches!(a, Asked::Proposal(..) | Asked::Resignation(..));
        let settled = !self.nodes.iter().any(|n| n.asked.values().any(proposed));
        let connected = self.cut.is_empty() && self.cut_from_quorum.is_empty();
        let shrunk_us = u64::try_from(self.quorum.shrunk_ms).unwrap() * 1000;
        let last = self.fault_us.max(shrunk_us).max(self.quiet_until_us);
        well && settled && connected && self.now_us > last + APART_US && !self.agreed().any(needed)
    }

    /// The process dies; what it wrote is in the page cache.
    fn kill(&mut self, n: NodeId) {
        if !self.nodes[n].is_up() {
            return;
        }
        self.count("kill");
        self.note(|| format!("{n} is killed"));
        self.nodes[n].stop();
        self.nodes[n].left = commitlog::Shutdown::Unclean;
        self.hang_up(n);
        let after = self.plan.dice.between(10_000, 3_000_000);
        self.later(after, Event::Restart(n));
    }

    /// It stops by itself, and is started again.
    pub(crate) fn superseded(&mut self, n: NodeId) {
        self.count("superseded");
        self.note(|| format!("{n} is superseded"));
        self.nodes[n].stop();
        self.nodes[n].left = commitlog::Shutdown::Unclean;
        self.hang_up(n);
        self.fault_us = self.now_us;
        self.later(100_000, Event::Restart(n));
    }

    fn kill_all(&mut self) {
        self.count("kill all");
        for n in 0..self.nodes.len() {
            self.kill(n);
        }
    }

    /// Power goes, now or in the middle of what comes next.
    fn cut_power(&mut self, n: NodeId) {
        if self.plan.promise != Promise::Synced {
            self.plan_loss(Loss::Power, n);
            return;
        }
        self.fault_us = self.now_us;
        if self.plan.dice.chance(200) {
            self.count("power everywhere");
            for n in 0..self.nodes.len() {
                self.cut_power_now(n);
            }
        } else if self.nodes[n].is_up() && self.plan.dice.chance(500) {
            self.count("power amid a sync");
            let syncs = self.plan.dice.roll(6);
            let dice = Dice::new(self.plan.dice.roll(u64::MAX));
            self.nodes[n].disk.strike_at(syncs, dice);
        } else {
            self.cut_power_now(n);
        }
    }

    fn cut_power_now(&mut self, n: NodeId) {
        self.count("power");
        self.note(|| format!("{n} loses power"));
        let root = self.nodes[n].root.clone();
        let disk = self.nodes[n].disk.clone();
        let remains = disk.remains(&root, &mut self.plan.dice);
        self.lose_power(n, &remains);
    }

    /// The broker comes back with another disk, and nothing on it.
    fn replace_disk(&mut self, n: NodeId) {
        self.count("disk replaced");
        self.note(|| format!("{n} has another disk"));
        let node = &mut self.nodes[n];
        node.stop();
        node.left = commitlog::Shutdown::Unclean;
        node.incarnation = uuid::Uuid::from_u128(node.incarnation.as_u128() + 1000);
        std::fs::remove_dir_all(&node.root).unwrap();
        std::fs::create_dir_all(&node.root).unwrap();
        node.disk.restore(&Default::default());
        node.applied = 0;
        self.hang_up(n);
        let after = self.plan.dice.between(500_000, 3_000_000);
        self.later(after, Event::Restart(n));
    }

    fn agreed(&self) -> impl Iterator<Item = &Partition> {
        let topics = self.quorum.image().topics.values();
        topics.flat_map(|t| t.partitions.iter().map(AsRef::as_ref))
    }

    fn pause(&mut self, n: NodeId) {
        if !self.nodes[n].is_up() || self.nodes[n].is_paused(self.now_us) {
            return;
        }
        self.count("pause");
        let after = self.plan.dice.between(50_000, 3_000_000);
        self.note(|| format!("{n} stands still for {after}"));
        self.nodes[n].paused_until_us = self.now_us + after;
        self.later(after, Event::Resume(n));
    }

    /// A node goes on with all that came meanwhile.
    pub(crate) fn resume(&mut self, n: NodeId) {
        if self.nodes[n].is_paused(self.now_us) {
            return;
        }
        self.note(|| format!("{n} goes on"));
        for event in std::mem::take(&mut self.nodes[n].deferred) {
            self.at(self.now_us, event);
        }
    }

    /// From others, in both directions or in one.
    fn cut_off(&mut self, n: NodeId, one_way: bool) {
        self.count(if one_way { "one-way cut" } else { "cut" });
        let sends = self.plan.dice.chance(500);
        let all = self.plan.dice.chance(600);
        let after = self.plan.dice.between(100_000, 3_000_000);
        let mut links = Vec::new();
        for other in 0..self.nodes.len() {
            if other != n && (all || self.plan.dice.chance(500)) {
                if !one_way || sends {
                    links.push((n, other));
                }
                if !one_way || !sends {
                    links.push((other, n));
                }
            }
        }
        self.note(|| format!("nothing passes {links:?}"));
        for (from, to) in links {
            self.cut.push((from, to));
            self.later(after, Event::Mend(Wound::Link(from, to)));
        }
        self.tell_whom_nobody_hears();
        if all && self.plan.dice.chance(700) {
            self.cut_quorum(n);
        }
    }

    /// Every broker is told whom it hears no more; for the machines it makes no difference how soon.
    fn tell_whom_nobody_hears(&mut self) {
        for n in 0..self.nodes.len() {
            let unheard = (0..self.nodes.len())
                .filter(|m| self.cut.contains(&(*m, n)) || self.cut.contains(&(n, *m)))
                .map(|m| self.nodes[m].broker());
            let unheard = Arc::new(unheard.collect::<BTreeSet<_>>());
            let partitions: Vec<_> = self.nodes[n].hosted.keys().copied().collect();
            for partition in partitions {
                let unheard = unheard.clone();
                self.job(n, Job::Lost { partition, unheard });
            }
        }
    }

    fn cut_quorum(&mut self, n: NodeId) {
        self.count("cut from quorum");
        self.note(|| format!("{n} does not reach the quorum"));
        let after = self.plan.dice.between(100_000, 3_000_000);
        self.cut_from_quorum.push(n);
        self.later(after, Event::Mend(Wound::Quorum(n)));
    }

    fn fill_disk(&mut self, n: NodeId) {
        if !self.nodes[n].is_up() || self.nodes[n].disk.is_full() {
            return;
        }
        self.count("full disk");
        self.note(|| format!("{n} has a full disk"));
        self.nodes[n].disk.fill(true);
        let after = self.plan.dice.between(100_000, 3_000_000);
        self.later(after, Event::Mend(Wound::FullDisk(n)));
    }

    pub(crate) fn mend(&mut self, wound: Wound) {
        match wound {
            Wound::Link(from, to) => {
                if let Some(at) = self.cut.iter().position(|l| *l == (from, to)) {
                    self.cut.swap_remove(at);
                }
                self.tell_whom_nobody_hears();
            }
            Wound::Quorum(n) => {
                if let Some(at) = self.cut_from_quorum.iter().position(|m| *m == n) {
                    self.cut_from_quorum.swap_remove(at);
                }
            }
            Wound::FullDisk(n) => self.nodes[n].disk.fill(false),
        }
    }

    /// Hands over, closes its logs, comes back.
    fn stop_cleanly(&mut self, n: NodeId) {
        if self.nodes[n].epoch().is_none() || self.nodes[n].closing {
            return;
        }
        self.count("clean stop");
        self.note(|| format!("{n} is told to stop"));
        self.nodes[n].closing = true;
        self.submit(n, Asked::Drain);
        let life = self.nodes[n].life;
        let closes = self.plan.dice.between(10_000, 500_000);
        self.later(closes, Event::Close(n, life));
        let after = self.plan.dice.between(600_000, 2_000_000);
        self.later(after, Event::Restart(n));
    }

    fn delete_records(&mut self) {
        self.count("records deleted");
        let partitions = self.partitions();
        let partition = partitions[self.plan.dice.index(partitions.len())];
        let leader = (0..self.nodes.len()).find(|n| {
            let hosted = self.nodes[*n].hosted.get(&partition);
            hosted.is_some_and(|h| h.shown.leading)
        });
        if let Some(n) = leader {
            let watermark = self.nodes[n].hosted[&partition].shown.high_watermark;
            let before = self.plan.dice.roll(watermark.0.unsigned_abs() + 1);
            let before = Offset(i64::try_from(before).unwrap());
            // Of deleted records nobody knows after a crash that a producer sent them, as in Kafka: they
            // are not deleted before it has heard of them.
            let unheard = self.producers.iter().enumerate();
            let unheard = unheard
                .filter(|(_, p)| p.idempotent && p.partition == partition)
                .map(|(index, _)| self.ledger.heard_upto(partition, index));
            let before = unheard.min().unwrap_or(before).min(before);
            self.job(n, Job::DeleteRecords { partition, before });
        }
    }

    /// All that was broken is whole: from here on the cluster has to come right by itself.
    pub(crate) fn mend_all(&mut self) {
        self.note(|| "everything is mended".into());
        self.cut.clear();
        self.cut_from_quorum.clear();
        for n in 0..self.nodes.len() {
            self.nodes[n].disk.fill(false);
            self.nodes[n].paused_until_us = 0;
            self.resume(n);
            self.later(0, Event::Restart(n));
            let life = self.nodes[n].life;
            self.later(100, Event::Apply(n, life));
        }
    }
}

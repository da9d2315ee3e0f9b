use model::{BrokerId, TopicId};
use uuid::Uuid;

use super::command::{Assignment, Command, Refusal, Reply};
use super::feature::Levels;
use super::image::{Image, Partition};

mod brokers;
mod eligible;
mod feature;
mod invariants;
mod reassignment;
mod submissions;
mod topics;
mod topology;

/// An image with a log in front: each command is the next entry.
struct Cluster {
    image: Image,
    now_ms: i64,
}

impl Cluster {
    /// Active brokers 0.. in the given racks.
    fn with_racks(racks: &[&str]) -> Self {
        let mut cluster = Self {
            image: Image::genesis(),
            now_ms: 0,
        };
        for (id, rack) in (0..).zip(racks) {
            cluster.register(id, rack, u128::from(id.unsigned_abs()));
            cluster.unfence(id);
        }
        cluster
    }

    fn apply(&mut self, command: Command) -> Reply {
        let index = self.image.index + 1;
        self.image.apply(command, self.now_ms, index)
    }

    fn done(&mut self, command: Command) {
        assert_eq!(self.apply(command), Reply::Done);
    }

    fn refused(&mut self, command: Command) -> Refusal {
        match self.apply(command) {
            Reply::Refused(refusal) => refusal,
            other => panic!("carried out: {other:?}"),
        }
    }

    fn register(&mut self, id: i32, rack: &str, incarnation: u128) -> Reply {
        self.register_after(id, rack, incarnation, None)
    }

    /// Registers after a life that ended in order, with its epoch.
    fn register_after(
        &mut self,
        id: i32,
        rack: &str,
        incarnation: u128,
        previous_epoch: Option<i64>,
    ) -> Reply {
        self.apply(Command::RegisterBroker {
            id: BrokerId(id),
            incarnation: Uuid::from_u128(incarnation),
            rack: Some(rack.to_owned()),
            endpoints: Vec::new(),
            previous_epoch,
            levels: Levels::BUILD,
        })
    }

    fn epoch(&self, id: i32) -> i64 {
        let broker = self.image.brokers.get(&BrokerId(id));
        broker.map_or(-1, |broker| broker.epoch)
    }

    fn fence(&mut self, id: i32) {
        let epoch = self.epoch(id);
        self.done(Command::FenceBroker {
            id: BrokerId(id),
            epoch,
        });
    }

    fn unfence(&mut self, id: i32) {
        let epoch = self.epoch(id);
        self.done(Command::UnfenceBroker {
            id: BrokerId(id),
            epoch,
        });
    }

    fn drain(&mut self, id: i32) {
        let epoch = self.epoch(id);
        self.done(Command::DrainBroker {
            id: BrokerId(id),
            epoch,
        });
    }

    fn create(&mut self, name: &str, assignment: Assignment) -> TopicId {
        let id = TopicId(Uuid::from_u128(u128::from(self.image.index)));
        let reply = self.apply(create(name, id, assignment));
        assert_eq!(reply, Reply::TopicCreated { id });
        id
    }

    fn partition(&self, topic: TopicId, number: usize) -> &Partition {
        &self.image.topics[&topic].partitions[number]
    }
}

fn create(name: &str, id: TopicId, assignment: Assignment) -> Command {
    Command::CreateTopic {
        name: name.to_owned(),
        id,
        assignment,
        configs: Vec::new(),
    }
}

fn spread(partitions: i32, replication_factor: i16) -> Assignment {
    Assignment::Spread {
        partitions,
        replication_factor,
    }
}

fn manual(assignment: &[&[i32]]) -> Assignment {
    Assignment::Manual(assignment.iter().map(|ids| brokers(ids)).collect())
}

fn brokers(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId).collect()
}

//! Opening a replica's log.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicBool},
};

use arc_swap::ArcSwap;
use commitlog::Error;
use machine::replica::Membership;
use model::{Epoch, TopicPartition};
use parking_lot::RwLock;
use replica::{Opening, Timing};
use tokio::sync::watch;

use super::{Context, Mailbox, compacting::Compacting, hosted::Hosted, scrubbing::Scrubbing};
use crate::partition::{
    PARTITIONS, clock,
    handle::{Progress, Role, Shared, Snapshot},
    nearby::Nearby,
    settings::Settings,
};

impl Hosted {
    /// As [`Opening::open`]. `damaged` says that reading has found damage which opening may not see.
    pub(super) fn open(
        context: &Arc<Context>,
        partition: TopicPartition,
        topic: &Arc<str>,
        membership: &Membership,
        settings: Arc<Settings>,
        mailbox: &Mailbox,
        damaged: bool,
    ) -> Result<Self, Error> {
        let name = format!("{}-{}", partition.topic, partition.partition);
        let directory = context.directory.join(PARTITIONS).join(name);
        let config = commitlog::Config {
            opened_after: context.opened_after,
            ..settings.log(&context.resources)
        };
        let mut local = Opening {
            this: context.this,
            partition,
            directory,
            membership,
            rules: settings.rules(&context.config),
            log: config,
            timing: Timing {
                sync_ms: context.config.sync_ms,
                sync_bytes: context.config.sync_bytes,
            },
            watermarks: context.watermarks.clone(),
            damaged,
            wall_ms: clock::wall_ms(),
        }
        .open()?;
        // While nobody looked some may have become too old.
        local.expire_producers(clock::wall_ms() - context.tuning.producers_expire_ms());
        local.delay_delivery(settings.topic().delivery_delay_ms, clock::wall_ms());
        let shared = Arc::new(Shared {
            partition,
            mailbox: mailbox.clone(),
            reader: local.reader().clone(),
            settings: ArcSwap::new(settings),
            snapshot: RwLock::new(Snapshot {
                role: Role::Follower,
                leader: None,
                leader_epoch: Epoch::UNKNOWN,
                partition_epoch: -1,
                replicas: Vec::new(),
                isr: Vec::new(),
                in_sync: false,
                min_isr: 1,
                high_watermark: local.machine().high_watermark(),
                readable_end: local.readable_end(),
                hidden_upto: local.hidden_upto(),
                held: local.held().0,
                watermark_settled: true,
            }),
            progress: watch::channel(Progress::default()).0,
            nearby: Nearby::default(),
            suspected: AtomicBool::new(false),
            turn: tokio::sync::Mutex::default(),
            inflaters: context.inflaters.clone(),
            room: context.room.clone(),
            room_max: u32::try_from(context.config.queue_bytes_max).unwrap_or(u32::MAX),
            contact: context.proposals.metadata.contact(),
        });
        Ok(Self {
            context: context.clone(),
            partition,
            topic: topic.clone(),
            records: context.metrics.records(topic),
            local,
            shared,
            waiting: HashMap::new(),
            next_token: 0,
            answers: Vec::new(),
            following: None,
            compacting: Compacting::default(),
            scrubbing: Scrubbing::default(),
            uncleanable: false,
            deadline_ms: None,
        })
    }
}

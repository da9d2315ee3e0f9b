//! Opening a replica's log.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use arc_swap::ArcSwap;
use commitlog::{Error, Log};
use machine::replica::{Ends, Membership, Replica};
use model::{Epoch, TopicPartition};
use parking_lot::RwLock;
use tokio::sync::watch;

use super::{
    Context, Mailbox,
    compacting::Compacting,
    hosted::{Hosted, SyncState},
    producers, watermark,
};
use crate::partition::{
    clock,
    handle::{Progress, Role, Shared, Snapshot},
    settings::Settings,
};

/// Where the logs of a data directory are.
pub(in crate::partition) const PARTITIONS: &str = "partitions";

impl Hosted {
    /// Opens or makes the log. A damaged one is moved aside and begun anew when others are in the in-sync
    /// set and this replica is not: empty it must not be elected. Otherwise it stays as it is, for a
    /// person to look at. `damaged` says that reading has found damage which opening may not see.
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
        let elsewhere = membership.leader.is_some_and(|l| l != context.this)
            && !membership.in_sync.contains(&context.this);
        if damaged && elsewhere {
            set_aside(partition, &directory)?;
        }
        let opened = match Log::open(&directory, config.clone()) {
            Err(error @ Error::Corrupt { .. }) if elsewhere => {
                tracing::error!(
                    %partition,
                    error = &error as &dyn std::error::Error,
                    "log is damaged"
                );
                set_aside(partition, &directory)?;
                Log::open(&directory, config)
            }
            other => other,
        };
        let (log, recovered) = opened?;
        if recovered.cut_bytes > 0 {
            tracing::warn!(
                %partition,
                bytes = recovered.cut_bytes,
                end = %log.end_offset(),
                "torn end of the log was cut"
            );
        }
        let reader = log.reader();
        let ends = Ends {
            start: reader.start_offset(),
            end: reader.end_offset(),
            synced: reader.synced_offset(),
        };
        let producers = producers::recount(&directory, &reader);
        let machine = Replica::new(
            context.this,
            settings.rules(&context.config),
            ends,
            watermark::load(&directory).unwrap_or(ends.start),
            producers,
        );
        let shared = Arc::new(Shared {
            partition,
            mailbox: mailbox.clone(),
            reader,
            settings: ArcSwap::new(settings),
            snapshot: RwLock::new(Snapshot {
                role: Role::Follower,
                leader: None,
                leader_epoch: Epoch::UNKNOWN,
                partition_epoch: -1,
                replicas: Vec::new(),
                isr: Vec::new(),
                min_isr: 1,
                high_watermark: machine.high_watermark(),
                watermark_settled: true,
            }),
            progress: watch::channel(Progress::default()).0,
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
            directory,
            producers_at: ends.end,
            watermark_at: machine.high_watermark(),
            store_watermark_ms: None,
            log,
            machine,
            shared,
            staged: Vec::new(),
            staged_records: 0,
            waiting: HashMap::new(),
            next_token: 0,
            answers: Vec::new(),
            sync: SyncState::default(),
            following: None,
            fault: None,
            compacting: Compacting::default(),
            uncleanable: false,
            deadline_ms: None,
            warm_since_ms: None,
        })
    }
}

fn set_aside(partition: TopicPartition, directory: &Path) -> Result<(), Error> {
    let aside = directory.with_extension(format!("damaged-{}", clock::wall_ms()));
    match std::fs::rename(directory, &aside) {
        Ok(()) => {}
        // By an earlier try, behind which no new log could be made.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(Error::Io {
                doing: "set aside",
                path: directory.into(),
                source,
            });
        }
    }
    tracing::warn!(
        %partition,
        aside = %aside.display(),
        "damaged log is set aside and copied from its leader again"
    );
    Ok(())
}

//! What fronts and coordinators hold of one replica.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use arc_swap::ArcSwap;
use commitlog::Reader;
use model::{
    BrokerId, Epoch, Offset, TopicPartition,
    batch::{Batch, Header},
};
use parking_lot::RwLock;
use tokio::sync::{Semaphore, oneshot, watch};

use super::{
    append::{Acks, Append, AppendError, Appended, Unchecked},
    blocking::Pool,
    driver::{Job, Mailbox},
    nearby::Nearby,
    read::{self, Read, ReadData, ReadError, TimedOffset},
    settings::Settings,
};
use crate::metadata::Contact;

/// Why records could not be deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeleteError {
    #[error("this broker does not lead the partition")]
    NotLeader {
        leader: Option<BrokerId>,
        epoch: Epoch,
    },
    #[error("offset is outside [{start}, {end}]")]
    OffsetOutOfRange {
        start: Offset,
        /// Of what consumers can read.
        end: Offset,
    },
    #[error("{0}")]
    Storage(String),
    #[error("the broker stops")]
    Stopping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Leader,
    Follower,
}

/// A replica at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub role: Role,
    /// Who leads as far as this broker knows.
    pub leader: Option<BrokerId>,
    pub leader_epoch: Epoch,
    pub partition_epoch: i32,
    pub log_start: Offset,
    pub high_watermark: Offset,
    /// Consumers may read what lies below: the high watermark, or less while records wait for the
    /// topic's delivery delay.
    pub readable_end: Offset,
    pub last_stable_offset: Offset,
    pub log_end: Offset,
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    /// The smaller of `min.insync.replicas` and the number of replicas.
    pub min_isr: usize,
    pub size_bytes: u64,
    /// Records that wait for the time that they name.
    pub held: u64,
    /// False on a new leader that does not know yet how far its predecessor had come: what it says
    /// about the latest offset may be too little (KIP-207).
    pub watermark_settled: bool,
}

/// What a long poll waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub high_watermark: Offset,
    pub readable_end: Offset,
    pub last_stable_offset: Offset,
    pub log_end: Offset,
    pub log_start: Offset,
    pub leader_epoch: Epoch,
    /// False on a follower.
    pub leading: bool,
}

/// One replica of one partition on this broker. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle(pub(super) Arc<Shared>);

/// What the driver of a replica shares with its handles.
#[derive(Debug)]
pub(super) struct Shared {
    pub partition: TopicPartition,
    pub mailbox: Mailbox,
    pub reader: Reader,
    pub settings: ArcSwap<Settings>,
    pub snapshot: RwLock<Snapshot>,
    pub progress: watch::Sender<Progress>,
    pub nearby: Nearby,
    /// The driver is asked to look for damage and has not looked yet.
    pub suspected: AtomicBool,
    /// Held by the append that is being checked and handed over.
    pub turn: tokio::sync::Mutex<()>,
    /// Where large batches are inflated, over all partitions.
    pub inflaters: Pool,
    /// Bytes that may still wait for drivers, over all partitions.
    pub room: Arc<Semaphore>,
    /// All of it.
    pub room_max: u32,
    pub contact: Contact,
}

/// Role and watermark, published by the driver.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub role: Role,
    pub leader: Option<BrokerId>,
    pub leader_epoch: Epoch,
    pub partition_epoch: i32,
    pub replicas: Vec<BrokerId>,
    pub isr: Vec<BrokerId>,
    /// This replica is among them.
    pub in_sync: bool,
    pub min_isr: usize,
    pub high_watermark: Offset,
    pub readable_end: Offset,
    /// Batches that consumers are not to see lie below.
    pub hidden_upto: Offset,
    pub held: u64,
    pub watermark_settled: bool,
}

impl Handle {
    pub fn partition(&self) -> TopicPartition {
        self.0.partition
    }

    pub fn status(&self) -> Status {
        let now = self.0.snapshot.read().clone();
        Status {
            role: now.role,
            leader: now.leader,
            leader_epoch: now.leader_epoch,
            partition_epoch: now.partition_epoch,
            log_start: self.0.reader.start_offset(),
            high_watermark: now.high_watermark,
            readable_end: now.readable_end,
            last_stable_offset: now.readable_end,
            log_end: self.0.reader.end_offset(),
            replicas: now.replicas,
            isr: now.isr,
            min_isr: now.min_isr,
            size_bytes: self.0.reader.size_bytes(),
            held: now.held,
            watermark_settled: now.watermark_settled,
        }
    }

    /// Appends one batch and waits as its `acks` say.
    ///
    /// # Errors
    /// See [`AppendError`]; only where a variant says so may the batch have been written.
    pub async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let (leader, epoch, role) = self.leadership();
        let leads = role == Role::Leader;
        let elsewhere = AppendError::NotLeader { leader, epoch };
        // The driver has to hear of a producer's batch before it refuses the ones behind it, however it
        // comes to lead meanwhile.
        if !leads && !Header::parse(&append.batches).is_ok_and(|h| h.is_idempotent()) {
            return Err(elsewhere);
        }
        // Appends reach the driver in the order they came, however long each takes to check.
        let turn = self.0.turn.lock().await;
        let checked = self.check(&append).await;
        // What is wrong with a batch is for its leader to say.
        let (batch, log_append_time) = checked.map_err(|e| if leads { e } else { elsewhere })?;
        let weight = u32::try_from(batch.bytes.len()).unwrap_or(u32::MAX);
        let permit = self
            .0
            .room
            .clone()
            .acquire_many_owned(weight.min(self.0.room_max))
            .await
            .map_err(|_| AppendError::Stopping)?;
        let (answer, answered) = oneshot::channel();
        self.0.mailbox.send(Job::Append {
            partition: self.0.partition,
            batch,
            acks: append.acks,
            timeout: append.timeout,
            log_append_time,
            origin: append.origin,
            answer,
            permit,
        });
        drop(turn);
        let cut_off = async {
            if append.acks == Acks::All {
                let in_sync = self.0.snapshot.read().isr.clone();
                self.0.contact.lost(&in_sync).await;
            } else {
                std::future::pending().await
            }
        };
        tokio::select! {
            biased;
            answer = answered => answer.unwrap_or(Err(AppendError::Stopping)),
            () = cut_off => Err(AppendError::CutOff),
        }
    }

    async fn check(&self, append: &Append) -> Result<(Batch, Option<i64>), AppendError> {
        let unchecked = Unchecked::of(append, &self.0.settings.load())?;
        let walked = match unchecked.walk_here() {
            Some(walked) => walked,
            None => {
                let unchecked = unchecked.clone();
                let walked = self.0.inflaters.run(move || unchecked.walk());
                walked.await.unwrap_or(Err(AppendError::Stopping))
            }
        };
        unchecked.stamp(walked?)
    }

    /// Reads whole batches. Never waits for appends, but may wait for the disk: see
    /// [`super::Roster::readers`].
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(&self, read: Read) -> Result<ReadData, ReadError> {
        let now = self.0.snapshot.read().clone();
        let outcome = self.noting(read::read(&self.0.reader, &now, &read));
        outcome.map_err(|error| self.unless_cut_off(&now, &read, error))
    }

    /// As [`Self::read`] from memory alone; `None` when the disk would be asked.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read_cached(&self, read: Read) -> Result<Option<ReadData>, ReadError> {
        let now = self.0.snapshot.read().clone();
        let outcome = read::read_cached(&self.0.reader, &now, &read);
        outcome.map_err(|error| self.unless_cut_off(&now, &read, error))
    }

    /// What this log has not may be in a successor's that this broker has not heard of: a client that is
    /// told that there is no such offset would begin anew elsewhere in the partition.
    fn unless_cut_off(&self, now: &Snapshot, read: &Read, error: ReadError) -> ReadError {
        match error {
            ReadError::OffsetOutOfRange { end, .. }
                if read.offset > end && self.is_cut_off_as(now) =>
            {
                ReadError::NotLeader {
                    leader: None,
                    epoch: now.leader_epoch,
                }
            }
            error => error,
        }
    }

    /// Whether this replica leads as far as it knows, and would not be told if another did.
    pub fn is_cut_off(&self) -> bool {
        let now = self.0.snapshot.read().clone();
        self.is_cut_off_as(&now)
    }

    fn is_cut_off_as(&self, now: &Snapshot) -> bool {
        now.role == Role::Leader && self.0.contact.is_lost(&now.isr)
    }

    /// Follows the ends of the log; a fetch long poll waits on it.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.0.progress.subscribe()
    }

    /// The first record with a timestamp of `timestamp` (milliseconds since 1970) or later. May wait for
    /// the disk.
    ///
    /// # Errors
    /// [`ReadError::Storage`].
    pub fn offset_for_time(&self, timestamp: i64) -> Result<Option<TimedOffset>, ReadError> {
        self.noting(read::offset_for_time(&self.0.reader, timestamp))
    }

    /// The record with the newest timestamp. May wait for the disk.
    ///
    /// # Errors
    /// [`ReadError::Storage`].
    pub fn max_timestamp(&self) -> Result<Option<TimedOffset>, ReadError> {
        let waits_from =
            (self.delivery_delay_ms() > 0).then(|| self.0.snapshot.read().readable_end);
        self.noting(read::max_timestamp(&self.0.reader, waits_from))
    }

    /// Milliseconds from append until consumers can read a record.
    pub fn delivery_delay_ms(&self) -> i64 {
        self.0.settings.load().topic().delivery_delay_ms
    }

    /// The largest epoch at or below `asked` and its end; (-1, -1) when `asked` is not known here.
    pub fn epoch_end(&self, asked: Epoch) -> (Epoch, Offset) {
        let (_, current, _) = self.leadership();
        replica::epoch_end(&self.0.reader, current, asked)
    }

    /// Epoch of the records at `offset`; `None` when it is not known here.
    pub fn epoch_at(&self, offset: Offset) -> Option<Epoch> {
        self.0.reader.epoch_at(offset)
    }

    /// True when records may be deleted: the topic's `cleanup.policy` has `delete`.
    pub fn deletes(&self) -> bool {
        self.0.settings.load().topic().delete
    }

    /// Deletes records below `before`, at most those that consumers can read. Answers the new start.
    /// Followers delete when they fetch next.
    ///
    /// # Errors
    /// See [`DeleteError`].
    pub async fn delete_records(&self, before: Offset) -> Result<Offset, DeleteError> {
        let (answer, answered) = oneshot::channel();
        self.0.mailbox.send(Job::DeleteRecords {
            partition: self.0.partition,
            before,
            answer,
        });
        answered.await.unwrap_or(Err(DeleteError::Stopping))
    }

    /// Has the driver look where a reader found the log damaged: another replica may have it whole.
    pub(super) fn suspect(&self, offset: Offset) {
        if !self.0.suspected.swap(true, Ordering::AcqRel) {
            self.0.mailbox.send(Job::Suspected {
                partition: self.0.partition,
                offset,
            });
        }
    }

    fn noting<T>(&self, read: Result<T, ReadError>) -> Result<T, ReadError> {
        if let Err(ReadError::Damaged { offset, .. }) = &read {
            self.suspect(*offset);
        }
        read
    }

    fn leadership(&self) -> (Option<BrokerId>, Epoch, Role) {
        let now = self.0.snapshot.read();
        (now.leader, now.leader_epoch, now.role)
    }
}

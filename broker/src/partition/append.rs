//! Appending: what is asked, what is answered, and what is checked before a driver sees it. Large
//! compressed batches are checked away from the threads of the runtime.

use std::time::Duration;

use bytes::Bytes;
use machine::replica::{Ack, Refusal};
use model::{
    BrokerId, Epoch, Offset,
    batch::{
        self, Batch,
        validate::{self, Delivery, Rejected, Rules, Timestamps, Walked},
    },
};

use super::{
    clock,
    inflate::{self, Unreadable},
    recompress::Target,
    settings::Settings,
};

/// One batch to append to a partition.
#[derive(Clone, Debug)]
pub struct Append {
    /// One record batch, base offset 0.
    pub batches: Bytes,
    pub acks: Acks,
    /// How long to wait for the in-sync replicas; of use with [`Acks::All`].
    pub timeout: Duration,
    pub origin: Origin,
}

/// When an append is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// As soon as it is written; the caller tells nobody.
    None,
    /// As soon as the leader has it.
    Leader,
    /// When every in-sync replica has it, and at least `min.insync.replicas`.
    All,
}

/// Who appends: coordinators may write control batches and are not held to the topic's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Client,
    Coordinator,
}

/// Where an append went. A batch that was there already is answered with its first place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub base_offset: Offset,
    pub last_offset: Offset,
    pub log_start: Offset,
    /// Milliseconds since 1970, when the broker's time replaced the producer's or the batch was a
    /// duplicate (then the first one's timestamp).
    pub log_append_time: Option<i64>,
}

/// Why an append was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    #[error("this broker does not lead the partition")]
    NotLeader {
        leader: Option<BrokerId>,
        epoch: Epoch,
    },
    /// The bytes are no batch, or more than one.
    #[error("{0}")]
    NotOneBatch(String),
    /// `indexes` are the records inside the batch that are at fault, where some are.
    #[error("{message}")]
    InvalidRecord { indexes: Vec<i32>, message: String },
    #[error("batch was damaged on its way")]
    CorruptMessage,
    /// Larger than `max.message.bytes`.
    #[error("batch of {size} bytes, at most {max} allowed")]
    MessageTooLarge { size: usize, max: usize },
    /// Larger than a segment.
    #[error("batch of {size} bytes, a segment holds {max}")]
    RecordListTooLarge { size: usize, max: usize },
    /// `timestamp` is that of the first.
    #[error("timestamp {timestamp} of records {indexes:?} is out of range")]
    InvalidTimestamp { indexes: Vec<i32>, timestamp: i64 },
    /// `at_ms` is that of the first.
    #[error(
        "records {indexes:?} are to be delivered at {at_ms}, further from now than millrace.delivery.at.max.ms allows"
    )]
    DeliveryTooFar { indexes: Vec<i32>, at_ms: i64 },
    #[error("compression codec {0} is unknown")]
    UnsupportedCompression(u8),
    /// Nothing was written.
    #[error("{in_sync} replicas are in sync, {required} required")]
    NotEnoughReplicas { in_sync: usize, required: usize },
    /// Written, but not by every in-sync replica in time.
    #[error("replicas did not follow in time")]
    Timeout,
    #[error("sequence {given} of producer {producer}, {expected} expected")]
    OutOfOrderSequence {
        producer: i64,
        given: i32,
        expected: i32,
    },
    #[error("epoch {given} of producer {producer}, {current} is current")]
    InvalidProducerEpoch {
        producer: i64,
        given: i16,
        current: i16,
    },
    /// Written, and may yet be committed: this broker hears neither the metadata quorum nor all in-sync
    /// replicas, and would not learn that another one leads.
    #[error("this broker is cut off from the others, and may not lead the partition any more")]
    CutOff,
    /// The disk refused. Nothing was acknowledged.
    #[error("{0}")]
    Storage(String),
    #[error("the broker stops")]
    Stopping,
}

/// Bytes of a compressed payload that is inflated on the thread it came in on.
const HERE_BYTES_MAX: usize = 64 << 10;
/// Bytes that it may have inside; a larger one is left to another thread all the same.
const HERE_INFLATED_BYTES_MAX: usize = 1 << 20;

/// A batch whose envelope is in order. What is left to check is its records, and what is left to decide
/// needs the replica.
#[derive(Clone)]
pub(super) struct Unchecked {
    batch: Batch,
    rules: Rules,
    /// Milliseconds since 1970 that replace the producer's timestamps, where the topic says so.
    log_append_time: Option<i64>,
    /// How the topic wants it compressed, where that is not how it is.
    target: Option<Target>,
    batch_bytes_max: usize,
    /// Records wait for no time of their own.
    compacted: bool,
}

/// What is to be known of a batch that is in order.
pub(super) struct Checked {
    walked: Walked,
    /// The batch as the topic wants it compressed, where that is not how it came. Not at all where records
    /// wait in it: those that are due are taken out one by one.
    recompressed: Option<Bytes>,
}

impl Unchecked {
    pub(super) fn of(append: &Append, settings: &Settings) -> Result<Self, AppendError> {
        let topic = settings.topic();
        let from_client = append.origin == Origin::Client;
        let now_ms = clock::wall_ms();
        let rules = Rules {
            batch_bytes_max: if from_client {
                topic.max_message_bytes
            } else {
                usize::MAX
            },
            inflated_record_bytes_max: topic.max_decompressed_message_bytes,
            keys_required: topic.compact && from_client,
            timestamps: if settings.stamps_appends() {
                Timestamps::LogAppend
            } else {
                Timestamps::Create {
                    now_ms,
                    before_max_ms: topic.message_timestamp_before_max_ms,
                    after_max_ms: topic.message_timestamp_after_max_ms,
                }
            },
            allow_control: !from_client,
            delivery: from_client.then_some(Delivery {
                now_ms,
                ahead_max_ms: topic.delivery_at_max_ms,
            }),
        };
        let batch = validate::envelope(&append.batches, &rules)?;
        let segment_bytes_max = usize::try_from(topic.segment_bytes).unwrap_or(usize::MAX);
        if batch.bytes.len() > segment_bytes_max {
            return Err(AppendError::RecordListTooLarge {
                size: batch.bytes.len(),
                max: segment_bytes_max,
            });
        }
        let codec = batch.header.compression();
        Ok(Self {
            batch,
            rules,
            log_append_time: settings.stamps_appends().then_some(now_ms),
            target: from_client.then(|| Target::of(topic, codec)).flatten(),
            batch_bytes_max: rules.batch_bytes_max.min(segment_bytes_max),
            compacted: topic.compact,
        })
    }

    /// Walks the records if that is quickly done; `None` when it takes longer than a thread of the
    /// runtime should be held up.
    pub(super) fn walk_here(&self) -> Option<Result<Checked, AppendError>> {
        let codec = self.batch.header.compression();
        let payload = validate::payload(&self.batch);
        if payload.len() > HERE_BYTES_MAX && (codec != 0 || self.target.is_some()) {
            return None;
        }
        if codec == 0 {
            return Some(self.walk_payload(payload));
        }
        // Whatever is wrong with it, the other way says so.
        let inflated = inflate::inflate(codec, payload, HERE_INFLATED_BYTES_MAX).ok()?;
        if inflated.len() > HERE_BYTES_MAX && self.target.is_some() {
            return None;
        }
        Some(self.walk_payload(&inflated))
    }

    /// Walks the records however long it takes.
    pub(super) fn walk(&self) -> Result<Checked, AppendError> {
        let codec = self.batch.header.compression();
        let payload = validate::payload(&self.batch);
        if codec == 0 {
            return self.walk_payload(payload);
        }
        let max = inflate::bytes_max(payload.len());
        self.walk_payload(&inflate::inflate(codec, payload, max)?)
    }

    /// Records as they are when nothing compresses them.
    fn walk_payload(&self, payload: &[u8]) -> Result<Checked, AppendError> {
        let walked = validate::records(&self.batch.header, payload, &self.rules)?;
        if let Some(index) = walked.first_waiting.filter(|_| self.compacted) {
            return Err(AppendError::InvalidRecord {
                indexes: vec![index],
                message: format!(
                    "a compacted topic holds no record back: send it without {} or when its time has come",
                    batch::DELIVER_AT
                ),
            });
        }
        let waits = walked.first_waiting.is_some();
        let recompressed = match &self.target {
            _ if waits && self.batch.header.compression() == 0 => None,
            None if !waits => None,
            target => {
                let bytes = match target.as_ref().filter(|_| !waits) {
                    None => batch::set_payload(&self.batch, 0, payload),
                    Some(target) => target
                        .repack(&self.batch, payload)
                        .map_err(|e| AppendError::Storage(format!("cannot compress: {e}")))?,
                };
                if bytes.len() > self.batch_bytes_max {
                    return Err(AppendError::MessageTooLarge {
                        size: bytes.len(),
                        max: self.batch_bytes_max,
                    });
                }
                Some(bytes)
            }
        };
        Ok(Checked {
            walked,
            recompressed,
        })
    }

    /// The batch as it is stored, and the broker's time if it replaced the producer's.
    pub(super) fn stamp(self, checked: Checked) -> Result<(Batch, Option<i64>), AppendError> {
        let Self {
            batch,
            log_append_time,
            ..
        } = self;
        let Checked {
            walked,
            recompressed,
        } = checked;
        // That the time is the broker's is not for the producer to say, nor that records wait.
        let waits = walked.first_waiting.is_some();
        let claims = batch.header.claims_delivery();
        let is_right = batch.header.max_timestamp == walked.max_timestamp
            && !batch.header.is_log_append_time();
        let stamped = match (log_append_time, recompressed) {
            (None, None) if is_right && !waits && !claims => return Ok((batch, None)),
            (None, None) if is_right => batch.bytes,
            (None, Some(bytes)) if is_right => bytes,
            // The one holder of its bytes, so that they are changed in place.
            (Some(now_ms), bytes) => {
                batch::set_max_timestamp(bytes.unwrap_or(batch.bytes), now_ms, true)
            }
            (None, bytes) => {
                let bytes = bytes.unwrap_or(batch.bytes);
                batch::set_max_timestamp(bytes, walked.max_timestamp, false)
            }
        };
        let stamped = if claims {
            batch::without_claims(stamped)
        } else {
            stamped
        };
        let stamped = if waits { batch::hold(stamped) } else { stamped };
        let batch = Batch::parse(&stamped).map_err(|e| AppendError::NotOneBatch(e.to_string()))?;
        Ok((batch, log_append_time))
    }
}

// === impl Acks ===

impl From<Acks> for Ack {
    fn from(acks: Acks) -> Self {
        match acks {
            Acks::None => Self::Written,
            Acks::Leader => Self::Leader,
            Acks::All => Self::InSync,
        }
    }
}

// === impl AppendError ===

impl From<Rejected> for AppendError {
    fn from(rejected: Rejected) -> Self {
        match rejected {
            Rejected::NotOneBatch(message) => Self::NotOneBatch(message),
            Rejected::Malformed(message) => Self::InvalidRecord {
                indexes: Vec::new(),
                message,
            },
            Rejected::Corrupt(_) => Self::CorruptMessage,
            Rejected::TooLarge { size, max } => Self::MessageTooLarge { size, max },
            Rejected::Records { indexes, message } => Self::InvalidRecord { indexes, message },
            Rejected::Timestamps { indexes, timestamp } => {
                Self::InvalidTimestamp { indexes, timestamp }
            }
            Rejected::TooFarAhead { indexes, at_ms } => Self::DeliveryTooFar { indexes, at_ms },
        }
    }
}

impl From<Unreadable> for AppendError {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Codec(codec) => Self::UnsupportedCompression(codec),
            other => Self::InvalidRecord {
                indexes: Vec::new(),
                message: other.to_string(),
            },
        }
    }
}

impl AppendError {
    /// `leader` and `epoch` are what the replica knows now.
    pub(super) fn refused(refusal: Refusal, leader: Option<BrokerId>, epoch: Epoch) -> Self {
        match refusal {
            Refusal::NotLeader => Self::NotLeader { leader, epoch },
            Refusal::NotEnough { in_sync, required } => {
                Self::NotEnoughReplicas { in_sync, required }
            }
            Refusal::Timeout => Self::Timeout,
            Refusal::OutOfOrder {
                producer,
                given,
                expected,
            } => Self::OutOfOrderSequence {
                producer,
                given,
                expected,
            },
            Refusal::StaleProducer {
                producer,
                given,
                current,
            } => Self::InvalidProducerEpoch {
                producer,
                given,
                current,
            },
            Refusal::Storage(why) => Self::Storage(why),
        }
    }
}

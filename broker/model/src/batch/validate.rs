//! What a producer may send to one partition: exactly one well-formed batch.
//!
//! Two steps, because a compressed payload must be inflated between them by somebody who may:
//! [`envelope`] looks at the header and the seal, [`records`] walks the (inflated) payload. The cases
//! are those measured on Kafka 4.4 for Produce.

use bytes::Bytes;

use super::{
    Batch, HEADER_BYTES, Header, Invalid, MAGIC,
    held::{self, DELIVER_AT},
    record::Frame,
};

/// What the topic allows.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// `max.message.bytes`: bytes of a batch as stored.
    pub batch_bytes_max: usize,
    /// `max.decompressed.message.bytes`: bytes of one record of a compressed batch, its length aside.
    pub inflated_record_bytes_max: usize,
    /// `cleanup.policy` has `compact`: every record needs a key, an empty one will do.
    pub keys_required: bool,
    pub timestamps: Timestamps,
    /// Control batches are the coordinators' alone.
    pub allow_control: bool,
    /// Records may name the time of their delivery; `None` does not look for one.
    pub delivery: Option<Delivery>,
}

/// Times that records may name with the header [`DELIVER_AT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Milliseconds since 1970: at this time or before it nothing waits.
    pub now_ms: i64,
    /// Furthest ahead of it, in milliseconds.
    pub ahead_max_ms: i64,
}

/// `message.timestamp.type` and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamps {
    /// The producer's; refused when further from `now_ms` than these many milliseconds.
    Create {
        now_ms: i64,
        before_max_ms: i64,
        after_max_ms: i64,
    },
    /// The broker's replaces them: nothing to check.
    LogAppend,
}

/// Why a produced batch is refused; nothing of it was appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// No batch, or more than one.
    #[error("{0}")]
    NotOneBatch(String),
    /// One batch, not well-formed.
    #[error("{0}")]
    Malformed(String),
    /// The bytes changed on the way.
    #[error("{0}")]
    Corrupt(Invalid),
    #[error("batch of {size} bytes is larger than the {max} that the topic allows")]
    TooLarge { size: usize, max: usize },
    /// Records are at fault, [`FAULTS_MAX`] at most; `indexes` count from 0 inside the batch.
    #[error("records {indexes:?}: {message}")]
    Records { indexes: Vec<i32>, message: String },
    /// `timestamp` is that of the first.
    #[error(
        "records {indexes:?} have timestamps, {timestamp} the first, outside what the topic allows"
    )]
    Timestamps { indexes: Vec<i32>, timestamp: i64 },
    /// `at_ms` is that of the first, milliseconds since 1970.
    #[error("records {indexes:?} are to be delivered at {at_ms}, later than the topic allows")]
    TooFarAhead { indexes: Vec<i32>, at_ms: i64 },
}

/// Records of a batch that are named as being at fault. Each costs more in the answer than in the request.
pub const FAULTS_MAX: usize = 1000;

/// What the walk over the records found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The newest timestamp really there; the header's may lie.
    pub max_timestamp: i64,
    /// The first record whose time of delivery is still to come.
    pub first_waiting: Option<i32>,
}

/// Checks everything that needs no look inside the payload.
///
/// # Errors
/// The first fault found, in Kafka's order: shape, format, seal, size, counts.
pub fn envelope(bytes: &Bytes, rules: &Rules) -> Result<Batch, Rejected> {
    if bytes.is_empty() {
        return Err(not_one("record batch is empty"));
    }
    let batch = Batch::parse(bytes).map_err(|e| match e {
        // A format from the future may be sound; bytes that claim it are taken as damaged, as is a
        // batch that says it is smaller than any.
        Invalid::Magic(magic) if !(0..=MAGIC).contains(&magic) => Rejected::Corrupt(e),
        Invalid::Length(_) => Rejected::Corrupt(e),
        other => Rejected::NotOneBatch(other.to_string()),
    })?;
    let header = batch.header;
    if batch.bytes.len() != bytes.len() {
        return Err(not_one("more than one batch for one partition"));
    }
    if batch.bytes.len() > rules.batch_bytes_max {
        return Err(Rejected::TooLarge {
            size: batch.bytes.len(),
            max: rules.batch_bytes_max,
        });
    }
    batch.verify_crc().map_err(Rejected::Corrupt)?;
    if header.base_offset.0 != 0 {
        return Err(malformed("base offset of a produced batch must be 0"));
    }
    if header.record_count <= 0 || header.last_offset_delta != header.record_count - 1 {
        return Err(Rejected::Malformed(format!(
            "record count {} and last offset delta {} do not fit",
            header.record_count, header.last_offset_delta
        )));
    }
    if header.is_control() && !rules.allow_control {
        return Err(malformed("control batches are not accepted from clients"));
    }
    if header.compression() > 4 {
        return Err(Rejected::Malformed(format!(
            "compression codec {} is unknown",
            header.compression()
        )));
    }
    // A negative epoch is not malformed: the producer's state answers it as one that is too old.
    if header.is_idempotent() && header.base_sequence < 0 {
        return Err(malformed("idempotent batch has no sequence number"));
    }
    Ok(batch)
}

/// Walks the records of an uncompressed or inflated payload. About 5 ns a record.
///
/// # Errors
/// What is malformed first, a count that is not the header's, or every record that the topic does not allow.
pub fn records(header: &Header, payload: &[u8], rules: &Rules) -> Result<Walked, Rejected> {
    let mut left = payload;
    let mut index = 0;
    let mut max_timestamp = -1;
    let (mut keyless, mut untimely) = (Vec::new(), Vec::new());
    let mut first_untimely = -1;
    let mut deliveries = Deliveries::default();
    // What comes uncompressed is as large as its batch at most.
    let record_bytes_max = match header.compression() {
        0 => usize::MAX,
        _ => rules.inflated_record_bytes_max,
    };
    while !left.is_empty() {
        if index == header.record_count {
            return Err(malformed("bytes are left after the last record"));
        }
        let malformed_here = |what| Rejected::Malformed(format!("record {index}: {what}"));
        let frame = Frame::read(&mut left).map_err(malformed_here)?;
        match &rules.delivery {
            Some(rules) => deliveries.note(&frame, index, rules),
            None => frame.check_headers(),
        }
        .map_err(malformed_here)?;
        if frame.bytes > record_bytes_max {
            return Err(Rejected::Malformed(format!(
                "record {index} has {} bytes, max.decompressed.message.bytes allows {record_bytes_max}",
                frame.bytes
            )));
        }
        if frame.offset_delta != index {
            return Err(malformed("offset deltas are not consecutive"));
        }
        if rules.keys_required && frame.key.is_none() {
            note(&mut keyless, index);
        }
        let timestamp = header.base_timestamp.wrapping_add(frame.timestamp_delta);
        if !is_timely(timestamp, rules) {
            if untimely.is_empty() {
                first_untimely = timestamp;
            }
            note(&mut untimely, index);
        }
        max_timestamp = max_timestamp.max(timestamp);
        index += 1;
    }
    if index != header.record_count {
        let counted = Invalid::Count {
            stated: header.record_count,
            found: index,
        };
        return Err(Rejected::Malformed(counted.to_string()));
    }
    if !untimely.is_empty() {
        return Err(Rejected::Timestamps {
            indexes: untimely,
            timestamp: first_untimely,
        });
    }
    if !keyless.is_empty() {
        return Err(Rejected::Records {
            indexes: keyless,
            message: "Compacted topic cannot accept message without key".into(),
        });
    }
    Ok(Walked {
        max_timestamp,
        first_waiting: deliveries.outcome()?,
    })
}

/// What the records of a batch say of their delivery.
#[derive(Default)]
struct Deliveries {
    first_waiting: Option<i32>,
    unreadable: Vec<i32>,
    too_far: Vec<i32>,
    first_too_far_ms: i64,
}

impl Deliveries {
    /// Fails when the headers are not well formed.
    fn note(
        &mut self,
        frame: &Frame<'_>,
        index: i32,
        rules: &Delivery,
    ) -> Result<(), &'static str> {
        // As Kafka's clients do it, the last header of a name counts.
        let mut named = None;
        frame.each_header(|key, value| {
            if key == DELIVER_AT.as_bytes() {
                named = Some(value);
            }
        })?;
        let Some(value) = named else { return Ok(()) };
        match value.and_then(held::time) {
            None => note(&mut self.unreadable, index),
            Some(at_ms) if at_ms.saturating_sub(rules.now_ms) > rules.ahead_max_ms => {
                if self.too_far.is_empty() {
                    self.first_too_far_ms = at_ms;
                }
                note(&mut self.too_far, index);
            }
            Some(at_ms) if at_ms > rules.now_ms => {
                self.first_waiting.get_or_insert(index);
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn outcome(self) -> Result<Option<i32>, Rejected> {
        if !self.unreadable.is_empty() {
            return Err(Rejected::Records {
                indexes: self.unreadable,
                message: format!(
                    "header {DELIVER_AT} must be a time in milliseconds since 1970, in decimal digits"
                ),
            });
        }
        if !self.too_far.is_empty() {
            return Err(Rejected::TooFarAhead {
                indexes: self.too_far,
                at_ms: self.first_too_far_ms,
            });
        }
        Ok(self.first_waiting)
    }
}

fn note(faults: &mut Vec<i32>, index: i32) {
    if faults.len() < FAULTS_MAX {
        faults.push(index);
    }
}

/// Bytes after the header of a checked, uncompressed batch.
pub fn payload(batch: &Batch) -> &[u8] {
    batch.bytes.get(HEADER_BYTES..).unwrap_or_default()
}

fn is_timely(timestamp: i64, rules: &Rules) -> bool {
    let Timestamps::Create {
        now_ms,
        before_max_ms,
        after_max_ms,
    } = rules.timestamps
    else {
        return true;
    };
    // -1 says "none" and passes.
    if timestamp == -1 {
        return true;
    }
    let too_new = timestamp.saturating_sub(now_ms) > after_max_ms;
    let too_old = now_ms.saturating_sub(timestamp) > before_max_ms;
    !too_new && !too_old
}

fn not_one(why: &str) -> Rejected {
    Rejected::NotOneBatch(why.into())
}

fn malformed(why: &str) -> Rejected {
    Rejected::Malformed(why.into())
}

//! `compression.type`: a topic that names a codec has every batch stored with that, whatever its producer
//! chose. As in Kafka a batch that has the codec already stays as it is, whatever its level.

use std::io;

use api::config::topic;
use bytes::Bytes;
use model::batch::{self, Batch};

use super::deflate::{self, Levels};

/// How batches are to be compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// As in a batch's attributes; 0 = not at all.
    codec: u8,
    levels: Levels,
}

impl Target {
    /// `None` when a batch with `codec` may stay as it is.
    pub(super) fn of(topic: &topic::Settings, codec: u8) -> Option<Self> {
        let wanted = match topic.compression_type.as_str() {
            "uncompressed" => 0,
            "gzip" => 1,
            "snappy" => 2,
            "lz4" => 3,
            "zstd" => 4,
            _ => return None,
        };
        (wanted != codec).then_some(Self {
            codec: wanted,
            levels: Levels {
                gzip: topic.compression_gzip_level,
                zstd: topic.compression_zstd_level,
            },
        })
    }

    /// The batch with its `records`, which nothing compresses now, as wanted. Takes some 5 ms a MB.
    ///
    /// # Errors
    /// No memory.
    pub(super) fn repack(&self, batch: &Batch, records: &[u8]) -> io::Result<Bytes> {
        if self.codec == 0 {
            return Ok(batch::set_payload(batch, 0, records));
        }
        let deflated = deflate::deflate(self.codec, self.levels, records)?;
        Ok(batch::set_payload(batch, self.codec, &deflated))
    }
}

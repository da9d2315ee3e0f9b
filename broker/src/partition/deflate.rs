//! Compressing records again, after some of them have gone or where the topic asks for another codec: what
//! clients of every language can open.

use std::io::{self, Write};

use bytes::Bytes;

use super::inflate::XERIAL;

/// Versions in the header of a snappy stream of the Java client: its own, and the oldest that reads it.
const XERIAL_VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
/// Bytes that go into one block of such a stream.
const XERIAL_BLOCK_BYTES: usize = 32 << 10;

/// Levels of the codecs that have some, in their own words: `compression.gzip.level` and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    /// 1 to 9; anything else is the codec's default.
    pub gzip: i32,
    pub zstd: i32,
}

impl Default for Levels {
    /// Kafka's.
    fn default() -> Self {
        Self {
            gzip: -1,
            zstd: zstd::DEFAULT_COMPRESSION_LEVEL,
        }
    }
}

/// `records` compressed with `codec` (a batch's attribute). Lz4 knows one level here, the fast one, which is
/// what Kafka takes unless told otherwise.
///
/// # Errors
/// The codec is unknown.
pub(super) fn deflate(codec: u8, levels: Levels, records: &[u8]) -> io::Result<Bytes> {
    match codec {
        1 => {
            let level = match u32::try_from(levels.gzip) {
                Ok(level @ 1..=9) => flate2::Compression::new(level),
                _ => flate2::Compression::default(),
            };
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(records)?;
            encoder.finish().map(Bytes::from)
        }
        2 => snappy(records),
        3 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(records)?;
            encoder.finish().map(Bytes::from).map_err(io::Error::other)
        }
        4 => zstd::bulk::compress(records, levels.zstd).map(Bytes::from),
        other => Err(io::Error::other(format!("codec {other} is unknown"))),
    }
}

fn snappy(records: &[u8]) -> io::Result<Bytes> {
    let mut encoder = snap::raw::Encoder::new();
    let mut out = XERIAL.to_vec();
    out.extend(XERIAL_VERSIONS);
    for block in records.chunks(XERIAL_BLOCK_BYTES) {
        let block = encoder.compress_vec(block).map_err(io::Error::other)?;
        out.extend(u32::try_from(block.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend(block);
    }
    Ok(out.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::inflate::inflate, *};

    #[test]
    fn every_codec_is_opened_again() {
        let records = b"the same again, ".repeat(10_000);
        for codec in 1..=4 {
            let deflated = deflate(codec, Levels::default(), &records).unwrap();
            assert!(deflated.len() < records.len(), "codec {codec}");
            assert_eq!(inflate(codec, &deflated, records.len()).unwrap(), records);
        }
        assert!(deflate(5, Levels::default(), &records).is_err());
    }
}

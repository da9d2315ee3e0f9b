//! Compressing records again after some of them have gone: what clients of every language can open.

use std::io::{self, Write};

use bytes::Bytes;

use super::inflate::XERIAL;

/// Versions in the header of a snappy stream of the Java client: its own, and the oldest that reads it.
const XERIAL_VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
/// Bytes that go into one block of such a stream.
const XERIAL_BLOCK_BYTES: usize = 32 << 10;

/// `records` compressed with `codec` (a batch's attribute) at the level that Kafka defaults to.
///
/// # Errors
/// The codec is unknown.
pub(super) fn deflate(codec: u8, records: &[u8]) -> io::Result<Bytes> {
    match codec {
        1 => {
            let level = flate2::Compression::default();
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
        4 => zstd::bulk::compress(records, zstd::DEFAULT_COMPRESSION_LEVEL).map(Bytes::from),
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
            let deflated = deflate(codec, &records).unwrap();
            assert!(deflated.len() < records.len(), "codec {codec}");
            assert_eq!(inflate(codec, &deflated, records.len()).unwrap(), records);
        }
        assert!(deflate(5, &records).is_err());
    }
}

//! Opening compressed payloads, to check or to search them. Nothing inflated is ever stored.

use std::io::Read;

use bytes::Bytes;

/// An inflated payload may be so many times larger than the batch, or [`INFLATED_BYTES_FREE`].
const INFLATED_TIMES_MAX: usize = 16;
/// Bytes that any payload may inflate to.
const INFLATED_BYTES_FREE: usize = 64 << 20;
/// What snappy streams of the Java client begin with.
pub(super) const XERIAL: &[u8] = b"\x82SNAPPY\0";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("compression codec {0} is unknown")]
    Codec(u8),
    #[error("compressed records cannot be read: {0}")]
    Damaged(String),
    #[error("compressed records are larger than {0} bytes")]
    TooLarge(usize),
}

/// Zstandard windows, as powers of two: every decoder is expected to take the lower one, and the format's
/// own limit without long distances is the higher.
const ZSTD_WINDOW_LOG: std::ops::RangeInclusive<u32> = 23..=27;

/// Bytes that a payload of `bytes` may inflate to.
pub(super) fn bytes_max(bytes: usize) -> usize {
    bytes
        .saturating_mul(INFLATED_TIMES_MAX)
        .max(INFLATED_BYTES_FREE)
}

/// The records of a payload compressed with `codec` (a batch's attribute), at most `max` bytes.
pub(super) fn inflate(codec: u8, payload: &[u8], max: usize) -> Result<Bytes, Unreadable> {
    match codec {
        1 => bounded(flate2::read::MultiGzDecoder::new(payload), max),
        2 => snappy(payload, max),
        3 => lz4(payload, max),
        4 => {
            let mut decoder = zstd::stream::read::Decoder::new(payload).map_err(damaged)?;
            let (least, most) = ZSTD_WINDOW_LOG.into_inner();
            let window_log = max.max(1).ilog2().clamp(least, most);
            decoder.window_log_max(window_log).map_err(damaged)?;
            bounded(decoder, max)
        }
        other => Err(Unreadable::Codec(other)),
    }
}

fn bounded(from: impl Read, max: usize) -> Result<Bytes, Unreadable> {
    let mut out = Vec::new();
    from.take(max as u64 + 1)
        .read_to_end(&mut out)
        .map_err(damaged)?;
    if out.len() > max {
        return Err(Unreadable::TooLarge(max));
    }
    Ok(out.into())
}

/// The decoder takes the end of the bytes for the end of the frame: here the frame has to say so itself.
fn lz4(payload: &[u8], max: usize) -> Result<Bytes, Unreadable> {
    const MARK_BYTES: usize = 4;
    /// In the byte after the magic number: a checksum follows the mark.
    const CHECKSUM_FLAG: u8 = 0x04;
    let mut rest = payload;
    let out = bounded(lz4_flex::frame::FrameDecoder::new(&mut rest), max)?;
    let frame = payload.len() - rest.len();
    let checksum_bytes = match payload.get(4) {
        Some(flags) if flags & CHECKSUM_FLAG != 0 => 4,
        _ => 0,
    };
    let end = frame.saturating_sub(checksum_bytes);
    let mark = payload.get(end.saturating_sub(MARK_BYTES)..end);
    if mark != Some(&[0; MARK_BYTES]) {
        return Err(damaged("lz4 frame is cut short"));
    }
    Ok(out)
}

/// One raw block, or the Java client's stream of blocks: 16 bytes of header, then length and block.
fn snappy(payload: &[u8], max: usize) -> Result<Bytes, Unreadable> {
    let Some(blocks) = payload.strip_prefix(XERIAL) else {
        let mut out = Vec::new();
        block(payload, max, &mut out)?;
        return Ok(out.into());
    };
    let mut left = blocks
        .get(8..)
        .ok_or_else(|| damaged("snappy header is cut short"))?;
    let mut out = Vec::new();
    while let Some((length, rest)) = left.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        let (one, rest) = rest
            .split_at_checked(length)
            .ok_or_else(|| damaged("snappy block is cut short"))?;
        block(one, max, &mut out)?;
        left = rest;
    }
    if left.is_empty() {
        Ok(out.into())
    } else {
        Err(damaged("snappy block is cut short"))
    }
}

fn block(block: &[u8], max: usize, out: &mut Vec<u8>) -> Result<(), Unreadable> {
    let length = snap::raw::decompress_len(block).map_err(damaged)?;
    if out.len().saturating_add(length) > max {
        return Err(Unreadable::TooLarge(max));
    }
    let inflated = snap::raw::Decoder::new()
        .decompress_vec(block)
        .map_err(damaged)?;
    out.extend_from_slice(&inflated);
    Ok(())
}

fn damaged(why: impl ToString) -> Unreadable {
    Unreadable::Damaged(why.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
mod tests {
    use std::io::Write;

    use super::*;

    const MAX: usize = 1 << 20;

    fn text() -> Vec<u8> {
        b"the same again, ".repeat(1000)
    }

    #[test]
    fn every_codec_gives_back_what_was_put_in() {
        let text = text();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        lz4.write_all(&text).unwrap();
        let raw = snap::raw::Encoder::new().compress_vec(&text).unwrap();
        let mut xerial = XERIAL.to_vec();
        xerial.extend([0, 0, 0, 1, 0, 0, 0, 1]);
        for _ in 0..2 {
            xerial.extend(u32::try_from(raw.len()).unwrap().to_be_bytes());
            xerial.extend(&raw);
        }
        let zstd = zstd::bulk::compress(&text, 3).unwrap();
        let compressed = [
            (1, gzip.finish().unwrap()),
            (2, raw),
            (3, lz4.finish().unwrap()),
            (4, zstd),
        ];
        for (codec, bytes) in compressed {
            assert_eq!(inflate(codec, &bytes, MAX).unwrap(), text, "codec {codec}");
            assert_eq!(
                inflate(codec, &bytes, text.len() - 1),
                Err(Unreadable::TooLarge(text.len() - 1)),
                "codec {codec}"
            );
            for cut in [bytes.len() / 2, bytes.len() - 6, bytes.len() - 1] {
                assert!(
                    inflate(codec, &bytes[..cut], MAX).is_err(),
                    "codec {codec} cut to {cut} of {}",
                    bytes.len()
                );
            }
        }
        let twice = [text.clone(), text].concat();
        assert_eq!(inflate(2, &xerial, MAX).unwrap(), twice);
        assert_eq!(inflate(5, b"", MAX), Err(Unreadable::Codec(5)));
    }

    #[test]
    fn bomb_is_refused_at_the_bound() {
        let bomb = zstd::bulk::compress(&vec![0; INFLATED_BYTES_FREE + 1], 1).unwrap();
        assert_eq!(
            inflate(4, &bomb, bytes_max(bomb.len())),
            Err(Unreadable::TooLarge(INFLATED_BYTES_FREE))
        );
    }
}

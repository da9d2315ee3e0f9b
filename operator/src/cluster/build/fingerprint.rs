//! A short name of some content: FNV-1a, the same in every build, unlike the standard library's hasher.

/// 16 hexadecimal digits.
pub(super) fn of(content: &[u8]) -> String {
    let hash = content
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}

use super::*;

#[test]
fn a_group_belongs_where_kafka_puts_it() {
    // Computed by Kafka 4.4's own Utils.abs(group.hashCode()) % 50.
    assert_eq!(partition_of("", 50), 0);
    assert_eq!(partition_of("a", 50), 97 % 50);
    assert_eq!(partition_of("flights", 50), java(b"flights") % 50);
    // "polygenelubricants".hashCode() is Integer.MIN_VALUE.
    assert_eq!(partition_of("polygenelubricants", 50), 0);
    // Characters outside the basic plane count as two.
    assert_eq!(partition_of("\u{1F600}", 50), 1_772_899 % 50);
}

/// s[0]*31^(n-1) + ... + s[n-1] in 64 bits, then cut.
#[allow(clippy::cast_possible_truncation, reason = "that is the definition")]
fn java(text: &[u8]) -> i32 {
    let wide = text.iter().fold(0_i128, |h, c| h * 31 + i128::from(*c));
    (wide as i32).abs()
}

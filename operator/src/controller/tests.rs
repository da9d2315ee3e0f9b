use super::*;

#[test]
fn waits_double_up_to_the_longest_and_differ_by_object() {
    let waits: Vec<u128> = (1..10).map(|n| backoff(n, "a").as_millis()).collect();
    assert!(waits.windows(2).all(|w| w[0] <= w[1]), "{waits:?}");
    assert!(waits[0] >= 800 && waits[0] <= 1200, "{waits:?}");
    assert!(backoff(u32::MAX, "a") <= RETRY_MAX * 120 / 100);
    let spreads: std::collections::BTreeSet<_> =
        (0..20).map(|n| backoff(5, &n.to_string())).collect();
    assert!(spreads.len() > 5, "{spreads:?}");
}

//! Marks and shares.

use std::sync::Arc;

use futures::FutureExt;

use super::{Budget, Share};

#[test]
fn shortage_begins_at_the_bound_and_ends_a_tenth_below() {
    let budget = Arc::new(Budget::new(1_000));
    let mut share = Share::of(&budget);
    share.set(799);
    assert!(!budget.is_tight());
    share.set(800);
    assert!(budget.is_tight() && !budget.is_short(false));
    share.set(1_000);
    assert!(budget.is_short(false));
    share.set(900);
    assert!(budget.is_short(true) && !budget.is_short(false));
    share.set(899);
    assert!(!budget.is_short(true));
    drop(share);
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn a_watcher_hears_of_every_mark_that_is_passed() {
    let budget = Arc::new(Budget::new(1_000));
    let mut share = Share::of(&budget);
    for (bytes, heard) in [
        (799, false),
        (800, true),
        (999, false),
        (1_000, true),
        (900, false),
        (899, true),
    ] {
        share.set(bytes);
        assert_eq!(budget.passed().now_or_never().is_some(), heard, "{bytes}");
    }
}

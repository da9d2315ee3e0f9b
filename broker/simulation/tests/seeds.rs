//! Seeds of the simulation. `SEEDS=n` runs that many, `SEED=n` that one (or from there on), with
//! `TRACE=1` telling what happens.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use simulation::{Mutation, Outcome, run};

/// Run by default.
const SEEDS: u64 = 2000;
/// Within so many seeds each planted mistake has to show itself.
const SEEDS_TO_FIND: u64 = 400;

fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={value} is no number")),
    )
}

fn replay(seed: u64) -> String {
    format!("SEED={seed} TRACE=1 cargo test -p simulation --test seeds no_seed -- --nocapture")
}

/// Runs `seeds` on every processor and gives each outcome to `with`, which says whether to go on.
fn each(
    seeds: std::ops::Range<u64>,
    mutation: Option<Mutation>,
    trace: bool,
    with: impl Fn(u64, Outcome) -> bool + Sync,
) {
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let outcome = std::panic::catch_unwind(|| run(seed, mutation, trace));
                    let outcome = outcome.unwrap_or_else(|_| Outcome {
                        trace: 0,
                        events: 0,
                        acknowledged: 0,
                        faults: BTreeMap::new(),
                        violation: Some("it panicked".into()),
                    });
                    if !with(seed, outcome) {
                        next.store(seeds.end, Ordering::Relaxed);
                    }
                }
            });
        }
    });
}

#[test]
fn no_seed_breaks_a_promise() {
    let first = number("SEED");
    let several = if first.is_some() { 1 } else { SEEDS };
    let count = number("SEEDS").unwrap_or(several);
    let trace = std::env::var("TRACE").is_ok();
    let from = first.unwrap_or(0);
    let totals = std::sync::Mutex::new((0, 0, BTreeMap::new()));
    let broken = std::sync::Mutex::new(Vec::new());
    each(from..from + count, None, trace, |seed, outcome| {
        if let Some(violation) = outcome.violation {
            let mut broken = broken.lock().unwrap();
            broken.push(format!("seed {seed}: {violation}\n  {}", replay(seed)));
            return broken.len() < 5;
        }
        let mut totals = totals.lock().unwrap();
        totals.0 += outcome.events;
        totals.1 += outcome.acknowledged;
        for (fault, times) in outcome.faults {
            *totals.2.entry(fault).or_insert(0) += times;
        }
        true
    });
    let broken = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    let (events, acknowledged, faults) = totals.into_inner().unwrap();
    println!("{count} seeds: {events} events, {acknowledged} records acknowledged, {faults:?}");
    assert!(
        acknowledged > count * 10,
        "the clusters hardly ever worked: {acknowledged} records in {count} seeds"
    );
}

#[test]
fn same_seed_has_the_same_trace() {
    for seed in [1, 7, 23, 104, 961] {
        assert_eq!(
            run(seed, None, false),
            run(seed, None, false),
            "seed {seed}"
        );
    }
}

#[test]
fn every_planted_mistake_is_found() {
    let mut missed = Vec::new();
    for mutation in Mutation::ALL {
        let found = std::sync::Mutex::new(None);
        each(0..SEEDS_TO_FIND, Some(mutation), false, |seed, outcome| {
            if let Some(violation) = outcome.violation {
                found.lock().unwrap().get_or_insert((seed, violation));
                return false;
            }
            true
        });
        match found.into_inner().unwrap() {
            Some((seed, violation)) => println!("{mutation:?}: seed {seed}: {violation}"),
            None => missed.push(mutation),
        }
    }
    assert!(
        missed.is_empty(),
        "not found in {SEEDS_TO_FIND} seeds: {missed:?}"
    );
}

use imbl::OrdMap;

use super::*;
use crate::metadata::command::Command;
use crate::metadata::image::Image;
use crate::metadata::quota::Bound;

const WINDOWS: Windows = Windows {
    count: 11,
    size_ms: 1000,
};

fn name(text: &str) -> Option<Name> {
    match text {
        "" => None,
        "*" => Some(Name::Default),
        name => Some(Name::Named(name.into())),
    }
}

fn entity(user: &str, client_id: &str) -> Entity {
    Entity {
        user: name(user),
        client_id: name(client_id),
        ip: None,
    }
}

fn image(set: &[(Entity, Kind, f64)]) -> Image {
    let mut image = Image::default();
    for (n, (entity, kind, bound)) in set.iter().enumerate() {
        let command = Command::AlterQuotas {
            entity: entity.clone(),
            changes: vec![(kind.key().to_owned(), Some(Bound(*bound)))],
        };
        image.apply(command, 0, n as u64 + 1);
    }
    image
}

fn of(bound: f64, client_id: &str) -> Limit {
    Limit {
        entity: entity("", "*"),
        sharer: Sharer {
            user: None,
            client_id: Some(client_id.into()),
        },
        bound,
    }
}

#[test]
fn the_most_specific_limit_of_the_kind_holds() {
    let order = [
        entity("u", "c"),
        entity("u", "*"),
        entity("u", ""),
        entity("*", "c"),
        entity("*", "*"),
        entity("*", ""),
        entity("", "c"),
        entity("", "*"),
    ];
    for first in 0..order.len() {
        let set: Vec<_> = (first..order.len())
            .map(|n| (order[n].clone(), Kind::Produce, n as f64))
            .collect();
        let mut quotas = image(&set).quotas;
        // Another kind does not hide it.
        let other = OrdMap::unit(Kind::Fetch.key().into(), Bound(1.0));
        quotas.entry(order[0].clone()).or_insert(other);
        let found = limit(&quotas, Kind::Produce, "u", "c").unwrap();
        assert_eq!(found.bound, first as f64);
        assert_eq!(found.sharer.user.is_some(), first < 6);
        assert_eq!(found.sharer.client_id.is_some(), ![2, 5].contains(&first));
    }
    let others = image(&[(entity("x", ""), Kind::Produce, 1.0)]).quotas;
    assert_eq!(limit(&others, Kind::Produce, "u", "c"), None);
    let without_id = image(&[(entity("", "*"), Kind::Produce, 1.0)]).quotas;
    assert_eq!(limit(&without_id, Kind::Produce, "u", ""), None);
}

#[test]
fn an_image_with_quotas_reads_back_to_the_bit() {
    let odd = 0.1 + 0.2;
    let image = image(&[
        (entity("u", "*"), Kind::Request, odd),
        (entity("*", ""), Kind::Produce, 9_007_199_254_740_993.0),
    ]);
    let text = serde_json::to_string(&image).unwrap();
    assert_eq!(serde_json::from_str::<Image>(&text).unwrap(), image);
}

/// The figures of KIP-13: ten seconds at 400 bytes, and a burst in the middle of the next.
#[test]
fn a_client_waits_until_the_rate_of_all_windows_is_down_to_its_bound() {
    let mut rate = Rate::default();
    for second in 0..10 {
        rate.record(400.0, second * 1000, WINDOWS);
        assert_eq!(rate.wait_ms(500.0, second * 1000, WINDOWS), 0.0);
    }
    rate.record(2300.0, 10_500, WINDOWS);
    assert_eq!(rate.wait_ms(500.0, 10_500, WINDOWS), 2100.0);
    // The windows before 3,000 count no more.
    assert_eq!(rate.wait_ms(500.0, 13_500, WINDOWS), 0.0);
    assert_eq!(rate.wait_ms(500.0, 60_000, WINDOWS), 0.0);
}

#[test]
fn a_burst_of_mutations_is_taken_from_what_was_saved_and_overdrawn_once() {
    let mut meters = Meters::new(WINDOWS, WINDOWS);
    let limit = of(2.0, "c");
    let mut take = |amount, now_ms| {
        meters
            .record_if_free(Kind::Mutation, &limit, amount, now_ms)
            .map_err(|overdrawn| overdrawn.wait_ms)
    };
    assert_eq!(take(30.0, 5000), Ok(()), "22 were saved, 8 are owed");
    assert_eq!(take(1.0, 5000), Err(4000));
    assert_eq!(take(1.0, 8000), Err(1000));
    assert_eq!(take(1.0, 9000), Ok(()));
    // Who does not insist on it is not held back, and waits afterwards.
    assert_eq!(meters.record(Kind::Mutation, &limit, 3.0, 9000), 2000);
}

#[test]
fn requests_wait_for_one_window_at_most() {
    let mut meters = Meters::new(WINDOWS, WINDOWS);
    let limit = of(1.0, "c");
    assert_eq!(meters.record(Kind::Request, &limit, 1e9, 0), 1000);
    assert!(meters.record(Kind::Produce, &limit, 1e9, 0) > 1000);
}

#[test]
fn clients_are_bounded_and_idle_ones_forgotten() {
    let mut meters = Meters::new(WINDOWS, WINDOWS);
    let mut record = |n: usize| meters.record(Kind::Produce, &of(1.0, &n.to_string()), 1.0, 20_000);
    for n in 0..METERS_MAX {
        assert_eq!(record(n), 0);
    }
    for n in METERS_MAX..METERS_MAX + 50 {
        record(n);
    }
    // The last fifty are counted together.
    assert_eq!(meters.len(), METERS_MAX + 1);
    assert!(meters.record(Kind::Produce, &of(1.0, "late"), 0.0, 20_000) > 0);
    meters.record(Kind::Produce, &of(1.0, "new"), 1.0, 40_000);
    assert_eq!(meters.len(), 1);
}

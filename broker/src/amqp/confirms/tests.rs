use super::*;

fn ack(delivery_tag: u64, multiple: bool) -> Told {
    Told::Ack(basic::Ack {
        delivery_tag,
        multiple,
    })
}

fn nack(delivery_tag: u64) -> Told {
    Told::Nack(basic::Nack {
        delivery_tag,
        multiple: false,
        requeue: false,
    })
}

/// `outcomes`: positive numbers are acks, negative ones nacks.
fn settle(confirms: &mut Confirms, outcomes: &[i64]) -> Vec<Told> {
    let outcomes = outcomes.iter().map(|outcome| Confirm {
        seq: outcome.unsigned_abs(),
        ack: *outcome > 0,
    });
    confirms.settle(&outcomes.collect::<Vec<_>>())
}

fn of(count: u64) -> Confirms {
    let mut confirms = Confirms::default();
    for seq in 1..=count {
        assert_eq!(confirms.number(), seq);
    }
    confirms
}

#[test]
fn a_run_from_the_lowest_open_number_is_one_ack() {
    let mut confirms = of(5);
    assert_eq!(settle(&mut confirms, &[3, 1, 2]), [ack(3, true)]);
    assert_eq!(settle(&mut confirms, &[4]), [ack(4, false)]);
}

#[test]
fn numbers_above_an_open_one_are_acked_one_by_one() {
    let mut confirms = of(5);
    assert_eq!(
        settle(&mut confirms, &[2, 4]),
        [ack(2, false), ack(4, false)]
    );
    assert_eq!(settle(&mut confirms, &[1, 3, 5]), [ack(5, true)]);
}

#[test]
fn a_range_ends_below_a_refused_number() {
    let mut confirms = of(5);
    let told = settle(&mut confirms, &[1, 2, -3, 4, 5]);
    assert_eq!(told, [ack(2, true), ack(4, false), ack(5, false), nack(3)]);
}

#[test]
fn a_number_is_told_once() {
    let mut confirms = of(1);
    assert_eq!(settle(&mut confirms, &[1]), [ack(1, false)]);
    assert_eq!(settle(&mut confirms, &[1, -1]), []);
}

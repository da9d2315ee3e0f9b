use machine::metadata::command::Reply;
use model::BrokerId;
use uuid::Uuid;

use super::*;

const UP: Direction = Direction::Up;
const SAFELY: Direction = Direction::Down { unsafely: false };
const UNSAFELY: Direction = Direction::Down { unsafely: true };

/// A cluster of brokers with builds that carry out these levels, asked by a controller of level 2.
fn check(brokers: &[Levels], name: &str, level: i16, direction: Direction) -> String {
    let mut image = Image::genesis();
    for (id, levels) in (0..).zip(brokers) {
        let register = Command::RegisterBroker {
            id: BrokerId(id),
            incarnation: Uuid::nil(),
            rack: None,
            endpoints: Vec::new(),
            previous_epoch: None,
            levels: *levels,
        };
        let registered = image.apply(register, 0, 1);
        assert!(matches!(registered, Reply::Registered { .. }));
    }
    image.in_sync_default = Some(1);
    let later = Feature::of(feature::NAME, 1, 2);
    let features: Vec<_> = FEATURES.iter().copied().chain([later]).rev().collect();
    match judge(&image, &features, 3, name, level, direction) {
        Ok(None) => "nothing to do".to_owned(),
        Ok(Some(level)) => format!("raise to {level}"),
        Err(why) => why,
    }
}

const NEW: Levels = Levels { min: 1, max: 2 };
const OLD: Levels = Levels { min: 1, max: 1 };

#[test]
fn the_level_rises_once_every_broker_has_the_build() {
    let raise = |brokers| check(brokers, feature::NAME, 2, UP);
    assert_eq!(raise(&[NEW, NEW]), "raise to 2");
    assert_eq!(
        raise(&[NEW, OLD]),
        "Invalid update version 2 for feature millrace.version. Broker 1 only supports versions 1"
    );
    assert_eq!(check(&[NEW], feature::NAME, 1, UP), "nothing to do");
}

#[test]
fn what_cannot_be_is_refused_in_the_words_of_kafka() {
    let cases = [
        (
            "nope",
            1,
            UP,
            "Invalid update version 1 for feature nope. Local controller 3 does not support this feature.",
        ),
        (
            "nope",
            0,
            SAFELY,
            "Invalid update version 0 for feature nope. Feature nope not found.",
        ),
        (
            "kraft.version",
            2,
            UP,
            "Invalid update version 2 for feature kraft.version. Local controller 3 only supports versions 0-1",
        ),
        ("kraft.version", 1, UP, "nothing to do"),
        ("kraft.version", 1, SAFELY, "nothing to do"),
        (
            "kraft.version",
            0,
            SAFELY,
            "Invalid update version 0 for feature kraft.version. Can't downgrade the version of this feature.",
        ),
        (
            "kraft.version",
            0,
            UP,
            "Invalid update version 0 for feature kraft.version. Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.",
        ),
        (
            "metadata.version",
            30,
            SAFELY,
            "Unsupported metadata.version downgrade from 33 to 30. Refusing to perform the requested downgrade because it might delete metadata information.",
        ),
        (
            "metadata.version",
            30,
            UNSAFELY,
            "Unsupported metadata.version downgrade from 33 to 30. Unsafe metadata downgrade is not supported in this version.",
        ),
        (
            "metadata.version",
            99,
            UP,
            "Invalid update version 99 for feature metadata.version. Local controller 3 only supports versions 7-33",
        ),
        (
            "millrace.version",
            2,
            SAFELY,
            "Invalid update version 2 for feature millrace.version. Can't downgrade to a newer version.",
        ),
        (
            "metadata.version",
            -1,
            UP,
            "Invalid update version -1 for feature metadata.version. A feature version cannot be less than 0.",
        ),
        (
            "metadata.version",
            33,
            Direction::Unknown,
            "Invalid update version 33 for feature metadata.version. The controller does not support the given upgrade type.",
        ),
    ];
    for (name, level, direction, expected) in cases {
        assert_eq!(check(&[NEW], name, level, direction), expected);
    }
}

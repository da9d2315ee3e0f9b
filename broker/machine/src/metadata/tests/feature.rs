//! The level of the log, as brokers of this build and of a later one would meet it.

use super::*;
use crate::metadata::feature::Level;

const BOTH: Levels = Levels { min: 1, max: 2 };
const OLD: Levels = Levels { min: 1, max: 1 };

fn register(cluster: &mut Cluster, id: i32, levels: Levels) -> Reply {
    cluster.apply(Command::RegisterBroker {
        id: BrokerId(id),
        incarnation: Uuid::from_u128(7),
        rack: None,
        endpoints: Vec::new(),
        previous_epoch: None,
        levels,
    })
}

fn raise(cluster: &Cluster) -> Command {
    Command::FinalizeLevel {
        level: 2,
        registrations: cluster.image.registrations(),
    }
}

#[test]
fn a_broker_whose_build_does_not_know_the_level_is_not_let_in() {
    let mut cluster = Cluster::with_racks(&[]);
    register(&mut cluster, 0, BOTH);
    let raised = raise(&cluster);
    cluster.done(raised);
    assert_eq!(cluster.image.level, Level(2));
    let Reply::Refused(refusal) = register(&mut cluster, 1, OLD) else {
        panic!("let in");
    };
    assert_eq!(
        refusal.to_string(),
        "broker 1 carries out the levels 1 to 1 of millrace.version, and the cluster is at 2; start it with a build that knows that level"
    );
    assert!(!cluster.image.brokers.contains_key(&BrokerId(1)));
    assert!(matches!(
        register(&mut cluster, 1, BOTH),
        Reply::Registered { .. }
    ));
}

#[test]
fn the_level_is_not_raised_when_a_broker_has_registered_meanwhile() {
    let mut cluster = Cluster::with_racks(&[]);
    register(&mut cluster, 0, BOTH);
    let asked = raise(&cluster);
    register(&mut cluster, 1, OLD);
    assert_eq!(cluster.refused(asked), Refusal::StaleBrokerEpoch);
    assert_eq!(cluster.image.level, Level(1));
}

#[test]
fn a_command_above_the_level_is_refused_before_it_is_logged() {
    let mut image = Image::genesis();
    let command = Command::AdoptInSyncDefault { min: 1 };
    assert_eq!(image.admits(&command), Ok(()));
    // There is no command of a later level yet: the log is put before the first one.
    image.level = Level(0);
    let refusal = image.admits(&command).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the command needs level 1 of millrace.version, and the cluster is at 0; when every broker has the new build, raise it with kafka-features upgrade --feature millrace.version=1"
    );
}

#[test]
fn an_image_and_a_registration_of_a_build_without_levels_are_at_the_first() {
    let image = serde_json::to_value(Image::genesis()).unwrap();
    assert_eq!(image.get("level"), None);
    let image: Image = serde_json::from_value(image).unwrap();
    assert_eq!(image.level, Level(1));
    let command = r#"{"RegisterBroker":{"id":1,"incarnation":"00000000-0000-0000-0000-000000000007","rack":null,"endpoints":[]}}"#;
    let Command::RegisterBroker { levels, .. } = serde_json::from_str(command).unwrap() else {
        panic!("another command");
    };
    assert_eq!(levels, OLD);
}

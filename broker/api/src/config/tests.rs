use super::*;

fn refused(scope: Scope, name: &str, value: &str) -> String {
    catalogue(scope).check(name, value).unwrap_err().to_string()
}

fn accepted(scope: Scope, name: &str, value: &str) {
    catalogue(scope).check(name, value).unwrap();
}

#[test]
fn every_default_satisfies_its_own_rule() {
    for scope in [Scope::Topic, Scope::Broker, Scope::Group] {
        for definition in catalogue(scope).iter() {
            if let Some(default) = definition.default {
                assert_eq!(definition.check(default), Ok(()), "{}", definition.name);
            }
        }
    }
}

#[test]
fn every_key_falls_back_to_keys_that_exist() {
    for scope in [Scope::Topic, Scope::Group] {
        for definition in catalogue(scope).iter() {
            for name in &definition.falls_back_to {
                assert!(catalogue(Scope::Broker).get(name).is_some(), "{name}");
            }
        }
    }
}

#[test]
fn values_are_refused_in_kafkas_words() {
    assert_eq!(
        refused(Scope::Topic, "retention.ms", "abc"),
        "Invalid value abc for configuration retention.ms: Not a number of type LONG"
    );
    assert_eq!(
        refused(Scope::Topic, "retention.ms", "-2"),
        "Invalid value -2 for configuration retention.ms: Value must be at least -1"
    );
    assert_eq!(
        refused(Scope::Topic, "compression.type", "brotli"),
        "Invalid value brotli for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"
    );
    assert_eq!(
        refused(Scope::Topic, "no.such.key", "1"),
        "Unknown topic config name: no.such.key"
    );
    assert_eq!(
        refused(Scope::Topic, "preallocate", "maybe"),
        "Invalid value maybe for configuration preallocate: Expected value to be either true or false"
    );
    assert_eq!(
        refused(Scope::Topic, "min.cleanable.dirty.ratio", "1.5"),
        "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"
    );
}

#[test]
fn lists_and_exempt_values_are_accepted() {
    accepted(Scope::Topic, "cleanup.policy", "compact,delete");
    accepted(Scope::Topic, "compression.gzip.level", "-1");
    accepted(
        Scope::Topic,
        "leader.replication.throttled.replicas",
        "0:1,1:2",
    );
    accepted(Scope::Topic, "leader.replication.throttled.replicas", "*");
    accepted(Scope::Group, "share.auto.offset.reset", "by_duration:PT1H");
    assert!(
        refused(Scope::Topic, "compression.gzip.level", "0")
            .ends_with("Value must be between 1 and 9 or equal to -1")
    );
    assert!(refused(Scope::Topic, "cleanup.policy", "shred").contains("one of: compact, delete"));
}

#[test]
fn a_topic_key_falls_back_to_broker_keys_in_order() {
    let topic = catalogue(Scope::Topic);
    let retention = topic.get("retention.ms").unwrap();

    let default = topic.effective(retention, Layers::NONE);
    assert_eq!(default.value.as_deref(), Some("604800000"));
    assert_eq!(default.source, Source::Default);
    // Kafka names what stands behind log.retention.ms only where that one is set.
    assert_eq!(default.synonyms, []);

    let file = |name: &str| (name == "log.retention.hours").then(|| "1".to_owned());
    let layers = Layers {
        file: &file,
        ..Layers::NONE
    };
    let from_file = topic.effective(retention, layers);
    assert_eq!(from_file.value.as_deref(), Some("3600000"));
    assert_eq!(from_file.source, Source::Default);

    let own = |name: &str| (name == "retention.ms").then(|| "5".to_owned());
    let cluster = |name: &str| (name == "log.retention.ms").then(|| "6".to_owned());
    let all = topic.effective(
        retention,
        Layers {
            resource: &own,
            cluster: &cluster,
            ..layers
        },
    );
    assert_eq!(all.value.as_deref(), Some("5"));
    let sources: Vec<Source> = all.synonyms.iter().map(|s| s.source).collect();
    assert_eq!(
        sources,
        [
            Source::Topic,
            Source::Cluster,
            Source::File,
            Source::Default
        ]
    );
}

#[test]
fn typed_topic_settings_have_kafkas_defaults() {
    let settings = topic::Settings::resolve(Layers::NONE);
    assert!(settings.delete && !settings.compact);
    assert_eq!(settings.segment_bytes, 1 << 30);
    assert_eq!(settings.retention_ms, Some(604_800_000));
    assert_eq!(settings.retention_bytes, None);
    assert_eq!(settings.max_message_bytes, 1_048_588);
    assert_eq!(settings.min_insync_replicas, 1);
    assert_eq!(settings.flush_ms, i64::MAX);
}

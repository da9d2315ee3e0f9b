//! What may be changed of a broker's configs while it runs (KIP-226): which keys, and whether the broker
//! can run with all that holds then.

use std::collections::HashSet;

use api::config::{Catalogue, Definition, Kind, Layers, Scope, UpdateMode, catalogue};
use kafka_wire::ErrorCode;
use machine::metadata::image::ConfigResource;

use super::{Change, items};
use crate::config::effective::with_layers;
use crate::kafka::Front;
use crate::kafka::topics::Failure;

/// Counts of threads of Kafka: one change may halve or double them.
const THREADS: [&str; 5] = [
    "background.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
];

/// Checks what is set of `changes`; removing a key is always allowed. Keys that nobody knows may be set as
/// in Kafka, where a plug-in may read them; but not under our own prefix.
pub(super) fn check(front: &Front, id: &ConfigResource, changes: &[Change]) -> Result<(), Failure> {
    let keys = catalogue(Scope::Broker);
    let for_all = *id == ConfigResource::BrokerDefault;
    let set: Vec<(&str, &str)> = changes
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
        .collect();
    let known = || set.iter().filter_map(|(name, _)| keys.get(name));
    refuse(
        "Cannot update these configs dynamically",
        known().filter(|key| key.needs_restart()),
    )?;
    refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        known().filter(|key| is_of_a_listener(key)),
    )?;
    for (name, value) in &set {
        check_value(keys, name, value)?;
    }
    let of_each_broker = |key: &&Definition| key.update_mode == UpdateMode::PerBroker;
    if for_all {
        refuse(
            "Cannot update these configs at default cluster level, broker id must be specified",
            known().filter(of_each_broker),
        )?;
    }
    refuse(
        "This broker reads these configs when it starts: change them in its file and restart it",
        known()
            .filter(of_each_broker)
            .filter(|key| key.name != "cordoned.log.dirs"),
    )?;
    check_together(front, id, changes)
}

fn refuse<'a>(why: &str, keys: impl Iterator<Item = &'a Definition>) -> Result<(), Failure> {
    let names: Vec<&str> = keys.map(|key| key.name).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(refused(format!("{why}: [{}]", names.join(", "))))
}

fn refused(text: String) -> Failure {
    Failure::new(ErrorCode::InvalidRequest, text)
}

fn is_of_a_listener(key: &Definition) -> bool {
    ["ssl.keystore.", "ssl.truststore.", "ssl.key."]
        .iter()
        .any(|prefix| key.name.starts_with(prefix))
}

fn check_value(keys: &Catalogue, name: &str, value: &str) -> Result<(), Failure> {
    let Some(key) = keys.get(name) else {
        return keys.check_given(name, value).map(drop).map_err(Into::into);
    };
    let mut seen = HashSet::new();
    let twice = !items(value).all(|item| seen.insert(item));
    if key.kind == Kind::List && twice {
        return Err(refused(format!(
            "Configuration '{name}' values must not be duplicated."
        )));
    }
    key.check(value)
        .map_err(|wrong| refused(wrong.to_string()))?;
    if name == "max.connections.per.ip.overrides" {
        crate::net::Bounds::overrides(value)
            .map_err(|item| refused(format!(
                "Error parsing configuration property '{name}': '{item}' is not an address and a number, as in 127.0.0.1:10"
            )))?;
    }
    Ok(())
}

/// What Kafka requires of several keys, or of a key and what it was before.
fn check_together(front: &Front, id: &ConfigResource, changes: &[Change]) -> Result<(), Failure> {
    let image = front.metadata.image();
    with_layers(&front.config, &image, id, |layers| {
        let changed = |name: &str, before: &dyn Fn(&str) -> Option<String>| match changes
            .iter()
            .find(|(key, _)| key == name)
        {
            Some((_, value)) => value.clone(),
            None => before(name),
        };
        let broker = |name: &str| changed(name, layers.broker);
        let cluster = |name: &str| changed(name, layers.cluster);
        let after = match id {
            ConfigResource::BrokerDefault => Layers {
                cluster: &cluster,
                ..layers
            },
            _ => Layers {
                broker: &broker,
                ..layers
            },
        };
        let number = |name: &str, layers| {
            let value = catalogue(Scope::Broker).value(name, layers)?;
            value.trim().parse::<i64>().ok()
        };
        check_times(|name| number(name, after))?;
        check_cleaner(|name| number(name, layers), |name| number(name, after))?;
        for name in THREADS {
            let (Some(now), Some(then)) = (number(name, layers), number(name, after)) else {
                continue;
            };
            let bound = match then {
                _ if then > now.saturating_mul(2) => "not be greater than double",
                _ if then < now / 2 => "be at least half",
                _ => continue,
            };
            return Err(refused(format!(
                "Dynamic thread count update validation failed for {name}={then}, value should {bound} the current value {now}"
            )));
        }
        Ok(())
    })
}

fn check_times(then: impl Fn(&str) -> Option<i64>) -> Result<(), Failure> {
    if then("log.retention.ms") == Some(0) {
        return Err(refused(
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1".to_owned(),
        ));
    }
    if then("log.roll.ms").is_some_and(|ms| ms < 1) {
        return Err(refused(
            "requirement failed: log.roll.ms must be greater than or equal to 1".to_owned(),
        ));
    }
    let (least, most) = (
        "log.cleaner.min.compaction.lag.ms",
        "log.cleaner.max.compaction.lag.ms",
    );
    match (then(least), then(most)) {
        (Some(min), Some(max)) if min > max => Err(refused(format!(
            "conflict broker config setting {least} ({min}) > {most} ({max})"
        ))),
        _ => Ok(()),
    }
}

fn check_cleaner(
    now: impl Fn(&str) -> Option<i64>,
    then: impl Fn(&str) -> Option<i64>,
) -> Result<(), Failure> {
    /// What the keys of one thread need at least.
    const THREAD_BYTES_MIN: i64 = 1 << 20;
    let threads = "log.cleaner.threads";
    let (Some(before), Some(after)) = (now(threads), then(threads)) else {
        return Ok(());
    };
    let why = match after {
        _ if after < 1 => Some("must be at least 1".to_owned()),
        _ if after > before.saturating_mul(2) => Some(format!(
            "cannot be increased to more than double the current value {before}"
        )),
        _ if after < before / 2 => Some(format!(
            "cannot be reduced to less than half the current value {before}"
        )),
        _ => None,
    };
    if let Some(why) = why {
        return Err(refused(format!("Log cleaner threads {why}")));
    }
    let bytes = then("log.cleaner.dedupe.buffer.size").unwrap_or(i64::MAX);
    if bytes / after < THREAD_BYTES_MIN {
        return Err(refused(
            "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
                .to_owned(),
        ));
    }
    Ok(())
}

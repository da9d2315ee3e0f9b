//! Which value holds: the first layer that has one.

use super::{Catalogue, Definition, Scope, catalogue};

/// Where values are set. Each layer answers for a key by name.
#[derive(Clone, Copy)]
pub struct Layers<'a> {
    /// Of the topic or the group itself.
    pub resource: &'a dyn Fn(&str) -> Option<String>,
    /// Changed at run time for one broker.
    pub broker: &'a dyn Fn(&str) -> Option<String>,
    /// Changed at run time for all brokers.
    pub cluster: &'a dyn Fn(&str) -> Option<String>,
    /// Given in the broker's file.
    pub file: &'a dyn Fn(&str) -> Option<String>,
}

/// Which layer a value comes from; the numbers are those of `DescribeConfigs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum Source {
    Topic = 1,
    Broker = 2,
    Cluster = 3,
    File = 4,
    Default = 5,
    Group = 8,
}

/// The value of a key, and all that could have been it, nearest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    pub value: Option<String>,
    pub source: Source,
    pub synonyms: Vec<Synonym>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synonym {
    pub name: &'static str,
    pub value: Option<String>,
    pub source: Source,
}

fn nowhere(_: &str) -> Option<String> {
    None
}

impl Layers<'_> {
    /// No layer holds anything: defaults only.
    pub const NONE: Layers<'static> = Layers {
        resource: &nowhere,
        broker: &nowhere,
        cluster: &nowhere,
        file: &nowhere,
    };
}

impl Catalogue {
    /// The value of `definition`, with where it comes from.
    pub fn effective(&self, definition: &Definition, layers: Layers<'_>) -> Effective {
        let mut found = Vec::new();
        let own = match definition.scope {
            Scope::Topic => Some(Source::Topic),
            Scope::Group => Some(Source::Group),
            Scope::Broker => None,
        };
        if let Some(source) = own {
            if let Some(value) = (layers.resource)(definition.name) {
                found.push(Synonym {
                    name: definition.name,
                    value: Some(value),
                    source,
                });
            }
            for name in &definition.falls_back_to {
                broker_layers(name, layers, &mut found);
            }
        } else {
            for name in broker_synonyms(definition.name) {
                broker_layers(name, layers, &mut found);
            }
        }
        push_default(definition, &mut found);
        let (value, source) = match found.first() {
            Some(first) => (in_unit_of(definition.name, first), first.source),
            None => (None, Source::Default),
        };
        Effective {
            value,
            source,
            synonyms: found,
        }
    }

    /// The value of the key `name`; `None` for an unknown key or null.
    pub fn value(&self, name: &str, layers: Layers<'_>) -> Option<String> {
        self.effective(self.get(name)?, layers).value
    }
}

/// A broker key and the coarser ones behind it.
fn broker_synonyms(name: &'static str) -> Vec<&'static str> {
    match name {
        "log.retention.ms" => vec![name, "log.retention.minutes", "log.retention.hours"],
        "log.retention.minutes" => vec![name, "log.retention.hours"],
        "log.roll.ms" => vec![name, "log.roll.hours"],
        "log.roll.jitter.ms" => vec![name, "log.roll.jitter.hours"],
        "log.flush.interval.ms" => vec![name, "log.flush.scheduler.interval.ms"],
        _ => vec![name],
    }
}

fn broker_layers(name: &'static str, layers: Layers<'_>, found: &mut Vec<Synonym>) {
    let in_order = [
        (layers.broker, Source::Broker),
        (layers.cluster, Source::Cluster),
        (layers.file, Source::File),
    ];
    for (layer, source) in in_order {
        if let Some(value) = layer(name) {
            found.push(Synonym {
                name,
                value: Some(value),
                source,
            });
        }
    }
}

/// The default is listed under the last broker key that has one, as Kafka does.
fn push_default(definition: &Definition, found: &mut Vec<Synonym>) {
    let behind = match definition.scope {
        Scope::Broker => broker_synonyms(definition.name),
        Scope::Topic | Scope::Group => definition.falls_back_to.clone(),
    };
    let fallback = behind.iter().rev().find_map(|name| {
        let value = catalogue(Scope::Broker).get(name)?.default?;
        Some((*name, value))
    });
    let default = fallback.or_else(|| Some((definition.name, definition.default?)));
    if let Some((name, value)) = default {
        found.push(Synonym {
            name,
            value: Some(value.to_owned()),
            source: Source::Default,
        });
    }
}

/// A value set under a key in hours or minutes, in milliseconds.
fn in_unit_of(name: &str, found: &Synonym) -> Option<String> {
    let value = found.value.clone()?;
    let factor: i64 = match found.name {
        coarse if coarse == name => return Some(value),
        coarse if coarse.ends_with(".hours") => 3_600_000,
        coarse if coarse.ends_with(".minutes") => 60_000,
        _ => return Some(value),
    };
    match value.trim().parse::<i64>() {
        Ok(-1) | Err(_) => Some(value),
        Ok(number) => Some(number.saturating_mul(factor).to_string()),
    }
}

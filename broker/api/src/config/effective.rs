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
    /// The value of `definition`, with where it comes from as Kafka tells it: what stands behind the first
    /// key that it falls back to is named only where that one has a value.
    pub fn effective(&self, definition: &Definition, layers: Layers<'_>) -> Effective {
        let behind = match definition.scope {
            Scope::Broker => broker_synonyms(definition.name),
            Scope::Topic | Scope::Group => definition.falls_back_to.clone(),
        };
        let own = match definition.scope {
            Scope::Topic => Some(Source::Topic),
            Scope::Group => Some(Source::Group),
            Scope::Broker => None,
        };
        let mut synonyms: Vec<Synonym> = own
            .and_then(|source| {
                Some(Synonym {
                    name: definition.name,
                    value: Some((layers.resource)(definition.name)?),
                    source,
                })
            })
            .into_iter()
            .collect();
        let found = found(&behind, layers);
        let holds = synonyms
            .first()
            .or_else(|| nearest(&behind, &found))
            .and_then(|holds| in_unit_of(definition.name, holds))
            .or_else(|| definition.default.map(str::to_owned));
        let first = behind.first().copied();
        synonyms.extend(
            found
                .into_iter()
                .skip_while(|synonym| Some(synonym.name) != first),
        );
        if definition.scope == Scope::Group && behind.is_empty() {
            synonyms.extend(default_of(definition));
        }
        Effective {
            value: holds.map(|value| definition.kind.tidy(value)),
            source: synonyms.first().map_or(Source::Default, |s| s.source),
            synonyms,
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
        "log.roll.ms" => vec![name, "log.roll.hours"],
        "log.roll.jitter.ms" => vec![name, "log.roll.jitter.hours"],
        "log.flush.interval.ms" => vec![name, "log.flush.scheduler.interval.ms"],
        _ => vec![name],
    }
}

/// Every value of the keys `names`: layer by layer, in each of them key by key, the defaults last.
fn found(names: &[&'static str], layers: Layers<'_>) -> Vec<Synonym> {
    let in_order = [
        (layers.broker, Source::Broker),
        (layers.cluster, Source::Cluster),
        (layers.file, Source::File),
    ];
    let set = in_order.into_iter().flat_map(|(layer, source)| {
        names.iter().filter_map(move |name| {
            Some(Synonym {
                name,
                value: Some(layer(name)?),
                source,
            })
        })
    });
    let defaults = names
        .iter()
        .filter_map(|name| default_of(catalogue(Scope::Broker).get(name)?));
    set.chain(defaults).collect()
}

/// The value that holds: of the first key that has one, the nearest.
fn nearest<'a>(names: &[&str], found: &'a [Synonym]) -> Option<&'a Synonym> {
    names
        .iter()
        .find_map(|name| found.iter().find(|synonym| synonym.name == *name))
}

fn default_of(definition: &Definition) -> Option<Synonym> {
    Some(Synonym {
        name: definition.name,
        value: Some(definition.default?.to_owned()),
        source: Source::Default,
    })
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

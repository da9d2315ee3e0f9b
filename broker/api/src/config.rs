//! The config catalogue: every key of topics, brokers and groups with its type, default, valid
//! range, where it may be set, and what it falls back to. Kafka's names, defaults and messages.
//!
//! The tables `config/{topic,broker,group}.tsv` are the one source; the admin calls, the operator
//! and the broker itself read them here. Owns no values: those come in as [`Layers`].

mod definition;
mod docs;
mod effective;
mod given;
mod rule;
mod throttled;
pub mod topic;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use definition::{Definition, Kind, UpdateMode};
pub use effective::{Effective, Layers, Source, Synonym};
pub use given::Unknown;
pub use rule::Rule;
pub use throttled::ThrottledReplicas;

/// What a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    Topic,
    Broker,
    Group,
}

/// Why a key or a value is refused, in Kafka's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("Unknown {} config name: {name}", match scope { Scope::Topic => "topic", Scope::Broker => "broker", Scope::Group => "group" })]
    Unknown { scope: Scope, name: String },
    /// A key of our own that there is not.
    #[error("there is no configuration key {name}: {advice}")]
    Misnamed { name: String, advice: String },
    #[error("Invalid value {value} for configuration {name}: {reason}")]
    Value {
        name: String,
        value: String,
        reason: String,
    },
}

/// All keys of one scope.
#[derive(Debug)]
pub struct Catalogue {
    scope: Scope,
    definitions: BTreeMap<&'static str, Definition>,
}

/// The keys of `scope`.
pub fn catalogue(scope: Scope) -> &'static Catalogue {
    static TOPIC: LazyLock<Catalogue> =
        LazyLock::new(|| Catalogue::parse(Scope::Topic, include_str!("config/topic.tsv")));
    static BROKER: LazyLock<Catalogue> =
        LazyLock::new(|| Catalogue::parse(Scope::Broker, include_str!("config/broker.tsv")));
    static GROUP: LazyLock<Catalogue> =
        LazyLock::new(|| Catalogue::parse(Scope::Group, include_str!("config/group.tsv")));
    match scope {
        Scope::Topic => &TOPIC,
        Scope::Broker => &BROKER,
        Scope::Group => &GROUP,
    }
}

impl Catalogue {
    fn parse(scope: Scope, table: &'static str) -> Self {
        let definitions = table
            .lines()
            .skip(1)
            .map(|row| Definition::parse(scope, row))
            .map(|definition| (definition.name, definition))
            .collect();
        Self { scope, definitions }
    }

    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// Every key by name, the internal ones included.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.values()
    }

    /// Keys that are shown to clients, whether or not somebody set them.
    pub fn public(&self) -> impl Iterator<Item = &Definition> {
        self.iter()
            .filter(|definition| !definition.internal && !definition.shown_when_set)
    }

    /// Checks a value for a key of this scope.
    ///
    /// # Errors
    /// [`Refused`], with the text Kafka answers.
    pub fn check(&self, name: &str, value: &str) -> Result<&Definition, Refused> {
        let definition = self.get(name).ok_or_else(|| Refused::Unknown {
            scope: self.scope,
            name: name.to_owned(),
        })?;
        definition.check(value)?;
        Ok(definition)
    }
}

#[cfg(test)]
mod tests;

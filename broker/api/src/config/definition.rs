//! One key of the catalogue.

use super::{Refused, Rule, Scope};

#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    /// `None` is null: nothing is set unless somebody sets it.
    pub default: Option<&'static str>,
    pub rule: Rule,
    /// `high`, `medium` or `low`: how soon a reader of the documentation should meet it.
    pub importance: &'static str,
    /// Broker keys this one falls back to, the first set one wins. Empty for broker keys.
    pub falls_back_to: Vec<&'static str>,
    pub update_mode: UpdateMode,
    /// Not shown to clients.
    pub internal: bool,
    /// Shown to clients only where somebody set it.
    pub shown_when_set: bool,
}

/// Type of a value. `Int`, `Short` and `Long` differ in range only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    Short,
    Int,
    Long,
    Double,
    String,
    List,
    Class,
    Password,
}

/// Where and when a broker key may be changed. Topic and group keys are always dynamic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// In the file only; a change needs a restart.
    ReadOnly,
    PerBroker,
    /// Per broker, or for all brokers at once.
    ClusterWide,
}

impl Definition {
    /// One row of a table. The tables are part of the program: a bad row is a bug, found by the
    /// first look-up and by the tests.
    pub(super) fn parse(scope: Scope, row: &'static str) -> Self {
        let cells: Vec<&'static str> = row.split('\t').collect();
        let &[name, kind, default, rule, importance, origin, internal] = cells.as_slice() else {
            panic!("seven cells in a row of the catalogue: {row}");
        };
        let update_mode = match (scope, origin) {
            (Scope::Broker, "read-only") => UpdateMode::ReadOnly,
            (Scope::Broker, "per-broker") => UpdateMode::PerBroker,
            _ => UpdateMode::ClusterWide,
        };
        Self {
            name,
            scope,
            kind: Kind::parse(kind),
            default: match default {
                "null" | "(required)" => None,
                "\"\"" => Some(""),
                text => Some(text),
            },
            rule: Rule::parse(rule),
            importance,
            falls_back_to: match (scope, origin) {
                (Scope::Broker, _) | (_, "-") => Vec::new(),
                (_, broker_key) => with_coarser_units(broker_key),
            },
            update_mode,
            internal: internal == "yes",
            shown_when_set: internal == "when set",
        }
    }

    /// A change takes effect only after a restart.
    pub fn needs_restart(&self) -> bool {
        self.update_mode == UpdateMode::ReadOnly
    }

    /// The value is never shown.
    pub fn is_sensitive(&self) -> bool {
        self.kind == Kind::Password
    }

    /// # Errors
    /// [`Refused::Value`] when `value` has not the type of the key or is out of its range.
    pub fn check(&self, value: &str) -> Result<(), Refused> {
        self.kind
            .check(value)
            .and_then(|()| self.rule.check(value))
            .map_err(|reason| {
                let (value, reason) = match self.rule {
                    Rule::ThrottledReplicas => {
                        (format!("[{value}]"), format!("{} {reason}", self.name))
                    }
                    _ => (self.kind.shown(value), reason),
                };
                Refused::Value {
                    name: self.name.to_owned(),
                    value,
                    reason,
                }
            })
    }
}

/// Kafka's older keys in hours and minutes stand behind the one in milliseconds.
fn with_coarser_units(broker_key: &'static str) -> Vec<&'static str> {
    match broker_key {
        "log.retention.ms" => vec![broker_key, "log.retention.minutes", "log.retention.hours"],
        "log.roll.ms" => vec![broker_key, "log.roll.hours"],
        "log.roll.jitter.ms" => vec![broker_key, "log.roll.jitter.hours"],
        "log.flush.interval.ms" => vec![broker_key, "log.flush.scheduler.interval.ms"],
        _ => vec![broker_key],
    }
}

impl Kind {
    fn parse(word: &str) -> Self {
        match word {
            "boolean" => Self::Boolean,
            "short" => Self::Short,
            "int" => Self::Int,
            "long" => Self::Long,
            "double" => Self::Double,
            "string" => Self::String,
            "list" => Self::List,
            "class" => Self::Class,
            "password" => Self::Password,
            other => panic!("type of a config key: {other}"),
        }
    }

    /// Code in `DescribeConfigs` from version 3 on.
    pub fn code(self) -> i8 {
        match self {
            Self::Boolean => 1,
            Self::String => 2,
            Self::Int => 3,
            Self::Short => 4,
            Self::Long => 5,
            Self::Double => 6,
            Self::List => 7,
            Self::Class => 8,
            Self::Password => 9,
        }
    }

    /// A number may be stored with blanks around it, and is told without them.
    pub(super) fn tidy(self, value: String) -> String {
        match self {
            Self::Short | Self::Int | Self::Long | Self::Double => value.trim().to_owned(),
            _ => value,
        }
    }

    /// A refused value as Kafka writes it: numbers with a fraction as Java does.
    fn shown(self, value: &str) -> String {
        match (self, value.trim().parse::<f64>()) {
            (Self::Double, Ok(number)) => format!("{number:?}"),
            _ => value.to_owned(),
        }
    }

    fn check(self, value: &str) -> Result<(), String> {
        let number = |fits: bool, name: &str| match fits {
            true => Ok(()),
            false => Err(format!("Not a number of type {name}")),
        };
        let value = value.trim();
        match self {
            Self::Boolean if value.eq_ignore_ascii_case("true") => Ok(()),
            Self::Boolean if value.eq_ignore_ascii_case("false") => Ok(()),
            Self::Boolean => Err("Expected value to be either true or false".to_owned()),
            Self::Short => number(value.parse::<i16>().is_ok(), "SHORT"),
            Self::Int => number(value.parse::<i32>().is_ok(), "INT"),
            Self::Long => number(value.parse::<i64>().is_ok(), "LONG"),
            Self::Double => number(value.parse::<f64>().is_ok(), "DOUBLE"),
            Self::String | Self::List | Self::Class | Self::Password => Ok(()),
        }
    }
}

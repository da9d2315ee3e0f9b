//! Log levels that can be changed while the process runs. Whoever installed the log output gives a way to
//! change its filter ([`install`]); without one levels are told and not changed.
//!
//! A logger is a module of this program or of a library, by its path with dots, as Kafka's loggers are
//! named and its tools can spell; [`ROOT`] is all of them. It has the level that it was given, else that of
//! the nearest module around it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use parking_lot::Mutex;

/// What holds for every logger that was given no level.
pub const ROOT: &str = "root";

/// Modules that can be named. Whatever is inside one of this program can be named too.
const LOGGERS: [&str; 16] = [
    ROOT,
    "broker",
    "broker.admin",
    "broker.amqp",
    "broker.coordinator",
    "broker.kafka",
    "broker.metadata",
    "broker.net",
    "broker.node",
    "broker.partition",
    "broker.peer",
    "broker.queue",
    "broker.raft",
    "commitlog",
    "machine",
    "openraft",
];

/// Loggers inside others that were given a level at a time: more are refused.
const GIVEN_MAX: usize = 256;

static LEVELS: Mutex<Option<Levels>> = Mutex::new(None);

/// Kafka's names of levels; there is no graver one than `ERROR` here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Fatal,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// Why a level was not changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("Logger {0} does not exist!")]
    Unknown(String),
    #[error("Removing the log level of the root logger is not allowed")]
    Root,
    #[error("{GIVEN_MAX} loggers were given a level of their own; remove one first")]
    TooMany,
    #[error("the log output does not take another filter: {0}")]
    Output(String),
}

/// Changes the filter of the log output to the given directives (`info,broker::kafka=debug`).
pub type SetFilter = Box<dyn Fn(&str) -> Result<(), String> + Send>;

struct Levels {
    /// Directives of the start.
    filter: String,
    given: BTreeMap<String, Level>,
    set: SetFilter,
}

/// Names the directives that hold now, and how to change them.
pub fn install(filter: &str, set: SetFilter) {
    *LEVELS.lock() = Some(Levels {
        filter: filter.to_owned(),
        given: BTreeMap::new(),
        set,
    });
}

/// Every logger with its level, by name.
pub fn all() -> Vec<(String, Level)> {
    let levels = LEVELS.lock();
    let (filter, given) = match &*levels {
        Some(levels) => (levels.filter.as_str(), levels.given.clone()),
        None => ("", BTreeMap::new()),
    };
    let mut names: Vec<String> = LOGGERS.iter().map(|name| (*name).to_owned()).collect();
    names.extend(given.keys().cloned());
    names.sort();
    names.dedup();
    names
        .into_iter()
        .map(|name| {
            let level = level_of(&name, filter, &given);
            (name, level)
        })
        .collect()
}

/// Gives a logger a level; `None` takes it back.
///
/// # Errors
/// [`Refused`]; nothing is changed then.
pub fn change(logger: &str, level: Option<Level>) -> Result<(), Refused> {
    check(logger, level)?;
    let mut levels = LEVELS.lock();
    let Some(levels) = &mut *levels else {
        return Err(Refused::Output("it was not installed here".to_owned()));
    };
    let mut given = levels.given.clone();
    match level {
        Some(level) => given.insert(logger.to_owned(), level),
        None => given.remove(logger),
    };
    if given.len() > GIVEN_MAX {
        return Err(Refused::TooMany);
    }
    (levels.set)(&directives(&levels.filter, &given)).map_err(Refused::Output)?;
    levels.given = given;
    Ok(())
}

/// Whether [`change`] could be made, as far as that can be known before.
///
/// # Errors
/// [`Refused`].
pub fn check(logger: &str, level: Option<Level>) -> Result<(), Refused> {
    let inside = |module: &str| {
        let rest = logger.strip_prefix(module);
        rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('.') && is_path(rest)))
    };
    if !LOGGERS.iter().any(|module| inside(module)) {
        return Err(Refused::Unknown(logger.to_owned()));
    }
    if logger == ROOT && level.is_none() {
        return Err(Refused::Root);
    }
    Ok(())
}

/// Nothing that would be read as another directive.
fn is_path(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

/// As the filter of the log output names it.
fn module(logger: &str) -> String {
    logger.replace('.', "::")
}

fn directives(filter: &str, given: &BTreeMap<String, Level>) -> String {
    let mut all = vec![filter.to_owned()];
    for (logger, level) in given {
        let level = level.directive();
        all.push(match logger.as_str() {
            ROOT => level.to_owned(),
            logger => format!("{}={level}", module(logger)),
        });
    }
    all.retain(|directive| !directive.is_empty());
    all.join(",")
}

fn level_of(logger: &str, filter: &str, given: &BTreeMap<String, Level>) -> Level {
    let at_start = |name: &str| {
        let own = |directive: &str| match directive.split_once('=') {
            Some((path, level)) if path == module(name) => level.parse().ok(),
            None if name == ROOT => directive.parse().ok(),
            _ => None,
        };
        filter.split(',').map(str::trim).rev().find_map(own)
    };
    let mut name = logger;
    loop {
        if let Some(level) = given.get(name).copied().or_else(|| at_start(name)) {
            return level;
        }
        name = match name.rsplit_once('.') {
            Some((around, _)) => around,
            None if name == ROOT => return Level::Error,
            None => ROOT,
        };
    }
}

// === impl Level ===

impl Level {
    /// As the filter of the log output names it.
    fn directive(self) -> &'static str {
        match self {
            Self::Fatal | Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fatal => "FATAL",
            Self::Error => "ERROR",
            Self::Warn => "WARN",
            Self::Info => "INFO",
            Self::Debug => "DEBUG",
            Self::Trace => "TRACE",
        })
    }
}

impl FromStr for Level {
    type Err = ();

    /// In any case, as filters are written.
    fn from_str(text: &str) -> Result<Self, ()> {
        match text.to_ascii_uppercase().as_str() {
            "FATAL" => Ok(Self::Fatal),
            "ERROR" => Ok(Self::Error),
            "WARN" => Ok(Self::Warn),
            "INFO" => Ok(Self::Info),
            "DEBUG" => Ok(Self::Debug),
            "TRACE" => Ok(Self::Trace),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logger_has_the_level_of_the_nearest_module_around_it() {
        let mut given = BTreeMap::new();
        let filter = "info,openraft=error";
        let level = |name, given: &BTreeMap<_, _>| level_of(name, filter, given);
        assert_eq!(level("broker.kafka", &given), Level::Info);
        assert_eq!(level("openraft", &given), Level::Error);
        given.insert("broker".to_owned(), Level::Debug);
        assert_eq!(level("broker.kafka", &given), Level::Debug);
        given.insert("broker.kafka.fetch".to_owned(), Level::Trace);
        assert_eq!(level(ROOT, &given), Level::Info);
        assert_eq!(
            directives(filter, &given),
            "info,openraft=error,broker=debug,broker::kafka::fetch=trace"
        );
        given.insert(ROOT.to_owned(), Level::Warn);
        assert_eq!(level("machine", &given), Level::Warn);
    }

    #[test]
    fn a_name_that_is_no_module_is_refused() {
        let unknown = |name: &str| Err(Refused::Unknown(name.to_owned()));
        for name in [
            "",
            "brokers",
            "org.apache",
            "broker::kafka",
            "broker.a=trace,b",
            "root.x y",
        ] {
            assert_eq!(check(name, Some(Level::Info)), unknown(name));
        }
        assert_eq!(check("broker.kafka.fetch", None), Ok(()));
        assert_eq!(check(ROOT, None), Err(Refused::Root));
    }
}

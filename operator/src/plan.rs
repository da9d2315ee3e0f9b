//! What to do to make the brokers hold what a resource asks for: desired spec and observed state in,
//! steps or a refusal out.
//!
//! Pure, so that the operator and local mode plan alike; each has its own way to carry a plan out.
//! A plan is made from a fresh observation each time: carrying out half of one and planning again
//! gives the other half.

pub mod exchange;
pub mod queue;
pub mod topic;

/// Why a spec cannot be brought about. Trying again changes nothing; somebody has to change the
/// resource or the cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("spec.{field}: {message}")]
pub struct Refusal {
    /// Path below `spec` of the field that asks for it.
    pub field: &'static str,
    /// CamelCase; the reason of the condition.
    pub reason: &'static str,
    /// Says what is there, what was asked for, and why that cannot be.
    pub message: String,
}

/// JSON for the brokers: a number stays a number.
fn json(argument: &crds::argument::Argument) -> serde_json::Value {
    match argument {
        crds::argument::Argument::Number(n) => (*n).into(),
        crds::argument::Argument::Text(t) => t.as_str().into(),
    }
}

/// A property that is fixed once declared, where it is another than asked for.
fn unlike<T: PartialEq + std::fmt::Debug>(what: &str, have: T, want: T) -> Option<String> {
    (have != want).then(|| format!("{what} is {have:?}, wanted {want:?}"))
}

/// Names of the entries in which two argument tables differ, with both values.
fn differences(have: &api::admin::Arguments, want: &api::admin::Arguments) -> Vec<String> {
    let mut keys: Vec<&String> = have.keys().chain(want.keys()).collect();
    keys.sort();
    keys.dedup();
    let shown =
        |v: Option<&serde_json::Value>| v.map_or_else(|| "none".to_owned(), ToString::to_string);
    keys.into_iter()
        .filter(|key| have.get(*key) != want.get(*key))
        .map(|key| {
            format!(
                "{key} is {}, wanted {}",
                shown(have.get(key)),
                shown(want.get(key))
            )
        })
        .collect()
}

//! What a value must satisfy beyond its type.

#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    Any,
    NotEmpty,
    /// Inclusive; a missing end is open. `or` is one value outside that is allowed too.
    Range {
        min: Option<f64>,
        max: Option<f64>,
        or: Option<f64>,
    },
    OneOf {
        values: Vec<&'static str>,
        any_case: bool,
    },
    /// A list without duplicates.
    Items {
        /// Empty: any.
        values: Vec<&'static str>,
        not_empty: bool,
    },
    /// `latest`, `earliest` or `by_duration:` and an ISO 8601 duration.
    OffsetReset,
    /// `*`, or a list of `partition:broker`.
    ThrottledReplicas,
}

impl Rule {
    pub(super) fn parse(cell: &'static str) -> Self {
        let (rule, tail) = cell.split_once(", ").unwrap_or((cell, ""));
        let not_empty = tail.contains("not empty");
        if let Some(values) = rule.strip_prefix("items of ") {
            return match values {
                "partition:broker" => Self::ThrottledReplicas,
                values if values.contains(':') => Self::Items {
                    values: Vec::new(),
                    not_empty,
                },
                values => Self::Items {
                    values: values.split('|').collect(),
                    not_empty,
                },
            };
        }
        if let Some(values) = rule.strip_prefix("one of ") {
            if values.contains("by_duration") {
                return Self::OffsetReset;
            }
            return Self::OneOf {
                values: values.split('|').collect(),
                any_case: tail == "any case",
            };
        }
        match rule {
            "-" | "not null" => Self::Any,
            "not empty" => Self::NotEmpty,
            "items any" => Self::Items {
                values: Vec::new(),
                not_empty,
            },
            range => parse_range(range),
        }
    }

    /// `Err` is the end of Kafka's sentence.
    pub(super) fn check(&self, value: &str) -> Result<(), String> {
        match self {
            Self::Any => Ok(()),
            Self::NotEmpty if value.trim().is_empty() => Err("String must be non-empty".to_owned()),
            Self::NotEmpty => Ok(()),
            Self::Range { min, max, or } => check_range(*min, *max, *or, value),
            Self::OneOf { values, any_case } => check_one_of(values, *any_case, value.trim()),
            Self::Items { values, not_empty } => check_items(values, *not_empty, value),
            Self::OffsetReset => check_offset_reset(value),
            Self::ThrottledReplicas => check_throttled(value),
        }
    }
}

/// `1..`, `..5`, `0..1`, `1..9 or -1`.
fn parse_range(cell: &'static str) -> Rule {
    let (range, or) = match cell.split_once(" or ") {
        Some((range, or)) => (range, Some(or)),
        None => (cell, None),
    };
    let Some((min, max)) = range.split_once("..") else {
        panic!("rule of a config key: {cell}");
    };
    let bound = |text: &str| (!text.is_empty()).then(|| text.parse().expect("a bound is a number"));
    Rule::Range {
        min: bound(min),
        max: bound(max),
        or: or.and_then(bound),
    }
}

/// The bounds are small enough that comparing as floats is exact where it matters.
fn check_range(
    min: Option<f64>,
    max: Option<f64>,
    or: Option<f64>,
    value: &str,
) -> Result<(), String> {
    let value: f64 = value.trim().parse().unwrap_or(f64::NAN);
    if or == Some(value) {
        return Ok(());
    }
    if let (Some(min), Some(max), Some(or)) = (min, max, or)
        && !(min..=max).contains(&value)
    {
        return Err(format!(
            "Value must be between {min} and {max} or equal to {or}"
        ));
    }
    if let Some(min) = min
        && (value < min || value.is_nan())
    {
        return Err(format!("Value must be at least {min}"));
    }
    match max {
        Some(max) if value > max => Err(format!("Value must be no more than {max}")),
        _ => Ok(()),
    }
}

fn check_one_of(values: &[&str], any_case: bool, value: &str) -> Result<(), String> {
    let known = values
        .iter()
        .any(|v| *v == value || (any_case && v.eq_ignore_ascii_case(value)));
    if known {
        return Ok(());
    }
    let case = if any_case { " (case insensitive)" } else { "" };
    Err(format!(
        "String must be one of{case}: {}",
        values.join(", ")
    ))
}

/// The elements of a list value.
pub(super) fn items(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn check_items(values: &[&str], not_empty: bool, value: &str) -> Result<(), String> {
    let items: Vec<&str> = items(value).collect();
    if items.is_empty() && not_empty {
        return Err("Configuration must not be empty.".to_owned());
    }
    for (n, item) in items.iter().enumerate() {
        if !values.is_empty() {
            check_one_of(values, false, item)?;
        }
        if items.iter().take(n).any(|earlier| earlier == item) {
            return Err("Configuration must not contain duplicate values.".to_owned());
        }
    }
    Ok(())
}

fn check_offset_reset(value: &str) -> Result<(), String> {
    let duration = value.strip_prefix("by_duration:");
    match value {
        "earliest" | "latest" => Ok(()),
        _ if duration.is_some_and(|iso| iso.starts_with('P') && iso.len() > 2) => Ok(()),
        _ => Err(
            "Must be one of: earliest, latest or by_duration: and an ISO 8601 duration".to_owned(),
        ),
    }
}

fn check_throttled(value: &str) -> Result<(), String> {
    let pair = |item: &str| {
        item.split_once(':').is_some_and(|(partition, broker)| {
            partition.parse::<i32>().is_ok() && broker.parse::<i32>().is_ok()
        })
    };
    if value.trim() == "*" || items(value).all(pair) {
        return Ok(());
    }
    Err("must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...".to_owned())
}

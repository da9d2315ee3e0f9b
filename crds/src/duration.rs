//! Lengths of time as people write them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const PATTERN: &str = r"([0-9]+(\.[0-9]+)?(ms|s|m|h))+";

/// A length of time in Go's notation with the units ms, s, m and h: `90s`, `168h`, `1h30m`.
/// Whole milliseconds, never negative, at most `i64::MAX`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    millis: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a duration: write it like 90s, 168h or 1h30m")]
pub struct Invalid(String);

impl Duration {
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self {
            millis: millis.max(0),
        }
    }

    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.millis
    }

    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        std::time::Duration::from(self).as_secs_f64()
    }
}

impl From<Duration> for std::time::Duration {
    fn from(d: Duration) -> Self {
        Self::from_millis(d.millis.unsigned_abs())
    }
}

impl FromStr for Duration {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = || Invalid(text.to_owned());
        let mut rest = text;
        let mut millis: i64 = 0;
        if rest.is_empty() {
            return Err(invalid());
        }
        while !rest.is_empty() {
            let unit_at = rest
                .find(|c: char| c.is_ascii_alphabetic())
                .ok_or_else(invalid)?;
            let (number, tail) = rest.split_at(unit_at);
            let unit_end = tail
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit_end);
            rest = tail;
            let unit_millis: i64 = match unit {
                "ms" => 1,
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                _ => return Err(invalid()),
            };
            let part = scaled(number, unit_millis).ok_or_else(invalid)?;
            millis = millis.checked_add(part).ok_or_else(invalid)?;
        }
        Ok(Self { millis })
    }
}

/// `number` (digits, perhaps with a fraction) times `unit`, rounded down; `None` when it is no such
/// number or does not fit.
pub(crate) fn scaled(number: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let parts_per_one = 10_i64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let whole: i64 = whole.parse::<i64>().ok()?.checked_mul(unit)?;
    let fraction: i128 = i128::from(fraction.parse::<i64>().ok()?) * i128::from(unit);
    whole.checked_add(i64::try_from(fraction / i128::from(parts_per_one)).ok()?)
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")]
            .into_iter()
            .find(|(unit, _)| self.millis > 0 && self.millis % unit == 0)
            .unwrap_or((1, "ms"));
        write!(f, "{}{name}", self.millis / unit)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(d)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": format!("^{PATTERN}$"), "maxLength": 32 })
    }
}

/// A length of time, or the word `Unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Unlimited,
    For(Duration),
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => s.serialize_str("Unlimited"),
            Self::For(d) => d.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(d)?;
        if text == "Unlimited" {
            return Ok(Self::Unlimited);
        }
        text.parse().map(Self::For).map_err(de::Error::custom)
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "DurationLimit".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "pattern": format!("^(Unlimited|{PATTERN})$"), "maxLength": 32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_notation_is_read_to_the_millisecond_and_printed_in_its_largest_whole_unit() {
        for (text, millis, printed) in [
            ("90s", 90_000, "90s"),
            ("168h", 604_800_000, "168h"),
            ("1h30m", 5_400_000, "90m"),
            ("1.5s", 1_500, "1500ms"),
            ("0s", 0, "0ms"),
            ("0.0005s", 0, "0ms"),
        ] {
            let d: Duration = text.parse().unwrap();
            assert_eq!((d.as_millis(), d.to_string().as_str()), (millis, printed));
        }
    }

    #[test]
    fn what_is_not_a_duration_or_does_not_fit_is_refused() {
        for text in [
            "",
            "5",
            "5d",
            "-5s",
            "s",
            "1..5s",
            "1e3s",
            "99999999999999999999h",
            "9223372036854775807h",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }
}

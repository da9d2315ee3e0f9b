//! Amounts of bytes as Kubernetes writes them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::duration::scaled;

/// An amount of bytes: a whole number, or one with a suffix (`500M`, `10Gi`). Kept as written, so
/// that what goes on to other objects is what the user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    text: String,
    bytes: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an amount of bytes: write it like 1048576, 500M or 10Gi")]
pub struct Invalid(String);

impl Bytes {
    #[must_use]
    pub fn get(&self) -> i64 {
        self.bytes
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Bytes {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let unit_at = text
            .find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let factor = match unit {
            "" => 1,
            "k" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            "T" => 1_000_000_000_000,
            "P" => 1_000_000_000_000_000,
            "Ki" => 1 << 10,
            "Mi" => 1 << 20,
            "Gi" => 1 << 30,
            "Ti" => 1 << 40,
            "Pi" => 1 << 50,
            _ => return Err(Invalid(text.to_owned())),
        };
        match scaled(number, factor) {
            Some(bytes) => Ok(Self {
                text: text.to_owned(),
                bytes,
            }),
            None => Err(Invalid(text.to_owned())),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Text(String),
        }
        match Written::deserialize(d)? {
            Written::Number(n) => n.to_string(),
            Written::Text(text) => text,
        }
        .parse()
        .map_err(de::Error::custom)
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "pattern": r"^[0-9]{1,15}(\.[0-9]{1,9})?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?$",
            "maxLength": 32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_suffixes_count_bytes() {
        for (text, bytes) in [
            ("1", 1),
            ("500M", 500_000_000),
            ("10Gi", 10 << 30),
            ("1.5Ki", 1536),
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap().get(), bytes);
        }
    }

    #[test]
    fn negative_unknown_or_huge_amounts_are_refused() {
        for text in ["", "-1", "1X", "Gi", "1e3", "99999999P", "1 Gi"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}

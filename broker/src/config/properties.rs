//! The properties file: lines to a map, and typed reads from the map.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use machine::metadata::image::{Endpoint, Listener};
use model::BrokerId;

use super::{Invalid, Voter};

/// `key=value` lines; `#` and `!` start a comment, as in Java properties. The last of two equal keys wins.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, String>, Invalid> {
    let mut settings = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let Some((key, value)) = line
            .split_once('=')
            .filter(|(key, _)| !key.trim().is_empty())
        else {
            return Err(Invalid::Line {
                line: number + 1,
                text: line.to_owned(),
            });
        };
        settings.insert(key.trim().to_owned(), value.trim().to_owned());
    }
    Ok(settings)
}

/// Typed reads; each failure names the key, the value and what would be right.
pub(super) struct Settings<'a>(pub(super) &'a BTreeMap<String, String>);

impl Settings<'_> {
    pub(super) fn optional(&self, key: &str) -> Option<&str> {
        self.0
            .get(key)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    }

    fn required(&self, key: &'static str, example: &'static str) -> Result<&str, Invalid> {
        self.optional(key).ok_or(Invalid::Missing { key, example })
    }

    pub(super) fn text(&self, key: &'static str, example: &'static str) -> Result<String, Invalid> {
        Ok(self.required(key, example)?.to_owned())
    }

    pub(super) fn number(
        &self,
        key: &'static str,
        example: &'static str,
        range: RangeInclusive<i32>,
    ) -> Result<i32, Invalid> {
        let value = self.required(key, example)?;
        match value.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(invalid(
                key,
                value,
                format!(
                    "give a whole number from {} to {}",
                    range.start(),
                    range.end()
                ),
            )),
        }
    }

    pub(super) fn millis(&self, key: &str, default: u64) -> Result<Duration, Invalid> {
        self.unsigned(key, default, "milliseconds")
            .map(Duration::from_millis)
    }

    pub(super) fn bytes(&self, key: &str, default: usize) -> Result<usize, Invalid> {
        let bytes = self.unsigned(key, default as u64, "bytes")?;
        usize::try_from(bytes)
            .map_err(|_| invalid(key, &bytes.to_string(), "it is too large".into()))
    }

    pub(super) fn count<T: TryFrom<u64>>(&self, key: &str, default: u64) -> Result<T, Invalid> {
        let count = self.unsigned(key, default, "them")?;
        T::try_from(count).map_err(|_| invalid(key, &count.to_string(), "it is too large".into()))
    }

    fn unsigned(&self, key: &str, default: u64, unit: &str) -> Result<u64, Invalid> {
        let Some(value) = self.optional(key) else {
            return Ok(default);
        };
        match value.parse() {
            Ok(0) | Err(_) => Err(invalid(
                key,
                value,
                format!("give a positive number of {unit}"),
            )),
            Ok(number) => Ok(number),
        }
    }

    pub(super) fn endpoints(
        &self,
        key: &'static str,
        example: &'static str,
    ) -> Result<Vec<Endpoint>, Invalid> {
        let value = self.required(key, example)?;
        let mut endpoints: Vec<Endpoint> = Vec::new();
        for item in value.split(',') {
            let endpoint = endpoint(item.trim()).ok_or_else(|| {
                invalid(
                    key,
                    value,
                    format!(
                        "'{item}' is not NAME://host:port with NAME one of KAFKA, AMQP, ADMIN, PEER"
                    ),
                )
            })?;
            if endpoints.iter().any(|e| e.listener == endpoint.listener) {
                return Err(invalid(
                    key,
                    value,
                    format!("'{item}' names a listener twice"),
                ));
            }
            endpoints.push(endpoint);
        }
        Ok(endpoints)
    }

    pub(super) fn voters(
        &self,
        key: &'static str,
        example: &'static str,
    ) -> Result<Vec<Voter>, Invalid> {
        let value = self.required(key, example)?;
        let mut voters: Vec<Voter> = Vec::new();
        for item in value.split(',') {
            let voter = voter(item.trim())
                .ok_or_else(|| invalid(key, value, format!("'{item}' is not ID@host:port")))?;
            if voters.iter().any(|v| v.id == voter.id) {
                return Err(invalid(key, value, format!("id {} occurs twice", voter.id)));
            }
            voters.push(voter);
        }
        voters.sort_by_key(|v| v.id);
        Ok(voters)
    }
}

fn invalid(key: &str, value: &str, reason: String) -> Invalid {
    Invalid::Value {
        key: key.to_owned(),
        value: value.to_owned(),
        reason,
    }
}

fn endpoint(text: &str) -> Option<Endpoint> {
    let (name, address) = text.split_once("://")?;
    let listener = match name.to_ascii_uppercase().as_str() {
        "KAFKA" => Listener::Kafka,
        "AMQP" => Listener::Amqp,
        "ADMIN" => Listener::Admin,
        "PEER" => Listener::Peer,
        _ => return None,
    };
    let (host, port) = host_and_port(address)?;
    Some(Endpoint {
        listener,
        host,
        port,
    })
}

fn voter(text: &str) -> Option<Voter> {
    let (id, address) = text.split_once('@')?;
    let id: i32 = id.parse().ok().filter(|id| *id >= 0)?;
    let (host, port) = host_and_port(address)?;
    Some(Voter {
        id: BrokerId(id),
        host,
        port,
    })
}

/// `host:port` or `[v6]:port`; an empty host stands for every address.
fn host_and_port(address: &str) -> Option<(String, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host);
    Some((host.to_owned(), port.parse().ok()?))
}

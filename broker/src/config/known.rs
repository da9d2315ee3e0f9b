//! What is given in the file, against the catalogue: every value of a known key is of its type and in its
//! range, and a key that nobody knows is told.

use std::collections::BTreeMap;

use api::config::{Catalogue, Scope, catalogue};

use super::Invalid;

/// Keys of our own begin with this: one that nobody knows is a mistake. Others may be meant for a part of
/// Kafka that is not here, or for a plug-in.
const OWN: &str = "millrace.";
/// A name that differs in more letters is another name.
const TYPOS_MAX: usize = 3;

/// A key of the file that nothing reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    pub key: String,
    /// The key that was perhaps meant.
    pub nearest: Option<&'static str>,
}

/// Keys that nothing reads, when all else is as it should be.
pub(super) fn check(given: &BTreeMap<String, String>) -> Result<Vec<Unknown>, Invalid> {
    let catalogue = catalogue(Scope::Broker);
    let mut unknown = Vec::new();
    for (key, value) in given {
        if catalogue.get(key).is_some() {
            catalogue.check(key, value)?;
            continue;
        }
        let nearest = nearest(catalogue, key);
        if key.starts_with(OWN) {
            return Err(Invalid::UnknownKey {
                key: key.clone(),
                advice: nearest.map_or_else(
                    || "remove it".to_owned(),
                    |nearest| format!("write {nearest} or remove it"),
                ),
            });
        }
        unknown.push(Unknown {
            key: key.clone(),
            nearest,
        });
    }
    Ok(unknown)
}

fn nearest(catalogue: &'static Catalogue, key: &str) -> Option<&'static str> {
    let distances = catalogue
        .public()
        .map(|known| (distance(known.name, key), known.name));
    let (typos, name) = distances.min()?;
    (typos <= TYPOS_MAX).then_some(name)
}

/// Letters to insert, remove or change to make one of the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut before = i;
        let mut left = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(&other) {
            let change = before + usize::from(a != *b);
            before = *cell;
            left = change.min(before + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

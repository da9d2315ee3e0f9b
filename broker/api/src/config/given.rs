//! What is given to brokers in their file, against the catalogue: every value of a known key is of its type
//! and in its range, and a key that nobody knows is told. For the broker that starts and for whoever writes
//! its file.

use super::{Catalogue, Refused};

/// Keys of our own begin with this: one that nobody knows is a mistake. Others may be meant for a part of
/// Kafka that is not here, or for a plug-in.
const OWN: &str = "millrace.";
/// A name that differs in more letters is another name.
const TYPOS_MAX: usize = 3;

/// A key that nothing reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    pub key: String,
    /// The key that was perhaps meant.
    pub nearest: Option<&'static str>,
}

impl Catalogue {
    /// Whether `key=value` can be in a file of these keys. `Some`: it can, and nothing reads it.
    ///
    /// # Errors
    /// A value that the key cannot have; a key of our own that there is not.
    pub fn check_given(&self, key: &str, value: &str) -> Result<Option<Unknown>, Refused> {
        if self.get(key).is_some() {
            return self.check(key, value).map(|_| None);
        }
        let nearest = self.nearest(key);
        if key.starts_with(OWN) {
            return Err(Refused::Misnamed {
                name: key.to_owned(),
                advice: nearest.map_or_else(
                    || "remove it".to_owned(),
                    |nearest| format!("write {nearest} or remove it"),
                ),
            });
        }
        Ok(Some(Unknown {
            key: key.to_owned(),
            nearest,
        }))
    }

    fn nearest(&self, key: &str) -> Option<&'static str> {
        let distances = self
            .public()
            .map(|known| (distance(known.name, key), known.name));
        let (typos, name) = distances.min()?;
        (typos <= TYPOS_MAX).then_some(name)
    }
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

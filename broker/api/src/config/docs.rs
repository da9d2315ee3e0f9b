//! What keys mean, for whoever asks for documentation (KIP-569).
//!
//! `docs.tsv` holds our own words. A broker key that topics or groups fall back to is explained by the key
//! there; one that has no effect here and is explained nowhere has no documentation.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Definition, Scope, catalogue};

static DOCS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    include_str!("docs.tsv")
        .lines()
        .filter_map(|row| row.split_once('\t'))
        .collect()
});

impl Definition {
    /// What the key means, in one or two sentences.
    pub fn documentation(&self) -> Option<Cow<'static, str>> {
        if self.scope == Scope::Broker
            && let Some(key) = default_of(self.name)
        {
            let meaning = DOCS.get(key.name)?;
            let owners = match key.scope {
                Scope::Group => "groups",
                _ => "topics",
            };
            return Some(Cow::Owned(format!(
                "What holds for {owners} without a {} of their own. {meaning}",
                key.name
            )));
        }
        DOCS.get(self.name).copied().map(Cow::Borrowed)
    }
}

/// The topic's or group's key that falls back to this one first.
fn default_of(name: &str) -> Option<&'static Definition> {
    [Scope::Topic, Scope::Group]
        .into_iter()
        .flat_map(|scope| catalogue(scope).iter())
        .find(|key| key.falls_back_to.first() == Some(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_documented_exists_and_what_is_our_own_is_documented() {
        let scopes = [Scope::Topic, Scope::Group, Scope::Broker];
        let keys = || scopes.into_iter().flat_map(|scope| catalogue(scope).iter());
        for name in DOCS.keys() {
            assert!(keys().any(|key| key.name == *name), "{name}");
        }
        let undocumented = keys()
            .filter(|key| !key.internal)
            .filter(|key| key.scope != Scope::Broker || key.name.starts_with("millrace."))
            .filter(|key| key.documentation().is_none());
        let names: Vec<&str> = undocumented.map(|key| key.name).collect();
        assert_eq!(names, [""; 0]);
    }
}

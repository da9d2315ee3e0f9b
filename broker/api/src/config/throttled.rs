//! `leader.replication.throttled.replicas` and its kin (KIP-73).

use super::rule::items;

/// Replicas of one topic that a rate is to hold for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThrottledReplicas {
    All,
    /// Partition and broker of each.
    Listed(Vec<(i32, i32)>),
}

impl ThrottledReplicas {
    /// Items that are no pair, which the admin calls never store, name nothing.
    pub(super) fn parse(text: &str) -> Self {
        if text.trim() == "*" {
            return Self::All;
        }
        let pair = |item: &str| {
            let (partition, broker) = item.split_once(':')?;
            Some((partition.parse().ok()?, broker.parse().ok()?))
        };
        Self::Listed(items(text).filter_map(pair).collect())
    }

    pub fn names(&self, partition: i32, broker: i32) -> bool {
        match self {
            Self::All => true,
            Self::Listed(replicas) => replicas.contains(&(partition, broker)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_named_one_by_one_or_all_at_once() {
        let named = |text: &str| ThrottledReplicas::parse(text).names(1, 12);
        assert!(named("*") && named("0:1, 1:12"));
        assert!(!named("") && !named("1:1,12:1"));
    }
}

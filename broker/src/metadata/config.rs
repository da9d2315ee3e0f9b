//! What the metadata group's leader goes by.

use std::time::Duration;

use crate::config;

/// What the file of the group's leader says, where the elections take it from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// `unclean.leader.election.enable`.
    pub unclean: bool,
    /// `min.insync.replicas`.
    pub in_sync_min: usize,
}

/// Keys of the properties file. Each broker has its own; the leader's count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub defaults: Defaults,
    /// `leader.imbalance.check.interval.seconds`: how long partitions may be led by others than their
    /// preferred replicas, which could lead, before they are given back. `None` where
    /// `auto.leader.rebalance.enable` is false.
    pub rebalance_after: Option<Duration>,
}

impl Config {
    pub fn of(config: &config::Config) -> Self {
        let enable = "auto.leader.rebalance.enable";
        let rebalances = config.setting(enable).is_none() || config.is_set(enable);
        let seconds = config.setting_or("leader.imbalance.check.interval.seconds", 300);
        Self {
            defaults: Defaults {
                unclean: config.is_set("unclean.leader.election.enable"),
                in_sync_min: config.setting_or("min.insync.replicas", 1),
            },
            rebalance_after: rebalances.then(|| Duration::from_secs(seconds)),
        }
    }
}

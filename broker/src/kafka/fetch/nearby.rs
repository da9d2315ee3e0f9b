//! Consumers that name their rack are sent to an in-sync follower there (KIP-392).
//!
//! On unless `replica.selector.class` says otherwise. Kafka ships the same selector and leaves it off; here
//! it is the default, since a consumer that names its rack asks for nothing else.

use kafka_wire::messages::fetch::Request;
use machine::metadata::image::Image;
use model::{BrokerId, Epoch, Offset};

use crate::Config;
use crate::partition::Handle;

/// First version in which a client names its rack, and may be served by a follower.
const RACKS_FROM: i16 = 11;
const SELECTOR: &str = "replica.selector.class";
const RACK_AWARE: &str = "RackAwareReplicaSelector";

/// What a fetch says of where it wants to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nearby<'a> {
    /// Followers serve it.
    pub(super) followers: bool,
    /// It would rather read there.
    rack: Option<&'a str>,
}

impl<'a> Nearby<'a> {
    pub(super) fn of(request: &'a Request, version: i16, config: &Config) -> Self {
        let followers = version >= RACKS_FROM;
        let rack = Some(&*request.rack_id).filter(|rack| followers && !rack.is_empty());
        Self {
            followers,
            rack: rack.filter(|_| is_on(config)),
        }
    }

    /// The follower from which the client should read on.
    pub(super) fn preferred(
        &self,
        image: &Image,
        replica: &Handle,
        offset: Offset,
        believed: Option<Epoch>,
    ) -> Option<BrokerId> {
        let rack = self.rack?;
        replica.nearest(offset, believed, |id| {
            image
                .brokers
                .get(&id)
                .is_some_and(|b| !b.fenced && b.rack.as_deref() == Some(rack))
        })
    }
}

fn is_on(config: &Config) -> bool {
    config
        .setting(SELECTOR)
        .is_none_or(|class| class.trim().rsplit('.').next() == Some(RACK_AWARE))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_a_selector_that_looks_at_racks_sends_clients_elsewhere() {
        for (setting, on) in [
            ("", true),
            ("replica.selector.class=\n", false),
            (
                "replica.selector.class=org.apache.kafka.common.replica.LeaderSelector\n",
                false,
            ),
            (
                "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector\n",
                true,
            ),
        ] {
            let base = "node.id=1\ncluster.id=c\nlisteners=KAFKA://127.0.0.1:0,PEER://127.0.0.1:0\n\
                        log.dirs=/nonexistent\ncontroller.quorum.voters=1@127.0.0.1:1\n";
            let config = Config::parse(&format!("{base}{setting}"), &[]).unwrap();
            assert_eq!(is_on(&config), on, "{setting}");
        }
    }
}

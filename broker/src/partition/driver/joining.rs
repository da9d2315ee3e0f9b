//! Who is to join the in-sync set must be in the life in which it showed that it may (KIP-903).
//!
//! A broker that crashed may be registered and alive before it says where its logs end now. The proposal
//! names the version of the partition, which each registration raises: what holds here still holds when the
//! cluster agrees.

use model::BrokerId;

use super::hosted::Hosted;

impl Hosted {
    /// Whether one of `in_sync` that is not in the set yet has not shown itself since it began anew.
    pub(super) fn has_outdated(&self, in_sync: &[BrokerId]) -> bool {
        let image = self.context.proposals.metadata.image();
        let agreed = &self.local.machine().membership().in_sync;
        let watermark = self.local.machine().high_watermark();
        let mut joining = in_sync.iter().filter(|id| !agreed.contains(id));
        joining.any(|id| {
            let life = image.brokers.get(id).map_or(-1, |broker| broker.epoch);
            self.shared.nearby.is_outdated(*id, life, watermark)
        })
    }
}

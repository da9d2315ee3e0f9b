//! The one thing read out of what consumers tell each other: the topics they subscribe to, which
//! protects those topics' offsets from expiry and deletion.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::{Buf, Bytes};

/// Protocol type of Kafka's consumers; others (`connect`) put other bytes in their subscriptions.
pub(super) const CONSUMER: &str = "consumer";

/// Topics of a `ConsumerProtocolSubscription` of any version: they come first in all of them.
/// `None` when the bytes are not one.
pub(super) fn topics(metadata: &Bytes) -> Option<BTreeSet<Arc<str>>> {
    let mut bytes = metadata.clone();
    let version = bytes.try_get_i16().ok()?;
    if version < 0 {
        return None;
    }
    let count = usize::try_from(bytes.try_get_i32().ok()?).ok()?;
    let mut topics = BTreeSet::new();
    for _ in 0..count {
        let len = usize::try_from(bytes.try_get_i16().ok()?).ok()?;
        if len > bytes.remaining() {
            return None;
        }
        let name = bytes.split_to(len);
        topics.insert(Arc::from(std::str::from_utf8(&name).ok()?));
    }
    Some(topics)
}

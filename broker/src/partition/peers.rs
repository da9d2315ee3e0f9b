//! Copying between brokers: one long-polling session per follower and leader broker, carrying every
//! partition that the two share in these roles.
//!
//! ```text
//! follower: Fetchers ── request: only what changed since the last one ──> Sessions :leader
//!           driver  <── answer: records as the leader has them, at once ──
//! ```
//! A request names where the follower stands in a partition, which also acknowledges what is before;
//! partitions not named stand where they stood. So the cost follows the traffic, not the number of
//! partitions. An answer is sent as soon as there is anything to say, or when a newer request of the
//! same session has come in, or when the wait is over.

mod fetchers;
mod frame;
mod refetch;
mod sessions;
mod throttle;

pub(super) use fetchers::Fetchers;
pub(super) use refetch::{Lender, Refetch};
pub(super) use sessions::Sessions;
pub(super) use throttle::Throttles;

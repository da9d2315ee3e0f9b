//! Group coordination on this broker: a shard per partition of `__consumer_offsets` led here.
//!
//! Owns loading, appending and answering. What a group does is decided in [`machine::group`]; what
//! clients see of it is the fronts' business.

mod clock;
mod journal;
mod load;
mod record;
mod shard;

/// Why a coordinator did not answer. The request may or may not have had its effect; clients ask again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error("the coordinator is loading its groups")]
    Loading,
    #[error("another broker coordinates this group")]
    NotCoordinator,
    #[error("the offsets log takes no records now")]
    NotAvailable,
}

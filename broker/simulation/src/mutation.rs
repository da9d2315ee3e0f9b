//! Mistakes that are known to lose or fork a log, planted in the glue between the parts.

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// A broker that starts cuts its logs to the high watermark (before KIP-101).
    TruncateByWatermark,
    /// Appends that ask for all in-sync replicas are answered when the leader has them.
    AckBeforeReplication,
    /// A broker that restarts takes up its place as if it had never been away (before KIP-966).
    KeepPlaceAfterRestart,
    /// The disk says that it has synced and has not.
    SyncNothing,
}

impl Mutation {
    pub const ALL: [Self; 4] = [
        Self::TruncateByWatermark,
        Self::AckBeforeReplication,
        Self::KeepPlaceAfterRestart,
        Self::SyncNothing,
    ];
}

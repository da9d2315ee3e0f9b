//! A leader that finds a part of its log damaged, as readers come upon it.
//!
//! Where another replica is in sync it gives its place to that one and copies the log again as a follower.
//! The only one in sync leads on: what is whole of its log is all there is.

use commitlog::Error;
use model::{Offset, TopicPartition};

use super::{Driver, hosted::Hosted};

impl Driver {
    /// A reader found damage at `offset`.
    pub(super) fn suspected(&mut self, partition: TopicPartition, offset: Offset, now_ms: i64) {
        let Some(hosted) = self.hosted.get(&partition) else {
            return;
        };
        let Some(error) = hosted.damage_at(offset) else {
            return;
        };
        let membership = hosted.local.machine().membership().clone();
        if !self.is_counted_on(&membership) {
            return;
        }
        tracing::error!(
            %partition,
            topic = %hosted.topic,
            error = &error as &dyn std::error::Error,
            "leader gives up its place, since its log is damaged and others have it whole"
        );
        let Some(hosted) = self.take_out(partition) else {
            return;
        };
        let (topic, settings) = (hosted.topic.clone(), hosted.settings());
        // What cannot be closed is read through at the next start.
        let _closed = hosted.close();
        self.opened_all = false;
        self.context.metrics.failed(partition, true);
        self.set_offline(
            partition,
            &topic,
            membership,
            settings,
            (&error, true),
            now_ms,
        );
    }
}

impl Hosted {
    /// What is wrong at `offset`, if something is: a reader may have been overtaken by a cut.
    fn damage_at(&self, offset: Offset) -> Option<Error> {
        self.shared
            .suspected
            .store(false, std::sync::atomic::Ordering::Release);
        match self.shared.reader.read(offset, 1) {
            Err(error @ Error::Corrupt { .. }) if self.local.machine().is_leading() => Some(error),
            _ => None,
        }
    }
}

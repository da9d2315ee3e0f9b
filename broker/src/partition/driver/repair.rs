//! A log that its disk has changed, as readers or a scrub come upon it.
//!
//! The hole is filled in place with the same batches of another replica: of the leader, or, where this one
//! leads, of a replica in sync. Where none has them byte for byte (compaction makes other batches on each)
//! the whole log is copied again: a leader gives its place to somebody in sync first. The only one in sync
//! goes on: what is whole of its log is all there is.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use commitlog::{Error, Hole};
use model::{BrokerId, Offset, TopicPartition};

use super::{Driver, hosted::Hosted};

impl Driver {
    /// Somebody found damage at `offset`, or was overtaken by a cut.
    pub(super) fn suspected(&mut self, partition: TopicPartition, offset: Offset) {
        let Some(hosted) = self.hosted.get_mut(&partition) else {
            return;
        };
        match hosted.local.log().hole_at(offset) {
            Ok(Some(hole)) => self.mend(partition, hole),
            Ok(None) => hosted.look_again(),
            Err(error) => {
                hosted.look_again();
                tracing::error!(
                    %partition,
                    error = &error as &dyn std::error::Error,
                    "log cannot be looked at"
                );
            }
        }
    }

    /// Asks another replica for what is missing.
    fn mend(&mut self, partition: TopicPartition, hole: Hole) {
        let this = self.context.this;
        let Some(hosted) = self.hosted.get_mut(&partition) else {
            return;
        };
        let membership = hosted.local.machine().membership();
        let sources = sources(membership.leader, &membership.in_sync, this);
        if hosted.scrubbing.told.insert(hole.from) {
            self.context.metrics.damaged();
            tracing::error!(
                %partition,
                topic = %hosted.topic,
                from = %hole.from,
                to = %hole.next,
                error = &hole.error() as &dyn std::error::Error,
                "the disk has changed a part of the log"
            );
            if sources.is_empty() {
                tracing::error!(
                    %partition,
                    topic = %hosted.topic,
                    "no other replica is in sync to repair it from: readers of offsets {} to {} get an error; \
                     put back the file from a copy while the broker is down, or have consumers go on at {}, \
                     and check the disk",
                    hole.from, hole.next, hole.next
                );
            }
        }
        if sources.is_empty() {
            // Not looked at again for every reader that comes; a scrub, or another leader, will.
            return;
        }
        if hosted.scrubbing.asked.insert(hole.from) {
            let mailbox = hosted.shared.mailbox.clone();
            self.context.refetch.fill(partition, hole, sources, mailbox);
        }
    }

    /// What another replica has for the hole; `None` when nobody has it.
    pub(super) fn refetched(
        &mut self,
        partition: TopicPartition,
        hole: &Hole,
        batches: Option<Bytes>,
        now_ms: i64,
    ) {
        let Some(hosted) = self.hosted.get_mut(&partition) else {
            return;
        };
        hosted.scrubbing.asked.remove(&hole.from);
        hosted.look_again();
        let patched = batches.map(|batches| hosted.local.log_mut().patch(hole, &batches));
        if let Some(Ok(())) = patched {
            hosted.scrubbing.told.remove(&hole.from);
            self.context.metrics.repaired();
            self.context.roster.changed();
            tracing::info!(
                %partition,
                from = %hole.from,
                to = %hole.next,
                bytes = hole.bytes(),
                "damaged part of the log is repaired from another replica; check the disk"
            );
            return;
        }
        if let Some(Err(error)) = &patched
            && hosted.local.log().is_poisoned()
        {
            hosted.fail(error, now_ms);
            return;
        }
        // It may have been cut or deleted meanwhile.
        if let Ok(Some(hole)) = hosted.local.log().hole_at(hole.from) {
            let why = patched.and_then(Result::err);
            self.copy_again(partition, &why.unwrap_or_else(|| hole.error()), now_ms);
        }
    }

    /// Gives the log up for a copy of another.
    fn copy_again(&mut self, partition: TopicPartition, error: &Error, now_ms: i64) {
        let Some(hosted) = self.hosted.get(&partition) else {
            return;
        };
        let membership = hosted.local.machine().membership().clone();
        let counted_on = self.is_counted_on(&membership);
        if !counted_on && membership.in_sync.contains(&self.context.this) {
            return;
        }
        tracing::error!(
            %partition,
            topic = %hosted.topic,
            error = error as &dyn std::error::Error,
            "damaged log is given up, since others have it whole, and copied again"
        );
        let Some(hosted) = self.take_out(partition) else {
            return;
        };
        let (topic, settings) = (hosted.topic.clone(), hosted.settings());
        if let Some(producers) = hosted.local.prepare_close() {
            producers.put(false);
        }
        // What cannot be closed is read through at the next start.
        let _closed = hosted.close();
        self.opened_all = false;
        self.context.metrics.failed(partition, true);
        self.set_offline(
            partition,
            &topic,
            membership.clone(),
            settings.clone(),
            (error, true),
            now_ms,
        );
        if !counted_on {
            // Nobody has to let it go first.
            self.assign(partition, &topic, membership, settings, now_ms);
        }
    }
}

impl Hosted {
    /// Who comes upon damage says so again.
    fn look_again(&self) {
        self.shared.suspected.store(false, Ordering::Release);
    }
}

/// Who may have what is missing here, the leader first.
fn sources(leader: Option<BrokerId>, in_sync: &[BrokerId], this: BrokerId) -> Vec<BrokerId> {
    let leader = leader.filter(|l| *l != this);
    let others = in_sync.iter().copied();
    let others = others.filter(|b| *b != this && Some(*b) != leader);
    leader.into_iter().chain(others).collect()
}

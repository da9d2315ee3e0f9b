//! A follower takes over what its leader sent.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use commitlog::Error;
use machine::replica::divergence;
use model::{
    Epoch, Offset,
    batch::{self, Batch},
};

use crate::{Answer, Effect, Local, is_of_the_disk, producers};

impl Local {
    /// Applies the answer of the leader of `epoch`. False when it could not be used: the bytes are bad
    /// or the disk refused. Of an answer to a question of the past only the watermark is used.
    pub fn fetched(&mut self, epoch: Epoch, answer: Answer, now_ms: i64) -> (bool, Vec<Effect>) {
        let current = self.machine.membership().leader_epoch;
        if self.machine.is_leading() || current != epoch || self.fault.is_some() {
            return (true, Vec::new());
        }
        if answer.from() != self.log.end_offset() {
            self.hear(&answer);
            return (true, Vec::new());
        }
        let applied = match answer {
            Answer::Records {
                batches,
                high_watermark,
                log_start,
                ..
            } => self.copy(batches, high_watermark, log_start, now_ms),
            Answer::Diverging { known, .. } => self.cut(known, now_ms),
            Answer::Reset { start, .. } => self.reset(start, now_ms),
        };
        let Err(error) = applied else {
            return (true, Vec::new());
        };
        tracing::error!(
            partition = %self.partition,
            error = &error as &dyn std::error::Error,
            "the leader's records cannot be taken over"
        );
        let mut effects = Vec::new();
        if is_of_the_disk(&error) {
            effects = self.fail(&error, now_ms);
        }
        (false, effects)
    }

    /// The same records may have come twice, to a follower that reported again meanwhile; the leader says
    /// each watermark once. It found this log alike up to where the answer begins, and what has been added
    /// since came from it.
    fn hear(&mut self, answer: &Answer) {
        if let Answer::Records {
            from,
            high_watermark,
            ..
        } = answer
            && *from < self.log.end_offset()
        {
            let known = self.machine.high_watermark();
            self.machine.copied(self.ends(), known.max(*high_watermark));
        }
    }

    fn copy(
        &mut self,
        runs: Vec<Bytes>,
        high_watermark: Offset,
        log_start: Offset,
        now_ms: i64,
    ) -> Result<(), Error> {
        let mut batches = Vec::new();
        for run in runs {
            batches.extend(batch::split(run)?);
        }
        if !batches.is_empty() {
            for batch in &batches {
                batch.verify_crc()?;
            }
            self.begin_with(&batches)?;
            let run: Vec<Bytes> = batches.iter().map(|b| b.bytes.clone()).collect();
            if batches.iter().any(|batch| batch.header.is_held()) {
                self.begin_holding()?;
            }
            self.log.append(&run)?;
            self.note_held(&run);
            for batch in &batches {
                self.machine.observe_copied(&batch.header);
            }
            self.wrote(now_ms);
        }
        // What the leader deleted goes here too, but nothing above what is known to be committed.
        let upto = log_start.min(high_watermark).min(self.log.end_offset());
        if upto > self.log.start_offset() {
            self.log.delete_before(upto)?;
        }
        self.machine.copied(self.ends(), high_watermark);
        Ok(())
    }

    /// The leader's log may begin inside a batch, whose first records were deleted: the batch comes
    /// whole all the same. An empty log that was to begin there begins with the batch instead.
    fn begin_with(&mut self, batches: &[Batch]) -> Result<(), Error> {
        let (start, end) = (self.log.start_offset(), self.log.end_offset());
        match batches.first().map(|first| &first.header) {
            Some(first)
                if start == end && first.base_offset < end && first.last_offset() >= end =>
            {
                self.log.reset_to(first.base_offset)
            }
            _ => Ok(()),
        }
    }

    fn cut(&mut self, known: (Epoch, Offset), now_ms: i64) -> Result<(), Error> {
        let end = self.log.end_offset();
        let own = self.reader.epoch_end(known.0);
        let to = divergence::cut_to(known, own, end);
        tracing::info!(
            partition = %self.partition,
            from = %end,
            %to,
            epoch = %known.0,
            "log parted from the leader's and is cut"
        );
        self.note_cut(to)?;
        self.log.truncate_to(to)?;
        // Batches go whole: it may have been more.
        let end = self.log.end_offset();
        if end < to {
            self.note_cut(end)?;
        }
        let producers = self.recount_producers();
        self.machine.truncated(self.ends(), producers, now_ms);
        Ok(())
    }

    /// What is kept beside the log speaks of nothing beyond `end`: written down first, since nobody would
    /// know after a crash in between.
    fn note_cut(&mut self, end: Offset) -> Result<(), Error> {
        self.watermarks.cut(self.partition, end);
        self.delivering.cut(end, &self.directory);
        self.holding.cut(&self.directory, end)
    }

    fn reset(&mut self, start: Offset, now_ms: i64) -> Result<(), Error> {
        tracing::warn!(
            partition = %self.partition,
            end = %self.log.end_offset(),
            %start,
            "the leader's log begins later: starting over there"
        );
        producers::forget(&self.directory);
        self.watermarks.cut(self.partition, start);
        self.delivering.cut(start, &self.directory);
        self.holding.forget(&self.directory)?;
        self.log.reset_to(start)?;
        self.holding.reset(&self.directory, start);
        let producers = self.recount_producers();
        self.machine.truncated(self.ends(), producers, now_ms);
        Ok(())
    }
}

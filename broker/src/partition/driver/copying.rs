//! A follower takes over what its leader sent.

use commitlog::Error;
use machine::replica::divergence;
use model::{Epoch, Offset, batch};

use super::{
    Fetched,
    hosted::{Hosted, is_of_the_disk},
    producers, watermark,
};

impl Hosted {
    /// Applies a leader's answer. False when it could not be used: the bytes are bad or the disk
    /// refused. An answer to a question of the past is used up without effect.
    pub(super) fn fetched(&mut self, epoch: Epoch, fetched: Fetched, now_ms: i64) -> bool {
        let end = self.log.end_offset();
        let from = match &fetched {
            Fetched::Records { from, .. }
            | Fetched::Diverging { from, .. }
            | Fetched::Reset { from, .. } => *from,
        };
        let current = self.machine.membership().leader_epoch;
        let of_the_past = current != epoch || from != end;
        if self.machine.is_leading() || of_the_past || self.fault.is_some() {
            return true;
        }
        let applied = match fetched {
            Fetched::Records {
                batches,
                high_watermark,
                log_start,
                ..
            } => self.copy(batches, high_watermark, log_start, now_ms),
            Fetched::Diverging { known, .. } => self.cut(known, now_ms),
            Fetched::Reset { start, .. } => self.reset(start, now_ms),
        };
        if let Err(error) = &applied {
            tracing::error!(
                partition = %self.partition,
                error = error as &dyn std::error::Error,
                "the leader's records cannot be taken over"
            );
            if is_of_the_disk(error) {
                self.fail(error, now_ms);
            }
        }
        applied.is_ok()
    }

    fn copy(
        &mut self,
        bytes: bytes::Bytes,
        high_watermark: Offset,
        log_start: Offset,
        now_ms: i64,
    ) -> Result<(), Error> {
        if !bytes.is_empty() {
            let batches = batch::split(bytes)?;
            for batch in &batches {
                batch.verify_crc()?;
            }
            let run: Vec<bytes::Bytes> = batches.iter().map(|b| b.bytes.clone()).collect();
            self.log.append(&run)?;
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

    fn cut(&mut self, known: (Epoch, Offset), now_ms: i64) -> Result<(), Error> {
        let end = self.log.end_offset();
        let own = self.shared.reader.epoch_end(known.0);
        let to = divergence::cut_to(known, own, end);
        tracing::info!(
            partition = %self.partition,
            from = %end,
            %to,
            epoch = %known.0,
            "log parted from the leader's and is cut"
        );
        watermark::forget(&self.directory);
        self.compacting.stop();
        self.log.truncate_to(to)?;
        let producers = self.recount_producers();
        self.machine.truncated(self.ends(), producers, now_ms);
        Ok(())
    }

    fn reset(&mut self, start: Offset, now_ms: i64) -> Result<(), Error> {
        tracing::warn!(
            partition = %self.partition,
            end = %self.log.end_offset(),
            %start,
            "the leader's log begins later: starting over there"
        );
        producers::forget(&self.directory);
        watermark::forget(&self.directory);
        self.compacting.stop();
        self.log.reset_to(start)?;
        let producers = self.recount_producers();
        self.machine.truncated(self.ends(), producers, now_ms);
        Ok(())
    }
}

//! Producers are refused before the disk is full, or too much waits for its time.

use machine::replica::{Admission, Refusal};
use model::batch::{Batch, Header};
use tokio::sync::oneshot;

use super::hosted::Hosted;
use crate::partition::append::{AppendError, Appended};

impl Hosted {
    /// Why a client's batch has no room here now.
    pub(super) fn shortage(&self, batch: &Batch) -> Option<String> {
        if self.context.space.is_short() {
            return Some(self.context.space.shortage());
        }
        let (records, bytes) = self.local.held();
        let bytes_max = self.shared.settings.load().topic().delivery_held_bytes;
        let full =
            batch.header.is_held() && bytes.saturating_add(batch.bytes.len() as u64) > bytes_max;
        full.then(|| {
            format!(
                "{records} records wait here for their time: try again when some are due, or raise millrace.delivery.held.bytes from {bytes_max}"
            )
        })
    }

    /// Refuses a batch for want of room, as [`Hosted::admit`] would for another reason: what its producer
    /// has sent behind it is refused likewise, and all of it comes again.
    pub(super) fn turn_away(
        &mut self,
        header: &Header,
        why: String,
        now_ms: i64,
        answer: oneshot::Sender<Result<Appended, AppendError>>,
    ) {
        let why = Refusal::Storage(why);
        if let Admission::Refused(why) = self.local.turn_away(header, why, now_ms) {
            let _unheard = answer.send(Err(self.refused(why)));
        }
    }
}

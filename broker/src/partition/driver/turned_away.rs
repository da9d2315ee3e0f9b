//! Producers are refused before the disk is full.

use machine::replica::{Admission, Refusal};
use model::batch::Header;
use tokio::sync::oneshot;

use super::hosted::Hosted;
use crate::partition::append::{AppendError, Appended};

impl Hosted {
    /// Refuses a batch for want of room, as [`Hosted::admit`] would for another reason: what its producer
    /// has sent behind it is refused likewise, and all of it comes again.
    pub(super) fn turn_away(
        &mut self,
        header: &Header,
        now_ms: i64,
        answer: oneshot::Sender<Result<Appended, AppendError>>,
    ) {
        let why = Refusal::Storage(self.context.space.shortage());
        if let Admission::Refused(why) = self.local.turn_away(header, why, now_ms) {
            let _unheard = answer.send(Err(self.refused(why)));
        }
    }
}

//! Taking in the log of a partition before coordinating its groups.

use std::sync::Arc;

use machine::group::{Config, State};
use model::{Offset, batch};

use super::journal::{Journal, ReadFailed};
use super::record;

/// Reads everything, also what is not committed yet: it was written by an earlier leader and will be
/// committed by this one, so the caller waits for that before it answers anybody.
pub(super) fn load(
    journal: &Arc<impl Journal>,
    config: Config,
) -> Result<(State, Offset), ReadFailed> {
    let mut state = State::new(config);
    let end = journal.end();
    let mut at = journal.start();
    while at < end {
        let runs = journal.read(at)?;
        if runs.is_empty() {
            break;
        }
        let before = at;
        for run in runs {
            let batches = batch::split(run).map_err(|e| ReadFailed(e.to_string()))?;
            for batch in batches {
                at = batch.header.next_offset();
                take_in(&mut state, &batch);
            }
        }
        if at <= before {
            return Err(ReadFailed(format!("no progress at offset {before}")));
        }
    }
    Ok((state, end))
}

/// One bad record loses one offset or one group, not the partition.
fn take_in(state: &mut State, batch: &batch::Batch) {
    if batch.header.is_control() {
        return;
    }
    for record in batch.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                tracing::error!(offset = %batch.header.base_offset, %error, "batch in the offsets log is unreadable");
                return;
            }
        };
        match record::decode(record.key.as_ref(), record.value.as_ref()) {
            Ok(Some(decoded)) => state.apply(&decoded),
            Ok(None) => {}
            Err(error) => {
                tracing::error!(offset = %record.offset, %error, "record in the offsets log is unreadable");
            }
        }
    }
}

//! Opening a replica's log.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use commitlog::{Config, Error, Log};
use machine::replica::{Ends, Membership, Replica, Rules};
use model::{BrokerId, TopicPartition};

use crate::{
    Local, Timing, Watermarks, delivering::Delivering, holding::Holding, local::SyncState,
    producers,
};

/// What is to be opened.
#[derive(Debug)]
pub struct Opening<'a> {
    pub this: BrokerId,
    pub partition: TopicPartition,
    /// Where its files are or shall be.
    pub directory: PathBuf,
    pub membership: &'a Membership,
    pub rules: Rules,
    pub log: Config,
    pub timing: Timing,
    /// Of its data directory.
    pub watermarks: Arc<Watermarks>,
    /// Reading has found damage that opening may not see.
    pub damaged: bool,
    /// Names what is set aside.
    pub wall_ms: i64,
}

impl Opening<'_> {
    /// Opens or makes the log. A damaged one is moved aside and begun anew when another leads and this replica
    /// is neither in sync nor eligible: empty it must not be elected. Otherwise it stays as it is, for a
    /// person to look at.
    ///
    /// # Errors
    /// As [`Log::open`].
    pub fn open(self) -> Result<Local, Error> {
        let Self {
            this,
            partition,
            directory,
            membership,
            rules,
            timing,
            watermarks,
            ..
        } = self;
        let elsewhere = membership.leader.is_some_and(|l| l != this)
            && !membership.in_sync.contains(&this)
            && !membership.eligible.contains(&this);
        if self.damaged && elsewhere {
            set_aside(partition, &directory, self.wall_ms)?;
        }
        let opened = match Log::open(&directory, self.log.clone()) {
            Err(error @ Error::Corrupt { .. }) if elsewhere => {
                tracing::error!(
                    %partition,
                    error = &error as &dyn std::error::Error,
                    "log is damaged"
                );
                set_aside(partition, &directory, self.wall_ms)?;
                Log::open(&directory, self.log)
            }
            other => other,
        };
        let (log, recovered) = opened?;
        if !recovered.damaged_files.is_empty() {
            tracing::warn!(
                %partition,
                files = ?recovered.damaged_files,
                "small files of the log were not whole; what they said was found in the log or is forgotten"
            );
        }
        if recovered.cut_bytes > 0 {
            tracing::warn!(
                %partition,
                bytes = recovered.cut_bytes,
                end = %log.end_offset(),
                "torn end of the log was cut"
            );
        }
        let reader = log.reader();
        let ends = Ends {
            start: reader.start_offset(),
            end: reader.end_offset(),
            synced: reader.synced_offset(),
        };
        let watermark = watermarks.of(partition).unwrap_or(ends.start);
        let holding = Holding::open(&directory, &reader, watermark.min(ends.synced))?;
        let machine = Replica::new(
            this,
            rules,
            ends,
            watermark,
            producers::recount(&directory, &reader),
        );
        Ok(Local {
            this,
            partition,
            directory,
            producers_at: ends.end,
            watermark_at: machine.high_watermark(),
            watermarks,
            log,
            reader,
            machine,
            rules,
            timing,
            staged: Vec::new(),
            staged_records: 0,
            sync: SyncState::after_opening(ends),
            delivering: Delivering::default(),
            holding,
            fault: None,
            warm_since_ms: None,
        })
    }
}

fn set_aside(partition: TopicPartition, directory: &Path, wall_ms: i64) -> Result<(), Error> {
    let aside = directory.with_extension(format!("damaged-{wall_ms}"));
    match std::fs::rename(directory, &aside) {
        Ok(()) => {}
        // By an earlier try, behind which no new log could be made.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(Error::Io {
                doing: "set aside",
                path: directory.into(),
                source,
            });
        }
    }
    tracing::warn!(
        %partition,
        aside = %aside.display(),
        "damaged log is set aside and copied from its leader again"
    );
    Ok(())
}

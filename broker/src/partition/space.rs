//! Whether the disk of the logs has room to spare. Before it is full producers are refused, with an error
//! after which they try again: what has to be written to go on (offsets, metadata, what a leader has
//! acknowledged) still finds room, and so does whoever deletes.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use prometheus_client::metrics::gauge::Gauge;

use crate::{disk::Disk, telemetry::Telemetry};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Cheap to clone. The disk is watched until the last clone is gone.
#[derive(Clone, Debug)]
pub(super) struct Space(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    short: AtomicBool,
    free_bytes_min: u64,
    refuses: Gauge,
}

impl Space {
    /// Looks at once and then again and again. Must be called inside a runtime.
    pub(super) fn watch(directory: PathBuf, free_bytes_min: u64, telemetry: &Telemetry) -> Self {
        let refuses = Gauge::default();
        telemetry.register("disk", |registry| {
            registry.register(
                "refuses_producers",
                "1 while producers are refused because too little of the disk is free",
                refuses.clone(),
            );
        });
        let space = Self(Arc::new(Inner {
            short: AtomicBool::new(false),
            free_bytes_min,
            refuses,
        }));
        if free_bytes_min > 0 {
            space.0.look(&directory);
            tokio::spawn(look_again(Arc::downgrade(&space.0), directory));
        }
        space
    }

    /// Producers are refused.
    pub(super) fn is_short(&self) -> bool {
        self.0.short.load(Ordering::Relaxed)
    }

    /// What they are told.
    pub(super) fn shortage(&self) -> String {
        format!(
            "the disk of this broker has less than {} bytes free (millrace.disk.free.limit.bytes): \
             free some, and it goes on by itself",
            self.0.free_bytes_min
        )
    }
}

async fn look_again(inner: Weak<Inner>, directory: PathBuf) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = inner.upgrade() else {
            return;
        };
        let directory = directory.clone();
        let looked = tokio::task::spawn_blocking(move || inner.look(&directory));
        if looked.await.is_err() {
            // The runtime goes down.
            return;
        }
    }
}

impl Inner {
    /// A disk that does not answer stays as it was.
    fn look(&self, directory: &Path) {
        let Ok(disk) = Disk::holding(directory) else {
            return;
        };
        let was = self.short.load(Ordering::Relaxed);
        let short = is_short(was, disk.free_bytes, self.free_bytes_min);
        if short == was {
            return;
        }
        self.short.store(short, Ordering::Relaxed);
        self.refuses.set(i64::from(short));
        if short {
            tracing::error!(
                free_bytes = disk.free_bytes,
                limit_bytes = self.free_bytes_min,
                directory = %directory.display(),
                "producers are refused until there is room: delete records or topics, or enlarge the disk"
            );
        } else {
            tracing::info!(free_bytes = disk.free_bytes, "producers may go on");
        }
    }
}

/// Comes back an eighth later than it goes, so that it does not flutter.
fn is_short(was: bool, free_bytes: u64, free_bytes_min: u64) -> bool {
    let enough = if was {
        free_bytes_min.saturating_add(free_bytes_min / 8)
    } else {
        free_bytes_min
    };
    free_bytes < enough
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortage_begins_below_the_limit_and_ends_an_eighth_above_it() {
        for (was, free, short) in [
            (false, 800, false),
            (false, 799, true),
            (true, 899, true),
            (true, 900, false),
        ] {
            assert_eq!(is_short(was, free, 800), short, "{free} free, short: {was}");
        }
    }
}

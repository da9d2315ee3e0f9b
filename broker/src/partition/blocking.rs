//! Work that would hold up a thread of the runtime: reads from the disk, inflating large batches.

use std::{panic::resume_unwind, sync::Arc};

use tokio::{sync::Semaphore, task::spawn_blocking};

/// Runs such work on threads of its own, a bounded number at a time; more waits. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Semaphore>);

impl Pool {
    pub(super) fn new(at_once_max: usize) -> Self {
        Self(Arc::new(Semaphore::new(
            at_once_max.clamp(1, Semaphore::MAX_PERMITS),
        )))
    }

    /// What `work` gives; `None` when the runtime ends before it was begun. Work that was begun ends
    /// even when nobody waits for it any more, and counts until then.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let permit = self.0.clone().acquire_owned().await.ok()?;
        let done = spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        match done.await {
            Ok(done) => Some(done),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => None,
            },
        }
    }
}

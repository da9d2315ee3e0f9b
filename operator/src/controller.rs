//! The one loop under every kind: watch, reconcile, try again later, count.

use std::collections::HashMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};
use kube::ResourceExt;
use kube::runtime::controller::{Action, Config, Controller};

use crate::error::Error;
use crate::metrics::Metrics;
use crate::status::Kind;

#[cfg(test)]
mod tests;

/// Objects of one kind that are reconciled at the same time.
const CONCURRENCY: u16 = 16;
/// First and longest wait after a failure.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// Wait after a success, if nothing changes: repairs what no event told of.
const RESYNC: Duration = Duration::from_secs(300);

/// One kind's reconcile.
pub(crate) trait Reconciler: Send + Sync + 'static {
    type Kind: Kind;

    /// Brings the world one look closer to the object. `Ok(None)` = nothing left to do; `Ok(Some)`
    /// = look again after that time.
    fn reconcile(
        &self,
        object: Arc<Self::Kind>,
    ) -> impl Future<Output = Result<Option<Duration>, Error>> + Send;
}

type Shutdown = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// Runs until `shutdown`; `again` asks for a look at every object.
pub(crate) async fn run<R: Reconciler>(
    controller: Controller<R::Kind>,
    reconciler: R,
    metrics: Metrics,
    again: impl Stream<Item = ()> + Send + 'static,
    shutdown: Shutdown,
) {
    let context = Arc::new(Context {
        reconciler,
        metrics,
        failures: Mutex::default(),
    });
    controller
        .with_config(Config::default().concurrency(CONCURRENCY))
        .reconcile_all_on(again)
        .graceful_shutdown_on(shutdown)
        .run(reconcile::<R>, retry::<R>, context)
        .for_each(|_| std::future::ready(()))
        .await;
}

struct Context<R> {
    reconciler: R,
    metrics: Metrics,
    /// Failures in a row, by uid.
    failures: Mutex<HashMap<String, u32>>,
}

impl<R> Context<R> {
    /// Counts a failure, or forgets them all; returns the number in a row.
    fn failed(&self, uid: &str, failed: bool) -> u32 {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if !failed {
            failures.remove(uid);
            return 0;
        }
        let count = failures.entry(uid.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

async fn reconcile<R: Reconciler>(
    object: Arc<R::Kind>,
    context: Arc<Context<R>>,
) -> Result<Action, Arc<Error>> {
    let kind = <R::Kind as kube::Resource>::kind(&());
    let uid = object.uid().unwrap_or_default();
    let begun = Instant::now();
    let outcome = context.reconciler.reconcile(object.clone()).await;
    context.metrics.reconciled(
        &kind,
        outcome.as_ref().err().map(Error::label),
        begun.elapsed(),
    );
    match outcome {
        Ok(again) => {
            context.failed(&uid, false);
            Ok(Action::requeue(
                again.unwrap_or_else(|| spread(RESYNC, &uid)),
            ))
        }
        Err(e) => {
            tracing::warn!(
                kind = %kind,
                namespace = object.namespace().unwrap_or_default(),
                name = object.name_any(),
                error = e.chain(),
                "reconcile failed"
            );
            Err(Arc::new(e))
        }
    }
}

fn retry<R: Reconciler>(object: Arc<R::Kind>, _: &Arc<Error>, context: Arc<Context<R>>) -> Action {
    let uid = object.uid().unwrap_or_default();
    let failures = context.failed(&uid, true);
    Action::requeue(backoff(failures, &uid))
}

/// Doubles from [`RETRY_MIN`] to [`RETRY_MAX`] with the number of failures in a row, spread by
/// object, so that objects that failed together do not come back together.
fn backoff(failures: u32, uid: &str) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    spread((RETRY_MIN * 2_u32.pow(doublings)).min(RETRY_MAX), uid)
}

/// Between 80 % and 120 % of `wait`, always the same for one object.
fn spread(wait: Duration, uid: &str) -> Duration {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    let percent = u32::try_from(hasher.finish() % 41).unwrap_or_default() + 80;
    wait * percent / 100
}

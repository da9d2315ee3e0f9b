//! Brings a local cluster to what the manifests ask for, by the operator's own plans.
//!
//! Each resource is looked at, planned and carried out by itself; one that is refused stops no
//! other. Nothing is deleted: what left the manifests stays, as when a manifest is no longer applied.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use api::admin;
use api::client::{self, Admin};
use crds::exchange::Exchange;
use crds::queue::Queue;
use crds::topic::Topic;
use kube::ResourceExt;
use tokio::time::sleep;

use super::manifest::{Located, Manifests, Problem};
use super::report::Report;
use crate::error::found;
use crate::plan::{self, Refusal, topic::Facts};

/// Pause before a request is sent again that found no controller or no broker.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// Attempts of one request, together a minute.
const ATTEMPTS_MAX: u32 = 300;

/// Why one resource is not as asked.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Admin(#[from] client::Error),
}

/// Applies everything; the problems carry the lines of the manifests.
pub(super) async fn apply(
    admin: &Admin,
    manifests: &Manifests,
    brokers: usize,
    report: &mut Report<impl Write>,
) -> Vec<Problem> {
    let mut run = Run {
        admin,
        report,
        problems: Vec::new(),
    };
    if let Some(Located { resource, .. }) = &manifests.cluster {
        let detail = format!("{brokers} brokers");
        run.report
            .row("BrokerCluster", &resource.name_any(), "serving", &detail);
    }
    for topic in &manifests.topics {
        let result = run.topic(&topic.resource, brokers).await;
        run.tell("Topic", topic, &topic.resource.name_any(), result);
    }
    for queue in &manifests.queues {
        let result = run.queue(&queue.resource).await;
        run.tell("Queue", queue, &queue.resource.name_any(), result);
    }
    run.declare_exchanges(&manifests.exchanges).await;
    for exchange in &manifests.exchanges {
        let result = run.exchange(&exchange.resource).await;
        run.tell("Exchange", exchange, &exchange.resource.name_any(), result);
    }
    for Located { resource, .. } in &manifests.groups {
        let detail = format!("group '{}': see millrace lag", resource.id());
        run.report
            .row("ConsumerGroup", &resource.name_any(), "watched", &detail);
    }
    run.problems
}

struct Run<'a, W> {
    admin: &'a Admin,
    report: &'a mut Report<W>,
    problems: Vec<Problem>,
}

/// Result and detail of a row.
type Row = (&'static str, String);

impl<W: Write> Run<'_, W> {
    fn tell<K>(
        &mut self,
        kind: &str,
        located: &Located<K>,
        name: &str,
        result: Result<Row, Failure>,
    ) {
        let failure = match result {
            Ok((result, detail)) => return self.report.row(kind, name, result, &detail),
            Err(failure) => failure,
        };
        self.report.row(kind, name, "refused", &failure.to_string());
        let problem = match failure {
            Failure::Refused(refusal) => located
                .document
                .problem(&format!("spec.{}", refusal.field), refusal.message),
            Failure::Admin(error) => located.document.problem("", error.to_string()),
        };
        self.problems.push(problem);
    }

    async fn topic(&self, topic: &Topic, brokers: usize) -> Result<Row, Failure> {
        let name = topic.broker_name();
        let observed = found(retry(|| self.admin.topic(name)).await)?;
        let facts = Facts { brokers };
        match plan::topic::plan(&topic.spec, observed.as_ref(), &facts, &[])? {
            plan::topic::Plan::Nothing => {
                Ok(("unchanged", observed.map(shape).unwrap_or_default()))
            }
            plan::topic::Plan::Create(spec) => {
                let made = retry(|| self.admin.put_topic(name, &spec)).await?;
                Ok(("created", shape(made.object)))
            }
            plan::topic::Plan::Alter { spec, changes, .. } => {
                let made = retry(|| self.admin.put_topic(name, &spec)).await?;
                let mut detail = shape(made.object);
                for change in changes {
                    detail.push_str("; ");
                    detail.push_str(&change);
                }
                Ok(("altered", detail))
            }
        }
    }

    async fn queue(&self, queue: &Queue) -> Result<Row, Failure> {
        let (vhost, name) = (queue.spec.vhost.as_str(), queue.broker_name());
        self.vhost(vhost).await?;
        let observed = found(retry(|| self.admin.queue(vhost, name)).await)?;
        match plan::queue::plan(&queue.spec, observed.as_ref())? {
            plan::queue::Plan::Nothing => {
                Ok(("unchanged", observed.map(place).unwrap_or_default()))
            }
            plan::queue::Plan::Create(spec) => {
                let made = retry(|| self.admin.put_queue(vhost, name, &spec)).await?;
                Ok(("created", place(made.object)))
            }
        }
    }

    /// First all exchanges, then their bindings: one may be bound to another that comes later.
    async fn declare_exchanges(&mut self, exchanges: &[Located<Exchange>]) {
        for Located { resource, .. } in exchanges {
            let (vhost, name) = (resource.spec.vhost.as_str(), resource.broker_name());
            let declared = async {
                self.vhost(vhost).await?;
                if found(retry(|| self.admin.exchange(vhost, name)).await)?.is_none() {
                    let spec = plan::exchange::declaration(&resource.spec);
                    retry(|| self.admin.put_exchange(vhost, name, &spec)).await?;
                }
                Ok::<(), client::Error>(())
            };
            if let Err(error) = declared.await {
                // Told with its row: planning it again meets the same error.
                tracing::debug!(exchange = name, %error, "exchange not declared");
            }
        }
    }

    async fn exchange(&self, exchange: &Exchange) -> Result<Row, Failure> {
        let (vhost, name) = (exchange.spec.vhost.as_str(), exchange.broker_name());
        let observed = found(retry(|| self.admin.exchange(vhost, name)).await)?;
        let there = self.destinations(vhost).await?;
        let exists = |d: &admin::Destination| there.contains(d);
        let plan = plan::exchange::plan(&exchange.spec, observed.as_ref(), &[], &exists)?;
        if let Some(spec) = &plan.declare {
            retry(|| self.admin.put_exchange(vhost, name, spec)).await?;
        }
        for binding in &plan.bind {
            retry(|| self.admin.bind(vhost, name, binding)).await?;
        }
        for binding in &plan.unbind {
            retry(|| self.admin.unbind(vhost, name, binding)).await?;
        }
        let kind = format!("{:?}", exchange.spec.type_).to_lowercase();
        let bound = exchange.spec.bindings.len() - plan.waiting.len();
        let mut detail = format!("{kind}, {bound} bound");
        if !plan.waiting.is_empty() {
            let waiting = plan.waiting.join(", ");
            detail.push_str(&format!("; no destination yet for {waiting}"));
        }
        let result = if plan.is_nothing() {
            "unchanged"
        } else {
            "applied"
        };
        Ok((result, detail))
    }

    async fn destinations(&self, vhost: &str) -> Result<BTreeSet<admin::Destination>, Failure> {
        let queues = retry(|| self.admin.queues(vhost)).await?;
        let exchanges = retry(|| self.admin.exchanges(vhost)).await?;
        let queues = queues
            .into_iter()
            .map(|q| admin::Destination::Queue(q.name));
        let exchanges = exchanges
            .into_iter()
            .map(|e| admin::Destination::Exchange(e.name));
        Ok(queues.chain(exchanges).collect())
    }

    async fn vhost(&self, vhost: &str) -> Result<(), client::Error> {
        if vhost == "/" {
            return Ok(());
        }
        retry(|| self.admin.put_vhost(vhost)).await
    }
}

/// Every request of the admin API may be sent again.
async fn retry<T, F>(mut request: impl FnMut() -> F) -> Result<T, client::Error>
where
    F: Future<Output = Result<T, client::Error>>,
{
    let mut attempt = 1;
    loop {
        match request().await {
            Err(error) if error.is_transient() && attempt < ATTEMPTS_MAX => {
                attempt += 1;
                sleep(RETRY_PAUSE).await;
            }
            result => return result,
        }
    }
}

fn shape(topic: admin::Topic) -> String {
    let replicas = topic.replication_factor();
    format!("{} partitions, {replicas} replicas", topic.partitions.len())
}

fn place(queue: admin::Queue) -> String {
    let kind = format!("{:?}", queue.kind).to_lowercase();
    let members: Vec<String> = queue.members.iter().map(ToString::to_string).collect();
    format!("{kind}, on broker {}", members.join(", "))
}

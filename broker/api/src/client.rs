//! Typed client of the admin HTTP API.
//!
//! Holds the addresses of several brokers, speaks to one, and goes to the next when that one does
//! not answer. Retries nothing else: the caller knows whether its request may be sent twice (every
//! request of this API may).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::{Method, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::admin::{
    Binding, CHANGES_TIMEOUT_MS_MAX, Changes, Cluster, ConfigChanges, Configs, Drain, ErrorBody,
    ErrorCode, Exchange, ExchangeSpec, Group, GroupSummary, Permit, PermitRelease, PermitRequest,
    Put, Queue, QueueSpec, Topic, TopicSpec, Verdict,
};

#[cfg(test)]
mod tests;

/// Time for one request other than the long poll, connecting included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// A long poll may take this much longer than it was told to.
const POLL_GRACE: Duration = Duration::from_secs(5);

/// Cheap to clone; clones share the connection pool and the preferred broker.
#[derive(Clone, Debug)]
pub struct Admin {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    http: reqwest::Client,
    brokers: Vec<Url>,
    /// Index into `brokers` of the one that answered last.
    preferred: AtomicUsize,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("'{0}' is not an http address")]
    Address(String),
    #[error("no admin address given")]
    NoAddress,
    /// None of the brokers answered; the cause is the last one's.
    #[error("no broker answers at {tried}")]
    Unreachable {
        tried: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("{body}")]
    Refused { status: u16, body: ErrorBody },
    #[error("{url} gave an answer that is not understood")]
    Malformed {
        url: String,
        #[source]
        source: reqwest::Error,
    },
}

impl Error {
    /// The broker said that there is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(ErrorCode::NotFound)
    }

    /// Sending the same again later can succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. }) || self.code() == Some(ErrorCode::Unavailable)
    }

    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused { body, .. } => Some(body.code),
            _ => None,
        }
    }
}

impl Admin {
    /// A client of the brokers at `addresses` (`http://host:port` or `host:port`). Connects to
    /// nothing yet.
    ///
    /// # Errors
    /// An address that cannot be parsed, or none at all.
    pub fn new<A: AsRef<str>>(addresses: impl IntoIterator<Item = A>) -> Result<Self, Error> {
        let brokers: Vec<Url> = addresses
            .into_iter()
            .map(|a| parse_address(a.as_ref()))
            .collect::<Result<_, _>>()?;
        if brokers.is_empty() {
            return Err(Error::NoAddress);
        }
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .no_proxy()
            .build()
            .map_err(|source| Error::Unreachable {
                tried: "this machine".to_owned(),
                source,
            })?;
        Ok(Self {
            inner: Arc::new(Inner {
                http,
                brokers,
                preferred: AtomicUsize::new(0),
            }),
        })
    }

    /// True when some broker answers `/readyz` with 200.
    ///
    /// # Errors
    /// No broker answers at all.
    pub async fn ready(&self) -> Result<bool, Error> {
        let (_, response) = self
            .send(Method::GET, &["readyz"], &[], &(), REQUEST_TIMEOUT)
            .await?;
        Ok(response.status().is_success())
    }

    /// The metrics page of one broker.
    ///
    /// # Errors
    /// See [`Error`]; so for every method below.
    pub async fn metrics(&self) -> Result<String, Error> {
        let (url, response) = self
            .send(Method::GET, &["metrics"], &[], &(), REQUEST_TIMEOUT)
            .await?;
        response.text().await.map_err(|source| Error::Malformed {
            url: url.to_string(),
            source,
        })
    }

    pub async fn cluster(&self) -> Result<Cluster, Error> {
        self.get(&["v1", "cluster"]).await
    }

    pub async fn configs(&self) -> Result<Configs, Error> {
        self.get(&["v1", "configs"]).await
    }

    pub async fn alter_configs(&self, changes: &ConfigChanges) -> Result<Configs, Error> {
        self.json(Method::PATCH, &["v1", "configs"], &[], changes)
            .await
    }

    // === topics ===

    pub async fn topics(&self) -> Result<Vec<Topic>, Error> {
        self.get(&["v1", "topics"]).await
    }

    pub async fn topic(&self, name: &str) -> Result<Topic, Error> {
        self.get(&["v1", "topics", name]).await
    }

    pub async fn put_topic(&self, name: &str, spec: &TopicSpec) -> Result<Put<Topic>, Error> {
        self.json(Method::PUT, &["v1", "topics", name], &[], spec)
            .await
    }

    pub async fn delete_topic(&self, name: &str) -> Result<(), Error> {
        self.empty(Method::DELETE, &["v1", "topics", name], &[], &())
            .await
    }

    // === queues, exchanges, bindings ===

    pub async fn vhosts(&self) -> Result<Vec<String>, Error> {
        self.get(&["v1", "vhosts"]).await
    }

    pub async fn put_vhost(&self, vhost: &str) -> Result<(), Error> {
        self.empty(Method::PUT, &["v1", "vhosts", vhost], &[], &())
            .await
    }

    pub async fn queues(&self, vhost: &str) -> Result<Vec<Queue>, Error> {
        self.get(&["v1", "vhosts", vhost, "queues"]).await
    }

    pub async fn queue(&self, vhost: &str, name: &str) -> Result<Queue, Error> {
        self.get(&["v1", "vhosts", vhost, "queues", name]).await
    }

    pub async fn put_queue(
        &self,
        vhost: &str,
        name: &str,
        spec: &QueueSpec,
    ) -> Result<Put<Queue>, Error> {
        let path = ["v1", "vhosts", vhost, "queues", name];
        self.json(Method::PUT, &path, &[], spec).await
    }

    pub async fn delete_queue(
        &self,
        vhost: &str,
        name: &str,
        if_unused: bool,
        if_empty: bool,
    ) -> Result<(), Error> {
        let path = ["v1", "vhosts", vhost, "queues", name];
        let query = [
            ("if_unused", if_unused.to_string()),
            ("if_empty", if_empty.to_string()),
        ];
        self.empty(Method::DELETE, &path, &query, &()).await
    }

    pub async fn exchanges(&self, vhost: &str) -> Result<Vec<Exchange>, Error> {
        self.get(&["v1", "vhosts", vhost, "exchanges"]).await
    }

    pub async fn exchange(&self, vhost: &str, name: &str) -> Result<Exchange, Error> {
        self.get(&["v1", "vhosts", vhost, "exchanges", name]).await
    }

    pub async fn put_exchange(
        &self,
        vhost: &str,
        name: &str,
        spec: &ExchangeSpec,
    ) -> Result<Put<Exchange>, Error> {
        let path = ["v1", "vhosts", vhost, "exchanges", name];
        self.json(Method::PUT, &path, &[], spec).await
    }

    pub async fn delete_exchange(
        &self,
        vhost: &str,
        name: &str,
        if_unused: bool,
    ) -> Result<(), Error> {
        let path = ["v1", "vhosts", vhost, "exchanges", name];
        let query = [("if_unused", if_unused.to_string())];
        self.empty(Method::DELETE, &path, &query, &()).await
    }

    pub async fn bind(&self, vhost: &str, exchange: &str, binding: &Binding) -> Result<(), Error> {
        let path = ["v1", "vhosts", vhost, "exchanges", exchange, "bindings"];
        self.empty(Method::POST, &path, &[], binding).await
    }

    pub async fn unbind(
        &self,
        vhost: &str,
        exchange: &str,
        binding: &Binding,
    ) -> Result<(), Error> {
        let path = ["v1", "vhosts", vhost, "exchanges", exchange, "bindings"];
        self.empty(Method::DELETE, &path, &[], binding).await
    }

    // === groups ===

    pub async fn groups(&self) -> Result<Vec<GroupSummary>, Error> {
        self.get(&["v1", "groups"]).await
    }

    pub async fn group(&self, id: &str) -> Result<Group, Error> {
        self.get(&["v1", "groups", id]).await
    }

    /// Refused while the group has members.
    pub async fn delete_group(&self, id: &str) -> Result<(), Error> {
        self.empty(Method::DELETE, &["v1", "groups", id], &[], &())
            .await
    }

    // === restarts ===

    pub async fn verdict(&self, broker: i32) -> Result<Verdict, Error> {
        self.get(&["v1", "brokers", &broker.to_string(), "verdict"])
            .await
    }

    /// Moves leaderships away from a broker; repeat until none is left that can move.
    pub async fn drain(&self, broker: i32) -> Result<Drain, Error> {
        let id = broker.to_string();
        self.json(Method::POST, &["v1", "brokers", &id, "drain"], &[], &())
            .await
    }

    pub async fn restart_permit(&self) -> Result<Option<Permit>, Error> {
        self.get(&["v1", "restart-permit"]).await
    }

    pub async fn acquire_restart_permit(&self, request: &PermitRequest) -> Result<Permit, Error> {
        self.json(Method::POST, &["v1", "restart-permit"], &[], request)
            .await
    }

    pub async fn release_restart_permit(&self, token: &str) -> Result<(), Error> {
        let release = PermitRelease {
            token: token.to_owned(),
        };
        self.empty(Method::DELETE, &["v1", "restart-permit"], &[], &release)
            .await
    }

    /// Returns once the metadata index has passed `since`, or after `timeout`, which is cut to
    /// [`CHANGES_TIMEOUT_MS_MAX`].
    pub async fn changes(&self, since: u64, timeout: Duration) -> Result<Changes, Error> {
        let timeout = timeout.min(Duration::from_millis(CHANGES_TIMEOUT_MS_MAX));
        let query = [
            ("since", since.to_string()),
            ("timeout_ms", timeout.as_millis().to_string()),
        ];
        let path = ["v1", "changes"];
        let (url, response) = self
            .send(Method::GET, &path, &query, &(), timeout + POLL_GRACE)
            .await?;
        decode(&url, response).await
    }

    // === transport ===

    async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, Error> {
        self.json(Method::GET, path, &[], &()).await
    }

    async fn json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let (url, response) = self
            .send(method, path, query, body, REQUEST_TIMEOUT)
            .await?;
        decode(&url, response).await
    }

    async fn empty(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        body: &impl Serialize,
    ) -> Result<(), Error> {
        let (_, response) = self
            .send(method, path, query, body, REQUEST_TIMEOUT)
            .await?;
        checked(response).await.map(drop)
    }

    /// Sends to the preferred broker, then to the others in turn while the failure is one of
    /// reaching them.
    async fn send(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<(Url, reqwest::Response), Error> {
        let inner = &*self.inner;
        let first = inner.preferred.load(Ordering::Relaxed);
        let mut last = None;
        for turn in 0..inner.brokers.len() {
            let n = (first + turn) % inner.brokers.len();
            let Some(broker) = inner.brokers.get(n) else {
                continue;
            };
            let url = join(broker, path);
            let mut request = inner
                .http
                .request(method.clone(), url.clone())
                .query(query)
                .timeout(timeout);
            if method != Method::GET {
                request = request.json(body);
            }
            match request.send().await {
                Ok(response) => {
                    inner.preferred.store(n, Ordering::Relaxed);
                    return Ok((url, response));
                }
                Err(source) => last = Some(source),
            }
        }
        let tried = inner
            .brokers
            .iter()
            .map(|u| u.authority().to_owned())
            .collect::<Vec<_>>()
            .join(", ");
        match last {
            Some(source) => Err(Error::Unreachable { tried, source }),
            None => Err(Error::NoAddress),
        }
    }
}

async fn decode<T: DeserializeOwned>(url: &Url, response: reqwest::Response) -> Result<T, Error> {
    checked(response)
        .await?
        .json()
        .await
        .map_err(|source| Error::Malformed {
            url: url.to_string(),
            source,
        })
}

async fn checked(response: reqwest::Response) -> Result<reqwest::Response, Error> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let text = response.text().await.unwrap_or_default();
    let body = serde_json::from_str(&text).unwrap_or_else(|_| ErrorBody {
        code: ErrorCode::Unknown,
        message: format!("status {status}: {text}"),
        field: None,
    });
    Err(Error::Refused {
        status: status.as_u16(),
        body,
    })
}

fn parse_address(address: &str) -> Result<Url, Error> {
    let with_scheme = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    match Url::parse(&with_scheme) {
        Ok(url) if url.scheme() == "http" && url.has_host() => Ok(url),
        _ => Err(Error::Address(address.to_owned())),
    }
}

/// Segments are percent-encoded, so the vhost `/` travels as `%2F`.
fn join(broker: &Url, path: &[&str]) -> Url {
    let mut url = broker.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.clear().extend(path);
    }
    url
}

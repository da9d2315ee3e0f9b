//! The listening sockets of a broker, bound before anything else starts, so that a port in use is
//! found while nothing is changed yet.

use std::collections::BTreeMap;

use machine::metadata::image::{Endpoint, Listener};
use tokio::net::TcpListener;

use crate::Config;
use crate::net::{self, BindError};

/// Bound and not yet accepting.
#[derive(Debug, Default)]
pub struct Sockets(BTreeMap<Listener, Vec<TcpListener>>);

impl Sockets {
    /// Binds every listener of the configuration.
    ///
    /// # Errors
    /// [`BindError`] names the address and what to do.
    pub async fn bind(config: &Config) -> Result<Self, BindError> {
        let mut sockets = Self::default();
        for endpoint in &config.listeners {
            let bound = net::bind(&endpoint.host, endpoint.port).await?;
            sockets.0.insert(endpoint.listener, bound);
        }
        Ok(sockets)
    }

    /// The port that a listener got.
    pub fn port(&self, listener: Listener) -> Option<u16> {
        let bound = self.0.get(&listener)?.first()?;
        Some(bound.local_addr().ok()?.port())
    }

    /// The sockets of a listener; empty if it is not configured.
    pub(super) fn take(&mut self, listener: Listener) -> Vec<TcpListener> {
        self.0.remove(&listener).unwrap_or_default()
    }

    /// What clients are told: the advertised endpoints, with the bound port for port 0 and this
    /// machine's name for an address that stands for all.
    pub(super) fn advertised(&self, config: &Config) -> Vec<Endpoint> {
        config
            .advertised
            .iter()
            .map(|endpoint| {
                let mut endpoint = endpoint.clone();
                if endpoint.port == 0 {
                    endpoint.port = self.port(endpoint.listener).unwrap_or(0);
                }
                if matches!(endpoint.host.as_str(), "" | "0.0.0.0" | "::") {
                    endpoint.host = rustix::system::uname()
                        .nodename()
                        .to_string_lossy()
                        .into_owned();
                }
                endpoint
            })
            .collect()
    }
}

//! Arguments of `millrace operator`.

use std::net::SocketAddr;

/// Watches resources of millrace.dev and reconciles them.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Namespace to watch; all of them when left out.
    #[arg(long, env = "MILLRACE_NAMESPACE")]
    pub namespace: Option<String>,
    /// Image of brokers whose BrokerCluster names none.
    #[arg(long, env = "MILLRACE_BROKER_IMAGE", default_value = "millrace:latest")]
    pub broker_image: String,
    /// Where /metrics and /healthz are served. [::] is every address, IPv4 and IPv6.
    #[arg(long, default_value = "[::]:8080")]
    pub listen: SocketAddr,
    /// Namespace of the Lease by which one of several operators leads; without it this one leads.
    #[arg(long, env = "MILLRACE_LEASE_NAMESPACE")]
    pub lease_namespace: Option<String>,
    #[arg(long, default_value = "millrace-operator")]
    pub lease_name: String,
    /// Remove the finalizer from every resource and end, for uninstalling. What they stand for in
    /// the brokers stays.
    #[arg(long)]
    pub release: bool,
    /// This operator among several; its pod's name.
    #[arg(long, env = "POD_NAME", default_value = "operator")]
    pub identity: String,
}

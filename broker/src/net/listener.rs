//! Binding and accepting.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Connections, Permit};

/// Connections that wait to be accepted, per listener.
const BACKLOG: i32 = 1024;
/// Pause after an accept that failed for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Ports tried until one is free on every address.
const PORT_TRIES: usize = 16;

/// A listener that cannot be had, in one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error(
        "cannot resolve the listener address '{host}': {source}; name an address of this machine"
    )]
    Resolve { host: String, source: io::Error },
    #[error("the listener address '{0}' has no IP address; name an address of this machine")]
    NoAddress(String),
    #[error(
        "cannot listen on {address}: {source}; stop what uses the port, or choose another port"
    )]
    Bind {
        address: SocketAddr,
        source: io::Error,
    },
}

/// Listens on `port` of every address that `host` stands for, IPv4 and IPv6. `localhost` is both
/// loopback addresses and an empty host, `0.0.0.0` or `::` every address of that family or both;
/// IPv6 is left out on a machine without it. Port 0 chooses one port for all of them.
///
/// # Errors
/// [`BindError`], when no address can be bound or the port is in use on one of them.
pub async fn bind(host: &str, port: u16) -> Result<Vec<TcpListener>, BindError> {
    let addresses = resolve(host).await?;
    let mut tries = 0;
    loop {
        match bind_all(&addresses, port) {
            Err(BindError::Bind { .. }) if port == 0 && tries < PORT_TRIES => tries += 1,
            done => return done,
        }
    }
}

async fn resolve(host: &str) -> Result<Vec<IpAddr>, BindError> {
    let host = host.trim_matches(['[', ']']);
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    }
    if host.is_empty() {
        return Ok(vec![
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv6Addr::UNSPECIFIED.into(),
        ]);
    }
    let found = tokio::net::lookup_host((host, 0))
        .await
        .map_err(|source| BindError::Resolve {
            host: host.to_owned(),
            source,
        })?;
    let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    addresses.sort();
    addresses.dedup();
    if addresses.is_empty() {
        return Err(BindError::NoAddress(host.to_owned()));
    }
    Ok(addresses)
}

fn bind_all(addresses: &[IpAddr], port: u16) -> Result<Vec<TcpListener>, BindError> {
    let mut listeners: Vec<TcpListener> = Vec::with_capacity(addresses.len());
    let mut failed = None;
    for ip in addresses {
        let bound = listeners.first().and_then(|l| l.local_addr().ok());
        let address = SocketAddr::new(*ip, bound.map_or(port, |first| first.port()));
        match bind_one(address) {
            Ok(listener) => listeners.push(listener),
            Err(source) if ip.is_ipv6() && addresses.len() > 1 && lacks_ipv6(&source) => {}
            Err(source) => failed = Some(BindError::Bind { address, source }),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(listeners),
    }
}

/// This machine has no IPv6, or not on this address.
fn lacks_ipv6(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

fn bind_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        // IPv4 has a socket of its own.
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Accepts until `stop`, then returns once every connection has ended; `serve` must heed `stop`
/// itself. A connection over a limit is closed at once.
pub async fn accept<F>(
    listener: TcpListener,
    connections: Connections,
    stop: CancellationToken,
    serve: impl Fn(TcpStream, SocketAddr) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Some(permit) = connections.admit(peer.ip()) else {
                    tracing::debug!(%peer, "connection limit reached");
                    continue;
                };
                tasks.spawn(hold(permit, serve(stream, peer)));
            }
            Err(error) => {
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

async fn hold(permit: Permit, serve: impl Future<Output = ()>) {
    serve.await;
    drop(permit);
}

#[cfg(test)]
mod tests;

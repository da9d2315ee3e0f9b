//! From accept to an open virtual host, in bounded time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use amqp_wire::session::{Closed, Config, Credentials, Event, Session as Wire};
use amqp_wire::{Exception, ReplyCode};

use super::clock::Clock;
use super::socket::{Read, Socket};
use crate::amqp::Front;
use crate::amqp::topology::Client;

/// A wrong login waits this long for its answer, which slows guessing.
const WRONG_LOGIN_DELAY: Duration = Duration::from_millis(200);

/// A connection that is open.
pub(super) struct Opened {
    pub(super) socket: Socket,
    pub(super) wire: Wire,
    pub(super) client: Client,
}

pub(super) fn wire_config(front: &Front) -> Config {
    let config = &front.config;
    Config {
        channel_max: config.channel_max,
        frame_max: config.frame_max,
        heartbeat_s: config.heartbeat_s,
        message_bytes_max: config.message_bytes_max,
        product: config.product.clone(),
        version: config.version.clone(),
        about: vec![
            ("platform".into(), "Millrace".into()),
            ("cluster_name".into(), front.cluster_name.clone()),
            ("information".into(), "AMQP 0-9-1 front of Millrace".into()),
        ],
        ..Config::default()
    }
}

/// `None`: the client was refused, or left.
pub(super) async fn shake(
    mut socket: Socket,
    peer: SocketAddr,
    front: Arc<Front>,
    clock: &Clock,
) -> std::io::Result<Option<Opened>> {
    let mut wire = Wire::new(wire_config(&front), clock.now_ms());
    let mut user = String::new();
    loop {
        while let Some(event) = wire.receive(&mut socket.input) {
            match event {
                Event::Login(credentials) => {
                    if allow(&front, &credentials, peer).await {
                        user = credentials.user;
                        wire.accept_login();
                    } else {
                        front.metrics.logins_refused.inc();
                        tracing::warn!(%peer, user = %credentials.user, "AMQP login refused");
                        tokio::time::sleep(WRONG_LOGIN_DELAY).await;
                        if let Some(Event::Closed { linger_ms, .. }) = wire.refuse_login() {
                            tokio::time::sleep(Duration::from_millis(linger_ms)).await;
                            return Ok(None);
                        }
                    }
                }
                Event::Open { vhost } => {
                    let Some(name) = known_vhost(&front, &vhost) else {
                        let text = format!("vhost {vhost} not found");
                        let error = Exception::new(ReplyCode::NotAllowed, text);
                        wire.fail(0, error.caused_by_ids(10, 40));
                        continue;
                    };
                    wire.accept_open();
                    let client = Client {
                        owner: front.queues.owner(),
                        front,
                        vhost: name,
                        user,
                    };
                    return Ok(Some(Opened {
                        socket,
                        wire,
                        client,
                    }));
                }
                Event::Closed { reason, linger_ms } => {
                    if !matches!(reason, Closed::ByClient { .. }) {
                        tracing::info!(%peer, ?reason, "AMQP handshake failed");
                    }
                    tokio::time::sleep(Duration::from_millis(linger_ms)).await;
                    let output = wire.output().split();
                    socket.finish(output).await;
                    return Ok(None);
                }
                _ => {}
            }
        }
        socket.write_all(wire.output()).await?;
        socket.readable().await?;
        if socket.try_read()? == Read::End {
            return Ok(None);
        }
    }
}

async fn allow(front: &Front, credentials: &Credentials, peer: SocketAddr) -> bool {
    let Credentials { user, password } = credentials;
    let users = front.logins.users().await;
    users.allow(user, password, peer.ip())
}

fn known_vhost(front: &Front, name: &str) -> Option<Arc<str>> {
    let image = front.metadata.image();
    image
        .vhosts
        .get_key_value(name)
        .map(|(name, _)| name.clone())
}

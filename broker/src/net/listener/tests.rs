use tokio::io::AsyncReadExt;

use super::*;

#[tokio::test]
async fn localhost_is_one_port_on_both_loopback_addresses() {
    let listeners = bind("localhost", 0).await.unwrap();
    let addresses: Vec<SocketAddr> = listeners.iter().map(|l| l.local_addr().unwrap()).collect();
    assert!(addresses.iter().all(|a| a.ip().is_loopback()));
    assert!(addresses.iter().all(|a| a.port() == addresses[0].port()));
    assert!(addresses[0].is_ipv4());
}

#[tokio::test]
async fn a_port_in_use_is_refused_with_the_address() {
    let taken = bind("127.0.0.1", 0).await.unwrap();
    let port = taken[0].local_addr().unwrap().port();
    let error = bind("127.0.0.1", port).await.unwrap_err().to_string();
    assert!(error.contains(&format!("127.0.0.1:{port}")), "{error}");
    assert!(error.contains("choose another port"), "{error}");
}

#[tokio::test]
async fn a_connection_over_the_limit_is_closed_and_draining_waits_for_the_rest() {
    let listener = bind("127.0.0.1", 0).await.unwrap().remove(0);
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let end = stop.child_token();
    let accepting = tokio::spawn(accept(
        listener,
        Connections::new(crate::net::Bounds {
            total_max: 1,
            per_address_max: 1,
            ..crate::net::Bounds::default()
        }),
        stop.clone(),
        move |stream, _| {
            let end = end.clone();
            async move {
                end.cancelled().await;
                drop(stream);
            }
        },
    ));
    let mut first = TcpStream::connect(address).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    assert_eq!(second.read(&mut [0]).await.unwrap_or_default(), 0);
    stop.cancel();
    assert_eq!(first.read(&mut [0]).await.unwrap_or_default(), 0);
    accepting.await.unwrap();
}

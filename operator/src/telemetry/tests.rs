use std::net::{Ipv6Addr, SocketAddr};

use tokio::net::TcpStream;

use super::*;

#[tokio::test]
async fn an_address_that_stands_for_all_is_reached_by_ipv4_and_by_ipv6_where_there_is_any() {
    let listener = bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)))
        .await
        .unwrap();
    let bound = listener.local_addr().unwrap();
    TcpStream::connect((Ipv4Addr::LOCALHOST, bound.port()))
        .await
        .unwrap();
    if bound.is_ipv6() && std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        TcpStream::connect((Ipv6Addr::LOCALHOST, bound.port()))
            .await
            .unwrap();
    }
}

use bytes::Bytes;
use tokio::io::{AsyncReadExt, duplex};

use super::Outbox;
use crate::net::Room;

#[tokio::test]
async fn a_piece_counts_whole_until_its_last_byte_is_taken() {
    let room = Room::new(1_000);
    let (mut broker, mut client) = duplex(90);
    let mut outbox = Outbox::new(&room);
    let mut claim = room.claim();
    claim.set(100);
    outbox.push(vec![Bytes::from(vec![1; 100])], Some(claim));
    outbox.push(vec![Bytes::from(vec![2; 50])], None);
    assert_eq!(room.free_bytes(), 850);
    outbox.write(&mut broker).await.unwrap();
    assert_eq!((outbox.len(), room.free_bytes()), (60, 850));
    client.read_exact(&mut [0; 90]).await.unwrap();
    outbox.write(&mut broker).await.unwrap();
    assert!(outbox.is_empty());
    assert_eq!(room.free_bytes(), 1_000);
}

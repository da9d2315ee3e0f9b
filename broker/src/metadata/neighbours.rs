//! Keeps the mesh reaching out to every broker of the cluster: voters where the configuration says,
//! the others where they registered.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::metadata::image::{Image, Listener};
use model::BrokerId;
use tokio::sync::watch;

use crate::config::Voter;
use crate::peer::{Address, Mesh};

pub(super) async fn follow(mut image: watch::Receiver<Arc<Image>>, voters: Vec<Voter>, mesh: Mesh) {
    let mut known = BTreeMap::new();
    loop {
        let wanted = addresses(&image.borrow_and_update(), &voters);
        if wanted != known {
            mesh.set_peers(wanted.clone());
            known = wanted;
        }
        if image.changed().await.is_err() {
            return;
        }
    }
}

fn addresses(image: &Image, voters: &[Voter]) -> BTreeMap<BrokerId, Address> {
    let registered = image.brokers.values().filter_map(|broker| {
        let peer = broker
            .endpoints
            .iter()
            .find(|endpoint| endpoint.listener == Listener::Peer)?;
        let address = Address {
            host: peer.host.clone(),
            port: peer.port,
        };
        Some((broker.id, address))
    });
    let configured = voters.iter().map(|voter| {
        let address = Address {
            host: voter.host.clone(),
            port: voter.port,
        };
        (voter.id, address)
    });
    registered.chain(configured).collect()
}

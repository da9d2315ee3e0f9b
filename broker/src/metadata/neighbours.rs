//! Keeps the mesh reaching out to every broker of the cluster: voters where the configuration says,
//! the others where they registered. One that was unregistered while it runs still has to hear of it:
//! it is a neighbour until it is gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::metadata::image::{Image, Listener};
use model::BrokerId;
use tokio::sync::watch;

use crate::config::Voter;
use crate::peer::{Address, Mesh};

pub(super) async fn follow(mut image: watch::Receiver<Arc<Image>>, voters: Vec<Voter>, mesh: Mesh) {
    let mut known: BTreeMap<BrokerId, Address> = BTreeMap::new();
    let mut alive = mesh.alive();
    loop {
        let mut wanted = addresses(&image.borrow_and_update(), &voters);
        let unregistered: Vec<_> = {
            let alive = alive.borrow_and_update();
            let lingers = |id: &BrokerId| !wanted.contains_key(id) && alive.is_alive(*id);
            let known = known.iter().filter(|(id, _)| lingers(id));
            known.map(|(id, address)| (*id, address.clone())).collect()
        };
        let lingering = !unregistered.is_empty();
        wanted.extend(unregistered);
        if wanted != known {
            known.clone_from(&wanted);
            mesh.set_peers(wanted);
        }
        let changed = tokio::select! {
            changed = image.changed() => changed,
            changed = alive.changed(), if lingering => changed,
        };
        if changed.is_err() {
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

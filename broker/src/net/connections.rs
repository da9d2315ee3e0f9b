//! How many connections may be open at once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

/// Counts the open connections of one front, in total and by address.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bounds: ArcSwap<Bounds>,
    open: Mutex<Open>,
}

/// How many may be open; may change at any time. Connections beyond new bounds stay, and no other comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// `max.connections`.
    pub total_max: usize,
    /// `max.connections.per.ip`.
    pub per_address_max: usize,
    /// `max.connections.per.ip.overrides`.
    pub overrides: HashMap<IpAddr, usize>,
}

impl Bounds {
    /// Reads `address:count` pairs, with commas between them.
    ///
    /// # Errors
    /// The first pair that is none.
    pub fn overrides(text: &str) -> Result<HashMap<IpAddr, usize>, String> {
        text.split(',')
            .map(str::trim)
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (address, count) = pair.rsplit_once(':').ok_or(pair)?;
                let address = address.trim_matches(['[', ']']).parse().map_err(|_| pair)?;
                Ok((address, count.parse().map_err(|_| pair)?))
            })
            .collect::<Result<_, &str>>()
            .map_err(str::to_owned)
    }

    fn of(&self, address: IpAddr) -> usize {
        let own = self.overrides.get(&address).copied();
        own.unwrap_or(self.per_address_max)
    }
}

#[derive(Debug, Default)]
struct Open {
    total: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// One open connection; dropping it makes room for another.
#[derive(Debug)]
pub struct Permit {
    connections: Connections,
    address: IpAddr,
}

impl Connections {
    pub fn new(bounds: Bounds) -> Self {
        Self(Arc::new(Inner {
            bounds: ArcSwap::from_pointee(bounds),
            open: Mutex::default(),
        }))
    }

    pub fn bound(&self, bounds: Bounds) {
        self.0.bounds.store(Arc::new(bounds));
    }

    /// Room for one more from `address`; `None` when a limit is reached.
    pub fn admit(&self, address: IpAddr) -> Option<Permit> {
        let bounds = self.0.bounds.load();
        let mut open = self.0.open.lock();
        let from_there = open.by_address.get(&address).copied().unwrap_or_default();
        if open.total >= bounds.total_max || from_there >= bounds.of(address) {
            return None;
        }
        open.total += 1;
        open.by_address.insert(address, from_there + 1);
        Some(Permit {
            connections: self.clone(),
            address,
        })
    }

    pub fn open(&self) -> usize {
        self.0.open.lock().total
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.connections.0.open.lock();
        open.total -= 1;
        if let Some(count) = open.by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::BROADCAST);

    fn bounds(total_max: usize, per_address_max: usize, overrides: &str) -> Bounds {
        Bounds {
            total_max,
            per_address_max,
            overrides: Bounds::overrides(overrides).unwrap(),
        }
    }

    #[test]
    fn bounds_may_change_and_an_address_may_have_its_own() {
        let connections = Connections::new(bounds(9, 1, ""));
        let _first = connections.admit(HERE).unwrap();
        assert!(connections.admit(HERE).is_none());
        connections.bound(bounds(9, 1, "127.0.0.1:2, [::1]:0"));
        let _second = connections.admit(HERE).unwrap();
        assert!(connections.admit(HERE).is_none());
        assert!(connections.admit(IpAddr::V6(Ipv6Addr::LOCALHOST)).is_none());
        assert!(connections.admit(THERE).is_some());
        for wrong in ["127.0.0.1", "127.0.0.1:x", "host:1"] {
            assert_eq!(Bounds::overrides(wrong), Err(wrong.to_owned()));
        }
    }

    #[test]
    fn the_total_and_each_address_are_limited() {
        let connections = Connections::new(bounds(3, 2, ""));
        let first = connections.admit(HERE).unwrap();
        let _second = connections.admit(HERE).unwrap();
        assert!(connections.admit(HERE).is_none(), "two per address");
        let _third = connections.admit(THERE).unwrap();
        assert!(connections.admit(THERE).is_none(), "three in total");
        drop(first);
        assert!(connections.admit(HERE).is_some());
        assert_eq!(connections.open(), 2);
    }
}

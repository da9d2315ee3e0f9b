//! How many connections may be open at once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

/// Counts the open connections of one front, in total and by address.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `max.connections`.
    total_max: usize,
    /// `max.connections.per.ip`.
    per_address_max: usize,
    open: Mutex<Open>,
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
    pub fn new(total_max: usize, per_address_max: usize) -> Self {
        Self(Arc::new(Inner {
            total_max,
            per_address_max,
            open: Mutex::default(),
        }))
    }

    /// Room for one more from `address`; `None` when a limit is reached.
    pub fn admit(&self, address: IpAddr) -> Option<Permit> {
        let mut open = self.0.open.lock();
        let from_there = open.by_address.get(&address).copied().unwrap_or_default();
        if open.total >= self.0.total_max || from_there >= self.0.per_address_max {
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
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::BROADCAST);

    #[test]
    fn the_total_and_each_address_are_limited() {
        let connections = Connections::new(3, 2);
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

//! Client quotas (KIP-13, KIP-124, KIP-546, KIP-599): which limit holds for a client, how much it has
//! used, and how long it has to wait. Time is passed in, in milliseconds of a clock that never goes back.
//!
//! What is set is in [`metadata::quota`](crate::metadata::quota); how it is used is counted on each broker
//! by its own [`Meters`].

mod bucket;
mod meters;
mod rate;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::metadata::quota::{Entity, Name, Quotas};

pub use bucket::Bucket;
pub use meters::{METERS_MAX, Meters, Overdrawn};
pub use rate::{Rate, Windows};

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Bytes of produce requests a second.
    Produce,
    /// Bytes of fetch responses a second.
    Fetch,
    /// Percent of one thread that requests are served on.
    Request,
    /// Partitions created and deleted a second.
    Mutation,
    /// Connections accepted a second, by address.
    Connection,
}

impl Kind {
    /// Name of the quota, as clients set it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Produce => "producer_byte_rate",
            Self::Fetch => "consumer_byte_rate",
            Self::Request => "request_percentage",
            Self::Mutation => "controller_mutation_rate",
            Self::Connection => "connection_creation_rate",
        }
    }
}

/// Who shares one limit: everybody with the same user and client id, as far as the limit tells them apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sharer {
    pub user: Option<Arc<str>>,
    pub client_id: Option<Arc<str>>,
}

/// The limit that holds for a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// For whom it was set.
    pub entity: Entity,
    /// Who uses it up together.
    pub sharer: Sharer,
    /// Units of [`Kind`] a second.
    pub bound: f64,
}

/// The limit of `kind` for a client: the first that was set, from the most to the least specific. A client
/// without an id has none of those for ids.
pub fn limit(quotas: &Quotas, kind: Kind, user: &str, client_id: &str) -> Option<Limit> {
    let named = |name: &str| Some(Name::Named(name.into()));
    let any = Some(Name::Default);
    let users = [named(user), any.clone(), None];
    let by_precedence = users.into_iter().flat_map(|of_user| {
        // A user alone comes after the user with any client id; no user and no client id is nobody.
        let ids = [named(client_id), any.clone(), None];
        ids.into_iter().map(move |id| (of_user.clone(), id))
    });
    for (of_user, id) in by_precedence {
        if (id.is_some() && client_id.is_empty()) || (id.is_none() && of_user.is_none()) {
            continue;
        }
        let sharer = Sharer {
            user: of_user.as_ref().map(|_| user.into()),
            client_id: id.as_ref().map(|_| client_id.into()),
        };
        let entity = Entity {
            user: of_user,
            client_id: id,
            ip: None,
        };
        if let Some(bound) = quotas.get(&entity).and_then(|set| set.get(kind.key())) {
            return Some(Limit {
                entity,
                sharer,
                bound: bound.0,
            });
        }
    }
    None
}

/// Connections a second that may come from `address`, with who shares that limit.
pub fn connection_limit(quotas: &Quotas, address: &str) -> Option<Limit> {
    [Name::Named(address.into()), Name::Default]
        .into_iter()
        .find_map(|name| {
            let entity = Entity {
                ip: Some(name),
                ..Entity::default()
            };
            let bound = quotas.get(&entity)?.get(Kind::Connection.key())?.0;
            Some(Limit {
                entity,
                sharer: Sharer {
                    user: None,
                    client_id: Some(address.into()),
                },
                bound,
            })
        })
}

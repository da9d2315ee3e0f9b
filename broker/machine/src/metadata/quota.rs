//! Quotas that were set for clients (KIP-546): for whom, and how much. Names and values are checked before
//! they are submitted; what they mean is in [`crate::quota`].

use std::str::FromStr;
use std::sync::Arc;

use imbl::OrdMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::command::Reply;
use super::image::Image;

pub type Quotas = OrdMap<Entity, OrdMap<Arc<str>, Bound>>;

/// Who limits are for: a user, a client id, both together, or an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entity {
    pub user: Option<Name>,
    pub client_id: Option<Name>,
    pub ip: Option<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Name {
    /// Everybody who has no limit by name.
    Default,
    Named(Arc<str>),
}

/// A limit, in units a second. Written as text, which is exact: brokers agree on every bit of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound(pub f64);

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        f64::from_str(&text).map(Self).map_err(de::Error::custom)
    }
}

/// An entity without limits left is forgotten.
pub(super) fn alter(
    image: &mut Image,
    entity: Entity,
    changes: Vec<(String, Option<Bound>)>,
) -> Reply {
    let mut set = image.quotas.get(&entity).cloned().unwrap_or_default();
    for (key, bound) in changes {
        match bound {
            Some(bound) => set.insert(key.into(), bound),
            None => set.remove(key.as_str()),
        };
    }
    if set.is_empty() {
        image.quotas.remove(&entity);
    } else {
        image.quotas.insert(entity, set);
    }
    Reply::Done
}

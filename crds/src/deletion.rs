//! What happens in the brokers when a resource is deleted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens in the brokers when the resource is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    Delete,
    Retain,
}

/// Who brought the broker's object into being, as far as a resource knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Origin {
    /// This resource created it.
    Created,
    /// It was there before.
    Adopted,
}

impl DeletionPolicy {
    /// The policy in force: what was asked for, else `Delete` only for what the resource itself
    /// created. An object that was there before is never lost by default.
    #[must_use]
    pub fn effective(asked: Option<Self>, origin: Option<Origin>) -> Self {
        asked.unwrap_or(match origin {
            Some(Origin::Created) => Self::Delete,
            Some(Origin::Adopted) | None => Self::Retain,
        })
    }
}

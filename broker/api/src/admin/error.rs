//! How the admin API says no.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Body of every answer with a 4xx or 5xx status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    pub code: ErrorCode,
    /// One sentence, lower case, for a person.
    pub message: String,
    /// Field of the request body the message is about, when it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// Closed on the sending side; a client reads a code it does not know as [`ErrorCode::Unknown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// 404: no such topic, queue, exchange, vhost, group or broker.
    NotFound,
    /// 400: the request can never succeed as it is.
    Invalid,
    /// 409: an object of that name exists with properties that cannot be changed to those asked for.
    Conflict,
    /// 409: the object is used, has messages or has members.
    InUse,
    /// 409: another restart permit is live.
    PermitHeld,
    /// 409: the verdict says the broker must not stop now.
    UnsafeToStop,
    /// 503: no controller, or the request did not reach it in time. Retry.
    Unavailable,
    /// 500.
    Internal,
    #[serde(other)]
    Unknown,
}

impl ErrorCode {
    /// HTTP status the code travels with.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::Invalid => 400,
            Self::Conflict | Self::InUse | Self::PermitHeld | Self::UnsafeToStop => 409,
            Self::Unavailable => 503,
            Self::Internal | Self::Unknown => 500,
        }
    }
}

impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

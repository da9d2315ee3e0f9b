//! The mechanisms PLAIN (RFC 4616) and AMQPLAIN (RabbitMQ's, a table).

use bytes::Bytes;

use crate::field;
use crate::table::{self, Value};

/// Offered in this order.
pub(super) const MECHANISMS: &[u8] = b"PLAIN AMQPLAIN";

/// Who wants in. Never printed whole: the password is left out of `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Invalid {
    #[error("unknown authentication mechanism")]
    UnknownMechanism,
    #[error("a PLAIN response is not identity, user and password")]
    Plain,
    #[error("an AMQPLAIN response is not a table of LOGIN and PASSWORD")]
    AmqPlain,
    #[error("an AMQPLAIN response: {0}")]
    Table(#[from] field::Invalid),
}

impl Credentials {
    pub(super) fn parse(mechanism: &str, response: Bytes) -> Result<Self, Invalid> {
        match mechanism {
            "PLAIN" => Self::plain(&response),
            "AMQPLAIN" => Self::amqplain(response),
            _ => Err(Invalid::UnknownMechanism),
        }
    }

    fn plain(response: &Bytes) -> Result<Self, Invalid> {
        let mut parts = response.splitn(3, |byte| *byte == 0);
        let (Some(_identity), Some(user), Some(password)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(Invalid::Plain);
        };
        Ok(Self {
            user: String::from_utf8(user.to_vec()).map_err(|_| Invalid::Plain)?,
            password: Bytes::copy_from_slice(password),
        })
    }

    fn amqplain(response: Bytes) -> Result<Self, Invalid> {
        let table = table::parse_entries(response)?;
        let (Some(user), Some(Value::LongStr(password))) = (
            table.get("LOGIN").and_then(Value::as_text),
            table.get("PASSWORD"),
        ) else {
            return Err(Invalid::AmqPlain);
        };
        Ok(Self {
            user: user.to_owned(),
            password: password.clone(),
        })
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

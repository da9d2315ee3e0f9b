//! AMQP 0-9-1 between bytes and meaning: frames, methods, field tables, content, and the rules of a
//! connection and its channels ([`session`]).
//!
//! Nothing here opens a socket, reads a clock or knows a queue. Input is hostile: every length is
//! checked against the bytes that are really there before anything is allocated for it, tables nest
//! at most [`table::DEPTH_MAX`] deep, and no input makes it panic (`fuzz/` tries).
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

pub mod content;
pub mod exception;
pub mod field;
pub mod frame;
pub mod method;
pub mod properties;
pub mod session;
pub mod table;

pub use content::Content;
pub use exception::{Exception, ReplyCode, Scope};
pub use field::ShortStr;
pub use properties::Properties;
pub use table::{Table, Value};

#[cfg(test)]
mod hostile;

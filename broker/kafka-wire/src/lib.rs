//! Kafka's wire protocol: bytes to typed messages and back, for every API that clients and tools of
//! Kafka 4.4 use.
//!
//! The messages are generated from the tables in `schema/` (see `tests/it/codegen.rs`); what they
//! share is written by hand here. Nothing in this crate does IO, logs, or knows what a message means.
//!
//! Bytes come from strangers. No read indexes, no count is believed before it is compared with the
//! bytes that are there, and one message may hold at most [`reader::ELEMENTS_MAX`] array elements.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)
)]

pub mod error_code;
pub mod frame;
pub mod message;
pub mod messages;
pub mod reader;
pub mod records;
pub mod string;
pub mod writer;

pub use error_code::ErrorCode;
pub use message::{Message, Request, Versions};
pub use messages::ApiKey;
pub use reader::{DecodeError, Reader};
pub use records::Records;
pub use string::Str;
pub use writer::{EncodeError, Writer};

//! Group calls of consumers ([`membership`]) and of tools ([`admin`]): requests in, commands to the
//! group's coordinator, replies and codes out.

mod admin;
mod kept;
mod membership;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kafka_wire::{ErrorCode, Str};
use machine::group::{Command, GroupId, Reply};

use super::dispatch::Call;
use super::error_code;

/// Has the coordinator carry a command out. A reply of another kind than asked for cannot be.
pub(super) async fn submit<T>(
    call: &Call,
    group: GroupId,
    command: Command,
    expect: impl FnOnce(Reply) -> Option<Result<T, machine::group::Error>>,
) -> Result<T, Failed> {
    let reply = call
        .front
        .groups
        .submit(&group, command)
        .await
        .map_err(|unavailable| Failed::Unavailable(error_code::coordinator(&unavailable)))?;
    match expect(reply) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(Failed::Refused(error)),
        None => Err(Failed::Unavailable(ErrorCode::UnknownServerError)),
    }
}

/// Why a group call came to nothing.
#[derive(Debug)]
pub(super) enum Failed {
    /// The coordinator is elsewhere, loading, or cannot write.
    Unavailable(ErrorCode),
    /// The group said no.
    Refused(machine::group::Error),
}

impl Failed {
    pub(super) fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable(code) => *code,
            Self::Refused(error) => error_code::group(error),
        }
    }
}

/// Text that outlives the request's buffer: groups keep it.
pub(super) fn shared(text: &Str) -> Arc<str> {
    Arc::from(&**text)
}

pub(super) fn shared_option(text: Option<&Str>) -> Option<Arc<str>> {
    text.map(shared)
}

pub(super) fn wire(text: &str) -> Str {
    Str::from(text)
}

pub(super) fn wire_option(text: Option<&Arc<str>>) -> Option<Str> {
    text.map(|text| wire(text))
}

//! Reply codes and the exceptions that carry them (section 1.2 of the specification, with the codes
//! that RabbitMQ adds).

use crate::field::{self, ShortStr};
use crate::method::{self, Method};

/// Code of a close or a return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplyCode {
    Success = 200,
    ContentTooLarge = 311,
    NoRoute = 312,
    NoConsumers = 313,
    ConnectionForced = 320,
    InvalidPath = 402,
    AccessRefused = 403,
    NotFound = 404,
    ResourceLocked = 405,
    PreconditionFailed = 406,
    FrameError = 501,
    SyntaxError = 502,
    CommandInvalid = 503,
    ChannelError = 504,
    UnexpectedFrame = 505,
    ResourceError = 506,
    NotAllowed = 530,
    NotImplemented = 540,
    InternalError = 541,
}

impl ReplyCode {
    #[must_use]
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The word that a reply text starts with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "OK",
            Self::ContentTooLarge => "CONTENT_TOO_LARGE",
            Self::NoRoute => "NO_ROUTE",
            Self::NoConsumers => "NO_CONSUMERS",
            Self::ConnectionForced => "CONNECTION_FORCED",
            Self::InvalidPath => "INVALID_PATH",
            Self::AccessRefused => "ACCESS_REFUSED",
            Self::NotFound => "NOT_FOUND",
            Self::ResourceLocked => "RESOURCE_LOCKED",
            Self::PreconditionFailed => "PRECONDITION_FAILED",
            Self::FrameError => "FRAME_ERROR",
            Self::SyntaxError => "SYNTAX_ERROR",
            Self::CommandInvalid => "COMMAND_INVALID",
            Self::ChannelError => "CHANNEL_ERROR",
            Self::UnexpectedFrame => "UNEXPECTED_FRAME",
            Self::ResourceError => "RESOURCE_ERROR",
            Self::NotAllowed => "NOT_ALLOWED",
            Self::NotImplemented => "NOT_IMPLEMENTED",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }

    /// What it closes: "soft" errors cost the channel, "hard" ones the connection.
    #[must_use]
    pub const fn scope(self) -> Scope {
        match self {
            Self::ContentTooLarge
            | Self::NoRoute
            | Self::NoConsumers
            | Self::AccessRefused
            | Self::NotFound
            | Self::ResourceLocked
            | Self::PreconditionFailed => Scope::Channel,
            _ => Scope::Connection,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Channel,
    Connection,
}

/// Why a channel or a connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} - {text}", code.name())]
pub struct Exception {
    pub code: ReplyCode,
    pub scope: Scope,
    /// Explanation without the name of the code.
    pub text: String,
    /// Class and method that caused it; zeroes when none did.
    pub class_id: u16,
    pub method_id: u16,
}

impl Exception {
    /// An exception of the scope that its code has, caused by no method.
    pub fn new(code: ReplyCode, text: impl Into<String>) -> Self {
        Self {
            code,
            scope: code.scope(),
            text: text.into(),
            class_id: 0,
            method_id: 0,
        }
    }

    /// Names the method that caused it.
    #[must_use]
    pub fn caused_by(self, method: &Method) -> Self {
        let (class_id, method_id) = method.ids();
        self.caused_by_ids(class_id, method_id)
    }

    #[must_use]
    pub fn caused_by_ids(self, class_id: u16, method_id: u16) -> Self {
        Self {
            class_id,
            method_id,
            ..self
        }
    }

    /// Closes the connection even if the code is a soft one (403 at login).
    #[must_use]
    pub fn on_connection(self) -> Self {
        Self {
            scope: Scope::Connection,
            ..self
        }
    }

    /// What goes into a close method: `NAME - explanation`, cut at 255 bytes.
    #[must_use]
    pub fn reply_text(&self) -> ShortStr {
        ShortStr::truncated(&self.to_string())
    }
}

/// For a method frame that cannot be read.
impl From<&method::Invalid> for Exception {
    fn from(invalid: &method::Invalid) -> Self {
        use field::Invalid::{TooDeep, UnknownTag};
        let (code, (class_id, method_id)) = match invalid {
            method::Invalid::Unknown {
                class_id,
                method_id,
            } => (ReplyCode::CommandInvalid, (*class_id, *method_id)),
            method::Invalid::Fields {
                class_id,
                method_id,
                source,
                ..
            } => {
                let code = match source {
                    UnknownTag { .. } | TooDeep => ReplyCode::SyntaxError,
                    _ => ReplyCode::FrameError,
                };
                (code, (*class_id, *method_id))
            }
            method::Invalid::NoIds(_) => (ReplyCode::FrameError, (0, 0)),
        };
        Self::new(code, invalid.to_string()).caused_by_ids(class_id, method_id)
    }
}

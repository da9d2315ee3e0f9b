//! Every method of AMQP 0-9-1 with RabbitMQ's extensions, from one table.
//!
//! Fields that the specification reserves are kept as `reserved_*`: they are read past and ignored.

use bytes::{BufMut, Bytes, BytesMut};

use crate::field::{self, Reader, ShortStr, Writer};
use crate::frame;
use crate::table::Table;

/// A method that knows its number, so that it can be sent.
pub trait Encode {
    const CLASS_ID: u16;
    const METHOD_ID: u16;

    fn encode_fields(&self, to: &mut Writer<'_>);
}

/// Why a method frame cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("unknown method {class_id}.{method_id}")]
    Unknown { class_id: u16, method_id: u16 },
    #[error("{name}: {source}")]
    Fields {
        name: &'static str,
        class_id: u16,
        method_id: u16,
        source: field::Invalid,
    },
    #[error("method frame without class and method: {0}")]
    NoIds(#[source] field::Invalid),
}

/// Appends a method frame.
pub fn write<M: Encode>(out: &mut BytesMut, channel: u16, method: &M) {
    frame::write(out, frame::Kind::Method, channel, |out| {
        out.put_u16(M::CLASS_ID);
        out.put_u16(M::METHOD_ID);
        method.encode_fields(&mut Writer::new(out));
    });
}

macro_rules! methods {
    ($(
        $(#[$class_doc:meta])*
        $class_id:literal $class:ident $Class:ident {
            $( $method_id:literal $Method:ident $name:literal { $( $field:ident : $ty:ty ),* } )*
        }
    )*) => {
        $(
        $(#[$class_doc])*
        pub mod $class {
            #[allow(unused_imports)]
            use super::{Bytes, Encode, Reader, ShortStr, Table, Writer, field};

            pub const CLASS_ID: u16 = $class_id;

            $(
            #[doc = concat!("`", $name, "`")]
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $Method { $( pub $field: $ty, )* }

            impl Encode for $Method {
                const CLASS_ID: u16 = $class_id;
                const METHOD_ID: u16 = $method_id;

                #[allow(unused_variables)]
                fn encode_fields(&self, to: &mut Writer<'_>) {
                    $( to.write(&self.$field); )*
                }
            }

            impl $Method {
                #[allow(unused_variables)]
                pub(super) fn read(from: &mut Reader) -> Result<Self, field::Invalid> {
                    Ok(Self { $( $field: from.read()?, )* })
                }
            }

            impl From<$Method> for super::Method {
                fn from(method: $Method) -> Self {
                    Self::$Class(Method::$Method(method))
                }
            }
            )*

            #[derive(Clone, Debug, PartialEq)]
            pub enum Method { $( $Method($Method), )* }
        }
        )*

        /// Any method, by class.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Method { $( $Class($class::Method), )* }

        impl Method {
            /// Class id and method id.
            #[must_use]
            pub const fn ids(&self) -> (u16, u16) {
                match self {
                    $($( Self::$Class($class::Method::$Method(_)) => ($class_id, $method_id), )*)*
                }
            }

            /// `class.method`, as the specification spells it.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $($( Self::$Class($class::Method::$Method(_)) => $name, )*)*
                }
            }

            /// Reads the payload of a method frame, to its last byte.
            ///
            /// # Errors
            /// [`Invalid`] when no such method exists or its fields are not there.
            pub fn parse(payload: Bytes) -> Result<Self, Invalid> {
                let mut from = Reader::new(payload);
                let class_id: u16 = from.read().map_err(Invalid::NoIds)?;
                let method_id: u16 = from.read().map_err(Invalid::NoIds)?;
                match (class_id, method_id) {
                    $($(
                    ($class_id, $method_id) => $class::$Method::read(&mut from)
                        .and_then(|method| from.finish().map(|()| method.into()))
                        .map_err(|source| Invalid::Fields { name: $name, class_id, method_id, source }),
                    )*)*
                    _ => Err(Invalid::Unknown { class_id, method_id }),
                }
            }

            /// Appends it as a frame.
            pub fn write(&self, out: &mut BytesMut, channel: u16) {
                match self {
                    $($( Self::$Class($class::Method::$Method(method)) => write(out, channel, method), )*)*
                }
            }

            /// One of each with empty fields, for tests.
            #[cfg(test)]
            pub(crate) fn every() -> Vec<Self> {
                vec![ $($( $class::$Method::default().into(), )*)* ]
            }
        }
    };
}

methods! {
    /// The connection: handshake, limits, close.
    10 connection Connection {
        10 Start "connection.start" { version_major: u8, version_minor: u8, server_properties: Table, mechanisms: Bytes, locales: Bytes }
        11 StartOk "connection.start-ok" { client_properties: Table, mechanism: ShortStr, response: Bytes, locale: ShortStr }
        20 Secure "connection.secure" { challenge: Bytes }
        21 SecureOk "connection.secure-ok" { response: Bytes }
        30 Tune "connection.tune" { channel_max: u16, frame_max: u32, heartbeat: u16 }
        31 TuneOk "connection.tune-ok" { channel_max: u16, frame_max: u32, heartbeat: u16 }
        40 Open "connection.open" { virtual_host: ShortStr, reserved_1: ShortStr, reserved_2: bool }
        41 OpenOk "connection.open-ok" { reserved_1: ShortStr }
        50 Close "connection.close" { reply_code: u16, reply_text: ShortStr, class_id: u16, method_id: u16 }
        51 CloseOk "connection.close-ok" {}
        60 Blocked "connection.blocked" { reason: ShortStr }
        61 Unblocked "connection.unblocked" {}
        70 UpdateSecret "connection.update-secret" { new_secret: Bytes, reason: ShortStr }
        71 UpdateSecretOk "connection.update-secret-ok" {}
    }
    /// One conversation of a connection.
    20 channel Channel {
        10 Open "channel.open" { reserved_1: ShortStr }
        11 OpenOk "channel.open-ok" { reserved_1: Bytes }
        20 Flow "channel.flow" { active: bool }
        21 FlowOk "channel.flow-ok" { active: bool }
        40 Close "channel.close" { reply_code: u16, reply_text: ShortStr, class_id: u16, method_id: u16 }
        41 CloseOk "channel.close-ok" {}
    }
    /// Access tickets of 0-9, still asked for by old clients.
    30 access Access {
        10 Request "access.request" { realm: ShortStr, exclusive: bool, passive: bool, active: bool, write: bool, read: bool }
        11 RequestOk "access.request-ok" { reserved_1: u16 }
    }
    /// Exchanges and bindings between them.
    40 exchange Exchange {
        10 Declare "exchange.declare" { reserved_1: u16, exchange: ShortStr, kind: ShortStr, passive: bool, durable: bool, auto_delete: bool, internal: bool, no_wait: bool, arguments: Table }
        11 DeclareOk "exchange.declare-ok" {}
        20 Delete "exchange.delete" { reserved_1: u16, exchange: ShortStr, if_unused: bool, no_wait: bool }
        21 DeleteOk "exchange.delete-ok" {}
        30 Bind "exchange.bind" { reserved_1: u16, destination: ShortStr, source: ShortStr, routing_key: ShortStr, no_wait: bool, arguments: Table }
        31 BindOk "exchange.bind-ok" {}
        40 Unbind "exchange.unbind" { reserved_1: u16, destination: ShortStr, source: ShortStr, routing_key: ShortStr, no_wait: bool, arguments: Table }
        51 UnbindOk "exchange.unbind-ok" {}
    }
    /// Queues and their bindings.
    50 queue Queue {
        10 Declare "queue.declare" { reserved_1: u16, queue: ShortStr, passive: bool, durable: bool, exclusive: bool, auto_delete: bool, no_wait: bool, arguments: Table }
        11 DeclareOk "queue.declare-ok" { queue: ShortStr, message_count: u32, consumer_count: u32 }
        20 Bind "queue.bind" { reserved_1: u16, queue: ShortStr, exchange: ShortStr, routing_key: ShortStr, no_wait: bool, arguments: Table }
        21 BindOk "queue.bind-ok" {}
        30 Purge "queue.purge" { reserved_1: u16, queue: ShortStr, no_wait: bool }
        31 PurgeOk "queue.purge-ok" { message_count: u32 }
        40 Delete "queue.delete" { reserved_1: u16, queue: ShortStr, if_unused: bool, if_empty: bool, no_wait: bool }
        41 DeleteOk "queue.delete-ok" { message_count: u32 }
        50 Unbind "queue.unbind" { reserved_1: u16, queue: ShortStr, exchange: ShortStr, routing_key: ShortStr, arguments: Table }
        51 UnbindOk "queue.unbind-ok" {}
    }
    /// Messages.
    60 basic Basic {
        10 Qos "basic.qos" { prefetch_size: u32, prefetch_count: u16, global: bool }
        11 QosOk "basic.qos-ok" {}
        20 Consume "basic.consume" { reserved_1: u16, queue: ShortStr, consumer_tag: ShortStr, no_local: bool, no_ack: bool, exclusive: bool, no_wait: bool, arguments: Table }
        21 ConsumeOk "basic.consume-ok" { consumer_tag: ShortStr }
        30 Cancel "basic.cancel" { consumer_tag: ShortStr, no_wait: bool }
        31 CancelOk "basic.cancel-ok" { consumer_tag: ShortStr }
        40 Publish "basic.publish" { reserved_1: u16, exchange: ShortStr, routing_key: ShortStr, mandatory: bool, immediate: bool }
        50 Return "basic.return" { reply_code: u16, reply_text: ShortStr, exchange: ShortStr, routing_key: ShortStr }
        60 Deliver "basic.deliver" { consumer_tag: ShortStr, delivery_tag: u64, redelivered: bool, exchange: ShortStr, routing_key: ShortStr }
        70 Get "basic.get" { reserved_1: u16, queue: ShortStr, no_ack: bool }
        71 GetOk "basic.get-ok" { delivery_tag: u64, redelivered: bool, exchange: ShortStr, routing_key: ShortStr, message_count: u32 }
        72 GetEmpty "basic.get-empty" { reserved_1: ShortStr }
        80 Ack "basic.ack" { delivery_tag: u64, multiple: bool }
        90 Reject "basic.reject" { delivery_tag: u64, requeue: bool }
        100 RecoverAsync "basic.recover-async" { requeue: bool }
        110 Recover "basic.recover" { requeue: bool }
        111 RecoverOk "basic.recover-ok" {}
        120 Nack "basic.nack" { delivery_tag: u64, multiple: bool, requeue: bool }
    }
    /// Publisher confirms.
    85 confirm Confirm {
        10 Select "confirm.select" { no_wait: bool }
        11 SelectOk "confirm.select-ok" {}
    }
    /// Transactions of a channel.
    90 tx Tx {
        10 Select "tx.select" {}
        11 SelectOk "tx.select-ok" {}
        20 Commit "tx.commit" {}
        21 CommitOk "tx.commit-ok" {}
        30 Rollback "tx.rollback" {}
        31 RollbackOk "tx.rollback-ok" {}
    }
}

#[cfg(test)]
mod tests;

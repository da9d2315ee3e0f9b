//! The properties of class basic: a word of flags, then those that are there.

use bytes::{BufMut, Bytes, BytesMut};

use crate::field::{Field, Invalid, Reader, ShortStr, Writer};
use crate::table::Table;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    pub content_type: Option<ShortStr>,
    pub content_encoding: Option<ShortStr>,
    pub headers: Option<Table>,
    /// 2 = persistent; anything else is transient.
    pub delivery_mode: Option<u8>,
    pub priority: Option<u8>,
    pub correlation_id: Option<ShortStr>,
    pub reply_to: Option<ShortStr>,
    /// Time to live in milliseconds, as text.
    pub expiration: Option<ShortStr>,
    pub message_id: Option<ShortStr>,
    /// Seconds since 1970, the publisher's.
    pub timestamp: Option<u64>,
    pub kind: Option<ShortStr>,
    pub user_id: Option<ShortStr>,
    pub app_id: Option<ShortStr>,
    pub cluster_id: Option<ShortStr>,
}

const CONTENT_TYPE: u16 = 1 << 15;
const CONTENT_ENCODING: u16 = 1 << 14;
const HEADERS: u16 = 1 << 13;
const DELIVERY_MODE: u16 = 1 << 12;
const PRIORITY: u16 = 1 << 11;
const CORRELATION_ID: u16 = 1 << 10;
const REPLY_TO: u16 = 1 << 9;
const EXPIRATION: u16 = 1 << 8;
const MESSAGE_ID: u16 = 1 << 7;
const TIMESTAMP: u16 = 1 << 6;
const KIND: u16 = 1 << 5;
const USER_ID: u16 = 1 << 4;
const APP_ID: u16 = 1 << 3;
const CLUSTER_ID: u16 = 1 << 2;
/// Another word of flags follows; class basic has none.
const CONTINUED: u16 = 1;

impl Properties {
    /// Reads what [`crate::content::Header::properties`] holds, to its last byte.
    ///
    /// # Errors
    /// [`Invalid`] when it is not a list of properties.
    pub fn parse(bytes: Bytes) -> Result<Self, Invalid> {
        let mut from = Reader::new(bytes);
        let flags: u16 = from.read()?;
        if flags & CONTINUED != 0 {
            return Err(Invalid::PropertyFlags);
        }
        let properties = Self {
            content_type: optional(&mut from, flags & CONTENT_TYPE)?,
            content_encoding: optional(&mut from, flags & CONTENT_ENCODING)?,
            headers: optional(&mut from, flags & HEADERS)?,
            delivery_mode: optional(&mut from, flags & DELIVERY_MODE)?,
            priority: optional(&mut from, flags & PRIORITY)?,
            correlation_id: optional(&mut from, flags & CORRELATION_ID)?,
            reply_to: optional(&mut from, flags & REPLY_TO)?,
            expiration: optional(&mut from, flags & EXPIRATION)?,
            message_id: optional(&mut from, flags & MESSAGE_ID)?,
            timestamp: optional(&mut from, flags & TIMESTAMP)?,
            kind: optional(&mut from, flags & KIND)?,
            user_id: optional(&mut from, flags & USER_ID)?,
            app_id: optional(&mut from, flags & APP_ID)?,
            cluster_id: optional(&mut from, flags & CLUSTER_ID)?,
        };
        from.finish()?;
        Ok(properties)
    }

    /// Appends flags and properties.
    pub fn write(&self, out: &mut BytesMut) {
        let flags = flag(&self.content_type, CONTENT_TYPE)
            | flag(&self.content_encoding, CONTENT_ENCODING)
            | flag(&self.headers, HEADERS)
            | flag(&self.delivery_mode, DELIVERY_MODE)
            | flag(&self.priority, PRIORITY)
            | flag(&self.correlation_id, CORRELATION_ID)
            | flag(&self.reply_to, REPLY_TO)
            | flag(&self.expiration, EXPIRATION)
            | flag(&self.message_id, MESSAGE_ID)
            | flag(&self.timestamp, TIMESTAMP)
            | flag(&self.kind, KIND)
            | flag(&self.user_id, USER_ID)
            | flag(&self.app_id, APP_ID)
            | flag(&self.cluster_id, CLUSTER_ID);
        out.put_u16(flags);
        let to = &mut Writer::new(out);
        present(to, &self.content_type);
        present(to, &self.content_encoding);
        present(to, &self.headers);
        present(to, &self.delivery_mode);
        present(to, &self.priority);
        present(to, &self.correlation_id);
        present(to, &self.reply_to);
        present(to, &self.expiration);
        present(to, &self.message_id);
        present(to, &self.timestamp);
        present(to, &self.kind);
        present(to, &self.user_id);
        present(to, &self.app_id);
        present(to, &self.cluster_id);
    }

    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::new();
        self.write(&mut out);
        out.freeze()
    }

    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.delivery_mode == Some(2)
    }
}

fn optional<F: Field>(from: &mut Reader, flag: u16) -> Result<Option<F>, Invalid> {
    if flag == 0 {
        return Ok(None);
    }
    F::read(from).map(Some)
}

fn flag<F>(property: &Option<F>, flag: u16) -> u16 {
    if property.is_some() { flag } else { 0 }
}

fn present<F: Field>(to: &mut Writer<'_>, property: &Option<F>) {
    if let Some(property) = property {
        to.write(property);
    }
}

#[cfg(test)]
mod tests;

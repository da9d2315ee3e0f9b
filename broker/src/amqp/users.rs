//! Who may log in, and from where.
//!
//! A file of lines `name:hash`, where the hash is RabbitMQ's `password_hash` for
//! `rabbit_password_hashing_sha256`: base64 of a 4-byte salt followed by SHA-256 of salt and password.
//! So users of an exported definitions file can be taken over as they are. Lines that are empty or
//! start with `#` mean nothing. There is no default user, but for `guest` from loopback where the
//! configuration says so (`millrace.amqp.guest.loopback=true`, which local mode sets).

use std::collections::HashMap;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

const SALT_LEN: usize = 4;
const HASH_LEN: usize = 32;

#[derive(Debug, Default)]
pub struct Users {
    by_name: HashMap<String, Salted>,
    guest_from_loopback: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Salted {
    salt: [u8; SALT_LEN],
    hash: [u8; HASH_LEN],
}

/// A users file that cannot be read as one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUsers {
    #[error("line {0}: expected name:hash")]
    NoColon(usize),
    #[error("line {0}: the hash is not base64 of a 4-byte salt and a SHA-256 hash")]
    Hash(usize),
}

impl Users {
    /// Reads the text of a users file (`millrace.amqp.users.file`).
    pub fn parse(text: &str) -> Result<Self, InvalidUsers> {
        let mut by_name = HashMap::new();
        for (at, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // A name may hold colons, base64 may not.
            let (name, hash) = line.rsplit_once(':').ok_or(InvalidUsers::NoColon(at + 1))?;
            let salted = Salted::parse(hash).ok_or(InvalidUsers::Hash(at + 1))?;
            by_name.insert(name.to_owned(), salted);
        }
        Ok(Self {
            by_name,
            guest_from_loopback: false,
        })
    }

    /// Lets `guest` in with the password `guest`, from this machine only.
    #[must_use]
    pub fn with_guest_from_loopback(self, allowed: bool) -> Self {
        Self {
            guest_from_loopback: allowed,
            ..self
        }
    }

    /// Is this the password of this user, coming from there? Takes as long for a user who does not
    /// exist as for a wrong password.
    pub fn allow(&self, user: &str, password: &[u8], from: IpAddr) -> bool {
        let known = self.by_name.get(user);
        let nobody = Salted {
            salt: [0; SALT_LEN],
            hash: [0; HASH_LEN],
        };
        let right = known.unwrap_or(&nobody).matches(password) && known.is_some();
        let guest = self.guest_from_loopback
            && user == "guest"
            && password == b"guest"
            && from.to_canonical().is_loopback();
        right || guest
    }
}

/// A line for a users file, with a salt of its own.
pub fn users_file_line(name: &str, password: &[u8]) -> String {
    let mut salt = [0; SALT_LEN];
    for (salt, random) in salt.iter_mut().zip(uuid::Uuid::new_v4().into_bytes()) {
        *salt = random;
    }
    let mut bytes = salt.to_vec();
    bytes.extend_from_slice(&Salted::hash(salt, password));
    format!("{name}:{}", STANDARD.encode(bytes))
}

impl Salted {
    fn hash(salt: [u8; SALT_LEN], password: &[u8]) -> [u8; HASH_LEN] {
        let hash = Sha256::new().chain_update(salt).chain_update(password);
        hash.finalize().into()
    }

    fn parse(hash: &str) -> Option<Self> {
        let bytes = STANDARD.decode(hash.trim()).ok()?;
        let (salt, hash) = bytes.split_first_chunk::<SALT_LEN>()?;
        Some(Self {
            salt: *salt,
            hash: hash.try_into().ok()?,
        })
    }

    fn matches(&self, password: &[u8]) -> bool {
        let hash = Self::hash(self.salt, password);
        // All bytes are compared, so the time says nothing about where they differ.
        let pairs = hash.into_iter().zip(self.hash);
        pairs.fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

#[cfg(test)]
mod tests;

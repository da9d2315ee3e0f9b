//! Who may log in now: the users as their file has them.
//!
//! The file is looked at with each login and read again when it has changed, so a change holds from the next
//! login on; connections that are open stay. A file that cannot be used changes nothing: the users read last
//! stay, and the log says why.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::users::{InvalidUsers, Users};

/// A users file that cannot be used, in one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    #[error(
        "cannot read the AMQP users file {path}: {source}; make millrace.amqp.users.file a readable file"
    )]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the AMQP users file {path} is not valid, {source}; write one name:hash a line")]
    Invalid { path: PathBuf, source: InvalidUsers },
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Logins(Arc<Inner>);

struct Inner {
    /// `None`: the users are fixed.
    file: Option<PathBuf>,
    guest_from_loopback: bool,
    known: Mutex<Known>,
}

struct Known {
    users: Arc<Users>,
    /// File that they are from, or that could not be used since.
    seen: Option<Version>,
}

/// Differs whenever the file does: device, inode, size, and time of the last change in seconds and
/// nanoseconds. One that is written while it is read differs afterwards.
type Version = (u64, u64, u64, i64, i64);

impl Logins {
    /// Those of `millrace.amqp.users.file`, and guest where `millrace.amqp.guest.loopback` says so.
    ///
    /// # Errors
    /// [`UsersError`] when the file is named but cannot be used.
    pub fn open(broker: &crate::Config) -> Result<Self, UsersError> {
        let file = broker.setting("millrace.amqp.users.file");
        let file = file.filter(|path| !path.is_empty()).map(PathBuf::from);
        let guest = broker.setting_or("millrace.amqp.guest.loopback", false);
        Self::of(file, guest)
    }

    fn of(file: Option<PathBuf>, guest_from_loopback: bool) -> Result<Self, UsersError> {
        let seen = file.as_deref().and_then(|file| version(file).ok());
        let users = match &file {
            Some(file) => read(file)?,
            None => Users::default(),
        };
        Ok(Self(Arc::new(Inner {
            file,
            guest_from_loopback,
            known: Mutex::new(Known {
                users: Arc::new(users.with_guest_from_loopback(guest_from_loopback)),
                seen,
            }),
        })))
    }

    /// Always these users.
    pub fn fixed(users: Users) -> Self {
        let known = Known {
            users: Arc::new(users),
            seen: None,
        };
        Self(Arc::new(Inner {
            file: None,
            guest_from_loopback: false,
            known: Mutex::new(known),
        }))
    }

    /// The users as they are now.
    pub async fn users(&self) -> Arc<Users> {
        let inner = self.0.clone();
        if inner.file.is_none() {
            return inner.known.lock().users.clone();
        }
        let looked = tokio::task::spawn_blocking(move || inner.look()).await;
        // Without a thread to look on: those of the last look.
        looked.unwrap_or_else(|_| self.0.known.lock().users.clone())
    }
}

impl Inner {
    fn look(&self) -> Arc<Users> {
        let mut known = self.known.lock();
        if let Some(file) = &self.file {
            let now = version(file).ok();
            if now != known.seen {
                known.seen = now;
                match read(file) {
                    Ok(users) => {
                        let users = users.with_guest_from_loopback(self.guest_from_loopback);
                        known.users = Arc::new(users);
                        tracing::info!(file = %file.display(), "AMQP users were read again");
                    }
                    Err(error) => {
                        tracing::error!(%error, "AMQP users stay as they were read last");
                    }
                }
            }
        }
        known.users.clone()
    }
}

fn version(file: &Path) -> std::io::Result<Version> {
    let meta = std::fs::metadata(file)?;
    let changed = (meta.ctime(), meta.ctime_nsec());
    Ok((meta.dev(), meta.ino(), meta.size(), changed.0, changed.1))
}

fn read(file: &Path) -> Result<Users, UsersError> {
    let text = std::fs::read_to_string(file).map_err(|source| UsersError::Unreadable {
        path: file.to_owned(),
        source,
    })?;
    Users::parse(&text).map_err(|source| UsersError::Invalid {
        path: file.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;

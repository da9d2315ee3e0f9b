//! The image as the machine of a Raft group: commands are JSON, so that a log can be read by people
//! and by other builds; a snapshot is the image as JSON.

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use machine::metadata::command::{Command, Reply};
use machine::metadata::image::Image;
use tokio::sync::watch;

use crate::raft::{Entry, Snapshot, StateMachine};

pub(super) struct Replica {
    image: Image,
    publish: watch::Sender<Arc<Image>>,
}

impl Replica {
    pub(super) fn new(publish: watch::Sender<Arc<Image>>) -> Self {
        Self {
            image: Image::genesis(),
            publish,
        }
    }

    fn publish(&self) {
        self.publish.send_replace(Arc::new(self.image.clone()));
    }
}

impl StateMachine for Replica {
    fn apply(&mut self, entry: &Entry) -> Vec<Bytes> {
        let replies = entry
            .commands
            .iter()
            .map(|command| match serde_json::from_slice::<Command>(command) {
                Ok(command) => {
                    let reply = self.image.apply(command, entry.now_ms, entry.index);
                    encode_reply(entry.index, &reply)
                }
                Err(error) => {
                    tracing::error!(index = entry.index, %error, "metadata command of a newer build skipped");
                    Bytes::new()
                }
            })
            .collect();
        self.publish();
        replies
    }

    fn leadership(&mut self, leading: bool, term: u64) {
        tracing::info!(leading, term, "controller");
    }

    fn snapshot(&self) -> Snapshot {
        let image = self.image.clone();
        Box::new(move |out: &mut dyn Write| {
            serde_json::to_writer(out, &image).map_err(io::Error::other)
        })
    }

    fn restore(&mut self, snapshot: &mut dyn Read) -> io::Result<()> {
        self.image = serde_json::from_reader(snapshot)?;
        self.publish();
        Ok(())
    }
}

pub(super) fn encode(command: &Command) -> Bytes {
    // Maps with string keys and plain values only: this cannot fail.
    serde_json::to_vec(command).unwrap_or_default().into()
}

fn encode_reply(index: u64, reply: &Reply) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u64(index);
    out.put_slice(&serde_json::to_vec(reply).unwrap_or_default());
    out.freeze()
}

/// The index at which a command was applied, and its answer.
pub(super) fn decode_reply(reply: &Bytes) -> Option<(u64, Reply)> {
    let (index, json) = reply.split_first_chunk()?;
    let reply = serde_json::from_slice(json).ok()?;
    Some((u64::from_be_bytes(*index), reply))
}

//! The image as the machine of a Raft group: commands are JSON, so that a log can be read by people
//! and by other builds; a snapshot is the image as JSON.

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use machine::metadata::command::Reply;
use machine::metadata::image::Image;
use machine::metadata::submission::Submission;
use tokio::sync::watch;

use crate::raft::{Entry, Snapshot, StateMachine, UnknownCommand};

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
    fn apply(&mut self, entry: &Entry) -> Result<Vec<Bytes>, UnknownCommand> {
        let mut replies = Vec::with_capacity(entry.commands.len());
        for command in &entry.commands {
            let submission = decode(command).map_err(|e| UnknownCommand(e.to_string()))?;
            let reply = self.image.apply_once(submission, entry.now_ms, entry.index);
            let reply = reply.map(|reply| encode_reply(entry.index, &reply));
            replies.push(reply.unwrap_or_default());
        }
        self.publish();
        Ok(replies)
    }

    fn leadership(&mut self, leading: bool, term: u64) {
        tracing::info!(leading, term, "controller");
    }

    fn snapshot(&self) -> Snapshot {
        let image = self.image.clone();
        Box::new(move |out: &mut dyn Write| {
            serde_json::to_writer(out, &image).map_err(io::Error::from)
        })
    }

    fn restore(&mut self, snapshot: &mut dyn Read) -> io::Result<()> {
        self.image = serde_json::from_reader(snapshot)?;
        self.publish();
        Ok(())
    }
}

pub(super) fn encode(submission: &Submission) -> Bytes {
    // Maps with string keys and plain values only: this cannot fail.
    serde_json::to_vec(submission).unwrap_or_default().into()
}

/// Fails on what this build does not know.
pub(super) fn decode(submission: &[u8]) -> serde_json::Result<Submission> {
    serde_json::from_slice(submission)
}

fn encode_reply(index: u64, reply: &Reply) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u64(index);
    out.put_slice(&serde_json::to_vec(reply).unwrap_or_default());
    out.freeze()
}

/// The index at which the answer holds, and the answer.
pub(super) fn decode_reply(reply: &Bytes) -> Option<(u64, Reply)> {
    let (index, json) = reply.split_first_chunk()?;
    let reply = serde_json::from_slice(json).ok()?;
    Some((u64::from_be_bytes(*index), reply))
}

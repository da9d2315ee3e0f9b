//! The metadata quorum as its leader sees it, told to whoever asks on any broker, and changed for them.
//!
//! ```text
//! any broker: ask => leader: answer <- group, mesh
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use machine::metadata::image::Image;
use model::BrokerId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::followers::Followers;
use super::voters::{self, VoterChange, VoterRefusal};
use super::{FORWARD_TIMEOUT, Unavailable};
use crate::clock::wall_ms;
use crate::peer::{Alive, Handler, Mesh, Service};
use crate::raft::Group;

/// How long a leader is looked for that answers.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before the next try when nobody leads or a leader has just gone.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// State of the metadata quorum. Offsets are those of the next entry, as in Kafka.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumStatus {
    pub leader: Option<BrokerId>,
    pub term: u64,
    pub high_watermark: u64,
    pub voters: Vec<Member>,
    /// Those that follow the log without a vote.
    pub observers: Vec<Member>,
}

/// How far a member has come. `None` where the leader does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub id: BrokerId,
    pub log_end: Option<u64>,
    /// When the leader last heard of it, and when it last had all that the leader has; milliseconds
    /// since 1970.
    pub heard_ms: Option<i64>,
    pub caught_up_ms: Option<i64>,
}

/// What a broker asks the leader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Question {
    Describe,
    Change(VoterChange),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Told {
    /// The broker that was asked does not lead.
    Elsewhere,
    Status(QuorumStatus),
    Changed(Result<(), VoterRefusal>),
}

/// Answers on the leader. Cheap to clone.
#[derive(Clone)]
pub(super) struct Quorum {
    group: Group,
    mesh: Mesh,
    image: watch::Receiver<Arc<Image>>,
    followers: Arc<Mutex<Followers>>,
}

impl Quorum {
    pub(super) fn new(group: Group, mesh: Mesh, image: watch::Receiver<Arc<Image>>) -> Self {
        Self {
            group,
            mesh,
            image,
            followers: Arc::default(),
        }
    }

    /// Takes down when members come and go, for as long as the mesh runs.
    pub(super) async fn watch(self) {
        let mut alive = self.mesh.alive();
        loop {
            let now = alive.borrow_and_update().clone();
            self.note(&now);
            if alive.changed().await.is_err() {
                return;
            }
        }
    }

    fn note(&self, alive: &Alive) {
        let last = self.group.status().last_index;
        let progress = self.group.progress();
        let has_all = |id| progress.get(&id).copied().flatten() >= Some(last);
        self.followers.lock().note(wall_ms(), alive, has_all);
    }

    fn describe(&self) -> Told {
        let status = self.group.status();
        let this = self.mesh.this_broker();
        if status.leader != Some(this) {
            return Told::Elsewhere;
        }
        self.note(&self.mesh.alive().borrow());
        let progress = self.group.progress();
        let followers = self.followers.lock();
        let now_ms = wall_ms();
        let member = |id: &BrokerId| {
            if *id == this {
                return Member {
                    id: *id,
                    log_end: Some(status.last_index + 1),
                    heard_ms: Some(now_ms),
                    caught_up_ms: Some(now_ms),
                };
            }
            let seen = followers.seen(*id);
            let matched = progress.get(id).copied().flatten();
            Member {
                id: *id,
                log_end: matched.map(|index| index + 1),
                heard_ms: seen.heard_ms,
                caught_up_ms: seen.caught_up_ms,
            }
        };
        Told::Status(QuorumStatus {
            leader: status.leader,
            term: status.term,
            high_watermark: status.committed.map_or(0, |index| index + 1),
            voters: status.voters.iter().map(member).collect(),
            observers: status.learners.iter().map(member).collect(),
        })
    }

    async fn answer(&self, question: Question) -> Told {
        match question {
            Question::Describe => self.describe(),
            Question::Change(change) => {
                let image = self.image.borrow().clone();
                match voters::change(&self.group, &self.mesh, &image, change).await {
                    Some(done) => Told::Changed(done),
                    None => Told::Elsewhere,
                }
            }
        }
    }

    /// Asks whoever leads, here or elsewhere, until one answers that does.
    ///
    /// # Errors
    /// [`Unavailable`] when none does in time.
    pub(super) async fn ask(&self, question: Question) -> Result<Told, Unavailable> {
        let deadline = Instant::now() + ASK_TIMEOUT;
        let leader = self.group.leader();
        let asking = async {
            loop {
                let target = *leader.borrow();
                if let Some(target) = target
                    && let Some(told) = self.ask_one(target, question.clone()).await
                    && told != Told::Elsewhere
                {
                    return told;
                }
                sleep(ASK_AGAIN).await;
            }
        };
        timeout_at(deadline, asking).await.map_err(|_| Unavailable)
    }

    async fn ask_one(&self, target: BrokerId, question: Question) -> Option<Told> {
        if target == self.mesh.this_broker() {
            return Some(self.answer(question).await);
        }
        let asked = serde_json::to_vec(&question).ok()?;
        let call = self.mesh.call(target, Service::Quorum, asked.into());
        let told = timeout(FORWARD_TIMEOUT, call).await.ok()?.ok()?;
        serde_json::from_slice(&told).ok()
    }
}

impl Handler for Quorum {
    fn call(&self, _from: BrokerId, question: Bytes) -> BoxFuture<'static, Bytes> {
        let quorum = self.clone();
        async move {
            // What this build does not know, it cannot answer; the asker goes on asking until it gives up.
            let told = match serde_json::from_slice(&question) {
                Ok(question) => quorum.answer(question).await,
                Err(_) => Told::Elsewhere,
            };
            serde_json::to_vec(&told).unwrap_or_default().into()
        }
        .boxed()
    }
}

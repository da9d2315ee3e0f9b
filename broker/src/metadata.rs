//! The metadata group on this broker: hands out the image, takes commands from anywhere, keeps the
//! registration of brokers in step with the failure detector.
//!
//! Decides nothing itself: that is [`machine::metadata`].
//!
//! ```text
//! any broker: submit => leader: propose => raft => every broker: apply -> watch<Image>
//! ```

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use machine::metadata::command::{Command, Reply};
use machine::metadata::image::Image;
use machine::metadata::submission::Submission;
use machine::metadata::topology::awaits_brokers;
use model::BrokerId;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::clock::wall_ms;
use crate::config::Voter;
use crate::peer::{Mesh, Service};
use crate::raft::{Group, GroupId, Groups, Members, ProposeError};
use forwarding::{Answer, Forwarded};
use quorum::{Question, Quorum, Told};
use replica::Replica;
use submissions::Submissions;

mod config;
mod contact;
mod followers;
mod forwarding;
mod liveness;
mod neighbours;
mod quorum;
mod registration;
mod replica;
mod submissions;
mod voters;

pub use config::Config;
pub use contact::Contact;
pub use quorum::{Member, QuorumStatus};
pub use registration::{Registration, Superseded};
pub(crate) use voters::directory_text;
pub use voters::{VoterChange, VoterKey, VoterRefusal};

/// How long a command is offered before the quorum counts as unavailable.
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause before the next offer when nobody leads or a leader has just gone.
const OFFER_AGAIN: Duration = Duration::from_millis(20);
/// How long one forwarded command may take before another leader is looked for.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the first quorum queue waits for the brokers of a cluster that is starting.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(10);

/// No majority took the command in time: it may still be carried out later. Or it is too large for a
/// log of this configuration, or too few brokers have registered for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the metadata quorum is not available")]
pub struct Unavailable;

/// Handle to the metadata of the cluster. Cheap to clone.
#[derive(Clone)]
pub struct Handle(Arc<Inner>);

/// Who may carry a command into the log.
enum Through {
    Leader,
    This,
}

struct Inner {
    this: BrokerId,
    image: watch::Sender<Arc<Image>>,
    keeper: Keeper,
    submissions: Submissions,
}

enum Keeper {
    /// This process alone; the lock makes one command at a time.
    Memory(Mutex<()>),
    Group {
        group: Box<Group>,
        mesh: Mesh,
        quorum: Box<Quorum>,
        /// See [`contact::watch_leader`].
        uninformed: watch::Receiver<bool>,
    },
}

impl Handle {
    /// Metadata that lives in this process only: commands are applied at once. For tests of what
    /// stands on the metadata.
    pub fn in_memory(this: BrokerId, image: Image) -> Self {
        Self(Arc::new(Inner {
            this,
            image: watch::channel(Arc::new(image)).0,
            keeper: Keeper::Memory(Mutex::new(())),
            submissions: Submissions::new(this),
        }))
    }

    /// Joins the metadata group: as a voter if this broker is one, else following its log. Serves
    /// [`Service::Metadata`], and keeps the mesh's peers in step with the image.
    pub async fn start(
        groups: &Groups,
        mesh: Mesh,
        voters: &[Voter],
        config: Config,
    ) -> io::Result<Self> {
        let ids: Vec<_> = voters.iter().map(|voter| voter.id).collect();
        let Some(preferred) = ids.iter().min().copied() else {
            return Err(io::Error::other("the metadata group has no voters"));
        };
        let (image, _) = watch::channel(Arc::new(Image::genesis()));
        let members = Members {
            voters: ids,
            preferred,
            // Only the metadata could tell, and they are what would be lost.
            original: false,
        };
        let replica = Replica::new(image.clone());
        let group = groups
            .start_group(GroupId::METADATA, members, replica)
            .await?;
        let quorum = Quorum::new(group.clone(), mesh.clone(), image.subscribe());
        let (drifting, uninformed) = watch::channel(false);
        tokio::spawn(contact::watch_leader(
            mesh.this_broker(),
            group.leader(),
            mesh.alive(),
            drifting,
        ));
        let handle = Self(Arc::new(Inner {
            this: mesh.this_broker(),
            image,
            keeper: Keeper::Group {
                group: Box::new(group.clone()),
                mesh: mesh.clone(),
                quorum: Box::new(quorum.clone()),
                uninformed,
            },
            submissions: Submissions::new(mesh.this_broker()),
        }));
        let forwarded = Forwarded::new(group.clone(), mesh.alive());
        mesh.serve(Service::Metadata, Arc::new(forwarded));
        mesh.serve(Service::Quorum, Arc::new(quorum.clone()));
        tokio::spawn(quorum.watch());
        tokio::spawn(neighbours::follow(
            handle.watch(),
            voters.to_vec(),
            mesh.clone(),
        ));
        tokio::spawn(liveness::supervise(
            handle.clone(),
            group,
            mesh.clone(),
            config,
        ));
        Ok(handle)
    }

    /// The newest image applied here.
    pub fn image(&self) -> Arc<Image> {
        self.0.image.borrow().clone()
    }

    /// Follows the image. Intermediate ones may be skipped.
    pub fn watch(&self) -> watch::Receiver<Arc<Image>> {
        self.0.image.subscribe()
    }

    /// Has the cluster carry out `command`, from any broker. On return its effect is in
    /// [`Handle::image`] here. A refusal is a [`Reply`].
    ///
    /// A command whose leader is lost on the way is offered again, under its number: it is carried out
    /// once at most.
    pub async fn submit(&self, command: Command) -> Result<Reply, Unavailable> {
        self.settle(command, Through::Leader).await
    }

    /// As [`Self::submit`], but only while this broker leads the group. What a leader decides from what it
    /// sees of the others is void once it is deposed: one that stood still sees all others silent, and its
    /// successor must not carry that out.
    ///
    /// # Errors
    /// [`Unavailable`] when this broker does not lead, or ceases to before the command is applied.
    pub async fn submit_as_leader(&self, command: Command) -> Result<Reply, Unavailable> {
        self.settle(command, Through::This).await
    }

    async fn settle(&self, command: Command, through: Through) -> Result<Reply, Unavailable> {
        if let Err(refusal) = self.0.image.borrow().admits(&command) {
            return Ok(Reply::Refused(refusal));
        }
        let deadline = Instant::now() + SUBMIT_TIMEOUT;
        self.await_brokers(&command).await?;
        let (index, reply) = match &self.0.keeper {
            Keeper::Memory(one) => {
                let _one = one.lock();
                let mut image = Image::clone(&self.0.image.borrow());
                let index = image.index + 1;
                let reply = image.apply(command, 0, index);
                self.0.image.send_replace(Arc::new(image));
                return Ok(reply);
            }
            Keeper::Group { group, .. } => {
                let open = timeout_at(deadline, self.0.submissions.begin())
                    .await
                    .map_err(|_| Unavailable)?;
                let id = open.id;
                let submission = replica::encode(&Submission { id, command });
                if let Err(error) = group.check_size(&submission) {
                    tracing::warn!(%error, "metadata command refused");
                    return Err(Unavailable);
                }
                let offered = async {
                    match through {
                        Through::Leader => Ok(self.offer(submission).await),
                        Through::This => self.offer_here(group, submission).await,
                    }
                };
                timeout_at(deadline, offered)
                    .await
                    .map_err(|_| Unavailable)??
            }
        };
        let mut image = self.watch();
        timeout_at(deadline, image.wait_for(|image| image.index >= index))
            .await
            .map_err(|_| Unavailable)?
            .map_err(|_| Unavailable)?;
        Ok(reply)
    }

    /// Waits until so many brokers have registered that `command` can choose among them.
    async fn await_brokers(&self, command: &Command) -> Result<(), Unavailable> {
        let expected = self.voters().len();
        let mut images = self.watch();
        let enough = images.wait_for(|image| !awaits_brokers(image, command, expected));
        match timeout(REGISTRATION_TIMEOUT, enough).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(
                    expected,
                    "too few brokers have registered to carry quorum queues"
                );
                Err(Unavailable)
            }
        }
    }

    /// Offers a submission to whoever leads until it is answered; the index at which the answer holds,
    /// and the answer.
    async fn offer(&self, submission: Bytes) -> (u64, Reply) {
        let mut attempt = 0;
        loop {
            if let Some(reply) = self.offer_once(submission.clone(), attempt).await
                && let Some(answer) = replica::decode_reply(&reply)
            {
                return answer;
            }
            attempt += 1;
            sleep(OFFER_AGAIN).await;
        }
    }

    async fn offer_here(
        &self,
        group: &Group,
        submission: Bytes,
    ) -> Result<(u64, Reply), Unavailable> {
        match forwarding::propose(group, submission).await {
            Answer::Applied(reply) => replica::decode_reply(&reply).ok_or(Unavailable),
            Answer::Elsewhere | Answer::Unknown => Err(Unavailable),
        }
    }

    async fn offer_once(&self, submission: Bytes, attempt: usize) -> Option<Bytes> {
        let Keeper::Group { group, mesh, .. } = &self.0.keeper else {
            return None;
        };
        let leader = *group.leader().borrow();
        // A broker that follows nobody yet asks the voters in turn.
        let target = match leader {
            Some(leader) => leader,
            None => {
                let voters = self.voters();
                *voters.get(attempt % voters.len().max(1))?
            }
        };
        let reply = if target == self.0.this {
            forwarding::propose(group, submission).await
        } else {
            let call = mesh.call(target, Service::Metadata, submission);
            let reply = timeout(FORWARD_TIMEOUT, call).await.ok()?.ok()?;
            Answer::decode(reply)?
        };
        match reply {
            Answer::Applied(reply) => Some(reply),
            Answer::Elsewhere | Answer::Unknown => None,
        }
    }

    /// Follows who leads the group.
    pub fn controllers(&self) -> watch::Receiver<Option<BrokerId>> {
        match &self.0.keeper {
            Keeper::Memory(_) => watch::channel(Some(self.0.this)).1,
            Keeper::Group { group, .. } => group.leader(),
        }
    }

    /// Who leads the group: Kafka's controller.
    pub fn controller(&self) -> Option<BrokerId> {
        match &self.0.keeper {
            Keeper::Memory(_) => Some(self.0.this),
            Keeper::Group { group, .. } => *group.leader().borrow(),
        }
    }

    pub fn this_broker(&self) -> BrokerId {
        self.0.this
    }

    /// What this broker hears of those who could tell it news.
    pub fn contact(&self) -> Contact {
        match &self.0.keeper {
            Keeper::Memory(_) => Contact::alone(self.0.this),
            Keeper::Group {
                group,
                mesh,
                uninformed,
                ..
            } => Contact::new(
                self.0.this,
                group.voters(),
                mesh.alive(),
                uninformed.clone(),
            ),
        }
    }

    /// Who votes: as configured until the group tells.
    pub fn voters(&self) -> Vec<BrokerId> {
        match &self.0.keeper {
            Keeper::Memory(_) => vec![self.0.this],
            Keeper::Group { group, .. } => group.voters().borrow().clone(),
        }
    }

    /// State of the quorum, as its leader sees it.
    ///
    /// # Errors
    /// [`Unavailable`] when nobody is found in time who leads.
    pub async fn quorum(&self) -> Result<QuorumStatus, Unavailable> {
        match &self.0.keeper {
            Keeper::Memory(_) => {
                let log_end = self.image().index + 1;
                let now_ms = wall_ms();
                Ok(QuorumStatus {
                    leader: Some(self.0.this),
                    term: 1,
                    high_watermark: log_end,
                    voters: vec![Member {
                        id: self.0.this,
                        log_end: Some(log_end),
                        heard_ms: Some(now_ms),
                        caught_up_ms: Some(now_ms),
                    }],
                    observers: Vec::new(),
                })
            }
            Keeper::Group { quorum, .. } => match quorum.ask(Question::Describe).await? {
                Told::Status(status) => Ok(status),
                Told::Elsewhere | Told::Changed(_) => Err(Unavailable),
            },
        }
    }

    /// Has the leader change the voters.
    ///
    /// # Errors
    /// [`Unavailable`] when nobody is found in time who leads; the change may be carried out later.
    pub async fn change_voters(
        &self,
        change: VoterChange,
    ) -> Result<Result<(), VoterRefusal>, Unavailable> {
        match &self.0.keeper {
            Keeper::Memory(_) => Err(Unavailable),
            Keeper::Group { quorum, .. } => match quorum.ask(Question::Change(change)).await? {
                Told::Changed(done) => Ok(done),
                Told::Elsewhere | Told::Status(_) => Err(Unavailable),
            },
        }
    }
}

impl From<ProposeError> for Answer {
    fn from(error: ProposeError) -> Self {
        match error {
            ProposeError::NotLeader { .. }
            | ProposeError::Overloaded
            | ProposeError::NoRoom
            | ProposeError::TooLarge { .. } => Self::Elsewhere,
            ProposeError::Unknown | ProposeError::Stopped => Self::Unknown,
        }
    }
}

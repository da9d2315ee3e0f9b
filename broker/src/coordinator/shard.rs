//! Coordinates the groups of one partition of `__consumer_offsets`, as long as this broker leads it.
//!
//! One task: takes requests, lets the machine decide, writes its records, answers when they are
//! committed. While one batch is on its way the next one gathers, so a commit costs a share of an
//! append. Answers leave in the order of decisions: nobody sees a state that a fail-over could undo.
//!
//! When an append fails the machine has moved further than the log. The shard then forgets what it knew
//! and loads the log again; who waited is told to retry.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use machine::group::{self, Command, GroupId, Reply, State, Ticket};
use model::{TopicId, batch};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::Unavailable;
use super::clock::Clock;
use super::journal::{AppendFailed, Journal};
use super::load::load;
use super::record;

/// Requests that may wait for one shard; senders wait beyond that.
pub(super) const MAILBOX_MAX: usize = 1024;
/// Bytes of records gathered for one append, after which requests wait.
const BATCH_BYTES_MAX: usize = 512 << 10;
/// How long to wait before reading an offsets log again that could not be read.
const LOAD_RETRY: Duration = Duration::from_secs(1);

/// Topics that left the cluster.
pub(super) type Gone = Arc<[(Arc<str>, TopicId)]>;

pub(super) enum Request {
    Command {
        group: GroupId,
        command: Command,
        answer: Answer,
    },
    /// Looks at the state; what it returns is run once all that it saw is committed.
    Query(Query),
    /// Topics left the cluster: their offsets go too.
    Forget(Gone),
}

pub(super) type Answer = oneshot::Sender<Result<Reply, Unavailable>>;
pub(super) type Query = Box<dyn FnOnce(&State) -> Release + Send>;
pub(super) type Release = Box<dyn FnOnce() + Send>;
/// Which of the topics named by committed offsets are gone, asked once after loading.
pub(super) type FindGone = Arc<dyn Fn(&State) -> Gone + Send + Sync>;

pub(super) struct Settings {
    pub(super) group: group::Config,
    /// `offsets.retention.check.interval.ms`.
    pub(super) sweep_every: Duration,
}

/// An answer that waits for the records before it.
enum Held {
    Reply(Answer, Reply),
    Release(Release),
}

/// What the next append carries and who hears of it.
#[derive(Default)]
struct Gathering {
    batch: batch::Builder,
    answers: Vec<Held>,
}

struct Flight {
    append: BoxFuture<'static, Result<(), AppendFailed>>,
    answers: Vec<Held>,
}

struct Shard<J> {
    journal: Arc<J>,
    clock: Clock,
    state: State,
    last_ticket: u64,
    waiting: HashMap<Ticket, Answer>,
    next: Gathering,
    flight: Option<Flight>,
}

/// Why a shard stopped serving from the state it had.
enum End {
    Resigned,
    Diverged,
}

/// Loads and serves until leadership is lost or every sender is gone. `ready` tells whether requests
/// are worth sending.
pub(super) async fn run<J: Journal>(
    journal: Arc<J>,
    settings: Settings,
    mut requests: mpsc::Receiver<Request>,
    ready: Arc<AtomicBool>,
    find_gone: FindGone,
) {
    loop {
        let Some(state) = take_over(&journal, &settings.group).await else {
            return;
        };
        let mut shard = Shard::new(Arc::clone(&journal), state);
        let gone = find_gone(&shard.state);
        shard.forget(&gone);
        ready.store(true, Ordering::Release);
        let end = shard.serve(&mut requests, settings.sweep_every).await;
        ready.store(false, Ordering::Release);
        match end {
            End::Resigned => {
                shard.disappoint(&Unavailable::NotCoordinator);
                return;
            }
            End::Diverged => shard.disappoint(&Unavailable::NotAvailable),
        }
    }
}

/// The state of the log once all of it is committed; `None` when this broker leads no longer.
async fn take_over<J: Journal>(journal: &Arc<J>, config: &group::Config) -> Option<State> {
    loop {
        let (reader, config) = (Arc::clone(journal), config.clone());
        let loaded = tokio::task::spawn_blocking(move || load(&reader, config)).await;
        match loaded {
            Ok(Ok((state, end))) => return journal.committed(end).await.then_some(state),
            Ok(Err(error)) => tracing::error!(%error, "groups cannot be loaded yet"),
            Err(error) => tracing::error!(%error, "loading groups failed"),
        }
        tokio::time::sleep(LOAD_RETRY).await;
    }
}

impl<J: Journal> Shard<J> {
    fn new(journal: Arc<J>, mut state: State) -> Self {
        let clock = Clock::start();
        state.lead(clock.now_ms());
        Self {
            journal,
            clock,
            state,
            last_ticket: 0,
            waiting: HashMap::new(),
            next: Gathering::default(),
            flight: None,
        }
    }

    async fn serve(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        sweep_every: Duration,
    ) -> End {
        let mut sweep = tokio::time::interval_at(Instant::now() + sweep_every, sweep_every);
        loop {
            self.launch();
            let deadline = self
                .state
                .next_deadline_ms()
                .map(|at| self.clock.instant(at));
            let has_room = self.has_room();
            tokio::select! {
                landed = landed(&mut self.flight) => match self.land(landed) {
                    Ok(()) => {}
                    Err(end) => return end,
                },
                () = until(deadline) => self.elapse(),
                _ = sweep.tick() => self.sweep(),
                request = requests.recv(), if has_room => match request {
                    Some(request) => self.take_all(request, requests),
                    None => return End::Resigned,
                },
            }
        }
    }

    fn has_room(&self) -> bool {
        self.next.batch.size_bytes() < BATCH_BYTES_MAX
    }

    /// Takes what else has come, so that it shares the append.
    fn take_all(&mut self, first: Request, requests: &mut mpsc::Receiver<Request>) {
        self.take(first);
        while self.has_room()
            && let Ok(request) = requests.try_recv()
        {
            self.take(request);
        }
    }

    fn take(&mut self, request: Request) {
        match request {
            Request::Command {
                group,
                command,
                answer,
            } => {
                self.last_ticket += 1;
                let ticket = Ticket(self.last_ticket);
                self.waiting.insert(ticket, answer);
                self.run(&group, ticket, command);
            }
            Request::Query(query) => {
                let release = query(&self.state);
                self.hold(Held::Release(release));
            }
            Request::Forget(gone) => self.forget(&gone),
        }
    }

    fn run(&mut self, group: &GroupId, ticket: Ticket, command: Command) {
        let now_ms = self.clock.now_ms();
        let decision = self.state.decide(group, ticket, command, now_ms);
        self.state.accept(&decision);
        for record in &decision.records {
            match record::encode(record) {
                Ok((key, value)) => {
                    self.next.batch.push(now_ms, Some(&key), value.as_deref());
                }
                // Every text came in by the same protocol with the same limits.
                Err(error) => tracing::error!(%group, %error, "a group's record cannot be written"),
            }
        }
        for (ticket, reply) in decision.replies {
            if let Some(answer) = self.waiting.remove(&ticket) {
                self.hold(Held::Reply(answer, reply));
            }
        }
    }

    /// Who is told what only ever was decided here: nobody waits for these.
    fn run_unasked(&mut self, group: &GroupId, command: Command) {
        self.last_ticket += 1;
        self.run(group, Ticket(self.last_ticket), command);
    }

    fn elapse(&mut self) {
        for group in self.state.due(self.clock.now_ms()) {
            self.run_unasked(&group, Command::Elapse);
        }
    }

    fn sweep(&mut self) {
        for group in self.groups() {
            self.run_unasked(&group, Command::ExpireOffsets);
        }
    }

    fn forget(&mut self, gone: &Gone) {
        if gone.is_empty() {
            return;
        }
        for group in self.groups() {
            self.run_unasked(&group, Command::ForgetTopics(Arc::clone(gone)));
        }
    }

    fn groups(&self) -> Vec<GroupId> {
        self.state.groups().cloned().collect()
    }

    /// An answer goes at once when nothing that it may depend on is still on its way to the log.
    fn hold(&mut self, held: Held) {
        if self.flight.is_none() && self.next.batch.is_empty() {
            held.release();
        } else {
            self.next.answers.push(held);
        }
    }

    fn launch(&mut self) {
        if self.flight.is_some() || self.next.batch.is_empty() {
            return;
        }
        let Gathering { batch, answers } = std::mem::take(&mut self.next);
        let Some(batch) = batch.build() else {
            return;
        };
        self.flight = Some(Flight {
            append: self.journal.append(batch),
            answers,
        });
    }

    fn land(
        &mut self,
        (result, answers): (Result<(), AppendFailed>, Vec<Held>),
    ) -> Result<(), End> {
        match result {
            Ok(()) => {
                answers.into_iter().for_each(Held::release);
                if self.next.batch.is_empty() {
                    self.next.answers.drain(..).for_each(Held::release);
                }
                Ok(())
            }
            Err(AppendFailed::NotLeader) => {
                disappoint(answers, &Unavailable::NotCoordinator);
                Err(End::Resigned)
            }
            Err(error @ AppendFailed::Unacknowledged(_)) => {
                tracing::warn!(%error, "groups are loaded again");
                disappoint(answers, &Unavailable::NotAvailable);
                Err(End::Diverged)
            }
        }
    }

    /// Tells everybody who still waits that they have to ask again.
    fn disappoint(&mut self, why: &Unavailable) {
        if let Some(flight) = self.flight.take() {
            disappoint(flight.answers, why);
        }
        disappoint(std::mem::take(&mut self.next).answers, why);
        for (_, answer) in self.waiting.drain() {
            // The client may have gone away.
            let _gone = answer.send(Err(why.clone()));
        }
    }
}

impl Held {
    fn release(self) {
        match self {
            Self::Reply(answer, reply) => {
                // The client may have gone away.
                let _gone = answer.send(Ok(reply));
            }
            Self::Release(release) => release(),
        }
    }
}

/// Queries are dropped: their askers see that nobody answers.
fn disappoint(answers: Vec<Held>, why: &Unavailable) {
    for held in answers {
        if let Held::Reply(answer, _) = held {
            let _gone = answer.send(Err(why.clone()));
        }
    }
}

async fn landed(flight: &mut Option<Flight>) -> (Result<(), AppendFailed>, Vec<Held>) {
    match flight {
        Some(under_way) => {
            let result = under_way.append.as_mut().await;
            let answers = flight.take().map(|f| f.answers).unwrap_or_default();
            (result, answers)
        }
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

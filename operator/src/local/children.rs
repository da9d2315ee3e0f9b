//! The brokers as child processes: started, watched, started again when they die, stopped together.
//!
//! Does what a StatefulSet and its kubelet do for pods: a broker that ends without being told to is
//! started again under the same identity on the same data: at once after a life of some length, after a
//! delay that grows while it keeps dying young. Knows nothing of what a broker is.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

#[cfg(test)]
mod tests;

/// Delay before the restart after a second death in a row; doubled for each further one. The first
/// costs nothing: somebody waits for what the child served.
const RESTART_DELAY_MIN: Duration = Duration::from_secs(1);
const RESTART_DELAY_MAX: Duration = Duration::from_secs(30);
/// A child that lived this long did not die of how it was started: its death is the first of a row.
const HEALTHY_AFTER: Duration = Duration::from_secs(5);
/// Time from SIGTERM to SIGKILL.
const STOP_GRACE: Duration = Duration::from_secs(30);
/// Unread events; more than every child can have in flight.
const EVENTS_MAX: usize = 1024;

/// What happened to child `index`.
#[derive(Debug)]
pub enum Event {
    Started {
        index: u16,
        pid: u32,
    },
    /// Ended without being told to; starts again after `restart_in`.
    Died {
        index: u16,
        status: ExitStatus,
        restart_in: Duration,
    },
    /// Could not be started at all; tried again after `restart_in`.
    NotStarted {
        index: u16,
        error: io::Error,
        restart_in: Duration,
    },
}

/// The running children. Dropping it kills them.
#[derive(Debug)]
pub struct Children {
    tasks: JoinSet<()>,
    stop: watch::Sender<Stop>,
    events: mpsc::Receiver<Event>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    No,
    Gracefully,
    AtOnce,
}

impl Children {
    /// Starts children 0 to `count` with the commands `command` makes. Must be called on a thread
    /// that lives as long as the process: Linux ties a child's parent-death signal to the thread
    /// that forked it.
    pub fn start(
        count: u16,
        command: impl Fn(u16) -> io::Result<Command> + Send + Sync + 'static,
    ) -> Self {
        let command = Arc::new(command);
        let (stop, stopped) = watch::channel(Stop::No);
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let mut tasks = JoinSet::new();
        for index in 0..count {
            let command = Arc::clone(&command);
            tasks.spawn(keep_running(
                index,
                move || command(index),
                sender.clone(),
                stopped.clone(),
            ));
        }
        Self {
            tasks,
            stop,
            events,
        }
    }

    /// The next event. Waits forever when there is none.
    pub async fn event(&mut self) -> Event {
        match self.events.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    /// SIGTERM to all, SIGKILL to those that stay longer than 30 seconds or when `hurry` resolves.
    pub async fn stop(mut self, hurry: impl Future<Output = ()>) {
        self.stop.send_replace(Stop::Gracefully);
        tokio::pin!(hurry);
        let mut hurried = false;
        loop {
            tokio::select! {
                ended = self.tasks.join_next() => if ended.is_none() { return },
                () = &mut hurry, if !hurried => {
                    hurried = true;
                    self.stop.send_replace(Stop::AtOnce);
                }
            }
        }
    }
}

async fn keep_running(
    index: u16,
    command: impl Fn() -> io::Result<Command>,
    events: mpsc::Sender<Event>,
    mut stop: watch::Receiver<Stop>,
) {
    let mut deaths = 0;
    while *stop.borrow() == Stop::No {
        let started = Instant::now();
        let spawned = command().and_then(|mut c| c.kill_on_drop(true).spawn());
        let event = match spawned {
            Err(error) => {
                deaths = deaths_in_row(deaths, Duration::ZERO);
                let restart_in = restart_delay(deaths);
                (
                    Event::NotStarted {
                        index,
                        error,
                        restart_in,
                    },
                    restart_in,
                )
            }
            Ok(mut child) => {
                let pid = child.id().unwrap_or_default();
                if events.send(Event::Started { index, pid }).await.is_err() {
                    return;
                }
                let status = tokio::select! {
                    status = child.wait() => status,
                    () = told_to_stop(&mut stop) => return end(child, &mut stop).await,
                };
                deaths = deaths_in_row(deaths, started.elapsed());
                let restart_in = restart_delay(deaths);
                match status {
                    Ok(status) => (
                        Event::Died {
                            index,
                            status,
                            restart_in,
                        },
                        restart_in,
                    ),
                    Err(error) => (
                        Event::NotStarted {
                            index,
                            error,
                            restart_in,
                        },
                        restart_in,
                    ),
                }
            }
        };
        let (event, restart_in) = event;
        if events.send(event).await.is_err() {
            return;
        }
        tokio::select! {
            () = sleep(restart_in) => {}
            () = told_to_stop(&mut stop) => return,
        }
    }
}

async fn told_to_stop(stop: &mut watch::Receiver<Stop>) {
    // An error means that `Children` is gone, which is an order to stop too.
    drop(stop.wait_for(|s| *s != Stop::No).await);
}

async fn end(mut child: Child, stop: &mut watch::Receiver<Stop>) {
    let pid = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    if let Some(pid) = pid {
        // It may have ended by itself in between.
        kill_process(pid, Signal::TERM).ok();
    }
    let at_once = stop.wait_for(|s| *s == Stop::AtOnce);
    tokio::select! {
        _ = timeout(STOP_GRACE, child.wait()) => {}
        _ = at_once => {}
    }
    // Nothing but an already reaped child makes this fail.
    drop(child.kill().await);
}

/// Deaths in a row, with the one that ended a life of `lived`.
fn deaths_in_row(before: u32, lived: Duration) -> u32 {
    if lived >= HEALTHY_AFTER {
        1
    } else {
        before.saturating_add(1)
    }
}

/// Delay before the restart after `deaths` deaths in a row (from 1).
fn restart_delay(deaths: u32) -> Duration {
    let Some(doublings) = deaths.checked_sub(2) else {
        return Duration::ZERO;
    };
    RESTART_DELAY_MIN
        .saturating_mul(1 << doublings.min(16))
        .min(RESTART_DELAY_MAX)
}

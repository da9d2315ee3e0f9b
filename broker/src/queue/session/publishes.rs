//! Publishes of a session whose outcome is open.

use std::collections::VecDeque;

use super::{ChannelId, Confirm, Event};

/// Publishes whose outcome is open, by publish number: a ring from `first`.
pub(super) struct Publishes {
    first: u64,
    open: VecDeque<Option<Open>>,
}

pub(super) struct Open {
    pub(super) channel: ChannelId,
    /// `None`: the channel is not in confirm mode.
    pub(super) seq: Option<u64>,
    pub(super) hosts: u32,
    pub(super) refused: bool,
}

impl Publishes {
    /// Publishes are numbered from 1.
    pub(super) fn new() -> Self {
        Self {
            first: 1,
            open: VecDeque::new(),
        }
    }

    /// The number of a new one.
    pub(super) fn open(&mut self, open: Open) -> u64 {
        self.open.push_back(Some(open));
        self.first + self.open.len() as u64 - 1
    }

    /// A host has taken or refused these; `events` gets the confirms of those that are settled by it.
    pub(super) fn close(&mut self, publishes: &[u64], ack: bool, events: &mut Vec<Event>) {
        for publish in publishes {
            let Some(index) = publish.checked_sub(self.first) else {
                continue;
            };
            let Some(slot) = usize::try_from(index)
                .ok()
                .and_then(|index| self.open.get_mut(index))
            else {
                continue;
            };
            let Some(open) = slot else { continue };
            open.refused |= !ack;
            open.hosts = open.hosts.saturating_sub(1);
            if open.hosts > 0 {
                continue;
            }
            if let Some(seq) = open.seq {
                let confirm = Confirm {
                    seq,
                    ack: !open.refused,
                };
                match events.last_mut() {
                    Some(Event::Confirmed { channel, confirms }) if *channel == open.channel => {
                        confirms.push(confirm);
                    }
                    _ => events.push(Event::Confirmed {
                        channel: open.channel,
                        confirms: vec![confirm],
                    }),
                }
            }
            *slot = None;
        }
        while let Some(None) = self.open.front() {
            self.open.pop_front();
            self.first += 1;
        }
    }

    /// Nobody on this channel wants to hear any more.
    pub(super) fn forget(&mut self, channel: ChannelId) {
        for open in self.open.iter_mut().flatten() {
            if open.channel == channel {
                open.seq = None;
            }
        }
    }
}

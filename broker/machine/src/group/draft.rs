//! A decision in the making: a copy of the group that the rules change, the records and the replies
//! they ask for. Nothing of it is visible until the decision is accepted.

use super::membership::Membership;
use super::offsets::Offsets;
use super::record::Record;
use super::state::{Decision, Group};
use super::{Command, Config, Error, GroupId, Reply, Ticket};

pub(super) struct Draft<'a> {
    pub(super) config: &'a Config,
    pub(super) id: &'a GroupId,
    pub(super) now_ms: i64,
    /// The group was there before this command.
    pub(super) exists: bool,
    pub(super) group: Membership,
    pub(super) offsets: Offsets,
    pub(super) records: Vec<Record>,
    replies: Vec<(Ticket, Reply)>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        config: &'a Config,
        id: &'a GroupId,
        group: Option<&Group>,
        now_ms: i64,
    ) -> Self {
        Self {
            config,
            id,
            now_ms,
            exists: group.is_some(),
            group: group.map(|g| g.membership.clone()).unwrap_or_default(),
            offsets: group.map(|g| g.offsets.clone()).unwrap_or_default(),
            records: Vec::new(),
            replies: Vec::new(),
        }
    }

    pub(super) fn run(mut self, ticket: Ticket, command: Command) -> Decision {
        match command {
            Command::Join(join) => self.join(ticket, join),
            Command::Sync(sync) => self.sync(ticket, sync),
            Command::Heartbeat(heartbeat) => {
                let result = self.heartbeat(&heartbeat);
                self.reply(ticket, Reply::Heartbeat(result));
            }
            Command::Leave(leave) => {
                let result = self.leave(leave);
                self.reply(ticket, Reply::Leave(result));
            }
            Command::Commit(commit) => {
                let result = self.commit(commit);
                self.reply(ticket, Reply::Commit(result));
            }
            Command::Delete => {
                let result = self.delete();
                self.reply(ticket, Reply::Delete(result));
            }
            Command::DeleteOffsets(partitions) => {
                let result = self.delete_offsets(partitions);
                self.reply(ticket, Reply::DeleteOffsets(result));
            }
            Command::ForgetTopics(topics) => self.forget_topics(&topics),
            Command::Elapse => self.elapse(),
            Command::ExpireOffsets => self.expire_offsets(),
        }
        Decision {
            group: self.id.clone(),
            membership: self.group,
            records: self.records,
            replies: self.replies,
        }
    }

    pub(super) fn reply(&mut self, ticket: Ticket, reply: Reply) {
        self.replies.push((ticket, reply));
    }

    /// Answers a join that waits no longer.
    pub(super) fn refuse_join(&mut self, ticket: Option<Ticket>, error: Error) {
        if let Some(ticket) = ticket {
            self.reply(ticket, Reply::Join(Err(error)));
        }
    }

    /// Answers a sync that waits no longer.
    pub(super) fn refuse_sync(&mut self, ticket: Option<Ticket>, error: Error) {
        if let Some(ticket) = ticket {
            self.reply(ticket, Reply::Sync(Err(error)));
        }
    }

    /// Writes down the group as it is now: the outcome of a rebalance, or a replaced static member.
    pub(super) fn record_group(&mut self) {
        self.records.push(Record::Group {
            group: self.id.clone(),
            value: Some(self.group.record()),
        });
    }

    pub(super) fn check_group_id(&self) -> Result<(), Error> {
        if self.id.is_empty() {
            return Err(Error::InvalidGroupId);
        }
        Ok(())
    }
}

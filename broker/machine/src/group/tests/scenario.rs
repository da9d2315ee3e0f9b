//! Reads a scenario, plays it against a [`State`] and prints what happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use model::TopicId;

use crate::group::{
    Command, Commit, CommitPartition, Config, Decision, GroupId, Heartbeat, Join, Joined, Leave,
    Leaving, MemberId, Protocol, Record, Reply, State, Sync, Ticket,
};

/// Plays `testdata/group/NAME.txt` and compares.
pub(super) fn check(name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/group")
        .join(format!("{name}.txt"));
    let expected = std::fs::read_to_string(&path).unwrap();
    let mut stage = Stage::default();
    let mut played = String::new();
    for line in expected.lines().filter(|l| !l.starts_with("  ")) {
        played.push_str(line);
        played.push('\n');
        for out in stage.play(line) {
            writeln!(played, "  {out}").unwrap();
        }
    }
    stage.check_invariants();
    if std::env::var_os("REWRITE").is_some() {
        std::fs::write(&path, &played).unwrap();
    }
    assert_eq!(
        played, expected,
        "scenario {name}; REWRITE=1 writes what happened"
    );
}

/// Bytes of a `ConsumerProtocolSubscription` v0.
pub(super) fn subscription(topics: &[&str]) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(0);
    bytes.put_i32(topics.len().try_into().unwrap());
    for topic in topics {
        bytes.put_i16(topic.len().try_into().unwrap());
        bytes.put_slice(topic.as_bytes());
    }
    bytes.put_i32(-1);
    bytes.freeze()
}

struct Stage {
    config: Config,
    state: State,
    now_ms: i64,
    requests: u64,
    /// Member ids given out, by client or instance id.
    ids: BTreeMap<String, usize>,
    log: Vec<Record>,
    open: BTreeSet<Ticket>,
}

/// `key=value` words of a line.
struct Words<'a>(BTreeMap<&'a str, &'a str>);

impl Default for Stage {
    fn default() -> Self {
        let config = Config::default();
        Self {
            state: State::new(config.clone()),
            config,
            now_ms: 0,
            requests: 0,
            ids: BTreeMap::new(),
            log: Vec::new(),
            open: BTreeSet::new(),
        }
    }
}

impl<'a> Words<'a> {
    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied()
    }

    fn text(&self, key: &str) -> Arc<str> {
        self.get(key).unwrap_or_default().into()
    }

    fn instance(&self) -> Option<Arc<str>> {
        self.get("instance").map(Arc::from)
    }

    fn number<T: std::str::FromStr>(&self, key: &str, default: T) -> T {
        self.get(key).map_or(default, |v| v.parse().ok().unwrap())
    }

    fn list(&self, key: &str) -> Vec<&'a str> {
        self.get(key)
            .map(|v| v.split(',').collect())
            .unwrap_or_default()
    }
}

impl Stage {
    fn play(&mut self, line: &str) -> Vec<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (verb, rest) = match words[..] {
            [] => return Vec::new(),
            [verb, ..] if verb.starts_with('#') => return Vec::new(),
            [verb, ref rest @ ..] => (verb, rest),
        };
        let pairs = rest.iter().filter_map(|w| w.split_once('=')).collect();
        let words = Words(pairs);
        match verb {
            "limit" => self.limit(&words),
            "at" => self.pass_time(rest[0].parse().unwrap()),
            "show" => self.show(rest[0]),
            "list" => self
                .state
                .list()
                .map(|l| format!("{} {} {}", l.group, l.condition.name(), l.members))
                .collect(),
            "offsets" => self.show_offsets(rest[0]),
            "fail-over" => self.fail_over(),
            _ => {
                let group: GroupId = rest
                    .first()
                    .filter(|w| !w.contains('='))
                    .copied()
                    .unwrap_or_default()
                    .into();
                let ticket = self.next_ticket();
                let command = command(verb, self.fresh_member_id(verb, &words), &words);
                let silent = matches!(
                    command,
                    Command::ForgetTopics(_) | Command::ExpireOffsets | Command::Elapse
                );
                if !silent {
                    self.open.insert(ticket);
                }
                let decision = self.state.decide(&group, ticket, command, self.now_ms);
                self.accept(decision)
            }
        }
    }

    /// `a-1`, `a-2`: the n-th id that a client was given.
    fn fresh_member_id(&mut self, verb: &str, words: &Words<'_>) -> MemberId {
        if verb != "join" || words.get("member").is_some() {
            return "".into();
        }
        let client = words.get("client").unwrap_or("c");
        let stem = words.get("instance").unwrap_or(client);
        let count = self.ids.entry(stem.into()).or_default();
        *count += 1;
        format!("{stem}-{count}").into()
    }

    fn next_ticket(&mut self) -> Ticket {
        self.requests += 1;
        Ticket(self.requests)
    }

    fn limit(&mut self, words: &Words<'_>) -> Vec<String> {
        self.config.size_max = words.number("size", self.config.size_max);
        self.state = State::new(self.config.clone());
        Vec::new()
    }

    /// Moves the clock from deadline to deadline.
    fn pass_time(&mut self, until_ms: i64) -> Vec<String> {
        let mut out = Vec::new();
        while let Some(at) = self.state.next_deadline_ms().filter(|at| *at <= until_ms) {
            self.now_ms = at;
            for group in self.state.due(at) {
                let decision = self.state.decide(&group, Ticket(0), Command::Elapse, at);
                out.extend(
                    self.accept(decision)
                        .into_iter()
                        .map(|o| format!("at {at}: {o}")),
                );
            }
            assert!(self.state.next_deadline_ms() != Some(at), "stuck at {at}");
        }
        self.now_ms = until_ms;
        out
    }

    fn accept(&mut self, decision: Decision) -> Vec<String> {
        self.state.accept(&decision);
        let mut out: Vec<String> = decision.records.iter().map(print_record).collect();
        self.log.extend(decision.records);
        for (ticket, reply) in decision.replies {
            assert!(self.open.remove(&ticket), "{ticket:?} answered twice");
            out.push(format!("#{} {}", ticket.0, print_reply(&reply)));
        }
        out
    }

    fn show(&self, group: &str) -> Vec<String> {
        let Some(d) = self.state.describe(group) else {
            return vec!["no such group".into()];
        };
        let mut out = vec![format!(
            "{} type={} protocol={}",
            d.condition.name(),
            d.protocol_type,
            d.protocol
        )];
        out.extend(d.members.iter().map(|m| {
            format!(
                "{} instance={:?} assignment={}",
                m.id,
                m.instance_id,
                text(&m.assignment)
            )
        }));
        out
    }

    fn show_offsets(&self, group: &str) -> Vec<String> {
        self.state
            .offsets(group)
            .map(|(topic, partition, c)| format!("{topic}-{partition} {}", c.offset))
            .collect()
    }

    fn replayed(&self) -> State {
        let mut state = State::new(self.config.clone());
        for record in &self.log {
            state.apply(record);
        }
        state.lead(self.now_ms);
        state
    }

    fn fail_over(&mut self) -> Vec<String> {
        let lost = self.state.waiting();
        self.state = self.replayed();
        for ticket in &lost {
            self.open.remove(ticket);
        }
        lost.iter().map(|t| format!("#{} lost", t.0)).collect()
    }

    fn check_invariants(&self) {
        let waiting: BTreeSet<_> = self.state.waiting().into_iter().collect();
        assert_eq!(
            waiting, self.open,
            "every request is answered or waits in its group"
        );
        let replayed = self.replayed();
        for group in self.state.groups() {
            let offsets = |s: &State| {
                s.offsets(group)
                    .map(|(t, p, c)| (t.clone(), p, c.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                offsets(&replayed),
                offsets(&self.state),
                "offsets of {group} are those of its records"
            );
            let live = self.state.describe(group).unwrap();
            if live.condition.name() == "Stable" {
                assert_eq!(
                    replayed.describe(group),
                    Some(live),
                    "{group} is what its records say"
                );
            }
        }
    }
}

fn command(verb: &str, fresh: MemberId, words: &Words<'_>) -> Command {
    let member_id = words.text("member");
    let instance_id = words.instance();
    let generation = words.number("gen", -1);
    match verb {
        "join" => Command::Join(join(fresh, words)),
        "sync" => Command::Sync(Sync {
            member_id,
            instance_id,
            generation,
            protocol_type: words.get("type").map(Arc::from),
            protocol: words.get("protocol").map(Arc::from),
            assignments: words
                .list("assign")
                .into_iter()
                .filter_map(|a| a.split_once(':'))
                .map(|(m, a)| (Arc::from(m), Bytes::copy_from_slice(a.as_bytes())))
                .collect(),
        }),
        "heartbeat" => Command::Heartbeat(Heartbeat {
            member_id,
            instance_id,
            generation,
        }),
        "leave" => {
            let by_id = words.list("member").into_iter().map(|m| Leaving {
                member_id: m.into(),
                instance_id: None,
            });
            let by_instance = words.list("instance").into_iter().map(|i| Leaving {
                member_id: "".into(),
                instance_id: Some(i.into()),
            });
            Command::Leave(Leave {
                members: by_id.chain(by_instance).collect(),
            })
        }
        "commit" => Command::Commit(Commit {
            member_id,
            instance_id,
            generation,
            retention_ms: words.get("retention").map(|r| r.parse().unwrap()),
            partitions: words
                .list("offsets")
                .into_iter()
                .map(|o| commit(o, words))
                .collect(),
        }),
        "delete" => Command::Delete,
        "delete-offsets" => Command::DeleteOffsets(
            words
                .list("of")
                .into_iter()
                .filter_map(|o| o.rsplit_once('-'))
                .map(|(t, p)| (t.into(), p.parse().unwrap()))
                .collect(),
        ),
        "forget" => Command::ForgetTopics(
            words
                .list("topics")
                .into_iter()
                .map(|t| (t.into(), TopicId::default()))
                .collect(),
        ),
        "expire" => Command::ExpireOffsets,
        other => panic!("no verb '{other}'"),
    }
}

fn join(fresh_member_id: MemberId, words: &Words<'_>) -> Join {
    let client = words.get("client").unwrap_or("c");
    let version: i32 = words.number("v", 9);
    let protocol_type: Arc<str> = words.get("type").unwrap_or("consumer").into();
    let metadata = if &*protocol_type == "consumer" {
        subscription(&words.list("topics"))
    } else {
        Bytes::from_static(b"opaque")
    };
    Join {
        member_id: words.text("member"),
        fresh_member_id,
        instance_id: words.instance(),
        client_id: client.into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: words.number("session", 10_000),
        rebalance_timeout_ms: words.number("rebalance", 60_000),
        protocol_type,
        protocols: words
            .get("protocols")
            .unwrap_or("range")
            .split(',')
            .filter(|p| *p != "none")
            .map(|name| Protocol {
                name: name.into(),
                metadata: metadata.clone(),
            })
            .collect(),
        id_required_first: version >= 4,
        can_skip_assignment: version >= 9,
    }
}

/// `topic-partition:offset`
fn commit(spec: &str, words: &Words<'_>) -> CommitPartition {
    let (partition, offset) = spec.split_once(':').unwrap();
    let (topic, partition) = partition.rsplit_once('-').unwrap();
    CommitPartition {
        topic: topic.into(),
        topic_id: TopicId::default(),
        partition: partition.parse().unwrap(),
        offset: offset.parse().unwrap(),
        leader_epoch: -1,
        metadata: "x".repeat(words.number("metadata", 0)).into(),
    }
}

fn print_record(record: &Record) -> String {
    match record {
        Record::Offset { key, value } => {
            let value = value
                .as_ref()
                .map_or_else(|| "removed".into(), |c| format!("= {}", c.offset));
            format!(
                "record offset {} {}-{} {value}",
                key.group, key.topic, key.partition
            )
        }
        Record::Group { group, value: None } => format!("record group {group} removed"),
        Record::Group {
            group,
            value: Some(g),
        } => {
            let members: Vec<_> = g
                .members
                .iter()
                .map(|m| format!("{}:{}", m.id, text(&m.assignment)))
                .collect();
            format!(
                "record group {group} generation={} protocol={} leader={} [{}]",
                g.generation,
                g.protocol.as_deref().unwrap_or("-"),
                g.leader.as_deref().unwrap_or("-"),
                members.join(" ")
            )
        }
    }
}

fn print_reply(reply: &Reply) -> String {
    fn one<T, E: std::fmt::Display>(
        verb: &str,
        result: &Result<T, E>,
        ok: impl Fn(&T) -> String,
    ) -> String {
        match result {
            Ok(value) => format!("{verb}: {}", ok(value)),
            Err(error) => format!("{verb} refused: {error}"),
        }
    }
    fn each<E: std::fmt::Display>(results: &[Result<(), E>]) -> String {
        let each: Vec<_> = results
            .iter()
            .map(|r| {
                r.as_ref()
                    .map_or_else(ToString::to_string, |()| "ok".into())
            })
            .collect();
        each.join(", ")
    }
    match reply {
        Reply::Join(result) => one("join", result, print_joined),
        Reply::Sync(result) => one("sync", result, |s| text(&s.assignment)),
        Reply::Heartbeat(result) => one("heartbeat", result, |()| "ok".into()),
        Reply::Leave(result) => one("leave", result, |left| {
            each(&left.iter().map(|l| l.result.clone()).collect::<Vec<_>>())
        }),
        Reply::Commit(result) => one("commit", result, |r| each(r)),
        Reply::Delete(result) => one("delete", result, |()| "ok".into()),
        Reply::DeleteOffsets(result) => one("delete offsets", result, |r| each(r)),
    }
}

fn print_joined(joined: &Joined) -> String {
    let members: Vec<_> = joined.members.iter().map(|m| &*m.member_id).collect();
    format!(
        "{} generation={} protocol={} leader={} [{}]{}",
        joined.member_id,
        joined.generation,
        joined.protocol.as_deref().unwrap_or("-"),
        joined.leader,
        members.join(" "),
        if joined.skip_assignment {
            " skip assignment"
        } else {
            ""
        }
    )
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

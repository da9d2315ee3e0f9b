use kafka_wire::messages::fetch::{FetchTopic, ForgottenTopic};

use super::*;

fn request(session_id: i32, session_epoch: i32, partitions: &[i32]) -> Request {
    let partitions: Vec<FetchPartition> = partitions
        .iter()
        .map(|partition| FetchPartition {
            partition: *partition,
            ..FetchPartition::default()
        })
        .collect();
    let topics = if partitions.is_empty() {
        Vec::new()
    } else {
        vec![FetchTopic {
            topic: Str::from_static("t"),
            partitions,
            ..FetchTopic::default()
        }]
    };
    Request {
        session_id,
        session_epoch,
        topics,
        ..Request::default()
    }
}

fn begin(sessions: &Sessions, request: &Request) -> Result<Begun, ErrorCode> {
    sessions.begin(request, 12, Instant::now())
}

fn partitions(begun: &Begun) -> Vec<i32> {
    let mut partitions: Vec<i32> = begun.wanted.iter().map(|w| w.key.partition).collect();
    partitions.sort_unstable();
    partitions
}

fn line(partition: i32, high_watermark: i64) -> (Key, Told) {
    let key = Key {
        topic: Str::from_static("t"),
        partition,
        ..Key::default()
    };
    let told = Told {
        has_news: false,
        high_watermark,
        log_start: 0,
    };
    (key, told)
}

#[test]
fn a_session_remembers_what_is_fetched() {
    let sessions = Sessions::new(10);
    let opened = begin(&sessions, &request(0, 0, &[0, 1])).unwrap();
    assert_ne!(opened.session_id, 0);
    let next = begin(&sessions, &request(opened.session_id, 1, &[2])).unwrap();
    assert!(next.incremental);
    assert_eq!(partitions(&next), [0, 1, 2]);

    let mut forget = request(opened.session_id, 2, &[]);
    forget.forgotten_topics_data = vec![ForgottenTopic {
        topic: Str::from_static("t"),
        partitions: vec![0, 2],
        ..ForgottenTopic::default()
    }];
    assert_eq!(partitions(&begin(&sessions, &forget).unwrap()), [1]);
}

#[test]
fn a_request_out_of_turn_or_without_its_session_is_refused() {
    let sessions = Sessions::new(10);
    let id = begin(&sessions, &request(0, 0, &[0])).unwrap().session_id;
    let wrong = begin(&sessions, &request(id, 2, &[])).unwrap_err();
    assert_eq!(wrong, ErrorCode::InvalidFetchSessionEpoch);
    let ended = begin(&sessions, &request(id, -1, &[0])).unwrap();
    assert_eq!(ended.session_id, 0);
    let gone = begin(&sessions, &request(id, 1, &[])).unwrap_err();
    assert_eq!(gone, ErrorCode::FetchSessionIdNotFound);
}

#[test]
fn only_news_is_told() {
    let sessions = Sessions::new(10);
    let opened = begin(&sessions, &request(0, 0, &[0, 1])).unwrap();
    let lines = [line(0, 5), line(1, 5)];
    assert_eq!(sessions.tell(&opened, &lines), [true, true]);
    let next = begin(&sessions, &request(opened.session_id, 1, &[])).unwrap();
    assert_eq!(
        sessions.tell(&next, &[line(0, 5), line(1, 6)]),
        [false, true]
    );
    // Records are news; that the client has read on is none.
    let mut records = line(0, 5);
    records.1.has_news = true;
    assert_eq!(sessions.tell(&next, &[records]), [true]);
    assert_eq!(sessions.tell(&next, &[line(0, 5)]), [false]);
    // After an error the same watermark is news again.
    let mut failed = line(0, -1);
    failed.1.has_news = true;
    assert_eq!(sessions.tell(&next, &[failed]), [true]);
    assert_eq!(sessions.tell(&next, &[line(0, 5)]), [true]);
    assert_eq!(sessions.tell(&next, &[line(0, 5)]), [false]);
}

#[test]
fn a_session_in_use_keeps_its_slot() {
    let sessions = Sessions::new(1);
    let now = Instant::now();
    let first = sessions.begin(&request(0, 0, &[0]), 12, now).unwrap();
    assert_ne!(first.session_id, 0);
    let second = sessions.begin(&request(0, 0, &[0]), 12, now).unwrap();
    assert_eq!(second.session_id, 0);
    let later = now + EVICTABLE_AFTER;
    let third = sessions.begin(&request(0, 0, &[0]), 12, later).unwrap();
    assert_ne!(third.session_id, 0);
}

#[test]
fn every_partition_gets_its_turn_to_be_first() {
    let sessions = Sessions::new(1);
    let id = begin(&sessions, &request(0, 0, &[0, 1, 2]))
        .unwrap()
        .session_id;
    let first = |epoch| {
        let begun = begin(&sessions, &request(id, epoch, &[])).unwrap();
        begun.wanted[0].key.partition
    };
    let mut firsts = [first(1), first(2), first(3)];
    firsts.sort_unstable();
    assert_eq!(firsts, [0, 1, 2]);
}

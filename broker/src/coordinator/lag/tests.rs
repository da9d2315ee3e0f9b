use super::position::written_at;
use super::*;
use bytes::BytesMut;
use model::batch;

fn at(end: i64, written_ms: Option<i64>) -> Position {
    Position {
        end: Offset(end),
        written_ms,
    }
}

#[test]
fn lag_is_the_age_of_the_first_record_that_is_not_committed() {
    let position = at(10, Some(4_000));
    assert_eq!(records_behind(7, position), 3);
    assert_eq!(seconds_behind(7, position, 5_500), Some(1.5));
}

#[test]
fn a_group_at_the_end_has_a_lag_of_zero_however_idle_the_topic() {
    let position = at(10, None);
    assert_eq!(records_behind(10, position), 0);
    assert_eq!(seconds_behind(10, position, i64::MAX), Some(0.0));
}

#[test]
fn a_commit_beyond_the_end_is_not_a_negative_lag() {
    assert_eq!(records_behind(12, at(10, None)), 0);
    assert_eq!(seconds_behind(12, at(10, None), 5), Some(0.0));
}

#[test]
fn a_record_of_the_future_is_not_a_negative_age() {
    assert_eq!(seconds_behind(7, at(10, Some(9_000)), 5_000), Some(0.0));
}

#[test]
fn a_record_without_a_time_has_no_age() {
    assert_eq!(seconds_behind(7, at(10, None), 5_000), None);
}

#[test]
fn the_record_itself_is_dated_not_its_batch() {
    let mut builder = batch::Builder::new(Offset(5));
    builder.push(1_000, None, Some(b"a"));
    builder.push(2_000, None, Some(b"b"));
    let mut run = BytesMut::from(&builder.build().unwrap()[..]);
    let mut next = batch::Builder::new(Offset(7));
    next.push(3_000, None, Some(b"c"));
    run.extend_from_slice(&next.build().unwrap());
    let run = run.freeze();
    assert_eq!(written_at(&run, Offset(5)), Some(1_000));
    assert_eq!(written_at(&run, Offset(6)), Some(2_000));
    assert_eq!(written_at(&run, Offset(7)), Some(3_000));
    assert_eq!(written_at(&run, Offset(8)), None);
}

#[test]
fn questions_and_answers_cross_between_brokers_unchanged() {
    let asks = vec![
        Ask {
            place: TopicPartition {
                topic: TopicId(uuid::Uuid::from_u128(7)),
                partition: 3,
            },
            offset: Offset(42),
        };
        2
    ];
    let mut out = BytesMut::new();
    put_asks(&mut out, &asks);
    out.extend_from_slice(b"piece");
    assert_eq!(get_asks(out.freeze()), asks);
    let positions = vec![Some(at(9, Some(1))), Some(at(9, None)), None];
    let mut out = BytesMut::new();
    put_positions(&mut out, &positions);
    assert_eq!(get_positions(out.freeze()), positions);
}

#[test]
fn an_offset_of_an_earlier_topic_of_the_same_name_has_no_lag() {
    let mut image = Image::default();
    let topic = TopicId(uuid::Uuid::from_u128(2));
    image.topic_names.insert("t".into(), topic);
    let committed = |topic_id| Committed {
        topic: "t".into(),
        topic_id,
        partition: 0,
        offset: 1,
    };
    let earlier = TopicId(uuid::Uuid::from_u128(1));
    assert_eq!(question(&committed(earlier), &image), None);
    assert!(question(&committed(topic), &image).is_some());
    assert!(question(&committed(TopicId::default()), &image).is_some());
}

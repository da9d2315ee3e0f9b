use bytes::Bytes;

use super::Message;

fn of(whole: &Bytes, from: usize, to: usize) -> Message {
    Message {
        properties: whole.slice(from..from + 2),
        body: whole.slice(from + 2..to),
        ..Message::default()
    }
}

#[test]
fn a_small_part_of_what_came_together_does_not_keep_the_rest() {
    let whole = Bytes::from((0..100).collect::<Vec<u8>>());
    let mut message = of(&whole, 10, 40);
    let same = message.clone();
    message.detach(whole.len());
    assert_eq!(message, same);
    drop(same);
    assert!(whole.is_unique());
}

#[test]
fn most_of_what_came_together_is_not_copied() {
    let whole = Bytes::from(vec![0; 100]);
    let mut message = of(&whole, 0, 80);
    message.detach(whole.len());
    assert_eq!(message.body.as_ptr(), whole.slice(2..).as_ptr());
}

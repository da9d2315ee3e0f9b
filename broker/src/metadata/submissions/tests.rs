use super::*;

#[tokio::test]
async fn what_is_answered_or_given_up_is_settled_and_no_more() {
    let submissions = Submissions::new(BrokerId(1));
    let first = submissions.begin().await;
    let second = submissions.begin().await;
    assert_eq!((first.id.number, first.id.settled_below), (0, 0));
    assert_eq!((second.id.number, second.id.settled_below), (1, 0));
    drop(second);
    assert_eq!(submissions.begin().await.id.settled_below, 0);
    drop(first);
    let next = submissions.begin().await;
    assert_eq!(next.id.settled_below, next.id.number);
}

use super::*;

#[test]
fn rows_line_up_and_count() {
    let mut out = Vec::new();
    let mut report = Report::new(&mut out);
    report.table(["flights", "cancelled"].into_iter());
    report.row("Topic", "flights", "created", "12 partitions, 3 replicas");
    report.row("Queue", "cancelled", "unchanged", "");
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "         KIND           NAME       RESULT     DETAIL\n    \
         1/2  Topic          flights    created    12 partitions, 3 replicas\n    \
         2/2  Queue          cancelled  unchanged\n"
    );
}

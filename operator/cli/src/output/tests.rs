use anyhow::{Context as _, anyhow};

use super::*;

#[test]
fn columns_are_as_wide_as_their_widest_cell() {
    let mut table = Table::new(["NAME", "RF"]);
    table.row(["orders".to_owned(), "3".to_owned()]);
    assert_eq!(table.text(), "NAME    RF\norders  3\n");
}

#[test]
fn causes_stand_in_one_sentence_without_repetition() {
    let error = anyhow!("permission denied").context("cannot write x: permission denied");
    assert_eq!(
        sentence(&error),
        "millrace: cannot write x: permission denied"
    );
    let error = Err::<(), _>(anyhow!("b")).context("a").unwrap_err();
    assert_eq!(sentence(&error), "millrace: a: b");
}

//! Every message in every version: what the schema says goes in, the same bytes come out.

use bytes::Bytes;

use crate::codegen::{read_schema, schema::Block};
use crate::registry::{MESSAGES, Recode};
use crate::vectors::{self, Seed};

/// Calls `check` with values of every message in every version, a few of each.
pub(crate) fn for_each_value(mut check: impl FnMut(&str, &Block, i16, Recode, Vec<u8>)) {
    for file in read_schema() {
        for block in &file.blocks {
            let side = format!("{:?}", block.side);
            let recode = MESSAGES
                .iter()
                .find(|(table, known, _)| *table == file.table && *known == side)
                .map(|(_, _, recode)| *recode)
                .expect("every block is registered");
            for version in block.valid.min..=block.valid.max {
                for n in 0..8 {
                    let bytes = vectors::encode(block, version, &mut Seed::new(n + 1));
                    check(&file.table, block, version, recode, bytes);
                }
            }
        }
    }
}

#[test]
fn every_message_of_every_version_survives_decoding_and_encoding() {
    let mut values = 0;
    for_each_value(|table, block, version, recode, bytes| {
        let bytes = Bytes::from(bytes);
        let again = recode(bytes.clone(), version);
        assert_eq!(
            again.as_ref(),
            Ok(&bytes),
            "{table} {:?} v{version}",
            block.side
        );
        values += 1;
    });
    assert!(values > 3_000, "{values} values checked");
}

#[test]
fn a_message_cut_anywhere_is_refused() {
    for_each_value(|table, block, version, recode, bytes| {
        let whole = Bytes::from(bytes);
        let step = whole.len() / 64 + 1;
        for len in (0..whole.len()).step_by(step) {
            let cut = recode(whole.slice(..len), version);
            assert!(
                cut.is_err(),
                "{table} {:?} v{version} cut to {len}",
                block.side
            );
        }
    });
}

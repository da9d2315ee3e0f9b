//! Fanout exchange: every binding, whatever the keys.

pub(super) fn matches() -> bool {
    true
}

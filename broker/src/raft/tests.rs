//! Tests of groups; see also the clusters in `tests/it`.

//! The one binary: argument parsing and hand-over.
fn main() {}

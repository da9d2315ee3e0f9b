//! operator
#![forbid(unsafe_code)]

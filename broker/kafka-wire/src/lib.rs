//! kafka-wire
#![forbid(unsafe_code)]

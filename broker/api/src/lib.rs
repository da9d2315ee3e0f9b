//! api
#![forbid(unsafe_code)]

//! crds
#![forbid(unsafe_code)]

//! Local mode.
pub mod children;
pub mod data_dir;
pub mod layout;
pub mod manifest;

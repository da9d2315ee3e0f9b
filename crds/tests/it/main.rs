//! The definitions as wholes: their committed YAML, and every rule with what it lets in and keeps
//! out.

mod fresh;
mod rules;
mod server;

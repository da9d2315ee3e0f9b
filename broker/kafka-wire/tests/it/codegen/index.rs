//! The lists over all tables: API keys with their versions, and the types for the tests.

use std::fmt::Write as _;

use super::schema::{Block, File, Head, Range, Side};

/// Text of `src/messages.rs`, not yet formatted.
pub(crate) fn messages(files: &[File]) -> String {
    let (mut modules, mut variants, mut all, mut codes, mut facts) = (
        String::new(),
        String::new(),
        String::new(),
        String::new(),
        String::new(),
    );
    for file in files {
        writeln!(modules, "pub mod {};", file.module()).unwrap();
        let Head::Api { key, name } = &file.head else {
            continue;
        };
        writeln!(variants, "{name} = {key},").unwrap();
        writeln!(all, "Self::{name},").unwrap();
        writeln!(codes, "{key} => Self::{name},").unwrap();
        let request = side(file, Side::Request);
        let response = side(file, Side::Response);
        assert_eq!(request.header, (1, 2));
        let Range { min, max } = request.valid;
        let flexible_from = if request.flexible.is_empty() {
            "i16::MAX".to_owned()
        } else {
            request.flexible.min.to_string()
        };
        writeln!(
            facts,
            "Self::{name} => Facts::new({min}, {max}, {}, {flexible_from}, {}),",
            max - i16::from(request.unstable),
            response.header.1
        )
        .unwrap();
    }
    format!(
        "//! Every message, one module per API key or record, and the table of API keys.
//!
//! Generated from `schema/` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::Versions;

{modules}

/// The APIs that clients and tools of Kafka 4.4 use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i16)]
pub enum ApiKey {{
    {variants}
}}

/// What is known of one API.
struct Facts {{
    versions: Versions,
    stable_max: i16,
    flexible_from: i16,
    flexible_response_header: i16,
}}

impl Facts {{
    const fn new(min: i16, max: i16, stable_max: i16, flexible_from: i16, flexible_response_header: i16) -> Self {{
        Self {{
            versions: Versions::new(min, max),
            stable_max,
            flexible_from,
            flexible_response_header,
        }}
    }}
}}

impl ApiKey {{
    pub const ALL: &[Self] = &[{all}];

    pub const fn code(self) -> i16 {{
        self as i16
    }}

    pub const fn from_code(code: i16) -> Option<Self> {{
        Some(match code {{
            {codes}
            _ => return None,
        }})
    }}

    /// Versions that can be decoded; Kafka hides the ones that are not stable.
    pub const fn versions(self) -> Versions {{
        self.facts().versions
    }}

    /// Versions that Kafka 4.4 offers by default.
    pub const fn stable_versions(self) -> Versions {{
        let facts = self.facts();
        Versions::new(facts.versions.min, facts.stable_max)
    }}

    /// The version has compact lengths and tagged fields (KIP-482).
    pub const fn is_flexible(self, version: i16) -> bool {{
        version >= self.facts().flexible_from
    }}

    pub const fn request_header_version(self, version: i16) -> i16 {{
        if self.is_flexible(version) {{ 2 }} else {{ 1 }}
    }}

    /// 0 in every version of `ApiVersions`: its reply must be readable before versions are agreed.
    pub const fn response_header_version(self, version: i16) -> i16 {{
        if self.is_flexible(version) {{
            self.facts().flexible_response_header
        }} else {{
            0
        }}
    }}

    const fn facts(self) -> Facts {{
        match self {{
            {facts}
        }}
    }}
}}
"
    )
}

/// Text of `tests/it/registry.rs`, not yet formatted.
pub(crate) fn registry(files: &[File]) -> String {
    let mut rows = String::new();
    for file in files {
        for block in &file.blocks {
            let (module, name) = (file.module(), file.type_name(block));
            writeln!(
                rows,
                "(\"{}\", \"{:?}\", recode::<messages::{module}::{name}>),",
                file.table, block.side
            )
            .unwrap();
        }
    }
    format!(
        "//! Every message type by table and side, for tests that go over all of them.
//!
//! Generated from `schema/` by `tests/it/codegen.rs`; edits are overwritten.

use bytes::Bytes;
use kafka_wire::{{DecodeError, Message, Writer, messages}};

/// Decodes a whole buffer and encodes the result again.
pub(crate) type Recode = fn(Bytes, i16) -> Result<Bytes, DecodeError>;

pub(crate) const MESSAGES: &[(&str, &str, Recode)] = &[{rows}];

fn recode<M: Message>(bytes: Bytes, version: i16) -> Result<Bytes, DecodeError> {{
    let message = M::from_bytes(bytes, version)?;
    let mut w = Writer::new();
    message.encode(&mut w, version);
    Ok(w.finish_bytes().expect(\"what was decoded can be encoded\"))
}}
"
    )
}

fn side(file: &File, side: Side) -> &Block {
    file.blocks
        .iter()
        .find(|block| block.side == side)
        .expect("an API has both sides")
}

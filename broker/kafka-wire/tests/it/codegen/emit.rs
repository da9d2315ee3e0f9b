//! One table to one module: a struct per struct, each with its two directions.

use std::collections::BTreeSet;
use std::fmt::Write as _;

mod decode;
mod encode;
mod field;

use field::{default_value, ident, is_option, present, primitive};

use super::schema::{Block, Default, Field, File, Head, Kind, Range, Side};

/// Text of `src/messages/<module>.rs`, not yet formatted.
pub(crate) fn file(file: &File) -> String {
    let mut body = String::new();
    let shared = names_on_both_sides(file);
    for block in &file.blocks {
        let scope = Scope {
            block,
            shared: &shared,
        };
        scope.message(&mut body, file);
        for (name, fields, versions) in scope.structs() {
            scope.plain_struct(&mut body, &name, fields, versions);
        }
    }
    let title = match &file.head {
        Head::Api { key, name } => format!("`{name}`, API key {key}."),
        Head::Data { name } => format!("`{name}`; an int16 version goes in front."),
        Head::Coordinator { number, name } => format!(
            "`{name}` in `__consumer_offsets`; int16 {number} goes in front of the key, an int16 version in front of the value."
        ),
    };
    format!(
        "//! {title}\n//!\n//! Generated from `schema/{}.txt` by `tests/it/codegen.rs`; edits are overwritten.\n\n{}\n{body}",
        file.table,
        imports(&body)
    )
}

fn imports(body: &str) -> String {
    let has = |word: &str| {
        body.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|w| w == word)
    };
    let mut uses = String::new();
    let outer = [("Bytes", "bytes::Bytes"), ("Uuid", "uuid::Uuid")];
    for (_, path) in outer.iter().filter(|(word, _)| has(word)) {
        writeln!(uses, "use {path};").unwrap();
    }
    uses.push('\n');
    uses.push_str("use crate::message::{self, Message, Versions};\n");
    if has("ApiKey") {
        uses.push_str("use crate::messages::ApiKey;\n");
    }
    uses.push_str("use crate::reader::{DecodeError, Reader};\n");
    for (_, path) in [
        ("Records", "crate::records::Records"),
        ("Str", "crate::string::Str"),
    ]
    .iter()
    .filter(|(word, _)| has(word))
    {
        writeln!(uses, "use {path};").unwrap();
    }
    if has("TaggedFields") {
        uses.push_str("use crate::writer::{TaggedFields, Writer};\n");
    } else {
        uses.push_str("use crate::writer::Writer;\n");
    }
    if !has("ApiKey") {
        uses = uses.replace(
            "message::{self, Message, Versions}",
            "message::{Message, Versions}",
        );
    }
    uses
}

/// Struct names that request and response both use; they get the side in front.
fn names_on_both_sides(file: &File) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut shared = BTreeSet::new();
    for block in &file.blocks {
        let empty = BTreeSet::new();
        let scope = Scope {
            block,
            shared: &empty,
        };
        let names: BTreeSet<String> = scope.structs().into_iter().map(|(name, ..)| name).collect();
        for name in names {
            if !seen.insert(name.clone()) {
                shared.insert(name);
            }
        }
    }
    shared
}

struct Scope<'a> {
    block: &'a Block,
    shared: &'a BTreeSet<String>,
}

impl<'a> Scope<'a> {
    /// Struct types of the block in order of first use, with the versions they can occur in.
    fn structs(&self) -> Vec<(String, &'a [Field], Range)> {
        let mut found = Vec::new();
        self.collect(&self.block.fields, self.block.valid, &mut found);
        for shared in &self.block.structs {
            self.collect(
                &shared.fields,
                shared.versions.and(self.block.valid),
                &mut found,
            );
        }
        found
    }

    fn collect(
        &self,
        fields: &'a [Field],
        within: Range,
        found: &mut Vec<(String, &'a [Field], Range)>,
    ) {
        for field in fields {
            let Kind::Struct(name) = &field.kind else {
                continue;
            };
            let versions = field.versions.and(within);
            if versions.is_empty() || found.iter().any(|(known, ..)| known == name) {
                continue;
            }
            let (inner, declared) = self.block.find_struct(name);
            let shared = self.block.structs.iter().any(|s| s.name == *name);
            let versions = if shared {
                declared.and(self.block.valid)
            } else {
                versions
            };
            found.push((name.clone(), inner, versions));
            self.collect(inner, versions, found);
        }
    }

    fn message(&self, out: &mut String, file: &File) {
        let block = self.block;
        let name = file.type_name(block);
        self.definition(out, &name, &block.fields, block.valid);
        let flexible_from = if block.flexible.and(block.valid).is_empty() {
            "i16::MAX".to_owned()
        } else {
            assert!(block.flexible.max >= block.valid.max);
            block.flexible.min.to_string()
        };
        let Range { min, max } = block.valid;
        write!(
            out,
            "impl Message for {name} {{
                const VERSIONS: Versions = Versions::new({min}, {max});
                const FLEXIBLE_FROM: i16 = {flexible_from};
            "
        )
        .unwrap();
        let flexible = if flexible_from == "i16::MAX" {
            "false"
        } else {
            "version >= Self::FLEXIBLE_FROM"
        };
        let mut decode = format!("r.set_flexible({flexible});\n");
        self.decode_body(&mut decode, &block.fields, block.valid);
        let mut encode = format!("w.set_flexible({flexible});\n");
        self.encode_body(&mut encode, &block.fields, block.valid);
        directions(out, &decode, &encode);
        if block
            .fields
            .iter()
            .any(|field| ident(field) == "throttle_time_ms")
        {
            out.push_str(
                "\nfn set_throttle_time_ms(&mut self, ms: i32) { self.throttle_time_ms = ms; }\n",
            );
        }
        out.push_str("}\n\n");
        if let (Side::Request, Head::Api { name, .. }) = (block.side, &file.head) {
            write!(
                out,
                "impl message::Request for Request {{
                    const KEY: ApiKey = ApiKey::{name};
                    type Response = Response;
                }}\n\n"
            )
            .unwrap();
        }
    }

    fn plain_struct(&self, out: &mut String, name: &str, fields: &[Field], versions: Range) {
        let name = self.rust_name(name);
        self.definition(out, &name, fields, versions);
        writeln!(out, "impl {name} {{").unwrap();
        let (mut decode, mut encode) = (String::new(), String::new());
        self.decode_body(&mut decode, fields, versions);
        self.encode_body(&mut encode, fields, versions);
        directions(out, &decode, &encode);
        out.push_str("}\n\n");
    }

    fn rust_name(&self, name: &str) -> String {
        let side = match self.block.side {
            Side::Request => "Request",
            Side::Response => "Response",
            Side::Key => "Key",
            Side::Value => "Value",
            Side::Body => "",
        };
        if self.shared.contains(name) {
            format!("{side}{name}")
        } else {
            name.to_owned()
        }
    }

    fn definition(&self, out: &mut String, name: &str, fields: &[Field], within: Range) {
        let fields = present(fields, within);
        let derivable = fields
            .iter()
            .all(|f| matches!(f.default, Default::Unset | Default::Null));
        writeln!(
            out,
            "#[derive(Clone, Debug, {}PartialEq)]\npub struct {name} {{",
            if derivable { "Default, " } else { "" }
        )
        .unwrap();
        for field in &fields {
            let Range { min, max } = field.versions.and(within);
            match (min > within.min, max < within.max) {
                (false, false) => {}
                (true, false) => drop(writeln!(out, "/// Versions {min} and later.")),
                (_, true) => drop(writeln!(out, "/// Versions {min} to {max}.")),
            }
            writeln!(
                out,
                "pub {}: {},",
                ident(field),
                self.rust_type(field, within)
            )
            .unwrap();
        }
        out.push_str("}\n\n");
        if !derivable {
            writeln!(
                out,
                "impl Default for {name} {{ fn default() -> Self {{ Self {{"
            )
            .unwrap();
            for field in &fields {
                writeln!(out, "{}: {},", ident(field), default_value(field, within)).unwrap();
            }
            out.push_str("} } }\n\n");
        }
    }

    fn rust_type(&self, field: &Field, within: Range) -> String {
        let element = match &field.kind {
            Kind::Struct(name) => self.rust_name(name),
            kind => primitive(kind).rust.to_owned(),
        };
        let whole = if field.array {
            format!("Vec<{element}>")
        } else {
            element
        };
        if is_option(field, within) {
            format!("Option<{whole}>")
        } else {
            whole
        }
    }

    /// Versions of `within` that have tagged sections.
    fn flexible(&self, within: Range) -> Range {
        self.block.flexible.and(within)
    }
}

fn directions(out: &mut String, decode: &str, encode: &str) {
    let version = |body: &str| {
        let used = body
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "version");
        if used { "version" } else { "_version" }
    };
    write!(
        out,
        "
fn decode(r: &mut Reader, {}: i16) -> Result<Self, DecodeError> {{\n{decode}}}\n\nfn encode(&self, w: &mut Writer, {}: i16) {{\n{encode}}}\n",
        version(decode),
        version(encode)
    ).unwrap();
}

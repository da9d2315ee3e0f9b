//! One table to one module: a struct per struct, each with its two directions.

use std::collections::BTreeSet;
use std::fmt::Write as _;

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

    // === decoding ===

    fn decode_body(&self, out: &mut String, fields: &[Field], within: Range) {
        let fields = present(fields, within);
        let tagged = by_tag(&fields);
        writeln!(
            out,
            "let {}message = Self {{",
            if tagged.is_empty() { "" } else { "mut " }
        )
        .unwrap();
        for field in &fields {
            let value = if field.tag.is_some() {
                default_value(field, within)
            } else {
                let read = self.read(field, within);
                match condition(field.versions, within) {
                    None => read,
                    Some(test) => {
                        format!(
                            "if {test} {{ {read} }} else {{ {} }}",
                            default_value(field, within)
                        )
                    }
                }
            };
            writeln!(out, "{}: {value},", ident(field)).unwrap();
        }
        out.push_str("};\n");
        if tagged.is_empty() {
            out.push_str("r.skip_tagged_fields()?;\n");
        } else {
            out.push_str("r.tagged_fields(|r, tag| { match tag {\n");
            for (tag, field) in tagged {
                let guard = condition(field.versions, self.flexible(within))
                    .map_or(String::new(), |test| format!(" if {test}"));
                let read = self.read(field, within);
                writeln!(out, "{tag}{guard} => message.{} = {read},", ident(field)).unwrap();
            }
            out.push_str("_ => return Ok(false), } Ok(true) })?;\n");
        }
        out.push_str("Ok(message)\n");
    }

    fn read(&self, field: &Field, within: Range) -> String {
        let versions = field.versions.and(within);
        if !is_option(field, within) {
            return format!("{}?", self.read_call(field, "", versions));
        }
        let nullable = format!("{}?", self.read_call(field, "nullable_", versions));
        match condition(field.nullable, versions) {
            None => nullable,
            Some(test) => format!(
                "if {test} {{ {nullable} }} else {{ Some({}?) }}",
                self.read_call(field, "", versions)
            ),
        }
    }

    fn read_call(&self, field: &Field, nullable: &str, versions: Range) -> String {
        match (&field.kind, field.array) {
            (Kind::Struct(name), true) => format!(
                "r.{nullable}array({}, |r| {}::decode(r, version))",
                self.element_bytes_min(field, versions),
                self.rust_name(name)
            ),
            (kind, true) => format!(
                "r.{nullable}array({}, Reader::{})",
                self.element_bytes_min(field, versions),
                primitive(kind).method
            ),
            (Kind::Struct(name), false) if nullable.is_empty() => {
                format!("{}::decode(r, version)", self.rust_name(name))
            }
            (Kind::Struct(name), false) => format!(
                "r.nullable_struct(|r| {}::decode(r, version))",
                self.rust_name(name)
            ),
            (kind, false) => format!("r.{nullable}{}()", primitive(kind).method),
        }
    }

    /// Least size of one array element on the wire over `versions`.
    fn element_bytes_min(&self, field: &Field, versions: Range) -> usize {
        (versions.min..=versions.max)
            .map(|version| self.bytes_min(&field.kind, version))
            .min()
            .unwrap_or(1)
            .max(1)
    }

    fn bytes_min(&self, kind: &Kind, version: i16) -> usize {
        let flexible = self.block.is_flexible(version);
        match kind {
            Kind::Bool | Kind::Int8 => 1,
            Kind::Int16 | Kind::Uint16 => 2,
            Kind::Int32 | Kind::Uint32 => 4,
            Kind::Int64 | Kind::Float64 => 8,
            Kind::Uuid => 16,
            Kind::String | Kind::Bytes | Kind::Records if flexible => 1,
            Kind::String => 2,
            Kind::Bytes | Kind::Records => 4,
            Kind::Struct(name) => {
                let (fields, _) = self.block.find_struct(name);
                let tags = usize::from(flexible);
                fields
                    .iter()
                    .filter(|f| f.versions.contains(version) && f.tag.is_none())
                    .map(|f| match (f.array, &f.kind) {
                        (true, _) if flexible => 1,
                        (true, _) => 4,
                        (false, Kind::Struct(_)) if f.nullable.contains(version) => 1,
                        (false, kind) => self.bytes_min(kind, version),
                    })
                    .sum::<usize>()
                    + tags
            }
        }
    }

    // === encoding ===

    fn encode_body(&self, out: &mut String, fields: &[Field], within: Range) {
        let fields = present(fields, within);
        for field in fields.iter().filter(|f| f.tag.is_none()) {
            let write = self.write(field, within);
            match condition(field.versions, within) {
                None => drop(writeln!(out, "{write}")),
                Some(test) => {
                    write!(out, "if {test} {{ {write} }}").unwrap();
                    out.push_str(&self.otherwise_default(field));
                    out.push('\n');
                }
            }
        }
        let tagged = by_tag(&fields);
        if tagged.is_empty() {
            out.push_str("w.end_plain_struct();\n");
            return;
        }
        out.push_str("let mut tagged = TaggedFields::default();\n");
        for (tag, field) in tagged {
            let write = self.write(field, within);
            let set = is_set(field, within, self);
            let put = format!("w.tagged_field(&mut tagged, {tag}, |w| {{ {write} }});");
            let written = match condition(field.versions, within) {
                None => writeln!(out, "if {set} {{ {put} }}"),
                Some(test) if field.ignorable => writeln!(out, "if {test} && {set} {{ {put} }}"),
                Some(test) => writeln!(
                    out,
                    "if {set} {{ if {test} {{ {put} }} else {{ w.refuse_set(true, \"{}\"); }} }}",
                    field.name
                ),
            };
            written.unwrap();
        }
        out.push_str("w.end_struct(&tagged);\n");
    }

    /// What a version without `field` does with a value set in it.
    fn otherwise_default(&self, field: &Field) -> String {
        if field.ignorable {
            return String::new();
        }
        let set = is_set(field, self.block.valid, self);
        format!(" else {{ w.refuse_set({set}, \"{}\"); }}", field.name)
    }

    fn write(&self, field: &Field, within: Range) -> String {
        let option = is_option(field, within);
        let this = format!("self.{}", ident(field));
        let mut text = String::new();
        if option && let Some(test) = opposite(field.nullable, field.versions.and(within)) {
            writeln!(
                text,
                "if {this}.is_none() && {test} {{ w.refuse_null(\"{}\"); }}",
                field.name
            )
            .unwrap();
        }
        let call = match (&field.kind, field.array) {
            (kind, true) => {
                let value = if option {
                    format!("{this}.as_deref()")
                } else {
                    format!("Some(&{this})")
                };
                let element = match kind {
                    Kind::Struct(_) => "x.encode(w, version)".to_owned(),
                    Kind::String => "w.string(Some(x))".to_owned(),
                    Kind::Bytes | Kind::Records => format!("w.{}(Some(x))", primitive(kind).method),
                    kind => format!("w.{}(*x)", primitive(kind).method),
                };
                format!("w.array({value}, |w, x| {element});")
            }
            (Kind::Struct(_), false) if option => {
                format!("w.nullable_struct({this}.as_ref(), |w, x| x.encode(w, version));")
            }
            (Kind::Struct(_), false) => format!("{this}.encode(w, version);"),
            (Kind::String, false) if option => format!("w.string({this}.as_deref());"),
            (Kind::Bytes | Kind::Records, false) if option => {
                format!("w.{}({this}.as_ref());", primitive(&field.kind).method)
            }
            (Kind::String | Kind::Bytes | Kind::Records, false) => {
                format!("w.{}(Some(&{this}));", primitive(&field.kind).method)
            }
            (kind, false) => format!("w.{}({this});", primitive(kind).method),
        };
        text + &call
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

struct Primitive {
    rust: &'static str,
    method: &'static str,
}

fn primitive(kind: &Kind) -> Primitive {
    let (rust, method) = match kind {
        Kind::Bool => ("bool", "bool"),
        Kind::Int8 => ("i8", "int8"),
        Kind::Int16 => ("i16", "int16"),
        Kind::Uint16 => ("u16", "uint16"),
        Kind::Int32 => ("i32", "int32"),
        Kind::Uint32 => ("u32", "uint32"),
        Kind::Int64 => ("i64", "int64"),
        Kind::Float64 => ("f64", "float64"),
        Kind::Uuid => ("Uuid", "uuid"),
        Kind::String => ("Str", "string"),
        Kind::Bytes => ("Bytes", "bytes"),
        Kind::Records => ("Records", "records"),
        Kind::Struct(name) => panic!("{name} is no primitive"),
    };
    Primitive { rust, method }
}

fn ident(field: &Field) -> String {
    match field.name.as_str() {
        "match" | "type" => format!("r#{}", field.name),
        name => name.to_owned(),
    }
}

/// Fields that exist in some version of `within`.
fn present(fields: &[Field], within: Range) -> Vec<&Field> {
    fields
        .iter()
        .filter(|f| !f.versions.and(within).is_empty())
        .collect()
}

fn by_tag<'a>(fields: &[&'a Field]) -> Vec<(u32, &'a Field)> {
    let mut tagged: Vec<_> = fields.iter().filter_map(|f| Some((f.tag?, *f))).collect();
    tagged.sort_by_key(|(tag, _)| *tag);
    tagged
}

/// Null is a value of the field in some version, or its default in all.
fn is_option(field: &Field, within: Range) -> bool {
    !field.nullable.and(field.versions).and(within).is_empty() || field.default == Default::Null
}

/// Test that holds for the versions of `within` that are in `range`; `None` when it always does.
fn condition(range: Range, within: Range) -> Option<String> {
    match (range.min > within.min, range.max < within.max) {
        (false, false) => None,
        (true, false) => Some(format!("version >= {}", range.min)),
        (false, true) => Some(format!("version <= {}", range.max)),
        (true, true) if range.min == range.max => Some(format!("version == {}", range.min)),
        (true, true) => Some(format!(
            "({}..={}).contains(&version)",
            range.min, range.max
        )),
    }
}

/// Test that holds for the versions of `within` that are not in `range`; `None` when it never does.
fn opposite(range: Range, within: Range) -> Option<String> {
    match (range.min > within.min, range.max < within.max) {
        (false, false) => None,
        (true, false) => Some(format!("version < {}", range.min)),
        (false, true) => Some(format!("version > {}", range.max)),
        (true, true) => Some(format!(
            "!({}..={}).contains(&version)",
            range.min, range.max
        )),
    }
}

/// A nullable field without a stated default starts as null here, where Kafka's starts empty: the
/// two differ only for fields that a version lacks, and null is what a handler means by "not set".
fn default_value(field: &Field, within: Range) -> String {
    match field.default {
        Default::Int(value) if value == i64::MAX => "i64::MAX".to_owned(),
        Default::Int(value) if value == i64::from(i32::MAX) => "i32::MAX".to_owned(),
        Default::Int(value) if value == i64::from(i32::MIN) => "i32::MIN".to_owned(),
        Default::Int(value) => value.to_string(),
        Default::True => "true".to_owned(),
        Default::Null => "None".to_owned(),
        Default::Unset if is_option(field, within) => {
            assert!(
                field.tag.is_none(),
                "{}: tagged, its default matters",
                field.name
            );
            "None".to_owned()
        }
        Default::Unset if field.array => "Vec::new()".to_owned(),
        Default::Unset => match &field.kind {
            Kind::Bool => "false".to_owned(),
            Kind::Float64 => "0.0".to_owned(),
            Kind::Uuid => "Uuid::nil()".to_owned(),
            Kind::String => "Str::default()".to_owned(),
            Kind::Bytes => "Bytes::new()".to_owned(),
            Kind::Records => "Records::default()".to_owned(),
            Kind::Struct(_) => "Default::default()".to_owned(),
            _ => "0".to_owned(),
        },
    }
}

/// Test that the field differs from its default.
fn is_set(field: &Field, within: Range, scope: &Scope<'_>) -> String {
    let this = format!("self.{}", ident(field));
    match field.default {
        Default::Int(_) => format!("{this} != {}", default_value(field, within)),
        Default::True => format!("!{this}"),
        _ if is_option(field, within) => format!("{this}.is_some()"),
        _ if field.array => format!("!{this}.is_empty()"),
        _ => match &field.kind {
            Kind::Bool => this,
            Kind::Float64 => format!("{this} != 0.0"),
            Kind::Uuid => format!("!{this}.is_nil()"),
            Kind::String | Kind::Bytes | Kind::Records => format!("!{this}.is_empty()"),
            Kind::Struct(name) => format!("{this} != {}::default()", scope.rust_name(name)),
            _ => format!("{this} != 0"),
        },
    }
}

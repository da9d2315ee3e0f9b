//! Reading a struct: its fields in order, those of some versions behind a test, tagged ones by their tag.

use std::fmt::Write as _;

use super::field::{by_tag, condition, default_value, ident, is_option, present, primitive};
use super::{Field, Kind, Range, Scope};

impl Scope<'_> {
    pub(super) fn decode_body(&self, out: &mut String, fields: &[Field], within: Range) {
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
}

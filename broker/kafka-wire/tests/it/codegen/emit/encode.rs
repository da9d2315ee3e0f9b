//! Writing a struct: as it is read, and a complaint about what the version cannot carry.

use std::fmt::Write as _;

use super::field::{
    by_tag, condition, default_value, ident, is_option, opposite, present, primitive,
};
use super::{Default, Field, Kind, Range, Scope};

impl Scope<'_> {
    pub(super) fn encode_body(&self, out: &mut String, fields: &[Field], within: Range) {
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

//! A field in Rust: its name, its type, its default, the versions in which it is there.

use super::{Default, Field, Kind, Range};

/// Its type here, and the method of reader and writer.
pub(super) struct Primitive {
    pub(super) rust: &'static str,
    pub(super) method: &'static str,
}

pub(super) fn primitive(kind: &Kind) -> Primitive {
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

pub(super) fn ident(field: &Field) -> String {
    match field.name.as_str() {
        "match" | "type" => format!("r#{}", field.name),
        name => name.to_owned(),
    }
}

/// Fields that exist in some version of `within`.
pub(super) fn present(fields: &[Field], within: Range) -> Vec<&Field> {
    fields
        .iter()
        .filter(|f| !f.versions.and(within).is_empty())
        .collect()
}

pub(super) fn by_tag<'a>(fields: &[&'a Field]) -> Vec<(u32, &'a Field)> {
    let mut tagged: Vec<_> = fields.iter().filter_map(|f| Some((f.tag?, *f))).collect();
    tagged.sort_by_key(|(tag, _)| *tag);
    tagged
}

/// Null is a value of the field in some version, or its default in all.
pub(super) fn is_option(field: &Field, within: Range) -> bool {
    !field.nullable.and(field.versions).and(within).is_empty() || field.default == Default::Null
}

/// Test that holds for the versions of `within` that are in `range`; `None` when it always does.
pub(super) fn condition(range: Range, within: Range) -> Option<String> {
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
pub(super) fn opposite(range: Range, within: Range) -> Option<String> {
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
pub(super) fn default_value(field: &Field, within: Range) -> String {
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

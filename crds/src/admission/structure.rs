//! The part of OpenAPI v3 that the definitions use, checked as the API server checks it.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Map, Value};

use super::Violation;

/// Fields that every object has and that are not the schema's business.
const ENVELOPE: [&str; 3] = ["apiVersion", "kind", "metadata"];

pub(super) fn check(schema: &Value, object: &Value, out: &mut Vec<Violation>) {
    let Some(root) = object.as_object() else {
        refuse(out, "", "must be an object");
        return;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    required(schema, root, "", out);
    for (name, value) in root {
        if ENVELOPE.contains(&name.as_str()) {
            continue;
        }
        match properties.and_then(|p| p.get(name)) {
            Some(schema) => node(schema, value, name, out),
            None => refuse(out, name, "unknown field"),
        }
    }
}

fn node(schema: &Value, value: &Value, path: &str, out: &mut Vec<Violation>) {
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        return;
    }
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        match value {
            Value::String(text) => string(schema, text, path, out),
            Value::Number(n) if n.is_i64() || n.is_u64() => {}
            _ => refuse(out, path, "must be a string or a whole number"),
        }
        return;
    }
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("object"), Value::Object(map)) => object(schema, map, path, out),
        (Some("array"), Value::Array(list)) => array(schema, list, path, out),
        (Some("string"), Value::String(text)) => string(schema, text, path, out),
        (Some("integer"), Value::Number(n)) if n.is_i64() || n.is_u64() => {
            number(schema, value, path, out);
        }
        (Some("number"), Value::Number(_)) => number(schema, value, path, out),
        (Some("boolean"), Value::Bool(_)) | (None, _) => {}
        (Some(wanted), _) => refuse(out, path, &format!("must be of type {wanted}")),
    }
}

fn object(schema: &Value, map: &Map<String, Value>, path: &str, out: &mut Vec<Violation>) {
    required(schema, map, path, out);
    bound(schema, "maxProperties", map.len(), path, "entries", out);
    let properties = schema.get("properties").and_then(Value::as_object);
    let additional = schema.get("additionalProperties").filter(|a| a.is_object());
    for (name, value) in map {
        let path = join(path, name);
        match properties.and_then(|p| p.get(name)).or(additional) {
            Some(schema) => node(schema, value, &path, out),
            None => refuse(out, &path, "unknown field"),
        }
    }
}

fn array(schema: &Value, list: &[Value], path: &str, out: &mut Vec<Violation>) {
    bound(schema, "maxItems", list.len(), path, "items", out);
    bound(schema, "minItems", list.len(), path, "items", out);
    if let Some(items) = schema.get("items") {
        for (i, item) in list.iter().enumerate() {
            node(items, item, &format!("{path}[{i}]"), out);
        }
    }
    let keys: Vec<&str> = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("map") => schema
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect(),
        Some("set") => Vec::new(),
        _ => return,
    };
    let mut seen = BTreeSet::new();
    for (i, item) in list.iter().enumerate() {
        let identity = if keys.is_empty() {
            item.to_string()
        } else {
            keys.iter()
                .map(|k| item.get(k).unwrap_or(&Value::Null).to_string())
                .collect::<Vec<_>>()
                .join(",")
        };
        if !seen.insert(identity.clone()) {
            refuse(
                out,
                &format!("{path}[{i}]"),
                &format!("duplicate value {identity}"),
            );
        }
    }
}

fn string(schema: &Value, text: &str, path: &str, out: &mut Vec<Violation>) {
    let length = text.chars().count();
    bound(schema, "maxLength", length, path, "characters", out);
    bound(schema, "minLength", length, path, "characters", out);
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.iter().any(|v| v.as_str() == Some(text))
    {
        let words: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        refuse(
            out,
            path,
            &format!(
                "unsupported value \"{text}\": supported are {}",
                words.join(", ")
            ),
        );
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && Regex::new(pattern).is_ok_and(|r| !r.is_match(text))
    {
        refuse(out, path, &format!("\"{text}\" does not match {pattern}"));
    }
}

fn number(schema: &Value, value: &Value, path: &str, out: &mut Vec<Violation>) {
    let Some(n) = value.as_f64() else { return };
    if let Some(min) = schema.get("minimum").and_then(Value::as_f64)
        && n < min
    {
        refuse(out, path, &format!("{value} must be at least {min}"));
    }
    if let Some(max) = schema.get("maximum").and_then(Value::as_f64)
        && n > max
    {
        refuse(out, path, &format!("{value} must be at most {max}"));
    }
    let (lowest, highest) = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => return,
    };
    if value.as_i64().is_none_or(|n| n < lowest || n > highest) {
        refuse(out, path, &format!("{value} does not fit 32 bits"));
    }
}

fn required(schema: &Value, map: &Map<String, Value>, path: &str, out: &mut Vec<Violation>) {
    for name in schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !map.contains_key(name) {
            refuse(out, &join(path, name), "required");
        }
    }
}

fn bound(schema: &Value, word: &str, n: usize, path: &str, unit: &str, out: &mut Vec<Violation>) {
    let Some(limit) = schema.get(word).and_then(Value::as_u64) else {
        return;
    };
    let n = n as u64;
    if word.starts_with("max") && n > limit {
        refuse(
            out,
            path,
            &format!("has {n} {unit}, at most {limit} are allowed"),
        );
    }
    if word.starts_with("min") && n < limit {
        refuse(
            out,
            path,
            &format!("has {n} {unit}, at least {limit} are needed"),
        );
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn refuse(out: &mut Vec<Violation>, path: &str, message: &str) {
    out.push(Violation {
        path: path.to_owned(),
        message: message.to_owned(),
    });
}

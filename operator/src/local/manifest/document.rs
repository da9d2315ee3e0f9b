//! One YAML document as a JSON value that remembers on which line each field stands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use serde_json::{Map, Number, Value};

use super::{Place, Problem};

#[derive(Debug)]
pub struct Document {
    pub(super) value: Value,
    file: PathBuf,
    /// Line of each field by its dotted path; the empty path is the document.
    lines: BTreeMap<String, usize>,
}

impl Document {
    /// Where `path` stands, or the nearest thing around it that is there.
    #[must_use]
    pub fn place(&self, path: &str) -> Place {
        let mut path = path.trim_start_matches('.');
        let line = loop {
            if let Some(line) = self.lines.get(path) {
                break *line;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = path.get(..end).unwrap_or_default(),
                None if path.is_empty() => break 1,
                None => path = "",
            }
        };
        Place {
            file: self.file.clone(),
            line,
        }
    }

    /// A problem with `field`.
    #[must_use]
    pub fn problem(&self, field: &str, reason: impl Into<String>) -> Problem {
        Problem {
            place: self.place(field),
            field: field.trim_start_matches('.').to_owned(),
            reason: reason.into(),
        }
    }
}

/// Splits a file into its documents; empty ones are left out. A `List` stands for its items.
pub(super) fn parse(file: &Path, text: &str) -> Result<Vec<Document>, Problem> {
    let problem = |line: usize, reason: String| Problem {
        place: Place {
            file: file.to_owned(),
            line,
        },
        field: String::new(),
        reason,
    };
    let nodes = MarkedYaml::load_from_str(text)
        .map_err(|e| problem(e.marker().line(), format!("not YAML: {}", e.info())))?;
    let mut documents = Vec::new();
    for node in &nodes {
        for node in items(node) {
            let mut lines = BTreeMap::from([(String::new(), node.span.start.line())]);
            let value = convert(node, "", &mut lines).map_err(|(line, why)| problem(line, why))?;
            match value {
                Value::Null => {}
                Value::Object(_) => documents.push(Document {
                    value,
                    file: file.to_owned(),
                    lines,
                }),
                _ => {
                    let line = node.span.start.line();
                    return Err(problem(line, "not a resource: no mapping".to_owned()));
                }
            }
        }
    }
    Ok(documents)
}

/// The items of a `kind: List`, else the node itself.
fn items<'a, 'i>(node: &'a MarkedYaml<'i>) -> Vec<&'a MarkedYaml<'i>> {
    let is_list = node
        .data
        .as_mapping_get("kind")
        .is_some_and(|k| k.data.as_str() == Some("List"));
    match node.data.as_mapping_get("items").map(|i| &i.data) {
        Some(YamlData::Sequence(items)) if is_list => items.iter().collect(),
        _ => vec![node],
    }
}

/// A node as JSON; on failure the line and why.
fn convert(
    node: &MarkedYaml<'_>,
    path: &str,
    lines: &mut BTreeMap<String, usize>,
) -> Result<Value, (usize, String)> {
    let line = node.span.start.line();
    match &node.data {
        YamlData::Value(scalar) => scalar_value(scalar).map_err(|why| (line, why)),
        YamlData::Sequence(items) => {
            let mut list = Vec::with_capacity(items.len());
            for (i, item) in items.iter().enumerate() {
                let path = format!("{path}[{i}]");
                lines.insert(path.clone(), item.span.start.line());
                list.push(convert(item, &path, lines)?);
            }
            Ok(Value::Array(list))
        }
        YamlData::Mapping(entries) => {
            let mut map = Map::with_capacity(entries.len());
            for (key, value) in entries {
                let key_line = key.span.start.line();
                let name =
                    key_text(key).ok_or_else(|| (key_line, "a key must be a word".to_owned()))?;
                let path = match path {
                    "" => name.clone(),
                    _ => format!("{path}.{name}"),
                };
                lines.insert(path.clone(), key_line);
                let value = convert(value, &path, lines)?;
                map.insert(name, value);
            }
            Ok(Value::Object(map))
        }
        YamlData::Tagged(_, inner) => convert(inner, path, lines),
        YamlData::Representation(..) | YamlData::Alias(_) | YamlData::BadValue => {
            Err((line, "a value that cannot be read".to_owned()))
        }
    }
}

fn key_text(key: &MarkedYaml<'_>) -> Option<String> {
    match &key.data {
        YamlData::Value(Scalar::String(text)) => Some(text.to_string()),
        YamlData::Value(Scalar::Integer(n)) => Some(n.to_string()),
        YamlData::Value(Scalar::Boolean(b)) => Some(b.to_string()),
        _ => None,
    }
}

fn scalar_value(scalar: &Scalar<'_>) -> Result<Value, String> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(b) => Value::Bool(*b),
        Scalar::Integer(n) => Value::from(*n),
        Scalar::FloatingPoint(f) => Number::from_f64(f.into_inner())
            .map(Value::Number)
            .ok_or_else(|| format!("{f} is not a number that JSON knows"))?,
        Scalar::String(text) => Value::String(text.to_string()),
    })
}

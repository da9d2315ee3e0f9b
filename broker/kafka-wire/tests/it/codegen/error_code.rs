//! `schema/errors.tsv` to the enum of error codes.

use std::fmt::Write as _;

struct Row<'a> {
    code: i16,
    name: &'a str,
    retriable: bool,
}

/// Text of `src/error_code.rs`, not yet formatted.
pub(crate) fn emit(table: &str) -> String {
    let rows: Vec<Row<'_>> = table.lines().skip(1).map(parse).collect();
    let (mut variants, mut codes, mut names) = (String::new(), String::new(), String::new());
    for row in &rows {
        let variant = camel_case(row.name);
        writeln!(variants, "{variant} = {},", row.code).unwrap();
        writeln!(codes, "{} => Self::{variant},", row.code).unwrap();
        writeln!(names, "Self::{variant} => \"{}\",", row.name).unwrap();
    }
    let retriable = rows
        .iter()
        .filter(|row| row.retriable)
        .map(|row| format!("Self::{}", camel_case(row.name)))
        .collect::<Vec<_>>()
        .join(" | ");
    format!(
        "//! Every error code of Kafka 4.4.
//!
//! Generated from `schema/errors.tsv` by `tests/it/codegen.rs`; edits are overwritten.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum ErrorCode {{
    {}
}}

impl ErrorCode {{
    pub const fn code(self) -> i16 {{
        self as i16
    }}

    pub const fn from_code(code: i16) -> Option<Self> {{
        Some(match code {{
            {codes}
            _ => return None,
        }})
    }}

    /// Name in Kafka's documentation.
    pub const fn name(self) -> &'static str {{
        match self {{
            {names}
        }}
    }}

    /// Clients repeat the request by themselves.
    pub const fn is_retriable(self) -> bool {{
        matches!(self, {retriable})
    }}
}}
",
        variants.replace("None = 0,", "#[default]\nNone = 0,")
    )
}

fn parse(line: &str) -> Row<'_> {
    let cells: Vec<&str> = line.split('\t').collect();
    Row {
        code: cells[0].parse().unwrap(),
        name: cells[1],
        retriable: cells[2] == "yes",
    }
}

fn camel_case(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let (first, rest) = word.split_at(1);
            format!("{first}{}", rest.to_lowercase())
        })
        .collect()
}

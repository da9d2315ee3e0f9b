//! What the verbs print: tables for people, JSON for programs, errors as one sentence.

use std::io::{self, Write};

use anyhow::Result;
use api::client;
use clap::ValueEnum;
use serde::Serialize;

#[cfg(test)]
mod tests;

/// `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Table,
    Json,
}

/// A table with a head; columns are as wide as their widest cell.
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(head: [&str; N]) -> Self {
        Self {
            rows: vec![head.map(str::to_owned)],
        }
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    fn text(&self) -> String {
        let mut widths = [0; N];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (width, cell) in widths.iter().zip(row) {
                line.push_str(&format!("{cell:<width$}  "));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Prints `value` as JSON, or the table that `table` makes of it.
pub(crate) fn show<T: Serialize, const N: usize>(
    format: Format,
    value: &T,
    table: impl FnOnce(&T) -> Table<N>,
) -> Result<()> {
    let text = match format {
        Format::Table => table(value).text(),
        Format::Json => serde_json::to_string_pretty(value)? + "\n",
    };
    print(&text)
}

/// A reader that has gone (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// An error and its causes on one line; manifest problems keep their lines.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let manifest = |e: &operator::local::manifest::Error| {
        matches!(e, operator::local::manifest::Error::Invalid(_))
    };
    let direct = error.downcast_ref().is_some_and(manifest);
    let in_local = matches!(
        error.downcast_ref(),
        Some(operator::local::Error::Manifests(e)) if manifest(e)
    );
    if direct || in_local {
        return error.to_string();
    }
    if let Some(client::Error::Unreachable { tried, .. }) = error.downcast_ref() {
        return format!(
            "millrace: no broker answers at {tried}; give an admin address with --admin or MILLRACE_ADMIN"
        );
    }
    let mut text = format!("millrace: {error}");
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Numbers as `1, 2, 3`; nothing as `-`.
pub(crate) fn list(numbers: &[i32]) -> String {
    if numbers.is_empty() {
        return "-".to_owned();
    }
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    words.join(",")
}

/// What is not known is `-`.
pub(crate) fn known<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| v.to_string())
}

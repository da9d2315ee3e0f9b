//! What local mode says on its standard output: one table of what was done, row by row as it is
//! done, then the addresses.

use std::io::{self, Write};

use super::layout::{LISTENERS, Layout};

#[cfg(test)]
mod tests;

/// Widest name that keeps its column; a longer one shifts the rest of its row.
const NAME_WIDTH_MAX: usize = 40;

/// Prints rows as they come. A line that cannot be printed is lost and nothing stops for it: the
/// reader of the pipe may have gone.
pub(super) struct Report<W> {
    out: W,
    name_width: usize,
    total: usize,
    done: usize,
}

impl<W: Write> Report<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            out,
            name_width: 0,
            total: 0,
            done: 0,
        }
    }

    /// A sentence on a line of its own.
    pub(super) fn say(&mut self, text: impl std::fmt::Display) {
        self.print(format_args!("{text}\n"));
    }

    /// Opens a table of `total` rows whose names are `names`.
    pub(super) fn table<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let lengths: Vec<usize> = names.map(str::len).collect();
        self.total = lengths.len();
        self.done = 0;
        let widest = lengths.into_iter().max().unwrap_or_default();
        self.name_width = widest.clamp("NAME".len(), NAME_WIDTH_MAX);
        if self.total > 0 {
            self.line(["", "KIND", "NAME", "RESULT", "DETAIL"]);
        }
    }

    /// The next row, with its place in the total.
    pub(super) fn row(&mut self, kind: &str, name: &str, result: &str, detail: &str) {
        self.done += 1;
        let progress = format!("{}/{}", self.done, self.total);
        self.line([&progress, kind, name, result, detail]);
    }

    /// Where clients find the brokers.
    pub(super) fn endpoints(&mut self, layout: &Layout) {
        self.print(format_args!("\n"));
        for i in 0..layout.brokers {
            let [kafka, amqp, admin, _] = layout.ports.of(i);
            let zone = Layout::zone(i);
            self.print(format_args!(
                "broker {i}  {zone}  Kafka localhost:{kafka}  AMQP localhost:{amqp}  \
                 admin http://localhost:{admin}\n"
            ));
        }
        let [kafka, amqp, _] = [0, 1, 2].map(|n| layout.addresses(n).join(","));
        debug_assert_eq!(LISTENERS.len(), 4);
        self.print(format_args!(
            "\nKafka bootstrap: {kafka}\nAMQP:            {}\nData:            {}\n\
             Stop with Ctrl-C.\n",
            amqp.split(',')
                .next()
                .map(|a| format!("amqp://guest:guest@{a}/"))
                .unwrap_or_default(),
            layout.data.display(),
        ));
    }

    fn line(&mut self, [progress, kind, name, result, detail]: [&str; 5]) {
        let width = self.name_width;
        let text = format!("{progress:>7}  {kind:<13}  {name:<width$}  {result:<9}  {detail}");
        self.print(format_args!("{}\n", text.trim_end()));
    }

    fn print(&mut self, text: std::fmt::Arguments<'_>) {
        let printed: io::Result<()> = self.out.write_fmt(text).and_then(|()| self.out.flush());
        if let Err(error) = printed {
            tracing::debug!(%error, "nobody reads the report");
        }
    }
}

//! First offset of each leader epoch (KIP-101): how two replicas find where their logs part.

use std::{fmt::Write, fs, io, path::Path};

use model::{Epoch, Offset};

use crate::{Disk, checkpoint};

/// Epochs in rising order, each with the offset of its first record.
///
/// Kept in memory; the file is written before the recovery point passes a new entry, so what it lacks
/// after a crash is found again by the scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Epochs {
    entries: Vec<(Epoch, Offset)>,
}

impl Epochs {
    /// Notes that records of `epoch` begin at `start`, unless that is known. Entries that say otherwise
    /// about `start` or later are gone with the records they spoke of. True when something changed.
    pub fn assign(&mut self, epoch: Epoch, start: Offset) -> bool {
        if epoch < Epoch(0)
            || self
                .entries
                .last()
                .is_some_and(|(e, s)| *e == epoch && *s <= start)
        {
            return false;
        }
        self.entries.retain(|(e, s)| *e < epoch && *s < start);
        self.entries.push((epoch, start));
        true
    }

    /// Epoch of the newest records.
    pub fn latest(&self) -> Option<Epoch> {
        self.entries.last().map(|(e, _)| *e)
    }

    /// Epoch of the record at `offset`.
    pub fn at(&self, offset: Offset) -> Option<Epoch> {
        let n = self.entries.partition_point(|(_, s)| *s <= offset);
        n.checked_sub(1)
            .and_then(|i| self.entries.get(i))
            .map(|(e, _)| *e)
    }

    /// The largest epoch at or below `asked`, and the offset where it ends: the start of the next, or
    /// the log's end. Older than all that are known: `asked` itself ends where the first begins. Newer
    /// than all: (-1, -1).
    pub fn end_of(&self, asked: Epoch, log_end: Offset) -> (Epoch, Offset) {
        const UNKNOWN: (Epoch, Offset) = (Epoch::UNKNOWN, Offset::UNKNOWN);
        if asked < Epoch(0) || self.latest().is_none_or(|latest| asked > latest) {
            return UNKNOWN;
        }
        let n = self.entries.partition_point(|(e, _)| *e <= asked);
        let end = self.entries.get(n).map_or(log_end, |(_, s)| *s);
        match n.checked_sub(1).and_then(|i| self.entries.get(i)) {
            Some((epoch, _)) => (*epoch, end),
            None => (asked, end),
        }
    }

    /// Forgets epochs that begin at `end` or later.
    pub fn truncate_end(&mut self, end: Offset) {
        self.entries.retain(|(_, s)| *s < end);
    }

    /// Forgets epochs that end at `start` or earlier; the one that holds `start` begins there.
    pub fn truncate_start(&mut self, start: Offset) {
        let n = self.entries.partition_point(|(_, s)| *s <= start);
        if let Some(older) = n.checked_sub(1) {
            self.entries.drain(..older);
            if let Some((_, s)) = self.entries.first_mut() {
                *s = start.max(*s);
            }
        }
    }

    /// Writes [`Self::encode`] durably.
    pub(crate) fn store(&self, disk: &dyn Disk, path: &Path) -> io::Result<()> {
        checkpoint::replace(disk, path, &self.encode())
    }

    /// One line a pair, closed by their number and a seal, so that a file cut short or changed is seen.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut text = String::new();
        for (epoch, start) in &self.entries {
            // Writing to a string cannot fail.
            writeln!(text, "{epoch} {start}").unwrap_or_default();
        }
        let seal = u32::from_be_bytes(checkpoint::seal_of(text.as_bytes()));
        writeln!(text, "entries {} {seal:08x}", self.entries.len()).unwrap_or_default();
        text.into_bytes()
    }

    /// `None` when the file is missing or not whole.
    pub(crate) fn load(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let mut epochs = Self::default();
        let mut lines = text.lines();
        let last = lines.next_back()?;
        let (count, seal) = last.strip_prefix("entries ")?.split_once(' ')?;
        let count: usize = count.parse().ok()?;
        let sealed = text.strip_suffix(&format!("{last}\n"))?;
        if seal
            != format!(
                "{:08x}",
                u32::from_be_bytes(checkpoint::seal_of(sealed.as_bytes()))
            )
        {
            return None;
        }
        for line in lines {
            let (epoch, start) = line.split_once(' ')?;
            let entry = (Epoch(epoch.parse().ok()?), Offset(start.parse().ok()?));
            if epochs
                .entries
                .last()
                .is_some_and(|l| l.0 >= entry.0 || l.1 >= entry.1)
            {
                return None;
            }
            epochs.entries.push(entry);
        }
        (epochs.entries.len() == count).then_some(epochs)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn epochs(entries: &[(i32, i64)]) -> Epochs {
        let mut e = Epochs::default();
        for (epoch, start) in entries {
            e.assign(Epoch(*epoch), Offset(*start));
        }
        e
    }

    #[test]
    fn end_of_an_epoch_is_the_start_of_the_next() {
        let e = epochs(&[(2, 0), (4, 10), (7, 25)]);
        for (asked, answer) in [
            (1, (1, 0)),
            (2, (2, 10)),
            (3, (2, 10)),
            (4, (4, 25)),
            (6, (4, 25)),
            (7, (7, 30)),
            (8, (-1, -1)),
        ] {
            let (epoch, end) = e.end_of(Epoch(asked), Offset(30));
            assert_eq!((epoch.0, end.0), answer, "asked {asked}");
        }
    }

    #[test]
    fn records_written_again_replace_the_epochs_they_had() {
        let mut e = epochs(&[(2, 0), (4, 10), (7, 25)]);
        assert!(e.assign(Epoch(8), Offset(10)));
        assert_eq!(e, epochs(&[(2, 0), (8, 10)]));
        assert!(!e.assign(Epoch(8), Offset(40)));
        assert_eq!(e.at(Offset(9)), Some(Epoch(2)));
        assert_eq!(e.at(Offset(10)), Some(Epoch(8)));
    }

    #[test]
    fn both_ends_can_be_cut() {
        let mut e = epochs(&[(2, 0), (4, 10), (7, 25)]);
        e.truncate_start(Offset(12));
        assert_eq!(e, epochs(&[(4, 12), (7, 25)]));
        e.truncate_end(Offset(25));
        assert_eq!(e, epochs(&[(4, 12)]));
    }

    #[test]
    fn file_is_read_back_and_a_cut_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("leader-epochs");
        let e = epochs(&[(2, 0), (4, 10)]);
        e.store(&crate::System, &path).unwrap();
        assert_eq!(Epochs::load(&path), Some(e));
        let text = fs::read_to_string(&path).unwrap();
        for cut in 0..text.len() - 1 {
            fs::write(&path, &text[..cut]).unwrap();
            assert_eq!(Epochs::load(&path), None, "cut at {cut}");
        }
    }
}

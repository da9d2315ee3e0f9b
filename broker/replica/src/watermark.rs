//! High watermarks of the logs here, written down now and then in one file: a broker that starts goes on from
//! there instead of from the start of each log, until its followers or its leaders say more.
//!
//! Never a reason to truncate, and never above what was committed: an older one, or none, is as good, unless
//! the log was cut below it meanwhile. A cut is therefore written down and synced before it is made.
//!
//! ```text
//! TOPIC-ID PARTITION OFFSET   a line each
//! sum SUM                     crc32c of all before, so that a file cut short or changed is seen
//! ```

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use model::{Offset, TopicId, TopicPartition};

/// In the data directory.
const FILE: &str = "high-watermarks";

/// Those of one data directory. Shared by its replicas.
#[derive(Debug)]
pub struct Watermarks {
    path: PathBuf,
    /// As they are in the file, or will be at the next [`Self::store`].
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    watermarks: BTreeMap<TopicPartition, Offset>,
    /// The file has others.
    changed: bool,
}

/// When what is written survives a crash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durable {
    /// When the system comes to it.
    Later,
    /// When the call returns.
    Synced,
}

impl Watermarks {
    /// What was written down in a data directory; nothing where that is not whole.
    pub fn load(directory: &Path) -> Self {
        let path = directory.join(FILE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let watermarks = decode(&text).unwrap_or_default();
        let changed = false;
        Self {
            path,
            noted: Mutex::new(Noted {
                watermarks,
                changed,
            }),
        }
    }

    /// What was noted of a log, if anything was.
    pub fn of(&self, partition: TopicPartition) -> Option<Offset> {
        self.noted().watermarks.get(&partition).copied()
    }

    /// For the next [`Self::store`].
    pub(crate) fn note(&self, partition: TopicPartition, watermark: Offset) {
        let mut noted = self.noted();
        noted.watermarks.insert(partition, watermark);
        noted.changed = true;
    }

    /// The log is gone.
    pub fn forget(&self, partition: TopicPartition) {
        let mut noted = self.noted();
        noted.changed |= noted.watermarks.remove(&partition).is_some();
    }

    /// A log is about to be cut at `end`: what is noted may speak of records that go, and by the next start
    /// others may stand there.
    pub(crate) fn cut(&self, partition: TopicPartition, end: Offset) {
        let mut noted = self.noted();
        if noted
            .watermarks
            .get(&partition)
            .is_none_or(|noted| *noted <= end)
        {
            return;
        }
        noted.watermarks.insert(partition, end);
        noted.changed = true;
        match self.write(&noted.watermarks, Durable::Synced) {
            Ok(()) => noted.changed = false,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "high watermarks cannot be written down");
                // What an earlier one says may be too much.
                let _missing = fs::remove_file(&self.path);
            }
        }
    }

    /// There is something to [`Self::store`]: to be done some seconds later.
    pub fn have_changed(&self) -> bool {
        self.noted().changed
    }

    /// Writes all down if any has changed. Not synced: after a crash an older file will do. What cannot be
    /// written is left for the next time.
    pub fn store(&self) {
        let mut noted = self.noted();
        if !noted.changed {
            return;
        }
        match self.write(&noted.watermarks, Durable::Later) {
            Ok(()) => noted.changed = false,
            Err(error) => {
                tracing::debug!(path = %self.path.display(), %error, "high watermarks cannot be written down");
            }
        }
    }

    fn write(
        &self,
        watermarks: &BTreeMap<TopicPartition, Offset>,
        durable: Durable,
    ) -> io::Result<()> {
        let temporary = self.path.with_extension("tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(encode(watermarks).as_bytes())?;
        if durable == Durable::Later {
            return fs::rename(&temporary, &self.path);
        }
        file.sync_all()?;
        fs::rename(&temporary, &self.path)?;
        match self.path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn encode(noted: &BTreeMap<TopicPartition, Offset>) -> String {
    let mut text = String::with_capacity(64 * (noted.len() + 1));
    for (partition, watermark) in noted {
        let TopicPartition { topic, partition } = partition;
        // Writing to a string cannot fail.
        writeln!(text, "{} {partition} {watermark}", topic.0).unwrap_or_default();
    }
    let sum = sum(&text);
    writeln!(text, "sum {sum:08x}").unwrap_or_default();
    text
}

/// `None` when it is not whole.
fn decode(text: &str) -> Option<BTreeMap<TopicPartition, Offset>> {
    let whole = text.strip_suffix('\n')?;
    let begin = whole.rfind('\n').map_or(0, |at| at + 1);
    let (lines, last) = whole.split_at_checked(begin)?;
    if last != format!("sum {:08x}", sum(lines)) {
        return None;
    }
    let mut noted = BTreeMap::new();
    for line in lines.lines() {
        let mut words = line.split(' ');
        let topic = TopicId(words.next()?.parse().ok()?);
        let partition = words.next()?.parse().ok()?;
        let watermark: i64 = words.next()?.parse().ok()?;
        if watermark < 0 || words.next().is_some() {
            return None;
        }
        noted.insert(TopicPartition { topic, partition }, Offset(watermark));
    }
    Some(noted)
}

fn sum(text: &str) -> u64 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, text.as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn partition(partition: i32) -> TopicPartition {
        let topic = TopicId(uuid::Uuid::from_u128(7));
        TopicPartition { topic, partition }
    }

    #[test]
    fn watermarks_are_found_again_and_a_file_that_is_cut_short_or_changed_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let watermarks = Watermarks::load(dir.path());
        for n in 0..3 {
            watermarks.note(partition(n), Offset(i64::from(n) * 100));
        }
        watermarks.forget(partition(1));
        watermarks.store();
        let again = Watermarks::load(dir.path());
        assert_eq!(again.of(partition(1)), None);
        assert_eq!(again.of(partition(2)), Some(Offset(200)));
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        for at in 0..text.len() {
            assert_eq!(decode(&text[..at]), None, "cut at {at}");
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(decode(&changed), None, "changed at {at}");
        }
    }

    #[test]
    fn cut_below_what_is_written_down_is_written_down_first() {
        let dir = tempfile::tempdir().unwrap();
        let watermarks = Watermarks::load(dir.path());
        watermarks.note(partition(0), Offset(50));
        watermarks.store();
        watermarks.cut(partition(0), Offset(60));
        watermarks.cut(partition(0), Offset(20));
        let again = Watermarks::load(dir.path());
        assert_eq!(again.of(partition(0)), Some(Offset(20)));
    }

    #[test]
    fn cut_that_cannot_be_written_down_leaves_no_file_that_says_more_and_is_written_later() {
        let dir = tempfile::tempdir().unwrap();
        let watermarks = Watermarks::load(dir.path());
        watermarks.note(partition(0), Offset(50));
        watermarks.store();
        let in_the_way = dir.path().join(FILE).with_extension("tmp");
        fs::create_dir(&in_the_way).unwrap();
        watermarks.cut(partition(0), Offset(20));
        assert_eq!(Watermarks::load(dir.path()).of(partition(0)), None);
        watermarks.store();
        assert!(watermarks.have_changed());
        fs::remove_dir(&in_the_way).unwrap();
        watermarks.store();
        let again = Watermarks::load(dir.path());
        assert_eq!(again.of(partition(0)), Some(Offset(20)));
    }
}

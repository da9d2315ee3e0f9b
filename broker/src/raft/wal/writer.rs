//! The one thread that writes the log: gathers what waits, writes it at once, syncs once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::super::GroupId;
use super::log::Position;
use super::record::{HEADER_BYTES, Kind, Record};
use super::room::{Backlog, Room};
use super::{Config, Done, Files, Logs, Request, bytes_of, file, is_out_of_space, stopped};

/// Bytes gathered into one round.
const ROUND_BYTES_MAX: usize = 8 << 20;
/// Emptied files kept to be used again.
const SPARES_MAX: usize = 2;
const PADDING: [u8; 8] = [0; 8];
/// Between two looks whether a full disk has room again.
const ROOM_AGAIN: Duration = Duration::from_millis(500);

pub(super) struct Writer {
    dir: PathBuf,
    config: Config,
    logs: Arc<Logs>,
    files: Arc<Files>,
    active: Active,
    spares: Vec<u64>,
    /// The log is told to stop: a full disk is not waited for.
    stopping: Arc<AtomicBool>,
    room: watch::Sender<Room>,
    /// When the disk was last asked for room in vain.
    looked: Instant,
    backlog: Arc<Backlog>,
}

struct Active {
    sequence: u64,
    file: Arc<File>,
    at: u64,
}

impl Writer {
    pub(super) fn new(
        dir: &Path,
        config: Config,
        logs: Arc<Logs>,
        files: Arc<Files>,
        end: Option<Position>,
        stopping: Arc<AtomicBool>,
        (room, backlog): (watch::Sender<Room>, Arc<Backlog>),
    ) -> io::Result<Self> {
        let spares = file::list(dir, "spare")?;
        let (sequence, at) = end.map_or((1, 0), |end| (end.file, end.offset));
        let known = files.read().get(&sequence).cloned();
        let file = match known {
            Some(file) => file,
            None => {
                let path = file::path(dir, sequence);
                let file = Arc::new(file::create(dir, &path, config.file_bytes)?);
                files.write().insert(sequence, Arc::clone(&file));
                file
            }
        };
        let mut writer = Self {
            dir: dir.to_owned(),
            config,
            logs,
            files,
            active: Active { sequence, file, at },
            spares,
            stopping,
            room,
            looked: Instant::now(),
            backlog,
        };
        writer.provide()?;
        Ok(writer)
    }

    /// Works until it is told to stop, all senders are gone, or the disk fails: then it refuses.
    pub(super) fn run(&mut self, waiting: &mpsc::Receiver<Request>, failing: &watch::Sender<bool>) {
        let mut going = true;
        while going {
            let room = *self.room.borrow();
            let next = match room {
                Room::Ample => waiting.recv().map_err(Into::into),
                Room::Last | Room::Nothing => waiting.recv_timeout(ROOM_AGAIN),
            };
            let (outcome, callbacks) = match next {
                Ok(Request::Write { records, done }) => {
                    let round = Round::gather(records, done, waiting);
                    going = !round.last;
                    let bytes = bytes_of(&round.records);
                    let outcome = self.round(round.records);
                    self.backlog.drain(bytes);
                    (outcome, round.callbacks)
                }
                Err(mpsc::RecvTimeoutError::Timeout) => (Ok(()), Vec::new()),
                Ok(Request::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
            };
            let outcome = outcome.and_then(|()| self.look_for_room());
            if let Err(error) = &outcome {
                tracing::error!(%error, "the write-ahead log failed; this broker stops");
                failing.send_replace(true);
            }
            for done in callbacks {
                let outcome = outcome.as_ref().copied();
                done(outcome.map_err(|e| io::Error::new(e.kind(), e.to_string())));
            }
            if outcome.is_err() {
                self.refuse(waiting);
                return;
            }
        }
    }

    /// Whoever waits for the backlog to shrink must hear of it, too: what he offers then is refused.
    fn refuse(&self, waiting: &mpsc::Receiver<Request>) {
        while let Ok(Request::Write { records, done }) = waiting.recv() {
            self.backlog.drain(bytes_of(&records));
            done(Err(stopped()));
        }
    }

    fn round(&mut self, records: Vec<Record>) -> io::Result<()> {
        let mut rest = records.as_slice();
        while !rest.is_empty() {
            let fitting = self.fitting(rest);
            let (now, later) = rest.split_at(fitting);
            self.write(now)?;
            rest = later;
            if !rest.is_empty() {
                self.roll()?;
                if self.fitting(rest) == 0 {
                    return Err(io::Error::other(format!(
                        "a record is larger than a log file of {} bytes; raise millrace.wal.file.bytes",
                        self.config.file_bytes
                    )));
                }
            }
        }
        Ok(())
    }

    /// How many of the records fit into the active file beside its end mark.
    fn fitting(&self, records: &[Record]) -> usize {
        let mut room = (self.config.file_bytes as u64)
            .saturating_sub(self.active.at)
            .saturating_sub(HEADER_BYTES as u64);
        records
            .iter()
            .take_while(|record| {
                let fits = record.len() as u64 <= room;
                room = room.saturating_sub(record.len() as u64);
                fits
            })
            .count()
    }

    /// One vectored write, one sync; then the indexes learn where their entries are.
    fn write(&mut self, records: &[Record]) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let Active { sequence, at, .. } = self.active;
        let headers: Vec<_> = records.iter().map(|r| r.header(sequence, at)).collect();
        let mut slices = Vec::with_capacity(records.len() * 3);
        let mut placed: BTreeMap<GroupId, Vec<(u64, u64, Position)>> = BTreeMap::new();
        let mut offset = at;
        for (record, header) in records.iter().zip(&headers) {
            slices.push(IoSlice::new(header));
            slices.push(IoSlice::new(&record.payload));
            slices.push(IoSlice::new(&PADDING[..record.padding()]));
            if matches!(record.kind, Kind::Blank | Kind::Normal | Kind::Membership) {
                let position = Position {
                    file: sequence,
                    offset: offset + HEADER_BYTES as u64,
                };
                placed
                    .entry(record.group)
                    .or_default()
                    .push((record.a, record.b, position));
            }
            offset += record.len() as u64;
        }
        slices.retain(|slice| !slice.is_empty());
        file::write_all_at(&self.active.file, &mut slices, at)?;
        self.active.file.sync_data()?;
        self.active.at = offset;
        for (group, entries) in placed {
            let log = self.logs.read().get(&group).cloned();
            if let Some(log) = log {
                let mut log = log.lock();
                for (index, term, position) in entries {
                    log.placed(index, term, position);
                }
            }
        }
        Ok(())
    }

    /// Ends the active file, begins the next, and frees what is no longer needed.
    fn roll(&mut self) -> io::Result<()> {
        let sequence = self.active.sequence + 1;
        // Found room for first: a full disk must not leave an ended file without a next one.
        let spare = match self.spares.pop() {
            Some(spare) => spare,
            None => self.allocate(sequence)?,
        };
        self.write(&[Record::marker(Kind::End)])?;
        let spare = file::spare_path(&self.dir, spare);
        let file = file::open(&spare)?;
        file.set_len(self.config.file_bytes as u64)?;
        std::fs::rename(spare, file::path(&self.dir, sequence))?;
        file::sync_dir(&self.dir)?;
        let file = Arc::new(file);
        self.files.write().insert(sequence, Arc::clone(&file));
        self.active = Active {
            sequence,
            file,
            at: 0,
        };
        self.reclaim()?;
        self.provide()
    }

    /// Has a file at hand before it is needed, so that a full disk is known while there is still room for
    /// what cannot wait.
    fn provide(&mut self) -> io::Result<()> {
        if self.spares.is_empty() {
            let sequence = self.active.sequence + 1;
            let path = file::spare_path(&self.dir, sequence);
            match file::create(&self.dir, &path, self.config.file_bytes) {
                Ok(_) => self.spares.push(sequence),
                Err(error) if is_out_of_space(&error) => {
                    self.looked = Instant::now();
                    if self.room.send_replace(Room::Last) != Room::Last {
                        tracing::error!(
                            dir = %self.dir.display(),
                            bytes = self.config.file_bytes,
                            "no room for the next file of the write-ahead log: others lead this broker's raft groups as far as they can, and what is published to quorum queues that it still leads is refused; free space on the disk"
                        );
                    }
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        if self.room.send_replace(Room::Ample) != Room::Ample {
            tracing::info!("the write-ahead log has room again");
        }
        Ok(())
    }

    fn look_for_room(&mut self) -> io::Result<()> {
        let full = *self.room.borrow() != Room::Ample;
        if full && self.looked.elapsed() >= ROOM_AGAIN {
            self.provide()?;
        }
        Ok(())
    }

    /// Makes a spare of that number. While the disk is full it waits for room: what is left of the round
    /// is not written yet, so nothing is lost, and the groups go on with the other members.
    fn allocate(&self, sequence: u64) -> io::Result<u64> {
        let path = file::spare_path(&self.dir, sequence);
        let mut told = false;
        loop {
            match file::create(&self.dir, &path, self.config.file_bytes) {
                Err(error) if is_out_of_space(&error) => {
                    if self.stopping.load(Ordering::Relaxed) {
                        return Err(error);
                    }
                    if !told {
                        self.room.send_replace(Room::Nothing);
                        tracing::error!(
                            dir = %self.dir.display(),
                            bytes = self.config.file_bytes,
                            "no room for the next file of the write-ahead log: this broker acknowledges nothing until there is; free space on the disk"
                        );
                        told = true;
                    }
                    std::thread::sleep(ROOM_AGAIN);
                }
                made => return made.map(|_| sequence),
            }
        }
    }

    /// Frees old files; past the bound, writes again what holds the oldest.
    ///
    /// The indexes are ahead of the disk: the purge or truncation that frees a file may still wait to
    /// be written. So what they say when they are asked is made durable before a file goes.
    fn reclaim(&mut self) -> io::Result<()> {
        loop {
            let Some(oldest) = self.files.read().keys().next().copied() else {
                return Ok(());
            };
            if oldest == self.active.sequence {
                return Ok(());
            }
            let logs = self.logs.read().clone();
            let mut held_from = self.active.sequence;
            let mut state = Vec::new();
            for (group, log) in &logs {
                let log = log.lock();
                held_from = held_from.min(log.oldest_file().unwrap_or(held_from));
                state.extend(log.state_records(*group));
            }
            if held_from <= oldest {
                if self.files.read().len() <= self.config.files_max {
                    return Ok(());
                }
                let mut live = Vec::new();
                for (group, log) in &logs {
                    let found = log.lock().find_in(oldest, &self.files)?;
                    for found in found {
                        live.push(found.record(*group)?);
                    }
                }
                if self.fitting(&live) < live.len() {
                    // Nearly all of it is live: snapshots are late, let the log grow meanwhile.
                    return Ok(());
                }
                self.write(&live)?;
            } else {
                if self.fitting(&state) < state.len() {
                    // Tried again in the next file.
                    return Ok(());
                }
                self.write(&state)?;
                let free: Vec<u64> = self.files.read().range(..held_from).map(|f| *f.0).collect();
                for sequence in free {
                    self.retire(sequence)?;
                }
            }
        }
    }

    fn retire(&mut self, sequence: u64) -> io::Result<()> {
        let retired = self.files.write().remove(&sequence);
        // Whoever still reads it must not find what is written into it next. Nobody can begin to.
        let read = retired.is_some_and(|file| Arc::strong_count(&file) > 1);
        let path = file::path(&self.dir, sequence);
        if self.spares.len() < SPARES_MAX && !read {
            std::fs::rename(&path, file::spare_path(&self.dir, sequence))?;
            self.spares.push(sequence);
        } else {
            std::fs::remove_file(&path)?;
        }
        file::sync_dir(&self.dir)
    }
}

/// What is written and synced together.
struct Round {
    records: Vec<Record>,
    callbacks: Vec<Done>,
    /// The writer was told to stop.
    last: bool,
}

impl Round {
    fn gather(records: Vec<Record>, done: Done, waiting: &mpsc::Receiver<Request>) -> Self {
        let mut bytes = bytes_of(&records);
        let mut round = Self {
            records,
            callbacks: vec![done],
            last: false,
        };
        while bytes < ROUND_BYTES_MAX && !round.last {
            match waiting.try_recv() {
                Ok(Request::Write { records, done }) => {
                    bytes += bytes_of(&records);
                    round.records.extend(records);
                    round.callbacks.push(done);
                }
                Ok(Request::Stop) => round.last = true,
                Err(_) => break,
            }
        }
        round
    }
}

//! What the partitions of a broker are told at start.

use std::time::Duration;

/// Bounds and times. Names are those of the properties file.
#[derive(Clone, Debug)]
pub struct Config {
    /// `millrace.partition.drivers`: threads that write; partitions are spread over them.
    pub drivers: usize,
    /// `millrace.partition.syncers`: threads that wait for the disk.
    pub syncers: usize,
    /// `millrace.partition.readers`: reads from the disk, for clients and followers, at a time.
    pub readers: usize,
    /// `millrace.partition.inflaters`: large compressed batches checked at a time.
    pub inflaters: usize,
    /// `millrace.partition.queue.bytes`: batches that may wait for the drivers; more appends wait.
    pub queue_bytes_max: usize,
    /// `millrace.log.tail.bytes`: newest batches of all logs kept in memory.
    pub tails_bytes_max: usize,
    /// `millrace.log.open.files`: segment files kept open. Left out: three fifths of what the process may
    /// open; sockets need the rest.
    pub open_files_max: usize,
    /// `millrace.log.sync.bytes`: written bytes after which a log is synced.
    pub sync_bytes: u64,
    /// `millrace.log.sync.ms`: at the latest so long after a write its log is synced.
    pub sync_ms: i64,
    /// `replica.lag.time.max.ms`.
    pub lag_max_ms: i64,
    /// `replica.fetch.max.bytes`: of one partition in one answer to a follower.
    pub fetch_bytes_max: usize,
    /// `replica.fetch.response.max.bytes`: of one answer to a follower.
    pub response_bytes_max: usize,
    /// `replica.fetch.wait.max.ms`: how long a follower's request waits for something to answer.
    pub fetch_wait_ms: u64,
    /// `replica.fetch.backoff.ms`: between attempts to reach a leader.
    pub fetch_backoff_ms: u64,
    /// `replication.quota.window.size.seconds`: how long a throttled rate may be left unused and be
    /// caught up on.
    pub throttle_window_seconds: u64,
    /// `log.retention.check.interval.ms`: between looks for segments to close or delete.
    pub sweep_ms: i64,
    /// `log.segment.delete.delay.ms`: how long logs stay on the disk that lay there for no replica when
    /// the broker started.
    pub remove_after: Duration,
    /// `producer.id.expiration.ms`.
    pub producers_expire_ms: i64,
    /// `log.cleaner.threads`: logs compacted at a time.
    pub cleaners: usize,
    /// `log.cleaner.dedupe.buffer.size`: bytes of keys that all of them hold.
    pub cleaner_keys_bytes_max: usize,
    /// `log.cleaner.backoff.ms`: between looks for logs to compact; without end where
    /// `log.cleaner.enable` is false.
    pub compact_every_ms: i64,
    /// `millrace.log.scrub.interval.ms`: each log is read again so often, to find what its disk has changed;
    /// 0 = never.
    pub scrub_every_ms: i64,
    /// `millrace.log.scrub.bytes.per.second`: no faster than that, over all logs.
    pub scrub_bytes_per_second: u64,
    /// `millrace.disk.free.limit.bytes`: with less than this free producers are refused until there is more;
    /// 0 = not before the disk is full.
    pub disk_free_bytes_min: u64,
}

/// More than a file of the write-ahead log.
const DISK_FREE_BYTES_MIN: u64 = 128 << 20;

impl Default for Config {
    fn default() -> Self {
        Self {
            drivers: 2,
            syncers: 4,
            readers: 8,
            inflaters: 2,
            queue_bytes_max: 64 << 20,
            tails_bytes_max: 64 << 20,
            open_files_max: 8192,
            sync_bytes: 256 << 10,
            sync_ms: 100,
            lag_max_ms: 30_000,
            fetch_bytes_max: 1 << 20,
            response_bytes_max: 10 << 20,
            fetch_wait_ms: 500,
            fetch_backoff_ms: 100,
            throttle_window_seconds: 1,
            sweep_ms: 300_000,
            remove_after: Duration::from_secs(60),
            producers_expire_ms: 86_400_000,
            cleaners: 1,
            cleaner_keys_bytes_max: 128 << 20,
            compact_every_ms: 15_000,
            scrub_every_ms: 7 * 86_400_000,
            scrub_bytes_per_second: 16 << 20,
            disk_free_bytes_min: 0,
        }
    }
}

impl Config {
    pub fn of(config: &crate::Config) -> Self {
        let enable = "log.cleaner.enable";
        let compacts = config.setting(enable).is_none() || config.is_set(enable);
        let d = Self::default();
        Self {
            drivers: config
                .setting_or("millrace.partition.drivers", d.drivers)
                .max(1),
            syncers: config
                .setting_or("millrace.partition.syncers", d.syncers)
                .max(1),
            readers: config.setting_or("millrace.partition.readers", d.readers),
            inflaters: config.setting_or("millrace.partition.inflaters", d.inflaters),
            queue_bytes_max: config.setting_or("millrace.partition.queue.bytes", d.queue_bytes_max),
            tails_bytes_max: config.setting_or("millrace.log.tail.bytes", d.tails_bytes_max),
            open_files_max: config.setting_or("millrace.log.open.files", open_files_default()),
            sync_bytes: config.setting_or("millrace.log.sync.bytes", d.sync_bytes),
            sync_ms: config.setting_or("millrace.log.sync.ms", d.sync_ms),
            lag_max_ms: config.setting_or("replica.lag.time.max.ms", d.lag_max_ms),
            fetch_bytes_max: config.setting_or("replica.fetch.max.bytes", d.fetch_bytes_max),
            response_bytes_max: config
                .setting_or("replica.fetch.response.max.bytes", d.response_bytes_max),
            fetch_wait_ms: config.setting_or("replica.fetch.wait.max.ms", d.fetch_wait_ms),
            fetch_backoff_ms: config.setting_or("replica.fetch.backoff.ms", d.fetch_backoff_ms),
            throttle_window_seconds: config.setting_or(
                "replication.quota.window.size.seconds",
                d.throttle_window_seconds,
            ),
            sweep_ms: config.setting_or("log.retention.check.interval.ms", d.sweep_ms),
            remove_after: config.millis_or("log.segment.delete.delay.ms", d.remove_after),
            producers_expire_ms: config
                .setting_or("producer.id.expiration.ms", d.producers_expire_ms),
            cleaners: config.setting_or("log.cleaner.threads", d.cleaners).max(1),
            cleaner_keys_bytes_max: config
                .setting_or("log.cleaner.dedupe.buffer.size", d.cleaner_keys_bytes_max),
            compact_every_ms: if compacts {
                config
                    .setting_or("log.cleaner.backoff.ms", d.compact_every_ms)
                    .max(1)
            } else {
                i64::MAX
            },
            scrub_every_ms: config.setting_or("millrace.log.scrub.interval.ms", d.scrub_every_ms),
            scrub_bytes_per_second: config.setting_or(
                "millrace.log.scrub.bytes.per.second",
                d.scrub_bytes_per_second,
            ),
            disk_free_bytes_min: config
                .setting_or("millrace.disk.free.limit.bytes", DISK_FREE_BYTES_MIN),
        }
    }
}

fn open_files_default() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.unwrap_or(u64::MAX).min(1 << 20);
    usize::try_from(limit / 5 * 3).unwrap_or(usize::MAX)
}

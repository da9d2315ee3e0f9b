//! How much memory this process may use: that of the machine, or less in a container.

use std::fs;

/// Where a control group says its limit: version 2, then version 1.
const LIMITS: [&str; 2] = [
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
];
/// When nothing can be read.
const GUESS_BYTES: usize = 1 << 30;

/// Bytes of the machine's memory, or of the control group's limit where that is less.
pub(super) fn memory_bytes() -> usize {
    let machine = fs::read_to_string("/proc/meminfo");
    let machine = machine.ok().as_deref().and_then(total_of);
    let limits = LIMITS
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    // `max` stands for no limit.
    let limits = limits.filter_map(|limit| limit.trim().parse().ok());
    limits.chain(machine).min().unwrap_or(GUESS_BYTES)
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total_of(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::total_of;

    #[test]
    fn total_memory_is_read_in_kibibytes() {
        let text = "MemTotal:        8123456 kB\nMemFree:          123456 kB\n";
        assert_eq!(total_of(text), Some(8_123_456 * 1024));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
    }
}

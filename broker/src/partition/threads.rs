//! Threads that partitions cannot do without.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Starts a thread. A panic in it ends the process: what it left half done in memory nobody can vouch
/// for, and its partitions would hang with their leaderships kept. The next start reads the disk, and
/// until then the cluster goes on without this broker.
pub(super) fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name(name.clone());
    thread
        .spawn(move || {
            // Nothing is looked at after a panic but its being there.
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                tracing::error!(
                    thread = name,
                    "a thread of the partitions panicked: the broker ends; please report the panic above"
                );
                std::process::abort();
            }
        })
        .map(|_| ())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{os::unix::process::ExitStatusExt, process::Command};

    /// Not a test: what the next one runs in a process of its own.
    #[test]
    #[ignore = "ends its process"]
    fn panicking_thread() {
        super::spawn("doomed".into(), || panic!("on purpose")).unwrap();
        // Reached by the end of the process only.
        std::thread::park();
    }

    #[test]
    fn panic_in_a_thread_ends_the_process() {
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "partition::threads::tests::panicking_thread"])
            .args(["--ignored", "--nocapture"])
            .output()
            .unwrap();
        assert_eq!(ended.status.signal(), Some(6), "{ended:?}");
    }
}

//! Closing every log of a driver. What has to be on the disk is synced together: ten thousand logs one after
//! another take longer than an orderly stop may.

use super::Driver;

impl Driver {
    /// Whether all logs were left as a start after a clean shutdown needs them.
    pub(super) fn close(&mut self) -> bool {
        let context = self.context.clone();
        let hosted = self.hosted.values();
        let prepared: Vec<_> = hosted.filter_map(|h| h.local.prepare_close()).collect();
        let is_synced = context.file_system.sync(prepared.len());
        for prepared in prepared {
            prepared.put(is_synced);
        }
        let unsynced = self.hosted.values_mut().filter_map(|hosted| {
            // A log that refuses does so again when it is closed, as one does whose sync has failed.
            hosted.local.log_mut().begin_sync().ok().flatten()
        });
        let unsynced = unsynced.collect();
        let _seen_when_closed = commitlog::run_all(unsynced, &context.file_system);
        let mut cleanly = self.opened_all;
        for (partition, hosted) in self.hosted.drain() {
            context.roster.closed(partition);
            cleanly &= hosted.close();
        }
        context.watermarks.store();
        cleanly
    }
}

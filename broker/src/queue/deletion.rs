//! Queues that go by themselves: unused ones, and those that nobody can use any more.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use machine::metadata::command::Command;
use machine::metadata::image::{Image, Queue};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::protocol::QueueId;
use crate::metadata;

/// Between two tries to delete a queue that must go.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// Deletions under way, one at most for a queue.
#[derive(Default)]
pub(super) struct Deletions(Arc<Mutex<HashSet<QueueId>>>);

/// Ends with the deletion.
pub(super) struct UnderWay {
    queue: QueueId,
    all: Arc<Mutex<HashSet<QueueId>>>,
}

impl Deletions {
    /// `None` while one is under way.
    pub(super) fn begin(&self, queue: QueueId) -> Option<UnderWay> {
        let all = self.0.clone();
        let first = all.lock().insert(queue);
        first.then_some(UnderWay { queue, all })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.all.lock().remove(&self.queue);
    }
}

/// One try. True when it is gone; another one of the same name may be there.
pub(super) async fn delete(metadata: &metadata::Handle, queue: &Queue) -> bool {
    if is_gone(queue, &metadata.image()) {
        return true;
    }
    let command = Command::DeleteQueue {
        vhost: queue.vhost.to_string(),
        name: queue.name.to_string(),
    };
    match metadata.submit(command).await {
        Ok(_) => true,
        Err(error) => {
            // Every second, for as long as there is no leader of the metadata.
            tracing::debug!(queue = %queue.name, %error, "unused queue is not deleted; it is tried again");
            false
        }
    }
}

/// As many tries as it takes, with a `pause` between them.
pub(super) async fn delete_until_gone<D>(pause: Duration, mut delete: impl FnMut() -> D)
where
    D: Future<Output = bool>,
{
    while !delete().await {
        sleep(pause).await;
    }
}

fn is_gone(queue: &Queue, image: &Image) -> bool {
    let vhost = image.vhosts.get(&queue.vhost);
    let there = vhost.and_then(|vhost| vhost.queues.get(&queue.name));
    there.is_none_or(|there| there.id != queue.id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Deletions, delete_until_gone};

    #[tokio::test]
    async fn a_queue_that_must_go_is_deleted_by_as_many_tries_as_it_takes() {
        let mut answers = [false, false, true].into_iter();
        let delete = || std::future::ready(answers.next().unwrap_or_default());
        delete_until_gone(Duration::ZERO, delete).await;
        assert_eq!(answers.next(), None);
    }

    #[test]
    fn a_queue_has_one_deletion_at_a_time() {
        let deletions = Deletions::default();
        let first = deletions.begin(1);
        assert!(first.is_some());
        assert!(deletions.begin(1).is_none());
        assert!(deletions.begin(2).is_some());
        drop(first);
        assert!(deletions.begin(1).is_some());
    }
}

//! Logs that lie here for no replica of this broker: their topics were deleted, or the replicas moved
//! away, while it was down.
//!
//! An image as of the registration of this life knows of every log that was made here in an earlier one,
//! as the broker learned of the partition from that same metadata. What it does not assign to this broker
//! is not needed any more, and is removed. Unless the metadata are others than before: then what they do
//! not know may be all that is left of somebody's records, and is only moved aside.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use machine::metadata::image::{Image, Origin};
use model::{BrokerId, TopicId, TopicPartition};
use tokio::runtime;
use uuid::Uuid;

use super::clock;

/// Where the last registration is written down: its epoch, which grows as long as the metadata live, and
/// where those began.
///
/// ```text
/// EPOCH INCARNATION MS
/// ```
const REGISTERED: &str = "registered";
/// Beginning of the ending of directories that are to be removed.
pub(super) const REMOVED: &str = "removed";
/// Ending of those that are not, and that no broker opens.
const STRAY: &str = "stray";

/// Puts what is not needed under other names, and finds what is left to be removed. Nothing is done before
/// this broker is registered, as far as `image` knows.
pub(super) fn sort_out(
    partitions: &Path,
    image: &Image,
    this: BrokerId,
) -> io::Result<Vec<PathBuf>> {
    let Some(broker) = image.brokers.get(&this) else {
        return Ok(Vec::new());
    };
    fs::create_dir_all(partitions)?;
    let same_metadata = image
        .origin
        .zip(last_registered(partitions))
        .is_some_and(|(origin, (epoch, began))| epoch < broker.epoch && began == shown(origin));
    let mut removed = Vec::new();
    for entry in fs::read_dir(partitions)? {
        let path = entry?.path();
        if has_ending(&path, REMOVED) {
            removed.push(path);
            continue;
        }
        let Some(partition) = partition_at(&path) else {
            continue;
        };
        if is_assigned(image, partition, this) {
            continue;
        }
        let ending = if same_metadata { REMOVED } else { STRAY };
        let aside = path.with_extension(format!("{ending}-{}", clock::wall_ms()));
        fs::rename(&path, &aside)?;
        if same_metadata {
            tracing::info!(%partition, "log is of no replica of this broker any more: it is removed");
            removed.push(aside);
        } else {
            tracing::warn!(
                %partition,
                aside = %aside.display(),
                "log is of no replica that the cluster's metadata know of, and they are not known to be the \
                 same as before: it is moved aside; remove it when it is not needed"
            );
        }
    }
    // Last: a start that ends before has told nobody that it has seen these metadata.
    let began = image.origin.map_or_else(String::new, shown);
    let registered = format!("{} {began}\n", broker.epoch);
    if let Err(error) = fs::write(partitions.join(REGISTERED), registered) {
        tracing::debug!(%error, "epoch of the registration is not written down");
    }
    Ok(removed)
}

/// Removes them `after` a while, in which they can still be saved; those that are left when the broker
/// stops are found at the next start.
pub(super) fn remove_later(removed: Vec<PathBuf>, after: Duration, runtime: &runtime::Handle) {
    if removed.is_empty() {
        return;
    }
    runtime.spawn(async move {
        tokio::time::sleep(after).await;
        let remove = move || {
            for directory in removed {
                if let Err(error) = fs::remove_dir_all(&directory) {
                    tracing::error!(directory = %directory.display(), %error, "files of a replica are left");
                }
            }
        };
        // Only a panic ends it early.
        let _removed = tokio::task::spawn_blocking(remove).await;
    });
}

/// Its epoch, and where the metadata began.
fn last_registered(partitions: &Path) -> Option<(i64, String)> {
    let text = fs::read_to_string(partitions.join(REGISTERED)).ok()?;
    let (epoch, began) = text.strip_suffix('\n')?.split_once(' ')?;
    Some((epoch.parse().ok()?, began.to_owned()))
}

fn shown(origin: Origin) -> String {
    format!("{} {}", origin.incarnation, origin.at_ms)
}

fn has_ending(path: &Path, beginning: &str) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ending.starts_with(beginning))
}

/// The partition whose log a directory of that name holds.
fn partition_at(path: &Path) -> Option<TopicPartition> {
    let (topic, partition) = path.file_name()?.to_str()?.rsplit_once('-')?;
    Some(TopicPartition {
        topic: TopicId(Uuid::parse_str(topic).ok()?),
        partition: partition.parse().ok()?,
    })
}

fn is_assigned(image: &Image, partition: TopicPartition, this: BrokerId) -> bool {
    let number = usize::try_from(partition.partition).ok();
    image
        .topics
        .get(&partition.topic)
        .zip(number)
        .and_then(|(topic, number)| topic.partitions.get(number))
        .is_some_and(|agreed| agreed.replicas.contains(&this))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use machine::metadata::command::{Assignment, Command};

    use super::*;

    const THIS: BrokerId = BrokerId(1);

    /// Metadata that began at `began_ms`, with brokers 1 and 2, of which 1 has registered `times`; a topic
    /// with partition 0 on the one and 1 on the other.
    fn image(began_ms: i64, times: usize) -> Image {
        let mut image = Image::genesis();
        for id in [2].into_iter().chain(std::iter::repeat_n(1, times)) {
            let register = Command::RegisterBroker {
                id: BrokerId(id),
                incarnation: Uuid::nil(),
                rack: None,
                endpoints: Vec::new(),
                previous_epoch: None,
                levels: machine::metadata::feature::Levels::BUILD,
            };
            image.apply(register, began_ms, 0);
        }
        for broker in image.brokers.clone().values() {
            let (id, epoch) = (broker.id, broker.epoch);
            image.apply(Command::UnfenceBroker { id, epoch }, 0, 0);
        }
        let create = Command::CreateTopic {
            name: "t".to_owned(),
            id: TopicId(Uuid::from_u128(7)),
            assignment: Assignment::Manual(vec![vec![BrokerId(1)], vec![BrokerId(2)]]),
            configs: Vec::new(),
        };
        image.apply(create, 0, 0);
        image
    }

    fn name(topic: u128, partition: i32) -> String {
        format!("{}-{partition}", Uuid::from_u128(topic))
    }

    /// Names in the directory, without the times in them.
    fn names(partitions: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(partitions)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| match name.rsplit_once('-') {
                Some((ending, _)) if ending.ends_with(REMOVED) || ending.ends_with(STRAY) => {
                    ending.to_owned()
                }
                _ => name,
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_the_same_metadata_assign_to_nobody_here_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let make = |name: String| fs::create_dir(root.join(name)).unwrap();
        assert!(sort_out(root, &Image::genesis(), THIS).unwrap().is_empty());
        assert!(sort_out(root, &image(5, 1), THIS).unwrap().is_empty());
        make(name(7, 0));
        make(name(7, 1));
        make(name(8, 0));
        make(format!("{}.damaged-5", name(7, 0)));
        make(format!("{}.removed", name(9, 0)));
        let removed = sort_out(root, &image(5, 2), THIS).unwrap();
        assert_eq!(removed.len(), 3);
        assert_eq!(
            names(root),
            [
                name(7, 0),
                format!("{}.damaged-5", name(7, 0)),
                format!("{}.removed", name(7, 1)),
                format!("{}.removed", name(8, 0)),
                format!("{}.removed", name(9, 0)),
                REGISTERED.to_owned(),
            ]
        );
    }

    #[test]
    fn what_other_metadata_do_not_know_is_kept_aside() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert!(sort_out(root, &image(5, 1), THIS).unwrap().is_empty());
        fs::create_dir(root.join(name(8, 0))).unwrap();
        // Epochs of the others may have come further.
        assert!(sort_out(root, &image(6, 3), THIS).unwrap().is_empty());
        assert!(sort_out(root, &image(6, 4), THIS).unwrap().is_empty());
        let kept = format!("{}.stray", name(8, 0));
        assert_eq!(names(root), [kept, REGISTERED.to_owned()]);
    }
}

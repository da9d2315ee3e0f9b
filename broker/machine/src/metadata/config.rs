//! Dynamic configs. Keys and values are opaque here: the catalogue checks them before they are
//! submitted, so that brokers of two builds agree on what a log means.

use std::sync::Arc;

use imbl::OrdMap;

use super::command::{Refusal, Reply};
use super::image::{ConfigResource, Image};
use super::{eligible, partition};

/// `None` removes a key. A resource without keys left is forgotten.
pub(super) fn alter(
    image: &mut Image,
    resource: ConfigResource,
    changes: Vec<(String, Option<String>)>,
) -> Result<Reply, Refusal> {
    if let ConfigResource::Topic(name) = &resource
        && !image.topic_names.contains_key(name)
    {
        return Err(Refusal::UnknownTopic);
    }
    let mut configs: OrdMap<Arc<str>, Arc<str>> =
        image.configs.get(&resource).cloned().unwrap_or_default();
    let unclean = changes.iter().any(|(key, _)| key == partition::UNCLEAN_KEY);
    let required = changes.iter().any(|(key, _)| key == eligible::KEY);
    for (key, value) in changes {
        match value {
            Some(value) => {
                configs.insert(key.into(), value.into());
            }
            None => {
                configs.remove(key.as_str());
            }
        }
    }
    if configs.is_empty() {
        image.configs.remove(&resource);
    } else {
        image.configs.insert(resource.clone(), configs);
    }
    if required {
        eligible::requirement_changed(image, &resource);
    }
    if unclean {
        partition::elect_for_leaderless(image);
    }
    Ok(Reply::Done)
}

//! The value of a catalogue key now: what was given in the file, under what was changed since.

use std::collections::BTreeMap;

use api::config::{Layers, Scope, catalogue, topic};
use machine::metadata::image::{ConfigResource, Image};
use model::BrokerId;

use super::Config;

/// Calls `f` with the layers of `resource`: its own dynamic values, then this broker's, the
/// cluster's and the file's.
pub fn with_layers<T>(
    config: &Config,
    image: &Image,
    resource: &ConfigResource,
    f: impl FnOnce(Layers<'_>) -> T,
) -> T {
    layered(config.node_id, &config.settings, image, resource, f)
}

/// As [`with_layers`], for those who have no more of the configuration than the keys of the file.
pub(crate) fn layered<T>(
    this: BrokerId,
    file: &BTreeMap<String, String>,
    image: &Image,
    resource: &ConfigResource,
    f: impl FnOnce(Layers<'_>) -> T,
) -> T {
    let dynamic = |resource: &ConfigResource, name: &str| {
        let value = image.configs.get(resource)?.get(name)?;
        Some(value.to_string())
    };
    let this_broker = ConfigResource::Broker(this);
    f(Layers {
        resource: &|name| dynamic(resource, name),
        broker: &|name| dynamic(&this_broker, name),
        cluster: &|name| dynamic(&ConfigResource::BrokerDefault, name),
        file: &|name| file.get(name).cloned(),
    })
}

/// The configuration with what was changed of it at run time, for this broker and for all.
pub fn as_changed(config: &Config, image: &Image) -> Config {
    let mut now = config.clone();
    let layers = [
        ConfigResource::BrokerDefault,
        ConfigResource::Broker(config.node_id),
    ];
    for layer in &layers {
        for (key, value) in image.configs.get(layer).into_iter().flatten() {
            now.settings.insert(key.to_string(), value.to_string());
        }
    }
    now
}

/// Settings of the topic `name`, which need not exist.
pub fn topic_settings(config: &Config, image: &Image, name: &str) -> topic::Settings {
    let resource = ConfigResource::Topic(name.into());
    with_layers(config, image, &resource, topic::Settings::resolve)
}

/// The value of a broker key; `None` for null, an unknown key, or text of another type.
pub fn broker_value<T: std::str::FromStr>(config: &Config, image: &Image, key: &str) -> Option<T> {
    with_layers(config, image, &ConfigResource::BrokerDefault, |layers| {
        catalogue(Scope::Broker).value(key, layers)
    })?
    .trim()
    .parse()
    .ok()
}

//! The cluster as a whole: brokers, partition counts, cluster-wide configs, the change stream.

use std::collections::BTreeMap;
use std::time::Duration;

use api::admin::{
    Broker, CHANGES_TIMEOUT_MS_MAX, Changes, Cluster, ConfigChanges, Configs, Endpoint, ErrorCode,
    Listener, PartitionCounts,
};
use api::config::{Scope, UpdateMode, catalogue};
use axum::Json;
use axum::extract::State;
use machine::metadata::command::Command;
use machine::metadata::image::{self, ConfigResource, Image};
use model::BrokerId;
use serde::Deserialize;

use super::Api;
use super::error::{Body, Failure, Params};
use crate::Config;
use crate::config::effective::topic_settings;

pub(super) async fn overview(State(api): State<Api>) -> Json<Cluster> {
    let image = api.image();
    let metadata = &api.parts.metadata;
    let mut voters: Vec<i32> = metadata.voters().iter().map(|v| v.0).collect();
    voters.sort_unstable();
    Json(Cluster {
        cluster_id: api.parts.config.cluster_id.clone(),
        index: image.index,
        answered_by: metadata.this_broker().0,
        controller: metadata.controller().map(|id| id.0),
        voters,
        brokers: brokers(&image),
        partitions: partitions(&api.parts.config, &image),
    })
}

fn brokers(image: &Image) -> Vec<Broker> {
    let mut carried: BTreeMap<BrokerId, (usize, usize)> = BTreeMap::new();
    for partition in image.topics.values().flat_map(|t| &t.partitions) {
        for replica in &partition.replicas {
            carried.entry(*replica).or_default().1 += 1;
        }
        if let Some(leader) = partition.leader {
            carried.entry(leader).or_default().0 += 1;
        }
    }
    let shown = |b: &image::Broker| {
        let (leaders, replicas) = carried.get(&b.id).copied().unwrap_or_default();
        Broker {
            id: b.id.0,
            epoch: b.epoch,
            incarnation: b.incarnation.to_string(),
            rack: b.rack.as_deref().map(str::to_owned),
            endpoints: b.endpoints.iter().map(endpoint).collect(),
            fenced: b.fenced,
            draining: b.in_controlled_shutdown,
            leaders,
            replicas,
        }
    };
    image.brokers.values().map(|b| shown(b)).collect()
}

fn endpoint(endpoint: &image::Endpoint) -> Endpoint {
    Endpoint {
        listener: match endpoint.listener {
            image::Listener::Kafka => Listener::Kafka,
            image::Listener::Amqp => Listener::Amqp,
            image::Listener::Admin => Listener::Admin,
            image::Listener::Peer => Listener::Peer,
        },
        host: endpoint.host.clone(),
        port: endpoint.port,
    }
}

fn partitions(config: &Config, image: &Image) -> PartitionCounts {
    let mut counts = PartitionCounts::default();
    for topic in image.topics.values() {
        let min_insync = topic_settings(config, image, &topic.name).min_insync_replicas;
        for partition in &topic.partitions {
            counts.total += 1;
            counts.offline += usize::from(partition.leader.is_none());
            counts.under_replicated += usize::from(partition.is_under_replicated());
            counts.under_min_isr += usize::from(partition.isr.len() < min_insync);
        }
    }
    counts
}

pub(super) async fn configs(State(api): State<Api>) -> Json<Configs> {
    Json(cluster_configs(&api.image()))
}

pub(super) async fn alter_configs(
    State(api): State<Api>,
    Body(changes): Body<ConfigChanges>,
) -> Result<Json<Configs>, Failure> {
    for (key, value) in &changes.configs {
        check(key, value.as_deref())?;
    }
    let command = Command::AlterConfigs {
        resource: ConfigResource::BrokerDefault,
        changes: changes.configs.into_iter().collect(),
    };
    api.submit(command).await?;
    Ok(Json(cluster_configs(&api.image())))
}

fn check(key: &str, value: Option<&str>) -> Result<(), Failure> {
    let invalid = |message: String| Failure::invalid(&format!("configs.{key}"), message);
    let catalogue = catalogue(Scope::Broker);
    let definition = match value {
        Some(value) => catalogue
            .check(key, value)
            .map_err(|e| invalid(e.to_string()))?,
        None => match catalogue.get(key) {
            Some(definition) => definition,
            None => return Err(invalid(format!("Unknown broker config name: {key}"))),
        },
    };
    match definition.update_mode {
        UpdateMode::ClusterWide => Ok(()),
        _ => Err(invalid(format!(
            "{key} is read at start only; set it in the configuration and restart the brokers"
        ))),
    }
}

fn cluster_configs(image: &Image) -> Configs {
    let set = image.configs.get(&ConfigResource::BrokerDefault);
    Configs {
        configs: set
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect(),
    }
}

#[derive(Deserialize)]
pub(super) struct Since {
    #[serde(default)]
    since: u64,
    #[serde(default = "longest")]
    timeout_ms: u64,
}

fn longest() -> u64 {
    CHANGES_TIMEOUT_MS_MAX
}

pub(super) async fn changes(
    State(api): State<Api>,
    Params(Since { since, timeout_ms }): Params<Since>,
) -> Result<Json<Changes>, Failure> {
    let stopping = &api.parts.stopping;
    if stopping.is_cancelled() {
        let message = "this broker stops; ask another one";
        return Err(Failure::new(ErrorCode::Unavailable, message));
    }
    let mut images = api.parts.metadata.watch();
    let timeout = Duration::from_millis(timeout_ms.min(CHANGES_TIMEOUT_MS_MAX));
    let later = images.wait_for(|image| image.index > since);
    // Passed, timed out or the broker stops: the index says which.
    tokio::select! {
        waited = tokio::time::timeout(timeout, later) => drop(waited),
        () = stopping.cancelled() => {}
    }
    Ok(Json(Changes {
        index: api.image().index,
    }))
}

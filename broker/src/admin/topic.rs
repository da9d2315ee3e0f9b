//! `/v1/topics`.

use api::admin::{Outcome, Partition, Put, Topic, TopicSpec};
use api::config::{Scope, catalogue};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use machine::metadata::command::{Assignment, Command};
use machine::metadata::image::{self, ConfigResource, Image};
use model::TopicId;
use uuid::Uuid;

use super::Api;
use super::error::{Body, Failure};
use crate::Config;
use crate::config::effective::{broker_value, topic_settings};

pub(super) async fn list(State(api): State<Api>) -> Json<Vec<Topic>> {
    let image = api.image();
    let config = &api.parts.config;
    let ids = image.topic_names.values();
    let topics = ids.filter_map(|id| image.topics.get(id));
    Json(topics.map(|topic| shown(config, &image, topic)).collect())
}

pub(super) async fn show(
    State(api): State<Api>,
    Path(name): Path<String>,
) -> Result<Json<Topic>, Failure> {
    Ok(Json(get(&api, &name)?))
}

pub(super) async fn delete(
    State(api): State<Api>,
    Path(name): Path<String>,
) -> Result<StatusCode, Failure> {
    let image = api.image();
    let topic = find(&image, &name).ok_or_else(|| Failure::not_found("topic", &name))?;
    if topic.internal {
        return Err(Failure::invalid(
            "name",
            format!("'{name}' belongs to the cluster"),
        ));
    }
    api.submit(Command::DeleteTopic { id: topic.id }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Creates, or grows and sets configs. Two commands at most, each of which may be sent again.
pub(super) async fn put(
    State(api): State<Api>,
    Path(name): Path<String>,
    Body(spec): Body<TopicSpec>,
) -> Result<Json<Put<Topic>>, Failure> {
    check_configs(&spec)?;
    let image = api.image();
    let outcome = match find(&image, &name) {
        None => create(&api, &image, &name, spec).await?,
        Some(topic) => alter(&api, &image, topic, spec).await?,
    };
    let object = get(&api, &name)?;
    Ok(Json(Put { outcome, object }))
}

async fn create(api: &Api, image: &Image, name: &str, spec: TopicSpec) -> Result<Outcome, Failure> {
    let config = &api.parts.config;
    let default = |key| broker_value(config, image, key);
    let partitions = spec
        .partitions
        .or_else(|| default("num.partitions"))
        .unwrap_or(1);
    let replication_factor = spec
        .replication_factor
        .or_else(|| broker_value(config, image, "default.replication.factor"))
        .unwrap_or(1);
    let set = |(key, value): (String, Option<String>)| Some((key, value?));
    let command = Command::CreateTopic {
        name: name.to_owned(),
        id: TopicId(Uuid::new_v4()),
        assignment: Assignment::Spread {
            partitions,
            replication_factor,
        },
        configs: spec.configs.into_iter().filter_map(set).collect(),
    };
    api.submit(command).await?;
    Ok(Outcome::Created)
}

async fn alter(
    api: &Api,
    image: &Image,
    topic: &image::Topic,
    spec: TopicSpec,
) -> Result<Outcome, Failure> {
    let have = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    let replicas = topic.partitions.front().map_or(0, |p| p.target().count());
    if let Some(want) = spec.replication_factor
        && usize::try_from(want) != Ok(replicas)
    {
        let message = format!("the topic has {replicas} replicas, which cannot become {want}");
        return Err(Failure::invalid("replication_factor", message));
    }
    let grows = spec.partitions.filter(|want| *want != have);
    if let Some(want) = grows.filter(|want| *want < have) {
        let message = format!("the topic has {have} partitions, which cannot shrink to {want}");
        return Err(Failure::invalid("partitions", message));
    }
    let resource = ConfigResource::Topic(topic.name.clone());
    let set = image.configs.get(&resource);
    let current = |key: &str| set.and_then(|s| s.get(key)).map(|value| &**value);
    let changes: Vec<_> = spec
        .configs
        .into_iter()
        .filter(|(key, value)| current(key) != value.as_deref())
        .collect();
    if grows.is_none() && changes.is_empty() {
        return Ok(Outcome::Unchanged);
    }
    if let Some(count) = grows {
        let command = Command::CreatePartitions {
            topic: topic.id,
            count,
            assignments: Vec::new(),
        };
        api.submit(command).await?;
    }
    if !changes.is_empty() {
        api.submit(Command::AlterConfigs { resource, changes })
            .await?;
    }
    Ok(Outcome::Altered)
}

fn check_configs(spec: &TopicSpec) -> Result<(), Failure> {
    let catalogue = catalogue(Scope::Topic);
    for (key, value) in &spec.configs {
        let checked = match value {
            Some(value) => catalogue
                .check(key, value)
                .map(drop)
                .map_err(|e| e.to_string()),
            None if catalogue.get(key).is_none() => {
                Err(format!("Unknown topic config name: {key}"))
            }
            None => Ok(()),
        };
        checked.map_err(|message| Failure::invalid(&format!("configs.{key}"), message))?;
    }
    Ok(())
}

fn find<'a>(image: &'a Image, name: &str) -> Option<&'a image::Topic> {
    let id = image.topic_names.get(name)?;
    image.topics.get(id).map(|topic| &**topic)
}

fn get(api: &Api, name: &str) -> Result<Topic, Failure> {
    let image = api.image();
    let topic = find(&image, name).ok_or_else(|| Failure::not_found("topic", name))?;
    Ok(shown(&api.parts.config, &image, topic))
}

fn shown(config: &Config, image: &Image, topic: &image::Topic) -> Topic {
    let set = image
        .configs
        .get(&ConfigResource::Topic(topic.name.clone()));
    let min_insync = topic_settings(config, image, &topic.name).min_insync_replicas;
    let ids = |brokers: &[model::BrokerId]| brokers.iter().map(|b| b.0).collect();
    Topic {
        name: topic.name.to_string(),
        id: topic.id.to_string(),
        internal: topic.internal,
        partitions: (0..)
            .zip(&topic.partitions)
            .map(|(partition, p)| Partition {
                partition,
                replicas: ids(&p.replicas),
                isr: ids(&p.isr),
                leader: p.leader.map(|b| b.0),
                leader_epoch: p.leader_epoch.0,
            })
            .collect(),
        configs: set
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect(),
        min_insync_replicas: i32::try_from(min_insync).unwrap_or(i32::MAX),
    }
}

//! `UpdateFeatures`: raises the level of a feature, all that are asked for or none.

use kafka_wire::messages::update_features::{
    FeatureUpdateKey, Request, Response, UpdatableFeatureResult,
};
use kafka_wire::{ErrorCode, Versions};
use machine::metadata::command::{Command, Refusal};
use machine::metadata::feature::{self, Levels};
use machine::metadata::image::Image;

use super::{FEATURES, Feature, METADATA};
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::topics::{Failure, submit};

#[cfg(test)]
mod tests;

/// How often a raise is tried when brokers register meanwhile.
const TRIES: usize = 3;

/// `upgrade_type` of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    /// Whether losing metadata is accepted.
    Down {
        unsafely: bool,
    },
    Unknown,
}

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 2);

    async fn serve(self, call: Call) -> Answer<Response> {
        let done = update(&self, &call).await;
        let (error_code, error_message) = match done {
            Ok(()) => (ErrorCode::None, None),
            Err(failure) => (failure.code, Some(failure.message.into())),
        };
        let mut response = Response {
            error_code: error_code.code(),
            error_message,
            ..Response::default()
        };
        if call.version <= 1 && response.error_code == ErrorCode::None.code() {
            let updates = self.feature_updates.iter();
            let result = |update: &FeatureUpdateKey| UpdatableFeatureResult {
                feature: update.feature.clone(),
                ..UpdatableFeatureResult::default()
            };
            response.results = updates.map(result).collect();
        }
        response.into()
    }
}

async fn update(request: &Request, call: &Call) -> Result<(), Failure> {
    let front = &call.front;
    let controller = front.metadata.controller();
    let controller = controller.unwrap_or_else(|| front.metadata.this_broker()).0;
    for _ in 0..TRIES {
        let image = front.metadata.image();
        let mut raise = None;
        for update in &request.feature_updates {
            let direction = direction(update, call.version);
            let level = update.max_version_level;
            let judged = judge(
                &image,
                FEATURES,
                controller,
                &update.feature,
                level,
                direction,
            );
            raise = raise.or(judged.map_err(refused)?);
        }
        let Some(level) = raise.filter(|_| !request.validate_only) else {
            return Ok(());
        };
        let command = Command::FinalizeLevel {
            level,
            registrations: image.registrations(),
        };
        match submit(front, command, request.timeout_ms, false).await {
            Ok(_) => return Ok(()),
            // A broker has registered meanwhile: it may be of an older build.
            Err(failure) if failure.code == ErrorCode::StaleBrokerEpoch => {}
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::new(
        ErrorCode::FeatureUpdateFailed,
        Refusal::StaleBrokerEpoch.to_string(),
    ))
}

fn refused(why: String) -> Failure {
    let text = format!(
        "The update failed for all features since the following feature had an error: {why}"
    );
    Failure::new(ErrorCode::InvalidUpdateVersion, text)
}

fn direction(update: &FeatureUpdateKey, version: i16) -> Direction {
    let (safely, unsafely) = (
        Direction::Down { unsafely: false },
        Direction::Down { unsafely: true },
    );
    match update.upgrade_type {
        _ if version == 0 && update.allow_downgrade => safely,
        _ if version == 0 => Direction::Up,
        1 => Direction::Up,
        2 => safely,
        3 => unsafely,
        _ => Direction::Unknown,
    }
}

/// The level to which the metadata log has to be raised, if it has; or why not, in Kafka's words.
fn judge(
    image: &Image,
    features: &[Feature],
    controller: i32,
    name: &str,
    level: i16,
    direction: Direction,
) -> Result<Option<i16>, String> {
    let invalid = |why: &str| {
        Err(format!(
            "Invalid update version {level} for feature {name}. {why}"
        ))
    };
    if direction == Direction::Unknown {
        return invalid("The controller does not support the given upgrade type.");
    }
    if level < 0 {
        return invalid("A feature version cannot be less than 0.");
    }
    let Some(feature) = features.iter().find(|feature| feature.name == name) else {
        return invalid(&match level {
            0 => format!("Feature {name} not found."),
            _ => format!("Local controller {controller} does not support this feature."),
        });
    };
    if !feature.supported.contains(level) {
        let range = range(feature.supported);
        return invalid(&format!(
            "Local controller {controller} only supports versions {range}"
        ));
    }
    let finalized = feature.finalized(image);
    if level > finalized {
        if direction != Direction::Up {
            return invalid("Can't downgrade to a newer version.");
        }
        if name != feature::NAME {
            // Off for as long as the controller has not made it so by itself, a moment after the start.
            return invalid("The cluster is still starting; try again.");
        }
        let mut brokers = image.brokers.values();
        return match brokers.find(|broker| !broker.levels.contains(level)) {
            Some(broker) => invalid(&format!(
                "Broker {} only supports versions {}",
                broker.id,
                range(broker.levels)
            )),
            None => Ok(Some(level)),
        };
    }
    if level < finalized {
        let Direction::Down { unsafely } = direction else {
            return invalid(
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.",
            );
        };
        if name != METADATA && name != feature::NAME {
            return invalid("Can't downgrade the version of this feature.");
        }
        let why = if unsafely {
            "Unsafe metadata downgrade is not supported in this version."
        } else {
            "Refusing to perform the requested downgrade because it might delete metadata information."
        };
        return Err(format!(
            "Unsupported {name} downgrade from {finalized} to {level}. {why}"
        ));
    }
    Ok(None)
}

fn range(levels: Levels) -> String {
    match levels {
        Levels { min, max } if min == max => min.to_string(),
        Levels { min, max } => format!("{min}-{max}"),
    }
}

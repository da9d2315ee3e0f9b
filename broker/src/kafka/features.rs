//! Features with their levels, as Kafka's clients and `kafka-features` know them (KIP-584).
//!
//! One is this project's own: [`machine::metadata::feature`]. The others tell clients what to expect,
//! and are what they are: their levels do not change.

use kafka_wire::Str;
use kafka_wire::messages::api_versions::{FinalizedFeatureKey, SupportedFeatureKey};
use machine::metadata::feature::{self, Levels};
use machine::metadata::image::Image;

mod update;

/// A feature as this build has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Feature {
    name: &'static str,
    supported: Levels,
}

const METADATA: &str = "metadata.version";
const ELIGIBLE: &str = "eligible.leader.replicas.version";

/// In the order of their names. `transaction.version` is missing on purpose: without it clients do not
/// expect transactions of the second kind.
const FEATURES: &[Feature] = &[
    Feature::of(ELIGIBLE, 0, 1),
    Feature::of("kraft.version", 0, 1),
    // 7 is what Kafka 4 can be set back to.
    Feature::of(METADATA, 7, 33),
    Feature::of(feature::NAME, Levels::BUILD.min, Levels::BUILD.max),
];

impl Feature {
    const fn of(name: &'static str, min: i16, max: i16) -> Self {
        Self {
            name,
            supported: Levels { min, max },
        }
    }

    /// The level that holds in the cluster; 0 = the feature is off.
    fn finalized(&self, image: &Image) -> i16 {
        match self.name {
            feature::NAME => image.level.0,
            ELIGIBLE => i16::from(image.keeps_eligible()),
            _ => self.supported.max,
        }
    }
}

/// What this broker could do.
pub(super) fn supported() -> Vec<SupportedFeatureKey> {
    let told = FEATURES.iter().map(|feature| SupportedFeatureKey {
        name: Str::from_static(feature.name),
        min_version: feature.supported.min,
        max_version: feature.supported.max,
    });
    told.collect()
}

/// What the cluster does.
pub(super) fn finalized(image: &Image) -> Vec<FinalizedFeatureKey> {
    let told = FEATURES.iter().map(|feature| {
        let level = feature.finalized(image);
        FinalizedFeatureKey {
            name: Str::from_static(feature.name),
            max_version_level: level,
            min_version_level: level,
        }
    });
    told.filter(|feature| feature.max_version_level > 0)
        .collect()
}

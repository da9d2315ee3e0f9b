//! The level of the metadata log: which commands may be in it.
//!
//! A build that meets a command it does not know stops, so a new command must not be logged before every
//! broker knows it. Each command belongs to a level; each broker registers which levels its build carries
//! out; and only what the finalized level holds is logged. An operator raises that once the last broker
//! runs the new build (Kafka's `UpdateFeatures`, KIP-584), and from then on no broker of an older build
//! is let in. It is never lowered: the log holds commands of the level by then.
//!
//! Level 1 are all commands up to [`Command::FinalizeLevel`] itself. It can only raise the level beyond
//! what builds know that do not know it.

use model::BrokerId;
use serde::{Deserialize, Serialize};

use super::command::{Command, Refusal, Reply};
use super::image::Image;

/// What clients call the level (KIP-584).
pub const NAME: &str = "millrace.version";

/// Levels that a broker's build carries out, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Levels {
    pub min: i16,
    pub max: i16,
}

impl Levels {
    /// Those of this build.
    pub const BUILD: Self = Self { min: 1, max: 1 };

    pub fn contains(self, level: i16) -> bool {
        (self.min..=self.max).contains(&level)
    }
}

/// That of builds which register without saying so.
impl Default for Levels {
    fn default() -> Self {
        Self { min: 1, max: 1 }
    }
}

/// The level of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Level(pub i16);

impl Level {
    /// Whether it goes without saying: images of builds that know of no levels are at this one.
    pub(super) fn is_first(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Level {
    fn default() -> Self {
        Self(1)
    }
}

/// Level from which on a command may be logged. A new variant, or a new meaning of a field, gets the next
/// one, with which [`Levels::BUILD`] rises.
fn level_of(command: &Command) -> i16 {
    // No command is of a later level yet.
    let _all_of_them = command;
    Level::default().0
}

impl Image {
    /// Refuses a command that brokers of this cluster may not know.
    ///
    /// # Errors
    /// [`Refusal::LevelTooLow`] until the level is raised.
    pub fn admits(&self, command: &Command) -> Result<(), Refusal> {
        let needed = level_of(command);
        if needed > self.level.0 {
            return Err(Refusal::LevelTooLow {
                needed,
                finalized: self.level.0,
            });
        }
        Ok(())
    }

    /// The registered brokers, by epoch: whom a raise of the level takes for asked.
    pub fn registrations(&self) -> Vec<(BrokerId, i64)> {
        let brokers = self.brokers.values();
        brokers.map(|broker| (broker.id, broker.epoch)).collect()
    }
}

/// The level of a broker that registers must hold.
pub(super) fn check(image: &Image, id: BrokerId, levels: Levels) -> Result<(), Refusal> {
    if levels.contains(image.level.0) {
        return Ok(());
    }
    Err(Refusal::LevelNotSupported {
        broker: id,
        levels,
        finalized: image.level.0,
    })
}

/// Raises the level. What the brokers carry out was looked up by whoever asks: a member whose image came
/// from an older build may not know it of all. That they are still the same is looked up here, where all
/// members see alike.
pub(super) fn finalize(
    image: &mut Image,
    level: i16,
    registrations: &[(BrokerId, i64)],
) -> Result<Reply, Refusal> {
    if image.registrations() != registrations {
        return Err(Refusal::StaleBrokerEpoch);
    }
    image.level = image.level.max(Level(level));
    Ok(Reply::Done)
}

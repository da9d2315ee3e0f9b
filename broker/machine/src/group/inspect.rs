//! What a group looks like from outside, for tools and metrics.

use std::sync::Arc;

use bytes::Bytes;

use super::membership::{Membership, Phase};
use super::{Condition, GroupId, MemberId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub group: GroupId,
    /// Empty for a group that only stores offsets.
    pub protocol_type: Arc<str>,
    pub condition: Condition,
    pub members: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub condition: Condition,
    pub protocol_type: Arc<str>,
    /// Empty unless the group is stable.
    pub protocol: Arc<str>,
    pub members: Vec<MemberDescription>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDescription {
    pub id: MemberId,
    pub instance_id: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    /// Empty unless the group is stable, as is the assignment.
    pub metadata: Bytes,
    pub assignment: Bytes,
}

impl Membership {
    pub(super) fn listed(&self, group: &GroupId) -> Listed {
        Listed {
            group: group.clone(),
            protocol_type: self.protocol_type.clone().unwrap_or_else(|| "".into()),
            condition: self.condition(),
            members: self.members.len(),
        }
    }

    pub(super) fn describe(&self) -> Description {
        let stable = matches!(self.phase, Phase::Stable { .. });
        let protocol = self.protocol.clone().filter(|_| stable);
        let members = self
            .members
            .values()
            .map(|m| MemberDescription {
                id: m.id.clone(),
                instance_id: m.instance_id.clone(),
                client_id: m.client_id.clone(),
                client_host: m.client_host.clone(),
                metadata: protocol
                    .as_deref()
                    .map(|p| m.metadata(p))
                    .unwrap_or_default(),
                // The last one stays in sight while the next is made.
                assignment: m.assignment.clone(),
            })
            .collect();
        Description {
            condition: self.condition(),
            protocol_type: self.protocol_type.clone().unwrap_or_else(|| "".into()),
            protocol: protocol.unwrap_or_else(|| "".into()),
            members,
        }
    }
}

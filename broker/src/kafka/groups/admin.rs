//! `DescribeGroups`, `ListGroups`, `DeleteGroups`.

use futures::future::join_all;
use kafka_wire::messages::{delete_groups, describe_groups, list_groups};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::group::{Command, Description, Listed, Reply};

use super::{Failed, shared, submit, wire, wire_option};
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::error_code;

/// Read, delete, describe, describe configs, alter configs (KIP-430).
const ALL_OPERATIONS: i32 = 0b1101_0100_1000;
/// The client did not ask which operations it may do.
const NOT_ASKED: i32 = i32::MIN;
/// From here on an unknown group is an error rather than a dead group (KIP-1043).
const NOT_FOUND_FROM: i16 = 6;
/// The only kind of group there is.
const CLASSIC: &str = "classic";

impl Serve for describe_groups::Request {
    const OFFERED: Versions = Versions::new(0, 6);

    async fn serve(self, call: Call) -> Answer<describe_groups::Response> {
        let described = self.groups.iter().map(|group| describe(&call, group));
        let mut groups = join_all(described).await;
        for group in &mut groups {
            group.authorized_operations = if self.include_authorized_operations {
                ALL_OPERATIONS
            } else {
                NOT_ASKED
            };
        }
        describe_groups::Response {
            groups,
            ..describe_groups::Response::default()
        }
        .into()
    }
}

async fn describe(call: &Call, group: &Str) -> describe_groups::DescribedGroup {
    let mut described = describe_groups::DescribedGroup {
        group_id: group.clone(),
        ..describe_groups::DescribedGroup::default()
    };
    let id = group.clone();
    let found = call
        .front
        .groups
        .query(group, move |s| s.describe(&id))
        .await;
    match found {
        Ok(Some(description)) => fill(&mut described, description),
        Ok(None) => {
            described.group_state = Str::from_static("Dead");
            if call.version >= NOT_FOUND_FROM {
                described.error_code = ErrorCode::GroupIdNotFound.code();
                described.error_message = Some(Str::from(format!("Group {group} not found.")));
            }
        }
        Err(unavailable) => {
            described.error_code = error_code::coordinator(&unavailable).code();
        }
    }
    described
}

fn fill(described: &mut describe_groups::DescribedGroup, description: Description) {
    described.group_state = Str::from_static(description.condition.name());
    described.protocol_type = wire(&description.protocol_type);
    described.protocol_data = wire(&description.protocol);
    let members = description.members.into_iter();
    described.members = members
        .map(|member| describe_groups::DescribedGroupMember {
            member_id: wire(&member.id),
            group_instance_id: wire_option(member.instance_id.as_ref()),
            client_id: wire(&member.client_id),
            client_host: wire(&member.client_host),
            member_metadata: member.metadata,
            member_assignment: member.assignment,
        })
        .collect();
}

impl Serve for list_groups::Request {
    const OFFERED: Versions = Versions::new(0, 5);

    async fn serve(self, call: Call) -> Answer<list_groups::Response> {
        let (listed, incomplete) = call.front.groups.list().await;
        let wanted = |filter: &[Str], value: &str| {
            filter.is_empty() || filter.iter().any(|f| f.eq_ignore_ascii_case(value))
        };
        let groups = listed
            .into_iter()
            .filter(|group| wanted(&self.states_filter, group.condition.name()))
            .filter(|_| wanted(&self.types_filter, CLASSIC))
            .map(|group: Listed| list_groups::ListedGroup {
                group_id: wire(&group.group),
                protocol_type: wire(&group.protocol_type),
                group_state: Str::from_static(group.condition.name()),
                group_type: Str::from_static(CLASSIC),
            })
            .collect();
        let code = incomplete.map_or(ErrorCode::None, |why| error_code::coordinator(&why));
        list_groups::Response {
            error_code: code.code(),
            groups,
            ..list_groups::Response::default()
        }
        .into()
    }
}

impl Serve for delete_groups::Request {
    const OFFERED: Versions = Versions::new(0, 3);

    async fn serve(self, call: Call) -> Answer<delete_groups::Response> {
        let deleted = self.groups_names.iter().map(|group| delete(&call, group));
        delete_groups::Response {
            results: join_all(deleted).await,
            ..delete_groups::Response::default()
        }
        .into()
    }
}

async fn delete(call: &Call, group: &Str) -> delete_groups::DeletableGroupResult {
    let deleted = submit(call, shared(group), Command::Delete, |reply| match reply {
        Reply::Delete(result) => Some(result),
        _ => None,
    })
    .await;
    let code = deleted.as_ref().err().map_or(ErrorCode::None, Failed::code);
    let message = deleted.err().map(|failed| match failed {
        Failed::Refused(error) => Str::from(error.to_string()),
        Failed::Unavailable(code) => Str::from_static(code.name()),
    });
    delete_groups::DeletableGroupResult {
        group_id: group.clone(),
        error_code: code.code(),
        error_message: message,
    }
}

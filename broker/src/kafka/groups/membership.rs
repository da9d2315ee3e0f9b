//! `JoinGroup`, `SyncGroup`, `Heartbeat`, `LeaveGroup`.

use std::sync::Arc;

use kafka_wire::messages::{heartbeat, join_group, leave_group, sync_group};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::group::{
    Command, Error, Heartbeat, Join, Joined, Leave, Leaving, Protocol, Reply, Sync,
};
use uuid::Uuid;

use super::{Failed, kept, shared, shared_option, submit, wire, wire_option};
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::error_code;

/// From here on a client without an id is given one to join with (KIP-394).
const ID_REQUIRED_FROM: i16 = 4;
/// From here on a returning leader can be told to assign nothing (KIP-814).
const SKIP_ASSIGNMENT_FROM: i16 = 9;
/// From here on "no protocol" is null rather than empty.
const NULL_PROTOCOL_FROM: i16 = 7;

impl Serve for join_group::Request {
    const OFFERED: Versions = Versions::new(0, 9);
    const PARKED: bool = true;

    async fn serve(self, call: Call) -> Answer<join_group::Response> {
        let (group, member) = (shared(&self.group_id), shared(&self.member_id));
        let join = join(&self, &call);
        // It may wait for long, and would keep the request's buffer.
        drop(self);
        let joined = match join {
            Some(join) => {
                submit(&call, group, Command::Join(join), |reply| match reply {
                    Reply::Join(result) => Some(result),
                    _ => None,
                })
                .await
            }
            None => Err(NO_ROOM),
        };
        let mut response = match joined {
            Ok(joined) => admitted(joined),
            Err(failed) => turned_away(&member, &failed),
        };
        if call.version < NULL_PROTOCOL_FROM {
            response.protocol_name.get_or_insert_default();
        }
        response.into()
    }
}

/// Members come back when others have gone.
const NO_ROOM: Failed = Failed::Unavailable(ErrorCode::CoordinatorNotAvailable);

/// `None` when there is no room for what the member says.
fn join(request: &join_group::Request, call: &Call) -> Option<Join> {
    let said: Vec<&[u8]> = request.protocols.iter().map(|p| &p.metadata[..]).collect();
    let said = kept::keep(&call.front.members, &said)?;
    let client_id: Arc<str> = call.client_id.as_deref().unwrap_or_default().into();
    let stem = request.group_instance_id.as_deref().unwrap_or(&client_id);
    Some(Join {
        member_id: shared(&request.member_id),
        fresh_member_id: format!("{stem}-{}", Uuid::new_v4()).into(),
        instance_id: shared_option(request.group_instance_id.as_ref()),
        client_host: format!("/{}", call.client.peer.ip()).into(),
        session_timeout_ms: request.session_timeout_ms,
        // Version 0 had one time-out for both.
        rebalance_timeout_ms: if call.version == 0 {
            request.session_timeout_ms
        } else {
            request.rebalance_timeout_ms
        },
        protocol_type: shared(&request.protocol_type),
        protocols: request
            .protocols
            .iter()
            .zip(said)
            .map(|(protocol, metadata)| Protocol {
                name: shared(&protocol.name),
                metadata,
            })
            .collect(),
        id_required_first: call.version >= ID_REQUIRED_FROM,
        can_skip_assignment: call.version >= SKIP_ASSIGNMENT_FROM,
        client_id,
    })
}

fn admitted(joined: Joined) -> join_group::Response {
    join_group::Response {
        generation_id: joined.generation,
        protocol_type: wire_option(joined.protocol_type.as_ref()),
        protocol_name: wire_option(joined.protocol.as_ref()),
        leader: wire(&joined.leader),
        skip_assignment: joined.skip_assignment,
        member_id: wire(&joined.member_id),
        members: joined
            .members
            .into_iter()
            .map(|member| join_group::JoinGroupResponseMember {
                member_id: wire(&member.member_id),
                group_instance_id: wire_option(member.instance_id.as_ref()),
                metadata: member.metadata,
            })
            .collect(),
        ..join_group::Response::default()
    }
}

fn turned_away(member: &str, failed: &Failed) -> join_group::Response {
    let member_id = match failed {
        Failed::Refused(Error::MemberIdRequired(id)) => wire(id),
        Failed::Refused(Error::GroupFull) => Str::default(),
        _ => wire(member),
    };
    join_group::Response {
        error_code: failed.code().code(),
        generation_id: -1,
        member_id,
        ..join_group::Response::default()
    }
}

impl Serve for sync_group::Request {
    const OFFERED: Versions = Versions::new(0, 5);
    const PARKED: bool = true;

    async fn serve(self, call: Call) -> Answer<sync_group::Response> {
        let assigned: Vec<&[u8]> = self.assignments.iter().map(|a| &a.assignment[..]).collect();
        let Some(assigned) = kept::keep(&call.front.members, &assigned) else {
            return sync_refused(&NO_ROOM).into();
        };
        let command = Command::Sync(Sync {
            member_id: shared(&self.member_id),
            instance_id: shared_option(self.group_instance_id.as_ref()),
            generation: self.generation_id,
            protocol_type: shared_option(self.protocol_type.as_ref()),
            protocol: shared_option(self.protocol_name.as_ref()),
            assignments: self
                .assignments
                .iter()
                .zip(assigned)
                .map(|(a, assignment)| (shared(&a.member_id), assignment))
                .collect(),
        });
        let group = shared(&self.group_id);
        drop(self);
        let synced = submit(&call, group, command, |reply| match reply {
            Reply::Sync(result) => Some(result),
            _ => None,
        })
        .await;
        match synced {
            Ok(synced) => sync_group::Response {
                protocol_type: wire_option(synced.protocol_type.as_ref()),
                protocol_name: wire_option(synced.protocol.as_ref()),
                assignment: synced.assignment,
                ..sync_group::Response::default()
            },
            Err(failed) => sync_refused(&failed),
        }
        .into()
    }
}

fn sync_refused(failed: &Failed) -> sync_group::Response {
    sync_group::Response {
        error_code: match failed.code() {
            // The rebalance is lost with the old coordinator. Java's consumer takes "loading"
            // here for a bug, and joins again on this.
            ErrorCode::CoordinatorLoadInProgress => ErrorCode::RebalanceInProgress,
            code => code,
        }
        .code(),
        ..sync_group::Response::default()
    }
}

impl Serve for heartbeat::Request {
    const OFFERED: Versions = Versions::new(0, 4);

    async fn serve(self, call: Call) -> Answer<heartbeat::Response> {
        let command = Command::Heartbeat(Heartbeat {
            member_id: shared(&self.member_id),
            instance_id: shared_option(self.group_instance_id.as_ref()),
            generation: self.generation_id,
        });
        let heard = submit(
            &call,
            shared(&self.group_id),
            command,
            |reply| match reply {
                Reply::Heartbeat(result) => Some(result),
                _ => None,
            },
        )
        .await;
        let code = match heard.map_err(|failed| failed.code()) {
            // Sessions start afresh once loading is done: the member need not know.
            Ok(()) | Err(ErrorCode::CoordinatorLoadInProgress) => ErrorCode::None,
            Err(code) => code,
        };
        heartbeat::Response {
            error_code: code.code(),
            ..heartbeat::Response::default()
        }
        .into()
    }
}

/// From here on several members leave in one request.
const BATCH_LEAVE_FROM: i16 = 3;

impl Serve for leave_group::Request {
    const OFFERED: Versions = Versions::new(0, 5);

    async fn serve(self, call: Call) -> Answer<leave_group::Response> {
        let members = if call.version >= BATCH_LEAVE_FROM {
            let leaving = |member: &leave_group::MemberIdentity| Leaving {
                member_id: shared(&member.member_id),
                instance_id: shared_option(member.group_instance_id.as_ref()),
            };
            self.members.iter().map(leaving).collect()
        } else {
            vec![Leaving {
                member_id: shared(&self.member_id),
                instance_id: None,
            }]
        };
        let command = Command::Leave(Leave { members });
        let left = submit(
            &call,
            shared(&self.group_id),
            command,
            |reply| match reply {
                Reply::Leave(result) => Some(result),
                _ => None,
            },
        )
        .await;
        let left = match left {
            Ok(left) => left,
            Err(failed) => {
                return leave_group::Response {
                    error_code: failed.code().code(),
                    ..leave_group::Response::default()
                }
                .into();
            }
        };
        let code = |result: &Result<(), Error>| match result {
            Ok(()) => ErrorCode::None.code(),
            Err(error) => error_code::group(error).code(),
        };
        if call.version < BATCH_LEAVE_FROM {
            return leave_group::Response {
                error_code: left.first().map_or(0, |one| code(&one.result)),
                ..leave_group::Response::default()
            }
            .into();
        }
        let members = left.iter().map(|one| leave_group::MemberResponse {
            member_id: wire(&one.member.member_id),
            group_instance_id: wire_option(one.member.instance_id.as_ref()),
            error_code: code(&one.result),
        });
        leave_group::Response {
            members: members.collect(),
            ..leave_group::Response::default()
        }
        .into()
    }
}

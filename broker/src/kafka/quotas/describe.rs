//! `DescribeClientQuotas`.

use std::collections::HashSet;

use kafka_wire::messages::describe_client_quotas::{
    ComponentData, EntityData, EntryData, Request, Response, ValueData,
};
use kafka_wire::{ErrorCode, Str, Versions};
use machine::metadata::quota::{Entity, Name};

use super::{CLIENT_ID, IP, USER};
use crate::kafka::dispatch::{Answer, Call, Serve};
use crate::kafka::topics::Failure;

/// What an entity must be called to be described.
enum Match<'a> {
    Exactly(&'a str),
    Default,
    Anything,
}

type Filter<'a> = Vec<(&'a str, Match<'a>)>;

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 1);

    async fn serve(self, call: Call) -> Answer<Response> {
        let filter = match filter(&self.components) {
            Ok(filter) => filter,
            Err(failure) => {
                return Response {
                    error_code: failure.code.code(),
                    error_message: Some(failure.message.into()),
                    entries: None,
                    ..Response::default()
                }
                .into();
            }
        };
        let image = call.front.metadata.image();
        let entries = image
            .quotas
            .iter()
            .filter(|(entity, _)| fits(entity, &filter, self.strict))
            .map(|(entity, set)| EntryData {
                entity: parts(entity)
                    .map(|(kind, name)| EntityData {
                        entity_type: Str::from_static(kind),
                        entity_name: match name {
                            Name::Default => None,
                            Name::Named(name) => Some(Str::from(&**name)),
                        },
                    })
                    .collect(),
                values: set
                    .iter()
                    .map(|(key, bound)| ValueData {
                        key: Str::from(&**key),
                        value: bound.0,
                    })
                    .collect(),
            })
            .collect();
        Response {
            error_message: Some(Str::default()),
            entries: Some(entries),
            ..Response::default()
        }
        .into()
    }
}

/// What an entity consists of.
fn parts(entity: &Entity) -> impl Iterator<Item = (&'static str, &Name)> {
    let all = [
        (USER, &entity.user),
        (CLIENT_ID, &entity.client_id),
        (IP, &entity.ip),
    ];
    all.into_iter()
        .filter_map(|(kind, name)| Some((kind, name.as_ref()?)))
}

fn filter(components: &[ComponentData]) -> Result<Filter<'_>, Failure> {
    let refused = |text: String| Err(Failure::new(ErrorCode::InvalidRequest, text));
    let mut seen = HashSet::new();
    let mut filter = Filter::with_capacity(components.len());
    for component in components {
        let kind = &*component.entity_type;
        let name = component.r#match.as_deref();
        let wanted = match (component.match_type, name) {
            (0, Some(name)) => Match::Exactly(name),
            (0, None) => {
                return refused(
                    "Request specified MATCH_TYPE_EXACT, but set match string to null.".to_owned(),
                );
            }
            (1, None) => Match::Default,
            (2, None) => Match::Anything,
            (1 | 2, Some(_)) => {
                let word = match component.match_type {
                    1 => "DEFAULT",
                    _ => "SPECIFIED",
                };
                return refused(format!(
                    "Request specified MATCH_TYPE_{word}, but also specified a match string."
                ));
            }
            (other, _) => return refused(format!("Unknown match type {other}")),
        };
        match kind {
            "" => return refused("Invalid empty entity type.".to_owned()),
            USER | CLIENT_ID | IP => {}
            _ => {
                return Err(Failure::new(
                    ErrorCode::UnsupportedVersion,
                    format!("Unsupported entity type {kind}"),
                ));
            }
        }
        if !seen.insert(kind) {
            return refused(format!(
                "Entity type {kind} cannot appear more than once in the filter."
            ));
        }
        filter.push((kind, wanted));
    }
    if seen.contains(IP) && seen.len() > 1 {
        return refused("Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.".to_owned());
    }
    Ok(filter)
}

/// Whether the entity has every part of the filter and, when `strict`, no other.
fn fits(entity: &Entity, filter: &Filter<'_>, strict: bool) -> bool {
    let has = |(kind, wanted): &(&str, Match<'_>)| {
        parts(entity).any(|(part, name)| {
            part == *kind
                && match (wanted, name) {
                    (Match::Anything, _) | (Match::Default, Name::Default) => true,
                    (Match::Exactly(wanted), Name::Named(name)) => **name == **wanted,
                    _ => false,
                }
        })
    };
    filter.iter().all(has) && (!strict || parts(entity).count() == filter.len())
}

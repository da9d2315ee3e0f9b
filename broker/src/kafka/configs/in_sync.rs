//! `min.insync.replicas` of brokers while eligible leader replicas are kept (KIP-966): elections go by one
//! value for the whole cluster, so no broker has its own, and there always is one.

use kafka_wire::ErrorCode;
use machine::metadata::image::{ConfigResource, Image};

use super::Change;
use crate::kafka::topics::Failure;

const KEY: &str = "min.insync.replicas";

/// Refuses what elections would not follow. What a broker was given before eligible replicas were kept may
/// be taken back.
pub(super) fn check(image: &Image, id: &ConfigResource, changes: &[Change]) -> Result<(), Failure> {
    let Some((_, value)) = changes.iter().find(|(key, _)| key == KEY) else {
        return Ok(());
    };
    let is_set = |configs: &imbl::OrdMap<_, _>| configs.contains_key(KEY);
    let text = match (id, value) {
        _ if !image.keeps_eligible() => return Ok(()),
        (ConfigResource::BrokerDefault, None) => {
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
        }
        (ConfigResource::Broker(_), None) if image.configs.get(id).is_some_and(is_set) => {
            return Ok(());
        }
        (ConfigResource::Broker(_), _) => {
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
        }
        _ => return Ok(()),
    };
    Err(Failure::new(ErrorCode::InvalidConfig, text))
}

#[cfg(test)]
mod tests {
    use machine::metadata::command::Command;
    use model::BrokerId;

    use super::*;

    const ONE: ConfigResource = ConfigResource::Broker(BrokerId(1));

    fn refused(image: &Image, id: &ConfigResource, value: Option<&str>) -> bool {
        let changes = [(KEY.to_owned(), value.map(str::to_owned))];
        check(image, id, &changes).is_err()
    }

    #[test]
    fn where_elections_go_by_it_all_brokers_have_one_value() {
        let mut image = Image::default();
        assert!(!refused(&image, &ONE, Some("1")));
        let given = Command::AlterConfigs {
            resource: ONE,
            changes: vec![(KEY.to_owned(), Some("1".to_owned()))],
        };
        image.apply(given, 0, 0);
        image.in_sync_default = Some(2);
        assert!(refused(&image, &ONE, Some("1")));
        assert!(!refused(&image, &ONE, None), "given before");
        let other = ConfigResource::Broker(BrokerId(2));
        assert!(refused(&image, &other, None));
        assert!(!refused(&image, &ConfigResource::BrokerDefault, Some("1")));
        assert!(refused(&image, &ConfigResource::BrokerDefault, None));
        assert!(!refused(&image, &ConfigResource::Topic("t".into()), None));
    }
}

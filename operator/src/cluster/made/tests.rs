use super::*;
use serde_json::json;

fn claim(name: &str, cluster_id: &str, going: bool) -> PersistentVolumeClaim {
    let mut claim = json!({ "metadata": {
        "name": name,
        "annotations": { CLUSTER_ID: cluster_id, VOTERS: "3" },
    }});
    if going {
        claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    serde_json::from_value(claim).unwrap()
}

#[test]
fn volumes_that_stayed_say_whose_they_are_and_how_many_brokers_had_one() {
    let claims = [
        claim("data-main-0", "u-1", false),
        claim("data-main-4", "u-1", false),
    ];
    let made = from_claims(&claims).unwrap();
    assert_eq!(made.cluster_id, "u-1");
    assert_eq!((made.voters, made.brokers), (3, 5));
}

#[test]
fn a_cluster_without_volumes_is_new_and_so_is_one_whose_volumes_are_being_deleted() {
    assert_eq!(from_claims(&[]), None);
    assert_eq!(from_claims(&[claim("data-main-0", "u-1", true)]), None);
}

use super::*;

/// Series of the objectives, without their common labels.
fn series(objectives: &Objectives) -> Vec<String> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(objectives.clone()));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.replace(r#"namespace="shop",cluster="main",group="g","#, ""))
        .collect()
}

#[test]
fn an_objective_is_told_for_each_declared_topic_and_ends_with_it() {
    let objectives = Objectives::default();
    let group = Group {
        namespace: "shop".to_owned(),
        cluster: "main".to_owned(),
        group: "g".to_owned(),
    };
    let objective = |topics: &[&str], lag_seconds, lag_records| Objective {
        topics: topics.iter().map(|t| (*t).to_owned()).collect(),
        lag_seconds,
        lag_records,
    };
    let both = objective(&["a", "b"], Some(1.5), Some(10));
    objectives.set(group.clone(), Some(both));
    assert_eq!(
        series(&objectives),
        [
            r#"millrace_group_slo_lag_seconds{topic="a"} 1.5"#,
            r#"millrace_group_slo_lag_seconds{topic="b"} 1.5"#,
            r#"millrace_group_slo_lag_records{topic="a"} 10"#,
            r#"millrace_group_slo_lag_records{topic="b"} 10"#,
        ]
    );
    objectives.set(group.clone(), Some(objective(&["b"], None, Some(10))));
    assert_eq!(
        series(&objectives),
        [r#"millrace_group_slo_lag_records{topic="b"} 10"#]
    );
    objectives.set(group, None);
    assert!(series(&objectives).is_empty());
}

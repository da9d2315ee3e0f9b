//! The same cases before a real API server, the one that KUBECONFIG names. Run by the end-to-end
//! scenario `admission`; the definitions have to be installed.

use crds::definition;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, ValidationDirective};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::rules::{self, Case, Rules, merge};

/// How the server words what is not a CEL rule.
const STRUCTURAL: [&str; 3] = [
    "Required value",
    "should be greater than or equal to",
    "failed to create typed patch object",
];

#[tokio::test]
#[ignore = "needs an API server with the definitions installed"]
async fn a_real_api_server_judges_every_case_alike() {
    let client = Client::try_default().await.unwrap();
    let namespace = std::env::var("ADMISSION_NAMESPACE").unwrap_or_else(|_| "default".to_owned());
    let mut failures = Vec::new();
    let mut cases = 0;
    for rules in rules::all() {
        let definition = definition::all()
            .into_iter()
            .find(|d| d.kind == rules.kind)
            .unwrap();
        let words = definition.crd.to_string();
        let plural = definition.file.trim_end_matches(".yaml").to_owned();
        let resource = ApiResource {
            group: crds::GROUP.to_owned(),
            version: crds::VERSION.to_owned(),
            api_version: format!("{}/{}", crds::GROUP, crds::VERSION),
            kind: rules.kind.clone(),
            plural,
        };
        let api = Api::namespaced_with(client.clone(), &namespace, &resource);
        for (n, case) in rules.cases.iter().enumerate() {
            cases += 1;
            let name = format!("case-{n}");
            let verdict = judge(&api, &rules, case, &name).await;
            if let Err(e) = matches(case, verdict, &words) {
                failures.push(format!("{} / {}: {e}", rules.kind, case.name));
            }
            drop(api.delete(&name, &Default::default()).await);
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    println!("{cases} cases judged alike");
}

/// The last answer: of the update if the case has one, of the creation otherwise.
async fn judge(
    api: &Api<DynamicObject>,
    rules: &Rules,
    case: &Case,
    name: &str,
) -> Result<(), kube::Error> {
    let mut spec = rules.base.clone();
    merge(&mut spec, &case.create);
    let created = apply(api, rules, name, &spec).await;
    if case.update.is_null() {
        return created;
    }
    created?;
    merge(&mut spec, &case.update);
    apply(api, rules, name, &spec).await
}

async fn apply(
    api: &Api<DynamicObject>,
    rules: &Rules,
    name: &str,
    spec: &Value,
) -> Result<(), kube::Error> {
    let object = json!({
        "apiVersion": format!("{}/{}", crds::GROUP, crds::VERSION), "kind": rules.kind,
        "metadata": { "name": name }, "spec": spec,
    });
    let mut params = PatchParams::apply("admission-test").force();
    params.field_validation = Some(ValidationDirective::Strict);
    api.patch(name, &params, &Patch::Apply(&object))
        .await
        .map(drop)
}

/// Words of a rule have to be in the answer; those of the structure are the server's own.
fn matches(case: &Case, verdict: Result<(), kube::Error>, words: &str) -> Result<(), String> {
    match (&case.refused, verdict) {
        (None, Ok(())) => Ok(()),
        (None, Err(e)) => Err(format!("refused: {e}")),
        (Some(_), Ok(())) => Err("let in".to_owned()),
        (Some(expected), Err(kube::Error::Api(answer))) => {
            let from_rule = words.contains(expected.as_str());
            let structural = STRUCTURAL.iter().any(|s| answer.message.contains(s));
            if from_rule && !structural && !answer.message.contains(expected.as_str()) {
                return Err(format!("wanted \"{expected}\", got \"{}\"", answer.message));
            }
            Ok(())
        }
        (Some(_), Err(e)) => Err(format!("no answer: {e}")),
    }
}

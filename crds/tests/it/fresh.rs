//! `yaml/` equals what the types render. `UPDATE=1` writes it.

use std::fs;
use std::path::Path;

use crds::definition;

#[test]
fn committed_yaml_is_what_the_types_render() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("yaml");
    let update = std::env::var_os("UPDATE").is_some();
    let mut expected = Vec::new();
    for d in definition::all() {
        let path = folder.join(&d.file);
        let text = definition::yaml(&d.crd).unwrap();
        if update {
            fs::write(&path, &text).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == text,
            "{} is stale: run UPDATE=1 cargo test -p crds",
            path.display()
        );
        expected.push(d.file);
    }
    let mut there: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    expected.sort();
    assert_eq!(there, expected, "files in yaml/ and kinds differ");
}

#[test]
fn every_status_starts_as_not_observed_and_every_kind_is_in_the_category() {
    for d in definition::all() {
        let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/default";
        assert_eq!(
            d.crd.pointer(status),
            Some(&serde_json::json!({ "observedGeneration": -1 }))
        );
        assert_eq!(
            d.crd.pointer("/spec/names/categories/0"),
            Some(&"millrace".into())
        );
        assert!(
            !d.crd.to_string().contains("\"nullable\":true"),
            "{}",
            d.kind
        );
    }
}

//! Writes `src/messages/`, `src/messages.rs`, `src/error_code.rs` and `tests/it/registry.rs` from the
//! tables in `schema/`. The results are committed, so that they can be read, searched and reviewed;
//! the test below fails when they are stale, and rewrites them when `UPDATE=1` is set.

mod emit;
mod error_code;
mod index;
pub(crate) mod schema;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use schema::File;

#[test]
fn generated_files_are_fresh() {
    let files = read_schema();
    let mut wanted = vec![
        ("src/messages.rs".to_owned(), index::messages(&files)),
        ("tests/it/registry.rs".to_owned(), index::registry(&files)),
        (
            "src/error_code.rs".to_owned(),
            error_code::emit(&read("schema/errors.tsv")),
        ),
    ];
    for file in &files {
        wanted.push((
            format!("src/messages/{}.rs", file.module()),
            emit::file(file),
        ));
    }

    let update = std::env::var_os("UPDATE").is_some();
    let mut stale = Vec::new();
    for (path, text) in &wanted {
        let text = format_rust(path, text);
        let target = root().join(path);
        if fs::read_to_string(&target).ok().as_deref() != Some(text.as_str()) {
            stale.push(path.clone());
            if update {
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                fs::write(&target, text).unwrap();
            }
        }
    }
    for entry in fs::read_dir(root().join("src/messages")).unwrap() {
        let path = entry.unwrap().path();
        let name = format!(
            "src/messages/{}",
            path.file_name().unwrap().to_str().unwrap()
        );
        if !wanted.iter().any(|(path, _)| *path == name) {
            stale.push(name);
            if update {
                fs::remove_file(path).unwrap();
            }
        }
    }
    assert!(
        update || stale.is_empty(),
        "stale, run with UPDATE=1: {stale:?}"
    );
}

/// Every message table, by file name.
pub(crate) fn read_schema() -> Vec<File> {
    let mut paths = fs::read_dir(root().join("schema"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect::<Vec<PathBuf>>();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap();
            schema::parse(name, &fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn format_rust(path: &str, text: &str) -> String {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt is part of the toolchain (rustup component add rustfmt)");
    let mut stdin = rustfmt.stdin.take().unwrap();
    let text = text.to_owned();
    let feed = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = rustfmt.wait_with_output().unwrap();
    feed.join().unwrap().unwrap();
    assert!(output.status.success(), "rustfmt refused {path}");
    String::from_utf8(output.stdout).unwrap()
}

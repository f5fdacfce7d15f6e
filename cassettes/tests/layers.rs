//! A layer imports only what stands to its left.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// Layers from left to right; those in one place do not import one another.
const LAYERS: [&[&str]; 6] = [
    &["interaction"],
    &["format"],
    &["matcher", "bindings", "redactor"],
    &["differ", "har", "transport"],
    &["recorder", "replayer", "verifier"],
    &["once", "cassette"],
];

fn rank(layer: &str) -> usize {
    LAYERS
        .iter()
        .position(|names| names.contains(&layer))
        .unwrap_or_else(|| panic!("{layer} is no layer: put it into its place in the list"))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The layers that a file names, in its imports or within.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::").skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn a_layer_imports_only_what_stands_to_its_left() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&root, &mut all);
    let mut seen = 0;
    for path in all {
        let within = path.strip_prefix(&root).expect("a file of the crate");
        let layer = within
            .components()
            .next()
            .expect("a name")
            .as_os_str()
            .to_string_lossy()
            .replace(".rs", "");
        if layer == "lib" {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        for other in imports(&text).filter(|other| *other != layer) {
            seen += 1;
            assert!(rank(other) < rank(&layer), "{} imports {other}", within.display());
        }
        assert!(text.lines().count() <= 600, "{} is too long", within.display());
    }
    assert!(seen > 30, "only {seen} imports were found");
}

#[test]
fn the_crate_imports_nothing_of_ours() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).expect("the manifest");
    let dependencies = manifest.split("[dependencies]").nth(1).expect("dependencies");
    assert!(!dependencies.contains("stuntdouble"), "{dependencies}");
}

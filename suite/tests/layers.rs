//! The layers of the suite: each imports only what stands to its left, and only two name the simulator.

#![expect(clippy::unwrap_used, reason = "a test may panic, also in what its tests share")]

use std::path::{Path, PathBuf};

/// From left to right; `request` and `check` stand beside each other, and neither imports the other.
const LAYERS: [&[&str]; 6] = [
    &["catalog"],
    &["request", "check"],
    &["target"],
    &["trial"],
    &["report"],
    &["cli"],
];

/// Where the simulator may be named.
const NAME_THE_SIMULATOR: [&str; 2] = ["target/simulator.rs", "cli/"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Every source file, by its path within `src`.
fn files() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let named = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (
            path.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/"),
            text,
        )
    };
    sources(&src).into_iter().map(named).collect()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

/// The modules of this crate that a text names.
fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for after in text.split("crate::").skip(1) {
        let end = |text: &str| {
            text.find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(text.len())
        };
        match after.strip_prefix('{') {
            // use crate::{check::Answer, request::Request}
            Some(group) => {
                let (mut depth, mut word) = (0, String::new());
                for c in group.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => found.push(std::mem::take(&mut word)),
                        _ if depth == 0 => word.push(c),
                        _ => {}
                    }
                }
                found.push(word);
            }
            None => found.push(after[..end(after)].to_owned()),
        }
    }
    found
        .iter()
        .map(|word| word.trim()[..word.trim().find("::").unwrap_or(word.trim().len())].to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn every_layer_imports_only_what_stands_to_its_left() {
    let mut strays = Vec::new();
    for (file, text) in files() {
        let own = file.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        let Some(own_layer) = layer(&own) else { continue };
        for module in named(&text) {
            let fine =
                module == own || layer(&module).is_some_and(|other| other < own_layer) || layer(&module).is_none();
            if !fine {
                strays.push(format!("{file} names {module}"));
            }
        }
    }
    assert!(strays.is_empty(), "{strays:#?}");
}

#[test]
fn every_module_has_a_layer() {
    for (file, _) in files() {
        let module = file.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        assert!(
            ["lib", "main"].contains(&module.as_str()) || layer(&module).is_some(),
            "{file}"
        );
    }
}

#[test]
fn only_the_target_and_the_program_name_the_simulator() {
    for (file, text) in files() {
        if !NAME_THE_SIMULATOR.iter().any(|allowed| file.starts_with(allowed)) {
            assert!(!text.contains("stuntdouble_simulator"), "{file} names the simulator");
        }
    }
}

#[test]
fn names_are_read_from_paths_and_groups() {
    assert_eq!(named("use crate::check::Answer;"), ["check"]);
    assert_eq!(
        named("use crate::{\n    catalog::{Profile, Row},\n    request::Request,\n};"),
        ["catalog", "request"]
    );
}

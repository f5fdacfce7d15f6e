//! Holds the crate to its layers: each module imports only what stands to its left.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test cannot do without fails it"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The layers, lowest first.
const LAYERS: [&str; 13] = [
    "api",
    "compat",
    "scheme",
    "patch",
    "strategy",
    "store",
    "watch",
    "registry",
    "client",
    "cluster",
    "logs",
    "http",
    "simulator",
];

/// What every layer may import.
const BESIDE: [&str; 3] = ["clock", "profile", "rng"];

/// Servers of their own, which import nothing of the crate.
const ALONE: [&str; 2] = ["search", "viewer"];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
}

/// The modules of the crate that a source names after `crate::`, braces included, up to its tests.
fn imports(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for after in code.split("crate::").skip(1) {
        if let Some(group) = after.strip_prefix('{') {
            let mut depth = 0;
            let mut name = String::new();
            for letter in group.chars() {
                match letter {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => found.push(std::mem::take(&mut name)),
                    _ if depth == 0 => name.push(letter),
                    _ => {}
                }
            }
            found.push(name);
        } else {
            found.push(after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found
        .iter()
        .map(|n| n.trim().split("::").next().unwrap_or_default().trim().to_owned())
        .filter(|n| !n.is_empty())
        .collect()
}

#[test]
fn imports_are_read_singly_and_in_groups() {
    let source = "use crate::api::Status;\nuse crate::{\n    clock::{Clock, stamp},\n    store,\n};\n#[cfg(test)]\nuse crate::http;";
    assert_eq!(imports(source), ["api", "clock", "store"]);
}

#[test]
fn each_layer_imports_only_what_stands_to_its_left() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in &files {
        let path = file.strip_prefix(&root).unwrap();
        let module = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let place = LAYERS.iter().position(|l| *l == module);
        for import in imports(&fs::read_to_string(file).unwrap()) {
            let allowed = match place {
                _ if import == module || module == "lib" => true,
                Some(place) => {
                    BESIDE.contains(&import.as_str())
                        || LAYERS[..place].contains(&import.as_str())
                        || (module == "simulator" && ALONE.contains(&import.as_str()))
                }
                None if BESIDE.contains(&module) => import == "api",
                None => false,
            };
            if !allowed {
                wrong.push(format!("{} imports {import}", path.display()));
            }
        }
    }
    assert!(!files.is_empty());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

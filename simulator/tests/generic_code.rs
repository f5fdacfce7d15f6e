//! Holds generic code to naming no resource and no kind: what is special about one is in its strategy.

#![allow(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use stuntdouble_simulator::scheme::Scheme;

/// The layers whose code is generic.
const GENERIC: [&str; 4] = ["registry", "store", "watch", "profile.rs"];

fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            sources(&entry.unwrap().path(), found);
        }
    } else if path.extension().is_some_and(|e| e == "rs") {
        found.push(path.to_owned());
    }
}

/// The string literals of a source without its comments and tests, each with its line.
fn literals(source: &str) -> Vec<(usize, String)> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|(n, line)| {
            line.split('"')
                .skip(1)
                .step_by(2)
                .map(move |text| (n + 1, text.to_owned()))
        })
        .collect()
}

/// The literals that are a name, or begin with one and a separator.
fn named(source: &str, names: &BTreeSet<String>) -> Vec<(usize, String)> {
    let is_name = |text: &String| names.contains(text.split(['/', '.', ' ']).next().unwrap_or_default());
    literals(source).into_iter().filter(|(_, text)| is_name(text)).collect()
}

#[test]
fn a_name_in_a_literal_is_found() {
    let names = BTreeSet::from(["pods".to_owned(), "Pod".to_owned()]);
    let source = "// \"pods\"\nlet a = \"pods\";\nlet b = (\"x\", \"Pod\");\nlet c = \"pods/binding\";\nlet d = \"podcast\";\n#[cfg(test)]\nmod tests {\n\"pods\"";
    let found: Vec<usize> = named(source, &names).into_iter().map(|(line, _)| line).collect();
    assert_eq!(found, [2, 3, 4]);
}

#[test]
fn generic_code_names_no_resource_and_no_kind() {
    let scheme = Scheme::builtin();
    let names: BTreeSet<String> = scheme
        .resources()
        .iter()
        .flat_map(|r| [r.plural.clone(), r.kind.clone()])
        .chain(["Scale", "DeleteOptions", "DeploymentRollback"].map(str::to_owned))
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    GENERIC.iter().for_each(|layer| sources(&root.join(layer), &mut files));
    assert!(files.len() > 20);
    let mut wrong = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).unwrap();
        // The contract test of stores, and the tests of the registry, need some kind.
        if path.ends_with("contract.rs") || path.iter().any(|part| part == "tests") {
            continue;
        }
        for (line, text) in named(&fs::read_to_string(&file).unwrap(), &names) {
            wrong.push(format!("{}:{line}: {text:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Holds every crate to its layers, and the code of each layer to what it may name.

#![expect(clippy::unwrap_used, reason = "what a test cannot do without fails it")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
};

use rstest::rstest;
use stuntdouble_architecture::Crate;

/// Most lines of a file.
const LINES: usize = 500;

/// A crate, its layers from the lowest, and the modules that every layer may name.
struct Layers {
    folder: &'static str,
    layers: &'static [&'static [&'static str]],
    beside: &'static [&'static str],
}

const SIMULATOR: Layers = Layers {
    folder: "simulator",
    layers: &[
        &["api"],
        &["compat"],
        &["scheme"],
        &["patch"],
        &["strategy"],
        &["store"],
        &["watch"],
        &["registry"],
        &["client"],
        &["cluster"],
        &["logs"],
        &["addons"],
        &["http"],
        &["simulator"],
    ],
    beside: &["clock", "profile", "rng"],
};

const CASSETTES: Layers = Layers {
    folder: "cassettes",
    layers: &[
        &["interaction"],
        &["format"],
        &["matcher", "bindings", "redactor"],
        &["differ", "har", "transport"],
        &["recorder", "replayer", "verifier"],
        &["once", "cassette"],
    ],
    beside: &[],
};

const SUITE: Layers = Layers {
    folder: "suite",
    layers: &[
        &["catalog"],
        &["request", "check"],
        &["target"],
        &["trial"],
        &["report"],
        &["cli"],
    ],
    beside: &[],
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

/// The structure of a crate, which is read once for all tests.
fn read(folder: &'static str) -> Arc<Crate> {
    static READ: Mutex<BTreeMap<&str, Arc<OnceLock<Arc<Crate>>>>> = Mutex::new(BTreeMap::new());
    let place = READ.lock().unwrap().entry(folder).or_default().clone();
    place
        .get_or_init(|| Arc::new(Crate::read(&root().join(folder)).unwrap()))
        .clone()
}

/// The module of the crate's root that a file belongs to.
fn top(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

#[rstest]
#[case::simulator(SIMULATOR)]
#[case::cassettes(CASSETTES)]
#[case::suite(SUITE)]
fn a_layer_names_only_what_stands_to_its_left(#[case] Layers { folder, layers, beside }: Layers) {
    let structure = read(folder);
    let rank = |module: &str| layers.iter().position(|layer| layer.contains(&module));
    for module in structure.modules().map(|module| top(&module.file)) {
        let placed = ["lib", "main"].contains(&module) || beside.contains(&module) || rank(module).is_some();
        assert!(placed, "{folder}: {module} has no layer");
    }
    let mut wrong = Vec::new();
    for (from, to, name) in structure.graph().ties() {
        let (upper, lower) = (top(from), top(to));
        if let (Some(from_rank), Some(to_rank)) = (rank(upper), rank(lower))
            && upper != lower
            && to_rank >= from_rank
        {
            wrong.push(format!("{from} names {name} of {to}"));
        }
    }
    assert!(wrong.is_empty(), "{folder}:\n{}", wrong.join("\n"));
}

#[rstest]
fn no_circle_has_more_than_two_files(
    #[values(
        "fixtures",
        "simulator/server",
        "simulator/shell",
        "simulator/search",
        "simulator",
        "cassettes",
        "suite",
        "ci/etcd"
    )]
    folder: &'static str,
) {
    let circles = read(folder).graph().circles(2);
    assert!(circles.is_empty(), "{folder}: {}", circles.join("\n"));
}

/// Every source of the workspace: its path from the root.
fn sources() -> Vec<PathBuf> {
    let folders = ["ci", "cassettes", "fixtures", "fuzz", "simulator", "suite"];
    let entries = folders.iter().flat_map(|folder| {
        let whole = walkdir::WalkDir::new(root().join(folder)).into_iter();
        whole.filter_entry(|entry| entry.file_name() != "target" && entry.file_name() != "node_modules")
    });
    let paths = entries.map(|entry| entry.unwrap().into_path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn no_file_has_more_lines_than_a_reader_takes_in() {
    let sources = sources();
    assert!(sources.len() > 300);
    let lines = |path: &Path| fs::read_to_string(path).unwrap().lines().count();
    let long: Vec<String> = sources
        .iter()
        .map(|path| (path, lines(path)))
        .filter(|(_, lines)| *lines > LINES)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// Adds the names of the kinds and resources that the files of `folder` describe.
fn kinds(folder: &stuntdouble_fixtures::Dir<'_>, names: &mut BTreeSet<String>) {
    folder.dirs().for_each(|folder| kinds(folder, names));
    for text in folder.files().filter_map(|file| file.contents_utf8()) {
        let kind: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let fields = ["kind", "plural"].into_iter();
        names.extend(fields.filter_map(|field| kind[field].as_str().map(str::to_owned)));
    }
}

/// The layers whose code is the same for every kind.
const GENERIC: [&str; 5] = ["http", "profile", "registry", "store", "watch"];

#[test]
fn generic_code_names_no_resource_and_no_kind() {
    let mut names = BTreeSet::new();
    kinds(&stuntdouble_fixtures::KINDS, &mut names);
    assert!(names.contains("pods") && names.contains("Scale"));
    let structure = read(SIMULATOR.folder);
    let generic = structure
        .modules()
        .filter(|module| GENERIC.contains(&top(&module.file)));
    let mut wrong = Vec::new();
    for module in generic {
        for literal in &module.literals {
            let first = literal.text.split(['/', '.', ' ']).next().unwrap_or_default();
            // The contract test of stores needs some kind, and namespaces are a segment of paths.
            let may = module.file.ends_with("contract.rs")
                || (module.file == "http/route/table.rs" && literal.text == "namespaces");
            if names.contains(first) && !may {
                wrong.push(format!("{}:{}: {:?}", module.file, literal.line, literal.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where the suite may name the simulator: the judge shares no code with the judged.
const NAME_THE_SIMULATOR: [&str; 2] = ["target/simulator.rs", "cli/"];

#[test]
fn only_the_target_and_the_program_name_the_simulator() {
    for (file, crate_name) in read("suite").outside() {
        let may = NAME_THE_SIMULATOR.iter().any(|allowed| file.starts_with(allowed));
        let judged = ["stuntdouble_simulator", "stuntdouble_search", "stuntdouble_server"].contains(&crate_name);
        assert!(may || !judged, "{file} names {crate_name}");
    }
}

/// The crates of ours that each crate may depend on.
const CRATES: [(&str, &[&str]); 7] = [
    ("fixtures", &[]),
    ("simulator/server", &[]),
    ("simulator/shell", &[]),
    ("simulator/search", &["stuntdouble_server"]),
    ("cassettes", &["stuntdouble_server"]),
    (
        "simulator",
        &[
            "stuntdouble_fixtures",
            "stuntdouble_search",
            "stuntdouble_server",
            "stuntdouble_shell",
            // Of its tests.
            "stuntdouble_etcd",
        ],
    ),
    (
        "suite",
        &[
            "stuntdouble_fixtures",
            "stuntdouble_server",
            "stuntdouble_cassettes",
            "stuntdouble_simulator",
            "stuntdouble_suite",
        ],
    ),
];

#[test]
fn a_crate_names_only_crates_below_it() {
    for (folder, below) in CRATES {
        for (file, crate_name) in read(folder).outside() {
            let ours = crate_name.starts_with("stuntdouble_");
            assert!(
                !ours || below.contains(&crate_name),
                "{folder}/src/{file} names {crate_name}"
            );
        }
    }
}

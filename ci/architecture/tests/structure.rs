//! Checks that the layers of each crate depend only on lower layers, and that generic code names no kind.

#![expect(
    clippy::unwrap_used,
    reason = "a test is_allowed panic, and so is_allowed its helpers"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
};

use rstest::rstest;
use stuntdouble_architecture::Crate;

/// Maximum number of lines of a file.
const MAX_LINES: usize = 500;

/// The layers of a crate, the lowest first, and the modules that every layer may use.
struct Layers {
    folder: &'static str,
    layers: &'static [&'static [&'static str]],
    shared: &'static [&'static str],
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
    shared: &["clock", "profile", "rng"],
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
    shared: &[],
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
    shared: &[],
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .to_owned()
}

/// Reads the structure of a crate, once for all tests.
fn read(folder: &'static str) -> Arc<Crate> {
    static READ: Mutex<BTreeMap<&str, Arc<OnceLock<Arc<Crate>>>>> = Mutex::new(BTreeMap::new());
    let place = READ.lock().unwrap().entry(folder).or_default().clone();
    place
        .get_or_init(|| Arc::new(Crate::read(&root().join(folder)).unwrap()))
        .clone()
}

/// Returns the top-level module of a file.
fn top(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

#[rstest]
#[case::simulator(SIMULATOR)]
#[case::cassettes(CASSETTES)]
#[case::suite(SUITE)]
fn a_layer_depends_only_on_lower_layers(#[case] Layers { folder, layers, shared }: Layers) {
    let structure = read(folder);
    let rank = |module: &str| layers.iter().position(|layer| layer.contains(&module));
    for module in structure.modules().map(|module| top(&module.file)) {
        let placed = ["lib", "main"].contains(&module) || shared.contains(&module) || rank(module).is_some();
        assert!(placed, "{folder}: {module} has no layer");
    }
    let mut wrong = Vec::new();
    for (from, to, name) in structure.graph().dependencies() {
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
fn no_dependency_cycle_has_more_than_two_files(
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
    let cycles = read(folder).graph().cycles(2);
    assert!(cycles.is_empty(), "{folder}: {}", cycles.join("\n"));
}

/// Returns the paths of all Rust sources of the workspace.
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
fn no_file_is_too_long() {
    let sources = sources();
    assert!(sources.len() > 300);
    let lines = |path: &Path| fs::read_to_string(path).unwrap().lines().count();
    let long: Vec<String> = sources
        .iter()
        .map(|path| (path, lines(path)))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// Collects the names of the kinds and resources in the files of `folder`.
fn kinds(folder: &stuntdouble_fixtures::Dir<'_>, names: &mut BTreeSet<String>) {
    folder.dirs().for_each(|folder| kinds(folder, names));
    for text in folder.files().filter_map(|file| file.contents_utf8()) {
        let kind: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let fields = ["kind", "plural"].into_iter();
        names.extend(fields.filter_map(|field| kind[field].as_str().map(str::to_owned)));
    }
}

/// Layers whose code is independent of the kind.
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
            // Exceptions: the contract test of stores needs a kind, and `namespaces` is a segment of paths.
            let is_allowed = module.file.ends_with("contract.rs")
                || (module.file == "http/route/table.rs" && literal.text == "namespaces");
            if names.contains(first) && !is_allowed {
                wrong.push(format!("{}:{}: {:?}", module.file, literal.line, literal.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files of the suite that may use the simulator. All others share no code with it.
const USES_SIMULATOR: [&str; 2] = ["target/simulator.rs", "cli/"];

#[test]
fn only_the_target_and_the_program_use_the_simulator() {
    for (file, crate_name) in read("suite").outside() {
        let is_allowed = USES_SIMULATOR.iter().any(|allowed| file.starts_with(allowed));
        let is_simulator = ["stuntdouble_simulator", "stuntdouble_search", "stuntdouble_server"].contains(&crate_name);
        assert!(is_allowed || !is_simulator, "{file} names {crate_name}");
    }
}

/// The workspace crates that each crate may depend on.
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
            // For its tests.
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
fn a_crate_depends_only_on_lower_crates() {
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

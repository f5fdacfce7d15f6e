//! The reports of one run: JUnit, summary document, badge, Markdown, and the output for a GitHub workflow.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Output},
    sync::LazyLock,
};

use crate::server::PROGRAM;
use quick_xml::{Reader, events::Event};
use serde_json::Value;
use tempfile::TempDir;

/// A run of some trials against the embedded simulator. One is expected to fail and passes.
struct Run {
    folder: TempDir,
    output: Output,
}

const FILTERS: [&str; 4] = [
    "core/v1/configmaps/read",
    "core/v1/endpoints/read",
    "core/v1/events/read",
    "core/v1/secrets/read/",
];

static RUN: LazyLock<Run> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let known = file("known.yaml");
    let entries = [
        ("core/v1/configmaps/read/present", "2999-01-01"),
        ("core/v1/secrets/read*", "2999-01-01"),
        ("core/v1/nothing", "2999-01-01"),
        ("core/v1/configmaps/read/missing", "2016-01-01"),
    ];
    let entries = entries.map(|(id, until)| format!("- {{id: '{id}', reason: issue 7, expires: '{until}'}}\n"));
    std::fs::write(&known, entries.concat()).unwrap();
    let names = ["junit.xml", "html", "json", "summary", "markdown", "badge.svg"];
    let reports = names.map(|name| [format!("--{}", name.split('.').next().unwrap()), file(name)]);
    let output = Command::new(PROGRAM)
        .args(["conformance", "--timeout", "60", "--expectations", &known])
        .args(reports.concat())
        .args(FILTERS)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", file("step"))
        .output()
        .unwrap();
    Run { folder, output }
});

fn report(name: &str) -> String {
    std::fs::read_to_string(RUN.folder.path().join(name)).unwrap()
}

fn lines() -> Vec<Value> {
    let text = report("json");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An element of JUnit XML: required and optional attributes, and children in order.
struct Element {
    required: &'static [&'static str],
    optional: &'static [&'static str],
    children: &'static [&'static str],
}

/// Returns what both the schema of Jenkins (junit-10.xsd) and that of Ant (JUnit.xsd) allow.
fn schema(name: &str) -> Element {
    let (required, optional, children): (&[&str], &[&str], &[&str]) = match name {
        "testsuites" => (&[], &[], &["testsuite"]),
        "testsuite" => (
            &[
                "name",
                "tests",
                "failures",
                "errors",
                "time",
                "timestamp",
                "hostname",
                "id",
                "package",
            ],
            &["skipped"],
            &["properties", "testcase", "system-out", "system-err"],
        ),
        "properties" => (&[], &[], &["property"]),
        "property" => (&["name", "value"], &[], &[]),
        "testcase" => (&["name", "classname", "time"], &[], &["skipped", "error", "failure"]),
        "error" | "failure" => (&["type"], &["message"], &[]),
        "skipped" => (&[], &["message"], &[]),
        "system-out" | "system-err" => (&[], &[], &[]),
        _ => panic!("unknown element {name}"),
    };
    Element {
        required,
        optional,
        children,
    }
}

#[test]
fn junit_is_valid_and_has_every_trial() {
    let text = report("junit.xml");
    let mut reader = Reader::from_str(&text);
    let mut open: Vec<(String, Vec<String>)> = Vec::new();
    let mut cases = 0;
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    loop {
        let event = reader.read_event().unwrap();
        let (tag, empty) = match &event {
            Event::Start(tag) => (tag, false),
            Event::Empty(tag) => (tag, true),
            Event::End(_) => {
                let (name, children) = open.pop().unwrap();
                let order = |child: &String| schema(&name).children.iter().position(|one| one == child).unwrap();
                assert!(children.iter().map(order).is_sorted(), "{name}: {children:?}");
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        let name = String::from_utf8(tag.name().as_ref().to_vec()).unwrap();
        if let Some((parent, children)) = open.last_mut() {
            assert!(schema(parent).children.contains(&name.as_str()), "{name} in {parent}");
            children.push(name.clone());
        }
        let attributes = tag.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            let key = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
            (key, String::from_utf8(attribute.value.to_vec()).unwrap())
        });
        let attributes: BTreeMap<String, String> = attributes.collect();
        let element = schema(&name);
        for required in element.required {
            assert!(attributes.contains_key(*required), "{name} has no {required}");
        }
        for key in attributes.keys().map(String::as_str) {
            assert!(
                element.required.contains(&key) || element.optional.contains(&key),
                "{name} has {key}"
            );
        }
        if name == "testsuite" {
            for key in ["tests", "failures", "errors", "skipped"] {
                *counted.entry(key.to_owned()).or_default() += attributes[key].parse::<usize>().unwrap();
            }
            assert!(attributes["time"].parse::<f64>().is_ok() && !attributes["hostname"].is_empty());
            assert_eq!(attributes["timestamp"].len(), "2016-03-01T10:00:00".len());
        }
        cases += usize::from(name == "testcase");
        if !empty {
            open.push((name, Vec::new()));
        }
    }
    let of = |verdict: &str| lines().iter().filter(|line| line["verdict"] == verdict).count();
    let all = lines().iter().filter(|line| line["event"] == "trial").count();
    assert!(all > 30, "{all}");
    assert_eq!((cases, counted["tests"]), (all, all));
    assert_eq!(counted["failures"] + counted["errors"], of("failed"));
    assert_eq!(counted["skipped"], all - of("passed") - of("failed"));
}

#[test]
fn the_summary_says_what_was_run_and_adds_up() {
    let summary: Value = serde_json::from_str(&report("summary")).unwrap();
    assert_eq!(summary["kind"], "ConformanceReport");
    assert_eq!(summary["tool"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(summary["catalog"]["hash"].as_str().unwrap().len(), 64);
    assert!(
        summary["target"]["version"].as_str().unwrap().starts_with('v'),
        "{}",
        summary["target"]
    );
    assert_eq!(summary["profile"], "documented");
    assert_eq!(summary["options"]["filters"], FILTERS.join(" "));
    assert!(summary["date"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        summary["failed"],
        serde_json::json!(["core/v1/configmaps/read/present"])
    );
    let trials = |counts: &Value| counts["trials"].as_u64().unwrap();
    let sum = |of: &Value| of.as_object().unwrap().values().map(trials).sum::<u64>();
    let total = trials(&summary["total"]);
    assert_eq!(
        total,
        lines().iter().filter(|line| line["event"] == "trial").count() as u64
    );
    assert_eq!((sum(&summary["levels"]), sum(&summary["groups"])), (total, total));
    let core = &summary["groups"]["core/v1"];
    assert_eq!(
        (sum(&core["levels"]), sum(&core["kinds"])),
        (trials(core), trials(core))
    );
    assert!(trials(&summary["operations"]["GET /api/v1/namespaces/{namespace}/secrets/{name}"]) > 0);
    assert!(summary["statements"].as_object().unwrap().len() > 3);
}

#[test]
fn a_stale_expectation_is_reported_everywhere() {
    let stale = [
        "core/v1/configmaps/read/missing expired on 2016-01-01",
        "core/v1/nothing matches no trial",
        "core/v1/secrets/read*: all ",
    ];
    let stdout = String::from_utf8_lossy(&RUN.output.stdout).into_owned();
    for text in stale {
        assert!(stdout.contains(&format!("STALE EXPECTATION {text}")), "{stdout}");
        assert!(
            stdout.contains(&format!("::warning title=stale expectation::{text}")),
            "{stdout}"
        );
        assert!(
            report("html").contains(text) && report("summary").contains(text),
            "{text}"
        );
    }
    assert_eq!(
        lines().last().unwrap()["stale_expectations"].as_array().unwrap().len(),
        3
    );
    assert_eq!(report("markdown").matches("stale expectation").count(), 3);
}

#[test]
fn a_level_says_which_lower_level_is_the_cause_of_its_verdict() {
    let stdout = String::from_utf8_lossy(&RUN.output.stdout).into_owned();
    for level in ["should", "may"] {
        let line = stdout.lines().find(|line| line.starts_with(level)).unwrap_or_default();
        assert!(
            line.ends_with("passed: does not conform, since must does not"),
            "{stdout}"
        );
    }
    assert!(report("html").contains("does not conform, since must does not"));
}

#[test]
fn a_github_workflow_gets_a_summary_and_annotations() {
    let stdout = String::from_utf8_lossy(&RUN.output.stdout).into_owned();
    let error = "::error title=core/v1/configmaps/read/present::";
    assert_eq!(stdout.matches(error).count(), 1, "{stdout}");
    assert_eq!(report("step"), report("markdown"));
    assert!(report("step").contains("does not conform") && report("step").contains("| must |"));
    assert_eq!(RUN.output.status.code(), Some(1));
}

#[test]
fn a_badge_is_svg_or_json() {
    assert!(report("badge.svg").starts_with("<svg ") && report("badge.svg").contains("% of must"));
    let folder = tempfile::tempdir().unwrap();
    let badge = folder.path().join("badge.json");
    let run = |path: &Path| {
        let arguments = ["conformance", "core/v1/configmaps/read/present", "--badge"];
        Command::new(PROGRAM).args(arguments).arg(path).output().unwrap()
    };
    assert!(run(&badge).status.success());
    let badge: Value = serde_json::from_str(&std::fs::read_to_string(badge).unwrap()).unwrap();
    assert_eq!(
        (&badge["schemaVersion"], &badge["message"]),
        (&1.into(), &"conforms to documented".into())
    );
}

#[tokio::test]
async fn the_gate_writes_every_report_and_has_the_exit_code_of_the_suite() {
    let server = stuntdouble_simulator::Simulator::builder()
        .bare(true)
        .start()
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let reports = folder.path().join("reports");
    let outputs = folder.path().join("outputs");
    let gate = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/gate/gate.sh");
    let mut command = tokio::process::Command::new("sh");
    let command = command
        .arg(gate)
        .arg(server.url())
        .arg("core/v1/configmaps/read/present");
    let command = command
        .env("STUNTDOUBLE", PROGRAM)
        .env("REPORTS", &reports)
        .env("GITHUB_OUTPUT", &outputs);
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    for name in [
        "junit.xml",
        "report.html",
        "results.jsonl",
        "summary.json",
        "summary.md",
        "badge.svg",
    ] {
        assert!(std::fs::metadata(reports.join(name)).unwrap().len() > 0, "{name}");
    }
    assert_eq!(std::fs::read_to_string(outputs).unwrap(), "verdict=conforms\n");
}

//! The command line of `stuntdouble`: exit codes, lists, reports.

use std::process::{Command, Output};

use crate::server::PROGRAM;
use serde_json::{Value, json};
use stuntdouble_suite::catalog::Catalog;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

fn stuntdouble(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn code(arguments: &[&str]) -> i32 {
    stuntdouble(arguments).status.code().unwrap()
}

/// Starts a server that serves the discovery of batch/v1 and nothing else.
async fn discovery(resources: Value) -> MockServer {
    let server = MockServer::start().await;
    let body =
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch/v1", "resources": resources});
    Mock::given(method("GET"))
        .and(path("/api"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"kind": "APIVersions"})))
        .mount(&server)
        .await;
    Mock::given(method("GET"))
        .and(path("/apis/batch/v1"))
        .respond_with(ResponseTemplate::new(200).set_body_json(body))
        .mount(&server)
        .await;
    server
}

const RESOURCES: &str = "discovery/resources/batch-v1/resources";

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_is_0_if_no_trial_failed_and_1_if_one_did() {
    let good = discovery(json!([{"name": "jobs", "kind": "Job", "namespaced": true}])).await;
    let altered = discovery(json!([{"name": "jobs", "kind": "Work", "namespaced": true}])).await;
    assert_eq!(code(&["conformance", "--target", &good.uri(), RESOURCES]), 0);
    assert_eq!(code(&["conformance", "--target", &altered.uri(), RESOURCES]), 1);
}

#[test]
fn the_exit_code_is_3_if_the_target_cannot_be_reached() {
    // Bound but not listening, so that the port stays unused.
    let silent = tokio::net::TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = silent.local_addr().unwrap();
    let output = stuntdouble(&["conformance", "--target", &format!("http://{address}")]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("refused"),
        "{output:?}"
    );
}

#[test]
fn the_exit_code_is_2_for_wrong_usage() {
    assert_eq!(code(&["conformance", "--profile", "nonesuch"]), 2);
    assert_eq!(code(&["conformance", "--partition", "3/2"]), 2);
    assert_eq!(code(&["conformance", "--list", "no-trial-is-called-so"]), 2);
    assert_eq!(code(&["conformance", "--target", "localhost"]), 2);
    assert_eq!(code(&["conformance", "--kubeconfig", "no-such-file"]), 2);
    assert_eq!(code(&["nonesuch"]), 2);
    assert_eq!(code(&["--help"]), 0);
}

#[test]
fn the_list_names_every_operation_and_each_line_is_one_object() {
    let output = stuntdouble(&["conformance", "--list", "--format", "json"]);
    let mut operations = std::collections::BTreeSet::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let trial: Value = serde_json::from_str(line).unwrap();
        let fields: Vec<&str> = trial.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            fields,
            ["id", "operation", "level", "requirement", "source", "statements"]
        );
        operations.insert(trial["operation"].as_str().unwrap().to_owned());
    }
    let documented = Catalog::embedded().unwrap().operations();
    assert!(operations.len() >= documented, "{} of {documented}", operations.len());
    assert!(operations.contains("GET /api/v1/namespaces/{namespace}/pods"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_report_shows_a_failure_and_its_request() {
    let altered = discovery(json!([])).await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (junit, html, lines, cassettes) = (file("r.xml"), file("r.html"), file("r.json"), file("cassettes"));
    let arguments = [
        "conformance",
        "--target",
        &altered.uri(),
        "--junit",
        &junit,
        "--html",
        &html,
        "--json",
        &lines,
        "--record",
        &cassettes,
        "discovery/resources/batch-v1",
    ];
    let output = stuntdouble(&arguments);
    let curl = format!("curl -sS -i '{}/apis/batch/v1'", altered.uri());

    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("FAILED {RESOURCES}")), "{text}");
    assert!(text.contains(&curl), "{text}");
    assert!(
        text.contains("- jobs: Job") && text.contains("+ jobs: not listed"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "colours outside a terminal");

    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(
        junit.contains("<failure ") && !junit.contains(r#"failures="0""#),
        "{junit}"
    );
    assert!(junit.contains(RESOURCES), "{junit}");

    let html = std::fs::read_to_string(html).unwrap();
    assert!(html.contains(RESOURCES) && html.contains("does not conform"));

    let lines: Vec<Value> = std::fs::read_to_string(lines)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.first().unwrap()["event"], "started");
    assert_eq!(lines.last().unwrap()["conforms"], false);
    let failed = lines.iter().find(|line| line["id"] == RESOURCES).unwrap();
    assert_eq!(failed["verdict"], "failed");
    assert_eq!(failed["failure"]["curl"], curl);

    let cassette = std::fs::read_to_string(format!("{cassettes}/{}.yaml", RESOURCES.replace('/', "-"))).unwrap();
    assert!(
        cassette.contains("/apis/batch/v1") && cassette.contains("status: 200"),
        "{cassette}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_failure_does_not_fail_the_run_and_a_skipped_trial_has_not_passed() {
    let altered = discovery(json!([])).await;
    let folder = tempfile::tempdir().unwrap();
    let known = folder.path().join("known.yaml");
    std::fs::write(&known, format!("- id: {RESOURCES}\n  reason: there are no jobs here\n")).unwrap();
    let known = known.to_string_lossy().into_owned();
    assert_eq!(
        code(&[
            "conformance",
            "--target",
            &altered.uri(),
            "--expectations",
            &known,
            RESOURCES
        ]),
        0
    );

    let output = stuntdouble(&[
        "conformance",
        "--target",
        &altered.uri(),
        "--format",
        "json",
        "core/v1/proxy/pods-get/passed-on",
    ]);
    // A skipped must trial makes the verdict incomplete.
    assert_eq!(output.status.code(), Some(4));
    let last: Value = serde_json::from_str(String::from_utf8(output.stdout).unwrap().lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["passed"], &last["skipped"], &last["operations_passed"]),
        (&json!(0), &json!(1), &json!(0))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_wide_trials_are_skipped_on_other_servers() {
    let server = discovery(json!([])).await;
    let output = stuntdouble(&[
        "conformance",
        "--target",
        &server.uri(),
        "--format",
        "json",
        "DELETE /api/v1/namespaces",
    ]);
    let lines = String::from_utf8(output.stdout).unwrap();
    let skipped = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["verdict"] == "skipped");
    assert!(
        skipped
            .map(|line| line["id"].clone())
            .any(|id| id == "core/v1/namespaces/delete-collection/all"),
        "{lines}"
    );
    assert!(
        !server
            .received_requests()
            .await
            .unwrap()
            .iter()
            .any(|request| request.method.as_str() == "DELETE" && request.url.path() == "/api/v1/namespaces")
    );
}

/// Starts a server that sends the same response to every request.
async fn always(status: u16, body: &str) -> MockServer {
    let server = MockServer::start().await;
    let response = ResponseTemplate::new(status).set_body_raw(body.to_owned(), "application/json");
    Mock::given(wiremock::matchers::any())
        .respond_with(response)
        .mount(&server)
        .await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn no_must_trial_passes_on_a_server_that_always_sends_the_same_response() {
    for (status, body) in [(404, "404 page not found"), (200, "{}")] {
        let server = always(status, body).await;
        // One kind is enough: all kinds have the same cases.
        let filters = [
            "core/v1/configmaps/",
            "core/v1/componentstatuses/",
            "core/v1/proxy/services-get/",
            "discovery/",
        ];
        let uri = server.uri();
        let arguments = [
            &[
                "conformance",
                "--target",
                &uri,
                "--format",
                "json",
                "--timeout",
                "2",
                "--jobs",
                "64",
            ],
            filters.as_slice(),
        ];
        let output = stuntdouble(&arguments.concat());
        assert_eq!(output.status.code(), Some(1), "{status}");
        let lines = String::from_utf8(output.stdout).unwrap();
        let passed: Vec<String> = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| line["verdict"] == "passed" && line["level"] == "must")
            .map(|line| line["id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(passed, Vec::<String>::new(), "{status}");
    }
}

#[test]
fn coverage_names_every_statement() {
    let output = stuntdouble(&["conformance", "--coverage"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("query/pretty") && text.contains("264 of 264 operations"),
        "{text}"
    );
}

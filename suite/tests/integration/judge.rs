//! The suite itself, against a small server whose responses the tests alter.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};
use stuntdouble_suite::{
    catalog::{Catalog, Level, Profile},
    report::Summary,
    target::{Credentials, Target},
    trial::{Outcome, Run, Runner, Selection, Verdict},
};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

/// A minimal server that stores objects by path, enough for trials that create and read.
#[derive(Clone, Default)]
struct MiniServer {
    objects: Arc<Mutex<std::collections::BTreeMap<String, Value>>>,
    version: Arc<AtomicU64>,
    /// Number of deletions of objects that it refuses.
    refused: Arc<AtomicU64>,
    /// Alters a response before it is sent.
    alter: Option<fn(&Request, &mut Value)>,
}

impl MiniServer {
    /// Counts down the refused deletions. Returns whether one was left.
    fn refuses(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        self.refused
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }

    fn answer(&self, request: &Request) -> (u16, Value) {
        let path = request.url.path().to_owned();
        let mut objects = self.objects.lock().unwrap();
        let not_found = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
            "code": 404, "message": "not found"});
        match request.method.as_str() {
            "POST" => {
                let mut object: Value = serde_json::from_slice(&request.body).unwrap();
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                let namespace = path.split('/').nth(4).map(str::to_owned);
                if let Some(namespace) = namespace {
                    object["metadata"]["namespace"] = namespace.into();
                }
                object["metadata"]["selfLink"] = format!("{path}/{name}").into();
                object["metadata"]["uid"] = format!("uid-{name}").into();
                object["metadata"]["resourceVersion"] =
                    (self.version.fetch_add(1, Ordering::Relaxed) + 1).to_string().into();
                object["metadata"]["creationTimestamp"] = "2016-03-01T10:00:00Z".into();
                objects.insert(format!("{path}/{name}"), object.clone());
                (200, object)
            }
            "DELETE" if path.contains("/configmaps/") && self.refuses() => (
                500,
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500}),
            ),
            "DELETE" => match objects.remove(&path) {
                Some(_) => (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})),
                None => (404, not_found),
            },
            _ if path.ends_with("/configmaps") => {
                (200, json!({"kind": "ConfigMapList", "apiVersion": "v1", "items": []}))
            }
            _ => objects
                .get(&path)
                .map_or((404, not_found), |object| (200, object.clone())),
        }
    }
}

impl Respond for MiniServer {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let (status, mut body) = self.answer(request);
        if let Some(alter) = self.alter {
            alter(request, &mut body);
        }
        ResponseTemplate::new(status).set_body_json(body)
    }
}

async fn run_trial(id: &str, server_state: MiniServer) -> (Outcome, MockServer) {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(server_state).mount(&server).await;
    let target = Target::at(&server.uri(), &Credentials::default()).unwrap();
    let selection = Selection {
        filters: vec![id.to_owned()],
        ..Selection::default()
    };
    let trial = selection
        .of(&Catalog::embedded().unwrap(), Profile::Documented)
        .remove(0);
    let run = Run::new("judge");
    let outcome = trial.run(&target, &run).await;
    assert_eq!(run.clean_up(&target).await, Vec::<String>::new());
    (outcome, server)
}

fn about(outcome: &Outcome) -> Vec<String> {
    outcome
        .verdict
        .failure()
        .map(|failure| failure.mismatches.iter().map(|m| m.about.clone()).collect())
        .unwrap_or_default()
}

const READ: &str = "core/v1/configmaps/read/present";

#[tokio::test]
async fn a_correct_response_passes_and_everything_is_removed() {
    let server_state = MiniServer::default();
    let (outcome, server) = run_trial(READ, server_state.clone()).await;
    assert_eq!(outcome.verdict, Verdict::Passed);
    assert!(
        server_state.objects.lock().unwrap().is_empty(),
        "objects are left behind"
    );
    let asked: Vec<String> = server
        .received_requests()
        .await
        .unwrap()
        .iter()
        .map(|r| format!("{} {}", r.method, r.url.path()))
        .collect();
    let writes: Vec<&String> = asked.iter().filter(|request| !request.starts_with("GET")).collect();
    assert!(
        writes[0].starts_with("POST /api/v1/namespaces"),
        "the first write does not create the namespace: {asked:?}"
    );
    assert!(
        asked
            .last()
            .unwrap()
            .starts_with("DELETE /api/v1/namespaces/sd-judge-n"),
        "the last request does not delete the namespace: {asked:?}"
    );
}

#[tokio::test]
async fn an_object_that_could_not_be_removed_is_removed_at_the_end_of_the_run() {
    let server_state = MiniServer {
        refused: Arc::new(1.into()),
        ..MiniServer::default()
    };
    let (outcome, _server) = run_trial(READ, server_state.clone()).await;
    assert_eq!(outcome.verdict, Verdict::Passed);
    assert_eq!(server_state.refused.load(Ordering::Relaxed), 0);
    assert!(
        server_state.objects.lock().unwrap().is_empty(),
        "objects are left behind"
    );
}

#[tokio::test]
async fn everything_is_removed_after_a_failure() {
    fn alter(request: &Request, body: &mut Value) {
        if request.method.as_str() == "GET" {
            body["data"]["color"] = "red".into();
        }
    }
    let server_state = MiniServer {
        alter: Some(alter),
        ..MiniServer::default()
    };
    let (outcome, _server) = run_trial(READ, server_state.clone()).await;
    assert_eq!(about(&outcome), ["object", "object a"]);
    assert!(
        server_state.objects.lock().unwrap().is_empty(),
        "objects are left behind"
    );
    let failure = outcome.verdict.failure().unwrap();
    assert!(
        failure.curl.as_deref().unwrap().contains("/configmaps/sd-judge-"),
        "{failure:?}"
    );
    assert!(
        failure.mismatches[0]
            .diff()
            .contains(&('+', "    \"color\": \"red\"".to_owned()))
            || failure.mismatches[0].actual.contains("red")
    );
}

#[tokio::test]
async fn a_wrong_kind_is_a_failure() {
    fn alter(request: &Request, body: &mut Value) {
        if request.method.as_str() == "GET" {
            body["kind"] = "Secret".into();
        }
    }
    let (outcome, _server) = run_trial(
        READ,
        MiniServer {
            alter: Some(alter),
            ..MiniServer::default()
        },
    )
    .await;
    assert!(about(&outcome).contains(&"type".to_owned()), "{outcome:?}");
}

#[tokio::test]
async fn a_failed_set_up_names_the_request_that_failed() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(503).set_body_string("too busy"))
        .mount(&server)
        .await;
    let target = Target::at(&server.uri(), &Credentials::default()).unwrap();
    let selection = Selection {
        filters: vec![READ.to_owned()],
        ..Selection::default()
    };
    let trial = selection
        .of(&Catalog::embedded().unwrap(), Profile::Documented)
        .remove(0);
    let outcome = trial.run(&target, &Run::new("judge")).await;
    let failure = outcome.verdict.failure().unwrap();
    assert!(
        failure.mismatches[0].actual.contains("503") && failure.mismatches[0].actual.contains("curl"),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_token_is_sent_and_never_shown() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(401).set_body_string("no"))
        .mount(&server)
        .await;
    let credentials = Credentials {
        token: Some("hush".to_owned()),
        ..Credentials::default()
    };
    let target = Target::at(&server.uri(), &credentials).unwrap();
    let selection = Selection {
        filters: vec![READ.to_owned()],
        ..Selection::default()
    };
    let trial = selection
        .of(&Catalog::embedded().unwrap(), Profile::Documented)
        .remove(0);
    let outcome = trial.run(&target, &Run::new("judge")).await;
    assert!(!format!("{outcome:?}").contains("hush"));
    let asked = server.received_requests().await.unwrap();
    assert!(asked.iter().all(|request| {
        request
            .headers
            .get("authorization")
            .is_some_and(|value| value == "Bearer hush")
    }));
}

#[tokio::test]
async fn an_absent_kind_lowers_no_score() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(MiniServer::default())
        .mount(&server)
        .await;
    let target = Target::at(&server.uri(), &Credentials::default()).unwrap();
    let runner = Runner::new(Arc::new(target), "partial");
    let selection = Selection {
        filters: vec![
            READ.to_owned(),
            "core/v1/configmaps/replace/not-found".to_owned(),
            "core/v1/secrets/read/present".to_owned(),
        ],
        ..Selection::default()
    };
    let trials = selection.of(&Catalog::embedded().unwrap(), Profile::Documented);
    let mut summary = Summary::default();
    runner
        .run(trials, Profile::Documented, |event| summary.handle(&event))
        .await;
    let scores = &summary.scores()["core/v1"];
    let (must, should) = (scores[&Level::Must], scores[&Level::Should]);
    assert_eq!((must.passed, must.ran, must.absent), (1, 1, 1));
    assert_eq!((must.percent(), should.ran), (Some(100), 1));
    let aside: Vec<String> = summary.set_aside().into_keys().map(|(_, reason)| reason).collect();
    assert_eq!(aside, ["the target does not serve core/v1/secrets"]);
}

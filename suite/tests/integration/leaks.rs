//! Reports never contain objects that the run did not create, whatever the server responds.

use std::{convert::Infallible, path::Path, process::Command};

use crate::server::{PROGRAM, client};
use base64::Engine;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rstest::rstest;
use serde_json::json;
use stuntdouble_simulator::Simulator;
use tokio::net::TcpListener;

/// Number of planted Secrets.
const PLANTED: usize = 20;

/// Fault of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Ignores the query.
    IgnoresQuery,
    /// Responds to every read of Secrets with all of them.
    ListsAll,
    /// Responds to every request for a Secret, including writes, with a planted one.
    AnotherSecret,
    /// Cuts response bodies in half.
    Truncates,
    /// Responds with all Secrets and an error code.
    FailsWithAll,
}

/// Starts a proxy with a fault. It runs until the runtime of the test ends.
async fn faulty(upstream: String, fault: Fault) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = client();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (client, upstream) = (client.clone(), upstream.clone());
            let service = service_fn(move |request| pass(client.clone(), upstream.clone(), fault, request));
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    format!("http://{address}")
}

async fn pass(
    client: reqwest::Client,
    upstream: String,
    fault: Fault,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let secrets = head.uri.path().contains("/secrets");
    let path = match fault {
        Fault::IgnoresQuery => head.uri.path().to_owned(),
        _ => head.uri.to_string(),
    };
    let ask = |method: Method, path: &str| client.request(method, format!("{upstream}{path}"));
    let asked = ask(head.method.clone(), &path).body(body);
    let asked = match head.headers.get("content-type") {
        Some(media) => asked.header("content-type", media),
        None => asked,
    };
    let answer = asked.send().await.unwrap();
    let mut status = answer.status();
    let mut body = answer.bytes().await.unwrap();
    let read = secrets && head.method == Method::GET;
    let instead = match fault {
        Fault::ListsAll if read => Some("/api/v1/secrets"),
        Fault::AnotherSecret if secrets => Some("/api/v1/namespaces/default/secrets/planted-6"),
        Fault::FailsWithAll if secrets => Some("/api/v1/secrets"),
        _ => None,
    };
    if let Some(path) = instead {
        body = ask(Method::GET, path).send().await.unwrap().bytes().await.unwrap();
    }
    match fault {
        Fault::Truncates if secrets => body = body.slice(..body.len() / 2),
        Fault::FailsWithAll if secrets => status = http::StatusCode::INTERNAL_SERVER_ERROR,
        _ => {}
    }
    let answer = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    Ok(answer.body(Full::new(body)).unwrap())
}

/// Creates Secrets outside the run. Returns the texts that no report may contain.
async fn plant(url: &str) -> Vec<String> {
    let (mut texts, client) = (Vec::new(), client());
    for number in 0..PLANTED {
        let value = format!("do-not-tell-{number}-anybody");
        let encoded = base64::engine::general_purpose::STANDARD.encode(&value);
        let secret = json!({
            "kind": "Secret", "apiVersion": "v1",
            "metadata": {"name": format!("planted-{number}"), "annotations": {"note": value}},
            "data": {"a": encoded, "password": encoded, "color": encoded},
        });
        let namespace = if number % 2 == 0 { "default" } else { "kube-system" };
        let url = format!("{url}/api/v1/namespaces/{namespace}/secrets");
        client.post(url).json(&secret).send().await.unwrap();
        texts.extend([value, encoded]);
    }
    texts
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: std::path::PathBuf| (path.display().to_string(), std::fs::read_to_string(path).unwrap());
    files.map(text).collect()
}

#[rstest]
#[case(Fault::IgnoresQuery, &["secrets/read", "secrets/list", "secrets/create", "secrets/patch"])]
#[case(
    Fault::ListsAll,
    &["secrets/read/", "secrets/list/complete", "secrets/list/pretty", "secrets/list/label-selector"]
)]
#[case(Fault::AnotherSecret, &["secrets/read/pretty", "secrets/list/complete", "secrets/create/new"])]
#[case(Fault::Truncates, &["secrets/read/pretty", "secrets/list/complete", "secrets/create/yaml"])]
#[case(Fault::FailsWithAll, &["secrets/read/pretty", "secrets/list/pretty", "secrets/create/new"])]
#[tokio::test(flavor = "multi_thread")]
async fn no_report_has_a_secret_of_others(#[case] fault: Fault, #[case] filters: &[&str]) {
    let server = Simulator::builder().bare(true).start().await.unwrap();
    create_namespace(&server.url()).await;
    let texts = plant(&server.url()).await;
    let target = faulty(server.url(), fault).await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let named = [
        "junit",
        "html",
        "json",
        "summary",
        "markdown",
        "badge",
        "write-expectations",
    ];
    let reports = named.iter().flat_map(|name| [format!("--{name}"), file(name)]);
    let output = tokio::process::Command::from(Command::new(PROGRAM))
        .args(["conformance", "--target", &target, "--timeout", "60"])
        .args(reports)
        .args(filters)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", file("step"))
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{fault:?} failed no trial: {output:?}");
    let mut written = files(folder.path());
    assert!(
        !std::fs::read_to_string(file("json"))
            .unwrap()
            .contains("no complete response in time")
    );
    assert_eq!(written.len(), named.len() + 1);
    written.push(("stdout".to_owned(), String::from_utf8(output.stdout).unwrap()));
    written.push(("stderr".to_owned(), String::from_utf8(output.stderr).unwrap()));
    for (name, report) in written {
        for text in &texts {
            let context = || {
                report
                    .find(text)
                    .map(|at| report[at.saturating_sub(300)..].chars().take(500).collect::<String>())
            };
            assert_eq!(context(), None, "{fault:?}: {name} contains {text}");
        }
    }
}

/// Creates the namespace of half of the planted Secrets.
async fn create_namespace(url: &str) {
    let namespace = json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kube-system"}});
    let request = client().post(format!("{url}/api/v1/namespaces")).json(&namespace);
    request.send().await.unwrap();
}

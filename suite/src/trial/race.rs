//! Concurrent writers. Of several replacements of one version exactly one succeeds. Of several patches of different
//! fields none is lost.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::verify;
use crate::catalog::profile::ExpectedStatus;
use crate::check::{self, Answer, Mismatch};
use crate::request::Request;

/// Sends the request several times concurrently. Exactly one must succeed, and the others must conflict.
pub(super) async fn race(
    environment: &Environment<'_>,
    request: &Request,
    writers: usize,
) -> Result<(Vec<Mismatch>, Answer), EnvironmentError> {
    let requests: Vec<Request> = (0..writers).map(|writer| for_writer(request, writer)).collect();
    let sent = requests.iter().map(|request| environment.target().send(request));
    let answers = futures::future::try_join_all(sent).await?;
    let succeeded = |answer: &&Answer| (200..300).contains(&answer.status);
    let winners = answers.iter().filter(succeeded).count();
    let mut found = Vec::new();
    if winners != 1 {
        let expected = format!("1 of {writers} concurrent writes of one version succeeds");
        found.push(Mismatch::new("race", expected, format!("{winners} succeeded")));
    }
    let loser = answers.iter().find(|answer| !succeeded(answer) && answer.status != 409);
    found.extend(loser.map(|loser| verify::status(ExpectedStatus::Code(409), loser)));
    Ok((found, answers.into_iter().next().unwrap_or_default()))
}

/// Patches an object several times concurrently, each time with another label. All must succeed, and none may be lost.
pub(super) async fn patches(
    environment: &Environment<'_>,
    request: &Request,
    clients: usize,
) -> Result<(Vec<Mismatch>, Answer), EnvironmentError> {
    let label = |client: usize| (format!("client-{client}"), "yes".to_owned());
    let labels: BTreeMap<String, String> = (0..clients).map(label).collect();
    let patch = |label: (&String, &String)| {
        let mut own = request.clone();
        own.body = Some(json!({"metadata": {"labels": {label.0: label.1}}}).to_string().into());
        own
    };
    let requests: Vec<Request> = labels.iter().map(patch).collect();
    let sent = requests.iter().map(|request| environment.target().send(request));
    let answers = futures::future::try_join_all(sent).await?;
    let mut found: Vec<Mismatch> = answers
        .iter()
        .filter(|answer| answer.status != 200)
        .map(|refused| verify::status(ExpectedStatus::Code(200), refused))
        .collect();
    if found.is_empty() {
        let (_, now) = environment.read(request.path.clone()).await?;
        let object: Value = serde_json::from_slice(&now.body).unwrap_or_default();
        let all = json!({"metadata": {"labels": labels}});
        found.extend(check::contains("object after all patches", &all, &object));
    }
    Ok((found, answers.into_iter().next().unwrap_or_default()))
}

/// Returns the request with a label for the writer, so that no two bodies are equal.
fn for_writer(request: &Request, writer: usize) -> Request {
    let mut own = request.clone();
    let body: Option<Value> = own.body.as_ref().and_then(|body| serde_json::from_slice(body).ok());
    if let Some(mut body) = body {
        crate::request::merge(
            &mut body,
            &json!({"metadata": {"labels": {"writer": writer.to_string()}}}),
        );
        own.body = Some(body.to_string().into());
    }
    own
}

//! Several writers at once: of one version exactly one may succeed; of patches of different fields none may be lost.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::verify;
use crate::catalog::profile::ExpectedStatus;
use crate::check::{self, Answer, Mismatch};
use crate::request::Request;

/// Sends the request several times at once. Exactly one succeeds, the others conflict.
pub(super) async fn race(
    environment: &Environment<'_>,
    request: &Request,
    writers: usize,
) -> Result<(Vec<Mismatch>, Answer), EnvironmentError> {
    let requests: Vec<Request> = (0..writers).map(|writer| own(request, writer)).collect();
    let sent = requests.iter().map(|request| environment.target().send(request));
    let answers = futures::future::try_join_all(sent).await?;
    let succeeded = |answer: &&Answer| (200..300).contains(&answer.status);
    let winners = answers.iter().filter(succeeded).count();
    let mut found = Vec::new();
    if winners != 1 {
        let expected = format!("one of {writers} writers of one version succeeds");
        found.push(Mismatch::new("race", expected, format!("{winners} succeed")));
    }
    let loser = answers.iter().find(|answer| !succeeded(answer) && answer.status != 409);
    found.extend(loser.map(|loser| verify::status(ExpectedStatus::Code(409), loser)));
    Ok((found, answers.into_iter().next().unwrap_or_default()))
}

/// Patches an object several times at once, each time with another label. All succeed, and none is lost.
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

/// The request with a label of its own, so that no two bodies are equal.
fn own(request: &Request, writer: usize) -> Request {
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

//! Several writers of one version at once: exactly one may succeed.

use super::environment::{Environment, EnvironmentError};
use super::verify;
use crate::catalog::profile::ExpectedStatus;
use crate::check::{Answer, Mismatch};
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

/// The request with a label of its own, so that no two bodies are equal.
fn own(request: &Request, writer: usize) -> Request {
    let mut own = request.clone();
    let body: Option<serde_json::Value> = own.body.as_ref().and_then(|body| serde_json::from_slice(body).ok());
    if let Some(mut body) = body {
        crate::request::merge(
            &mut body,
            &serde_json::json!({"metadata": {"labels": {"writer": writer.to_string()}}}),
        );
        own.body = Some(body.to_string().into());
    }
    own
}

//! A trial of a log query: what it finds among the log lines of the fixtures.
//!
//! The lines are loaded once per run. On a simulator of the suite they keep the names of their indices; on any other
//! target the indices belong to the run, which removes them.

use std::collections::BTreeMap;

use http::Method;

use super::Failure;
use super::environment_error::EnvironmentError;
use crate::catalog::{LogLine, LogQuery, log_lines};
use crate::check::{self, Answer, Mismatch};
use crate::request::Request;
use crate::target::{Target, TargetError};

/// The log search service, by way of the proxy.
const SERVICE: &str = "/api/v1/proxy/namespaces/kube-system/services/elasticsearch-logging";
/// How many lines are loaded at a time.
const BATCH: usize = 1000;
/// The stem of the names where indices keep theirs.
const AS_THEY_ARE: &str = "logs";

/// The stem of the indices of a run on a target.
pub(super) fn stem(target: &Target, run: &str) -> String {
    if target.owns_its_logs() {
        AS_THEY_ARE.to_owned()
    } else {
        format!("sd-{run}")
    }
}

/// An index, or a list or pattern of them, as it is named with a stem.
fn named(stem: &str, index: &str) -> String {
    if stem == AS_THEY_ARE {
        return index.to_owned();
    }
    let one = |index: &str| format!("{stem}-{}", index.trim_start_matches('.'));
    index.split(',').map(one).collect::<Vec<_>>().join(",")
}

fn lines() -> Result<&'static BTreeMap<String, LogLine>, EnvironmentError> {
    log_lines().map_err(|error| EnvironmentError::Case(error.to_string()))
}

/// Loads the log lines.
pub(super) async fn load(target: &Target, stem: &str) -> Result<(), EnvironmentError> {
    let refused = |request: &Request, answer: &Answer| EnvironmentError::Refused {
        request: format!("{} {}", request.method, request.target()),
        status: answer.status,
        body: check::shown_body(answer),
        curl: String::new(),
    };
    // The results are those of indices with one shard each.
    let template = serde_json::json!({
        "template": if stem == AS_THEY_ARE { "*".to_owned() } else { format!("{stem}-*") },
        "order": 9,
        "settings": {"number_of_shards": 1},
    });
    let request = Request::new(Method::PUT, format!("{SERVICE}/_template/{stem}"))
        .with_body("application/json", template.to_string());
    let answer = target.send(&request).await?;
    if answer.status != 200 {
        return Err(refused(&request, &answer));
    }
    let lines: Vec<&LogLine> = lines()?.values().collect();
    for batch in lines.chunks(BATCH) {
        let mut body = String::new();
        for line in batch {
            let action = serde_json::json!({"index": {"_index": named(stem, &line.index), "_type": line.doc_type, "_id": line.id}});
            body.push_str(&format!("{action}\n{}\n", line.source));
        }
        let request = Request::new(Method::POST, format!("{SERVICE}/_bulk")).with_body("application/x-ndjson", body);
        let answer = target.send(&request).await?;
        let done: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if answer.status != 200 || done.get("errors") != Some(&false.into()) {
            return Err(refused(&request, &answer));
        }
    }
    let request = Request::new(Method::POST, format!("{SERVICE}/_refresh"));
    let answer = target.send(&request).await?;
    if answer.status == 200 {
        Ok(())
    } else {
        Err(refused(&request, &answer))
    }
}

/// Removes what was loaded into a target that is not the suite's own. Nothing that goes wrong is told but by the answer.
pub(super) async fn remove(target: &Target, stem: &str) -> Result<(), TargetError> {
    let mut indices: Vec<String> = log_lines()
        .into_iter()
        .flat_map(BTreeMap::values)
        .map(|line| named(stem, &line.index))
        .collect();
    indices.sort();
    indices.dedup();
    for index in indices {
        target
            .send(&Request::new(Method::DELETE, format!("{SERVICE}/{index}")))
            .await?;
    }
    target
        .send(&Request::new(Method::DELETE, format!("{SERVICE}/_template/{stem}")))
        .await?;
    Ok(())
}

/// Asks a query and judges what it finds.
pub(super) async fn ask(target: &Target, stem: &str, wanted: &LogQuery) -> Result<Option<Failure>, EnvironmentError> {
    let mut request = Request::get(format!("{SERVICE}/{}/_search", named(stem, &wanted.index)));
    request.query.clone_from(&wanted.query);
    let answer = target.send(&request).await?;
    let size = wanted
        .query
        .iter()
        .find(|(name, _)| name == "size")
        .and_then(|(_, size)| size.parse().ok())
        .unwrap_or(10);
    let mismatches: Vec<Mismatch> = check::hits(
        wanted.found.as_ref(),
        size,
        lines()?,
        &|index| named(stem, index),
        &answer,
    );
    if mismatches.is_empty() {
        return Ok(None);
    }
    let answered = Some(format!(
        "{} {}",
        answer.status,
        answer.content_type.as_deref().unwrap_or("(no content type)")
    ));
    Ok(Some(Failure {
        mismatches,
        curl: Some(target.curl(&request)),
        answered,
        ..Failure::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_of_a_run_are_told_from_others_and_a_simulator_s_keep_their_names() {
        assert_eq!(named("sd-x", "logstash-*,.kibana"), "sd-x-logstash-*,sd-x-kibana");
        assert_eq!(named(AS_THEY_ARE, "logstash-*,.kibana"), "logstash-*,.kibana");
    }
}

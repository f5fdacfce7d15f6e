//! A trial of a log query: compares its hits with the log lines of the fixtures.
//!
//! The lines are loaded once per run. In a simulator that the suite started, indices keep their names. On any other
//! target their names contain the name of the run, which removes them.

use std::collections::BTreeMap;

use http::Method;

use super::Failure;
use super::environment_error::EnvironmentError;
use crate::catalog::{LogLine, LogQuery, log_lines};
use crate::check::{self, Answer, Mismatch};
use crate::request::Request;
use crate::target::{Target, TargetError};

/// Path of the log search service, through the proxy.
const SERVICE: &str = "/api/v1/proxy/namespaces/kube-system/services/elasticsearch-logging";
/// Number of lines per bulk request.
const BATCH_SIZE: usize = 1000;
/// Stem that leaves the names of indices unchanged.
const UNCHANGED: &str = "logs";

/// Returns the stem of the indices of a run on a target.
pub(super) fn stem(target: &Target, run: &str) -> String {
    if target.owns_its_logs() {
        UNCHANGED.to_owned()
    } else {
        format!("sd-{run}")
    }
}

/// Returns the name of an index, or of a list or pattern of indices, for a stem.
fn named(stem: &str, index: &str) -> String {
    if stem == UNCHANGED {
        return index.to_owned();
    }
    let one = |index: &str| format!("{stem}-{}", index.trim_start_matches('.'));
    index.split(',').map(one).collect::<Vec<_>>().join(",")
}

fn lines() -> Result<&'static BTreeMap<String, LogLine>, EnvironmentError> {
    log_lines().map_err(|error| EnvironmentError::Case(error.to_string()))
}

/// Loads the log lines into a target.
pub(super) async fn load(target: &Target, stem: &str) -> Result<(), EnvironmentError> {
    let refused = |request: &Request, answer: &Answer| EnvironmentError::Refused {
        request: format!("{} {}", request.method, request.target()),
        status: answer.status,
        body: check::shown_body(answer),
        curl: String::new(),
    };
    // The expected results are those of indices with one shard each.
    let template = serde_json::json!({
        "template": if stem == UNCHANGED { "*".to_owned() } else { format!("{stem}-*") },
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
    for batch in lines.chunks(BATCH_SIZE) {
        let mut body = String::new();
        for line in batch {
            let index = named(stem, &line.index);
            let action = serde_json::json!({"index": {"_index": index, "_type": line.doc_type, "_id": line.id}});
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

/// Removes the indices and the template that were loaded into a target. Ignores error responses.
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

/// Sends a query and checks its hits.
pub(super) async fn query(target: &Target, stem: &str, wanted: &LogQuery) -> Result<Option<Failure>, EnvironmentError> {
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
    fn index_names_contain_the_run_unless_the_simulator_belongs_to_the_suite() {
        assert_eq!(named("sd-x", "logstash-*,.kibana"), "sd-x-logstash-*,sd-x-kibana");
        assert_eq!(named(UNCHANGED, "logstash-*,.kibana"), "logstash-*,.kibana");
    }
}

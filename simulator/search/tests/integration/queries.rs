//! All log queries of the fixtures, against the search backend in process.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::Backend;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/queries")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(name: &str) -> Vec<Value> {
    fixture(name)
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-4 * a.abs().max(b.abs()).max(1e-9)
}

async fn loaded(corpus: &str) -> Backend {
    let backend = Backend::new();
    let answer = backend.post("/_bulk?refresh=true", &fixture(corpus)).await;
    assert_eq!(answer.body["errors"], false, "{}", answer.body);
    backend
}

fn uri(query: &Value, size: usize) -> String {
    let mut parameters = url::form_urlencoded::Serializer::new(String::new());
    parameters
        .append_pair("q", query["q"].as_str().unwrap())
        .append_pair("size", &size.to_string());
    for key in ["default_operator", "df", "lowercase_expanded_terms"] {
        match &query[key] {
            Value::Null => {}
            Value::String(text) => drop(parameters.append_pair(key, text)),
            other => drop(parameters.append_pair(key, &other.to_string())),
        }
    }
    let index = query["index"]
        .as_str()
        .map(|index| format!("/{index}"))
        .unwrap_or_default();
    format!("{index}/_search?{}", parameters.finish())
}

#[tokio::test]
async fn recorded_queries_have_the_documents_and_scores_of_lucene() {
    let backend = loaded("corpus.bulk").await;
    let mut wrong = Vec::new();
    for (query, wanted) in lines("queries.jsonl").iter().zip(lines("results.jsonl")) {
        let size = if wanted["ids"].is_array() { 200 } else { 60 };
        let answer = backend.get(&uri(query, size)).await;
        if wanted.get("error").is_some() {
            if answer.status != 400 || answer.body["status"] != 400 {
                wrong.push(format!("{query}: {}, expected an error", answer.status));
            }
            continue;
        }
        let hits = &answer.body["hits"];
        let failed = answer.body["_shards"]["failed"].as_u64().unwrap_or(u64::MAX) > 0;
        if hits["total"] != wanted["total"] || failed != wanted.get("failed_indices").is_some() {
            wrong.push(format!(
                "{query}: total {}, not {}; {}",
                hits["total"], wanted["total"], answer.body["_shards"]
            ));
            continue;
        }
        let scores: BTreeMap<&str, f64> = hits["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| (hit["_id"].as_str().unwrap(), hit["_score"].as_f64().unwrap()))
            .collect();
        if let Some(ids) = wanted["ids"].as_array()
            && !ids.iter().map(|id| id.as_str().unwrap()).eq(scores.keys().copied())
        {
            wrong.push(format!("{query}: other documents"));
        }
        for hit in wanted["hits"].as_array().unwrap() {
            let (id, score) = (hit[0].as_str().unwrap(), hit[1].as_f64().unwrap());
            if !scores.get(id).is_some_and(|met| near(*met, score)) {
                wrong.push(format!("{query}: {id} scores {:?}, not {score}", scores.get(id)));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn own_queries_have_the_results_computed_by_hand() {
    let backend = loaded("own.bulk").await;
    let mut wrong = Vec::new();
    for query in lines("own.jsonl") {
        let answer = backend.get(&format!("/own-2015.06.26{}", uri(&query, 10))).await;
        if query.get("error").is_some() {
            if answer.status != 400 {
                wrong.push(format!("{query}: {} {}", answer.status, answer.body));
            }
            continue;
        }
        let hits = answer.body["hits"]["hits"].as_array().cloned().unwrap_or_default();
        let ids: Vec<&str> = hits.iter().filter_map(|hit| hit["_id"].as_str()).collect();
        if answer.body["hits"]["total"] != query["total"] || query["ids"] != serde_json::json!(ids) {
            wrong.push(format!(
                "{query}: {} {ids:?} {}",
                answer.body["hits"]["total"], answer.body["error"]
            ));
            continue;
        }
        for (hit, wanted) in hits.iter().zip(query["scores"].as_array().into_iter().flatten()) {
            if !near(hit["_score"].as_f64().unwrap(), wanted.as_f64().unwrap()) {
                wrong.push(format!(
                    "{query}: {} scores {}, not {wanted}",
                    hit["_id"], hit["_score"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

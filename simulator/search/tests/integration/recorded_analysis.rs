//! The answers of Elasticsearch 1.5.2 to requests to analyze texts (`recorded/analysis.jsonl`).
//!
//! The first line has the settings of the index `mine`. Other lines with `analysis` have settings of a new index.
//! `path` is the index, if there is one, and the parameters of `_analyze`. `at` is the positions and offsets of the
//! tokens, `types` their types, or the type of all.

use crate::support::Backend;
use serde_json::{Value, json};

/// Returns the terms, positions with offsets, and types of an answer, as they are recorded.
fn tokens(answer: &Value) -> [Vec<String>; 3] {
    let tokens = answer["tokens"].as_array().unwrap().iter();
    let mut columns = [vec![], vec![], vec![]];
    for token in tokens {
        columns[0].push(token["token"].as_str().unwrap().to_owned());
        let [position, start, end] = ["position", "start_offset", "end_offset"].map(|key| &token[key]);
        columns[1].push(format!("{position}:{start}-{end}"));
        columns[2].push(token["type"].as_str().unwrap().to_owned());
    }
    columns
}

/// Returns a recorded column: an array, or words separated by spaces.
fn column(recorded: &Value) -> Vec<String> {
    match recorded {
        Value::Array(items) => items.iter().map(|item| item.as_str().unwrap().to_owned()).collect(),
        other => other
            .as_str()
            .unwrap()
            .split_terminator(' ')
            .map(str::to_owned)
            .collect(),
    }
}

/// Returns whether the tokens are the recorded ones.
fn has_tokens(recorded: &Value, answer: &Value) -> bool {
    let [terms, at, types] = tokens(answer);
    let is_same_at = recorded.get("at").is_none_or(|recorded| {
        let has_offsets = recorded.as_str().unwrap().contains(':');
        let shown = |at: &String| at.split(':').next().unwrap().to_owned();
        let at = if has_offsets {
            at
        } else {
            at.iter().map(shown).collect()
        };
        column(recorded) == at
    });
    let is_same_types = recorded
        .get("types")
        .is_none_or(|recorded| match column(recorded).as_slice() {
            [only] => types.iter().all(|own| own == only),
            all => types == all,
        });
    column(&recorded["terms"]) == terms && is_same_at && is_same_types
}

#[tokio::test]
async fn texts_are_analyzed_as_by_elasticsearch() {
    let backend = Backend::new();
    let mut differing = Vec::new();
    let mut names = std::iter::once("mine".to_owned()).chain((0..).map(|at| format!("other{at}")));
    let mut count = 0;
    for line in include_str!("../recorded/analysis.jsonl").lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let response = match recorded["path"].as_str() {
            Some(path) => {
                let (index, query) = path.split_once('?').unwrap();
                let path = format!("{index}/_analyze?{query}");
                backend.send("POST", &path, recorded["text"].as_str().unwrap()).await
            }
            None => {
                let body = json!({"settings": {"analysis": recorded["analysis"]}}).to_string();
                backend.send("PUT", &format!("/{}", names.next().unwrap()), &body).await
            }
        };
        count += 1;
        let is_same = match recorded["error"].as_str() {
            Some(error) => response.text.contains(Value::from(error).to_string().trim_matches('"')),
            None if recorded.get("terms").is_some() => {
                response.status == 200 && has_tokens(&recorded, &serde_json::from_str(&response.text).unwrap())
            }
            None => true,
        };
        let status = recorded["status"].as_u64().unwrap_or(200);
        if u64::from(response.status) != status || !is_same {
            differing.push(format!("{line}\n{}\n", response.text));
        }
    }
    assert!(count > 350 && differing.is_empty(), "{}", differing.join("\n"));
}

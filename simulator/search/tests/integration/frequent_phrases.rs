//! Exact phrases of frequent words, compared with a search word by word.

use std::fmt::Write;

use crate::support::{Backend, ask};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

/// Number of documents of each of the three segments.
const DOCS: usize = 6_000;
const WORDS: [&str; 6] = ["red", "fox", "blue", "hen", "old", "owl"];

/// A document: its words, and whether it is one of the few that are marked.
struct Line {
    words: Vec<&'static str>,
    is_marked: bool,
}

/// An index of one shard, with the lines of its documents by their ids. Each tenth one is deleted.
async fn backend() -> (Backend, Vec<Option<Line>>) {
    let backend = Backend::new();
    let mut random = StdRng::seed_from_u64(3);
    let mut lines = Vec::new();
    for _ in 0..3 {
        let mut bulk = String::new();
        for _ in 0..DOCS {
            let word = |random: &mut StdRng| WORDS[random.random_range(0..WORDS.len() * WORDS.len()).isqrt()];
            let words: Vec<&str> = (0..8).map(|_| word(&mut random)).collect();
            let is_marked = random.random_bool(0.01);
            let mark = if is_marked { "yes" } else { "no" };
            let action = json!({"index": {"_id": lines.len().to_string()}});
            writeln!(bulk, "{action}\n{}", json!({"text": words.join(" "), "mark": mark})).unwrap();
            lines.push(Some(Line { words, is_marked }));
        }
        let written = backend.post("/logs/line/_bulk?refresh=true", &bulk).await;
        assert_eq!(written.body["errors"], false);
    }
    for id in (0..lines.len()).step_by(10) {
        ask(&backend, "DELETE", &format!("/logs/line/{id}"), Value::Null).await;
        lines[id] = None;
    }
    ask(&backend, "POST", "/_refresh", Value::Null).await;
    (backend, lines)
}

/// Ids and frequencies of the documents with a phrase, the most frequent first.
fn expected(lines: &[Option<Line>], phrase: &str, marked_only: bool) -> Vec<(usize, usize)> {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let frequency = |line: &Line| {
        line.words
            .windows(phrase.len())
            .filter(|words| *words == phrase)
            .count()
    };
    let lines = lines
        .iter()
        .enumerate()
        .filter_map(|(id, line)| Some((id, line.as_ref()?)));
    let mut found: Vec<(usize, usize)> = lines
        .filter(|(_, line)| line.is_marked || !marked_only)
        .map(|(id, line)| (id, frequency(line)))
        .filter(|(_, frequency)| *frequency > 0)
        .collect();
    found.sort_by_key(|(id, frequency)| (usize::MAX - frequency, *id));
    found
}

/// Ids and scores of the hits of a search.
async fn hits(backend: &Backend, query: &Value) -> Vec<(usize, f64)> {
    let answer = ask(
        backend,
        "POST",
        "/logs/_search",
        json!({"query": query, "size": 3 * DOCS, "fields": []}),
    )
    .await;
    let hits = answer["hits"]["hits"].as_array().unwrap();
    assert_eq!(answer["hits"]["total"], hits.len());
    let hit = |hit: &Value| {
        (
            hit["_id"].as_str().unwrap().parse().unwrap(),
            hit["_score"].as_f64().unwrap(),
        )
    };
    hits.iter().map(hit).collect()
}

#[rstest::rstest]
#[case::two_words("owl old")]
#[case::rarer_words("red fox")]
#[case::the_same_word("owl owl")]
#[case::three_words("owl old owl")]
#[case::the_same_word_four_times("owl owl owl owl")]
#[tokio::test]
async fn a_phrase_is_found_as_often_as_it_occurs(#[case] phrase: &str) {
    let (backend, lines) = backend().await;
    let query = json!({"match_phrase": {"text": phrase}});
    let found = hits(&backend, &query).await;
    let expected = expected(&lines, phrase, false);
    assert!(expected.len() > 50);
    let ids: Vec<usize> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, expected.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    // The lines have the same number of words, so that the score is the square root of the frequency by a factor.
    let factor = found[0].1 / (expected[0].1 as f64).sqrt();
    for ((_, score), (_, frequency)) in found.iter().zip(&expected) {
        assert!((score / (*frequency as f64).sqrt() / factor - 1.0).abs() < 1e-5);
    }
}

#[rstest::rstest]
#[case::query(json!({"bool": {"must": [{"match": {"mark": "yes"}}, {"match_phrase": {"text": "owl old"}}]}}))]
#[case::filter(json!({"filtered": {
    "query": {"match_phrase": {"text": "owl old"}}, "filter": {"term": {"mark": "yes"}}
}}))]
#[tokio::test]
async fn a_phrase_of_few_documents_is_found(#[case] query: Value) {
    let (backend, lines) = backend().await;
    let ids: Vec<usize> = hits(&backend, &query).await.into_iter().map(|(id, _)| id).collect();
    let expected = expected(&lines, "owl old", true);
    assert!(expected.len() > 20);
    assert_eq!(ids, expected.into_iter().map(|(id, _)| id).collect::<Vec<_>>());
}

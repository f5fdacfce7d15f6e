//! Highlighting: the plain, the fast vector and the postings highlighter.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Backend, ask};

const TEXT: &str = "The quick brown fox jumps over the lazy dog. A second sentence talks about nothing much at all. \
                    Then the quick dog sleeps, and the quick fox runs away into the woods running & <b>.";

/// One document with the same text for each highlighter.
async fn text() -> Backend {
    let backend = Backend::new();
    let mapping = json!({"mappings": {"d": {"properties": {
        "plain": {"type": "string"},
        "vector": {"type": "string", "term_vector": "with_positions_offsets", "fields": {
            "stems": {"type": "string", "analyzer": "english", "term_vector": "with_positions_offsets"},
        }},
        "postings": {"type": "string", "index_options": "offsets"},
        "several": {"type": "string"},
    }}}});
    ask(&backend, "PUT", "/h", mapping).await;
    let several = ["one fox", "no match", "a fox and a fox and a hound"];
    let document = json!({"plain": TEXT, "vector": TEXT, "postings": TEXT, "several": several});
    ask(&backend, "PUT", "/h/d/1?refresh=true", document).await;
    backend
}

#[rstest]
// Terms of a phrase are marked only within the phrase.
#[case(
    "plain",
    json!({"match_phrase": {"plain": "quick fox"}}),
    json!({"fragment_size": 30}),
    &[" sleeps, and the <em>quick</em> <em>fox</em> runs"]
)]
#[case(
    "plain",
    json!({"match_phrase": {"plain": {"query": "quick fox", "slop": 1}}}),
    json!({"fragment_size": 30, "number_of_fragments": 1}),
    &["The <em>quick</em> brown <em>fox</em> jumps"]
)]
// The fragment with the highest score comes first.
#[case(
    "plain",
    json!({"match": {"plain": "quick dog"}}),
    json!({"fragment_size": 20, "number_of_fragments": 2}),
    &[". Then the <em>quick</em> <em>dog</em>", "The <em>quick</em> brown fox"]
)]
#[case(
    "plain",
    json!({"prefix": {"plain": "runn"}}),
    json!({"fragment_size": 30, "encoder": "html"}),
    &[" away into the woods <em>running</em> & <b>."]
)]
#[case(
    "plain",
    json!({"match": {"plain": "nothing"}}),
    json!({"fragment_size": 30, "fragmenter": "simple"}),
    &[" sentence talks about <em>nothing</em> much"]
)]
#[case("plain", json!({"match_all": {}}), json!({"no_match_size": 21}), &["The quick brown fox"])]
#[case("plain", json!({"constant_score": {"filter": {"term": {"plain": "fox"}}}}), json!({}), &[])]
#[case(
    "plain",
    json!({"constant_score": {"query": {"term": {"plain": "lazy"}}}}),
    json!({"fragment_size": 20}),
    &[" jumps over the <em>lazy</em>"]
)]
#[case(
    "plain",
    json!({"common": {"plain": {"query": "lazy", "cutoff_frequency": 0.1}}}),
    json!({"fragment_size": 20}),
    &[" jumps over the <em>lazy</em>"]
)]
// Every value has fragments of its own, in document order unless sorted by score.
#[case(
    "several",
    json!({"match": {"several": "fox hound"}}),
    json!({}),
    &["one <em>fox</em>", "a <em>fox</em> and a <em>fox</em> and a <em>hound</em>"]
)]
#[case(
    "several",
    json!({"match": {"several": "fox hound"}}),
    json!({"order": "score"}),
    &["a <em>fox</em> and a <em>fox</em> and a <em>hound</em>", "one <em>fox</em>"]
)]
#[case(
    "several",
    json!({"match": {"several": "fox"}}),
    json!({"number_of_fragments": 0}),
    &["one <em>fox</em>", "a <em>fox</em> and a <em>fox</em> and a hound"]
)]
#[case(
    "several",
    json!({"match": {"several": "fox"}}),
    json!({"numberOfFragments": 1.9, "preTags": ["<b>"], "postTags": ["</b>"]}),
    &["one <b>fox</b>"]
)]
// A phrase is marked as a whole.
#[case(
    "vector",
    json!({"match_phrase": {"vector": "quick fox"}}),
    json!({"fragment_size": 20}),
    &["and the <em>quick fox</em> runs away"]
)]
#[case(
    "vector",
    json!({"match": {"vector": "quick dog"}}),
    json!({"fragment_size": 20, "number_of_fragments": 2}),
    &["The <em>quick</em> brown fox jumps", "the lazy <em>dog</em>. A second"]
)]
#[case(
    "vector",
    json!({"match": {"vector": "quick dog"}}),
    json!({"fragment_size": 30, "number_of_fragments": 1, "order": "score"}),
    &[" Then the <em>quick</em> <em>dog</em> sleeps, and"]
)]
#[case(
    "vector",
    json!({"match": {"vector": "nothing"}}),
    json!({"fragment_size": 20, "boundary_chars": "z"}),
    &["about <em>nothing</em> much a"]
)]
#[case(
    "vector",
    json!({"match": {"vector": "quick dog"}}),
    json!({"fragment_size": 30, "phrase_limit": 1}),
    &["The <em>quick</em> brown fox jumps over"]
)]
#[case(
    "vector",
    json!({"match": {"vector": "lazy dog"}}),
    json!({"fragment_size": 18, "number_of_fragments": 1, "pre_tags": ["<1>", "<2>"], "post_tags": ["</1>", "</2>"]}),
    &["over the <1>lazy</1> <2>dog</2>. A second"]
)]
#[case(
    "vector",
    json!({"match": {"vector.stems": "run"}}),
    json!({"fragment_size": 40, "number_of_fragments": 1, "matched_fields": ["vector", "vector.stems"]}),
    &["fox <em>runs</em> away into the woods <em>running</em> & <b>"]
)]
#[case("vector", json!({"match_all": {}}), json!({"no_match_size": 21}), &["The quick brown fox jumps"])]
// Fragments are sentences, in the order of the text.
#[case(
    "postings",
    json!({"match": {"postings": "quick dog"}}),
    json!({}),
    &[
        "The <em>quick</em> brown fox jumps over the lazy <em>dog</em>.",
        "Then the <em>quick</em> <em>dog</em> sleeps, and the <em>quick</em> fox runs away into the woods running & \
         <b>.",
    ]
)]
#[case(
    "postings",
    json!({"match": {"postings": "nothing"}}),
    json!({}),
    &["A second sentence talks about <em>nothing</em> much at all."]
)]
#[case(
    "postings",
    json!({"match_all": {}}),
    json!({"no_match_size": 5}),
    &["The quick brown fox jumps over the lazy dog."]
)]
#[tokio::test]
async fn a_field_is_highlighted(
    #[case] field: &str,
    #[case] query: Value,
    #[case] settings: Value,
    #[case] expected: &[&str],
) {
    let backend = text().await;
    let body = json!({"query": query, "fields": [], "highlight": {"fields": {field: settings}}});
    let answer = ask(&backend, "POST", "/h/_search", body).await;
    let found = answer["hits"]["hits"][0]["highlight"][field].as_array().cloned();
    assert_eq!(found.unwrap_or_default(), expected, "{answer}");
}

#[tokio::test]
async fn invalid_highlight_requests_fail_with_a_reason() {
    let backend = text().await;
    for (settings, status, reason) in [
        (
            json!({"type": "fvh"}),
            400,
            "should be indexed with term vector with position offsets",
        ),
        (
            json!({"type": "none"}),
            400,
            "unknown highlighter type [none] for the field [plain]",
        ),
        (
            json!({"fragmenter": "none"}),
            400,
            "unknown fragmenter option [none] for the field [plain]",
        ),
    ] {
        let body = json!({"query": {"match": {"plain": "fox"}}, "highlight": {"fields": {"plain": settings}}});
        let answer = backend.post("/h/_search", &body.to_string()).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        assert!(answer.text.contains(reason), "{}", answer.text);
    }
    let body =
        json!({"query": {"match": {"vector": "fox"}}, "highlight": {"fields": {"vector": {"fragment_size": 9}}}});
    let answer = backend.post("/h/_search", &body.to_string()).await;
    assert_eq!(answer.status, 500, "{}", answer.text);
    let reason = "Fetch Failed [Failed to highlight field [vector]]]; nested: IllegalArgumentException[fragCharSize(9) \
     is too small.";
    assert!(answer.text.contains(reason), "{}", answer.text);
}

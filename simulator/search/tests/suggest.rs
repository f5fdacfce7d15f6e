//! Suggested phrases and completions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use rstest::rstest;
use serde_json::{Value, json};

#[path = "support/mod.rs"]
mod support;
use support::Backend;

async fn songs() -> Backend {
    let backend = Backend::new();
    let body = json!({
        "settings": {"analysis": {
            "analyzer": {"grams": {"tokenizer": "standard", "filter": ["lowercase", "pairs"]}},
            "filter": {"pairs": {"type": "shingle"}},
        }},
        "mappings": {"song": {"properties": {
            "name": {"type": "string", "fields": {"grams": {"type": "string", "analyzer": "grams"}}},
            "suggest": {"type": "completion", "payloads": true},
        }}},
    });
    let answer = backend.put("/music", &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    for (id, song) in [
        (
            "1",
            json!({"name": "noble prize", "suggest": {"input": ["Nevermind", "Nirvana"], "output": "Nirvana - Nevermind", "weight": 34, "payload": {"id": 7}}}),
        ),
        (
            "2",
            json!({"name": "nobel prize", "suggest": {"input": "Nirvana Unplugged", "weight": 5}}),
        ),
        ("3", json!({"name": "nobel prize winners", "suggest": "Foo Fighters"})),
    ] {
        let answer = backend.put(&format!("/music/song/{id}"), &song.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    assert_eq!(backend.post("/music/_refresh", "").await.status, 200);
    backend
}

fn texts(options: &Value) -> Vec<&str> {
    options
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["text"].as_str().unwrap())
        .collect()
}

#[rstest]
#[case(json!({"field": "suggest"}), "n", &["Nirvana - Nevermind", "Nirvana Unplugged"])]
#[case(json!({"field": "suggest", "size": 1}), "NIR", &["Nirvana - Nevermind"])]
#[case(json!({"field": "suggest"}), "nirvana u", &["Nirvana Unplugged"])]
#[case(json!({"field": "suggest"}), "fou", &[])]
#[case(json!({"field": "suggest", "fuzzy": {"fuzziness": 1}}), "fou fi", &["Foo Fighters"])]
#[tokio::test]
async fn a_beginning_is_completed(#[case] own: Value, #[case] text: &str, #[case] expected: &[&str]) {
    let backend = songs().await;
    let answer = backend
        .post(
            "/music/_suggest",
            &json!({"s": {"text": text, "completion": own}}).to_string(),
        )
        .await;
    assert_eq!(texts(&answer.body["s"][0]["options"]), expected, "{}", answer.text);
}

#[tokio::test]
async fn a_completion_has_its_weight_and_its_payload() {
    let backend = songs().await;
    let body = json!({"s": {"text": "nev", "completion": {"field": "suggest"}}});
    let answer = backend.post("/music/_suggest", &body.to_string()).await;
    let expected = json!([{"text": "nev", "offset": 0, "length": 3, "options": [
        {"text": "Nirvana - Nevermind", "score": 34.0, "payload": {"id": 7}}]}]);
    assert_eq!(answer.body["s"], expected, "{}", answer.text);
    for (refused, reason) in [
        (
            json!({"suggest": {"input": "a", "weight": -1}}),
            "Weight must be in the interval",
        ),
        (json!({"suggest": {"inputs": "a"}}), "Unknown field name[inputs]"),
    ] {
        let answer = backend.post("/music/song", &refused.to_string()).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains(reason), "{}", answer.text);
    }
    let mapping = backend.get("/music/_mapping").await;
    assert_eq!(
        mapping.body["music"]["mappings"]["song"]["properties"]["suggest"],
        json!({"type": "completion", "analyzer": "simple", "payloads": true, "preserve_separators": true, "preserve_position_increments": true, "max_input_length": 50})
    );
}

#[tokio::test]
async fn a_phrase_is_corrected_by_what_its_words_follow() {
    let backend = songs().await;
    let body = json!({"suggest": {"text": "noble prise", "s": {"phrase": {
        "field": "name.grams", "max_errors": 2, "confidence": 0.5,
        "direct_generator": [{"field": "name", "suggest_mode": "always", "min_word_length": 3}],
        "highlight": {"pre_tag": "<b>", "post_tag": "</b>"},
    }}}});
    let answer = backend
        .post("/music/_search?search_type=count", &body.to_string())
        .await;
    let best = &answer.body["suggest"]["s"][0];
    assert_eq!(
        (&best["text"], &best["length"]),
        (&json!("noble prise"), &json!(11)),
        "{}",
        answer.text
    );
    assert_eq!(
        texts(&best["options"])[..2],
        ["nobel prize", "noble prize"],
        "{}",
        answer.text
    );
    assert_eq!(
        best["options"][0]["highlighted"], "<b>nobel prize</b>",
        "{}",
        answer.text
    );
    assert_eq!(
        best["options"][1]["highlighted"], "noble <b>prize</b>",
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn a_phrase_that_is_right_stays() {
    let backend = songs().await;
    let body = json!({"s": {"text": "nobel prize", "phrase": {"field": "name.grams"}}});
    let answer = backend.post("/music/_suggest", &body.to_string()).await;
    assert_eq!(answer.body["s"][0]["options"], json!([]), "{}", answer.text);
    let refused = backend
        .post(
            "/music/_suggest",
            r#"{"s": {"text": "x", "phrase": {"field": "name", "collate": {}}}}"#,
        )
        .await;
    assert_eq!(refused.body["_shards"]["failed"], 1, "{}", refused.text);
}

//! Phrase and completion suggesters.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::Backend;

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
            json!({
                "name": "noble prize",
                "suggest": {
                    "input": ["Nevermind", "Nirvana"],
                    "output": "Nirvana - Nevermind",
                    "weight": 34,
                    "payload": {"id": 7},
                }
            }),
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
async fn a_prefix_is_completed(#[case] own: Value, #[case] text: &str, #[case] expected: &[&str]) {
    let backend = songs().await;
    let answer = backend
        .post(
            "/music/_suggest",
            &json!({"s": {"text": text, "completion": own}}).to_string(),
        )
        .await;
    assert_eq!(texts(&answer.body["s"][0]["options"]), expected, "{}", answer.text);
}

/// Services with a colour and a place as contexts.
async fn services() -> Backend {
    let backend = Backend::new();
    let context = json!({
        "colour": {"type": "category", "path": "colour", "default": "grey"},
        "place": {"type": "geo", "precision": "5km", "neighbors": true},
    });
    let properties = json!({"suggest": {"type": "completion", "context": context}, "colour": {"type": "string"}});
    let body = json!({"mappings": {"service": {"properties": properties}}});
    assert_eq!(backend.put("/services", &body.to_string()).await.status, 200);
    let berlin = json!({"lat": 52.52, "lon": 13.4});
    for (input, context, colour) in [
        (
            "ticket sales",
            json!({"colour": ["red", "blue"], "place": berlin}),
            json!(null),
        ),
        ("ticket office", json!({"place": berlin}), json!("green")),
        ("ticket machine", json!({"place": [2.35, 48.86]}), json!(null)),
    ] {
        let document = json!({"suggest": {"input": input, "context": context}, "colour": colour});
        let answer = backend
            .post("/services/service?refresh=true", &document.to_string())
            .await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }
    backend
}

#[rstest]
#[case(json!({"colour": "red", "place": {"lat": 52.52, "lon": 13.4}}), &["ticket sales"])]
#[case(json!({"colour": ["blue", "green"], "place": "52.53,13.41"}), &["ticket sales", "ticket office"])]
#[case(json!({"colour": "red", "place": {"lat": 48.86, "lon": 2.35}}), &[])]
#[case(json!({"colour": null, "place": {"value": "u09tvw", "precision": 5}}), &["ticket machine"])]
#[tokio::test]
async fn completions_are_filtered_by_context(#[case] context: Value, #[case] expected: &[&str]) {
    let backend = services().await;
    for own in [
        json!({"field": "suggest", "context": context}),
        json!({"field": "suggest", "context": context, "fuzzy": {"min_length": 2}}),
    ] {
        let body = json!({"s": {"text": "tick", "completion": own}});
        let answer = backend.post("/services/_suggest", &body.to_string()).await;
        assert_eq!(texts(&answer.body["s"][0]["options"]), expected, "{}", answer.text);
    }
}

#[rstest]
#[case("services", json!({"field": "suggest"}), "suggester [completion] requires context to be setup")]
#[case("services", json!({"field": "suggest", "context": {"size": 1}}), "no mapping defined for [size]")]
#[case("music", json!({"field": "suggest", "context": {}}), "suggester [completion] doesn't expect any context")]
#[tokio::test]
async fn invalid_contexts_are_rejected(#[case] index: &str, #[case] own: Value, #[case] reason: &str) {
    let backend = if index == "music" {
        songs().await
    } else {
        services().await
    };
    let body = json!({"s": {"text": "tick", "completion": own}});
    let answer = backend.post(&format!("/{index}/_suggest"), &body.to_string()).await;
    assert!(answer.text.contains(reason), "{}", answer.text);
}

#[tokio::test]
async fn edits_count_bytes_unless_unicode_aware() {
    let backend = songs().await;
    let document = json!({"suggest": "Größe"});
    backend.post("/music/song?refresh=true", &document.to_string()).await;
    for (fuzzy, expected) in [
        (json!({"fuzziness": 1}), &[][..]),
        (json!({"fuzziness": 1, "unicode_aware": true}), &["Größe"]),
        (json!({"fuzziness": 1, "unicode_aware": true, "prefix_length": 3}), &[]),
        (json!({"fuzziness": 1, "unicode_aware": true, "min_length": 6}), &[]),
    ] {
        let body = json!({"s": {"text": "große", "completion": {"field": "suggest", "fuzzy": fuzzy}}});
        let answer = backend.post("/music/_suggest", &body.to_string()).await;
        assert_eq!(
            texts(&answer.body["s"][0]["options"]),
            expected,
            "{fuzzy}: {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn a_completion_has_a_weight_and_a_payload() {
    let backend = songs().await;
    let body = json!({"s": {"text": "nev", "completion": {"field": "suggest"}}});
    let answer = backend.post("/music/_suggest", &body.to_string()).await;
    let expected = json!([{"text": "nev", "offset": 0, "length": 3, "options": [
        {"text": "Nirvana - Nevermind", "score": 34.0, "payload": {"id": 7}}]}]);
    assert_eq!(answer.body["s"], expected, "{}", answer.text);
    for (response, reason) in [
        (
            json!({"suggest": {"input": "a", "weight": -1}}),
            "Weight must be in the interval",
        ),
        (
            json!({"suggest": {"input": "a", "weight": "x"}}),
            "Weight must be a string representing a numeric value, but was [x]",
        ),
        (
            json!({"suggest": {"input": "a", "weight": 1.5}}),
            "Weight must be an integer, but was [1.5]",
        ),
        (json!({"suggest": {"inputs": "a"}}), "Unknown field name[inputs]"),
    ] {
        let answer = backend.post("/music/song", &response.to_string()).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains(reason), "{}", answer.text);
    }
    let mapping = backend.get("/music/_mapping").await;
    assert_eq!(
        mapping.body["music"]["mappings"]["song"]["properties"]["suggest"],
        json!({
            "type": "completion",
            "analyzer": "simple",
            "payloads": true,
            "preserve_separators": true,
            "preserve_position_increments": true,
            "max_input_length": 50
        })
    );
}

#[tokio::test]
async fn a_phrase_is_corrected_with_ngram_frequencies() {
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
async fn a_correct_phrase_has_no_suggestions() {
    let backend = songs().await;
    let body = json!({"s": {"text": "nobel prize", "phrase": {"field": "name.grams"}}});
    let answer = backend.post("/music/_suggest", &body.to_string()).await;
    assert_eq!(answer.body["s"][0]["options"], json!([]), "{}", answer.text);
}

#[tokio::test]
async fn collate_checks_suggested_phrases() {
    let backend = songs().await;
    let suggest = async |collate: Value| {
        let body = json!({"s": {"text": "noble prise", "phrase": {
            "field": "name.grams", "max_errors": 2, "confidence": 0.0, "size": 10, "collate": collate,
            "direct_generator": [{"field": "name", "suggest_mode": "always", "min_word_length": 3}],
        }}});
        backend.post("/music/_suggest", &body.to_string()).await
    };
    let query = json!({"match_phrase": {"{{field}}": "{{suggestion}}"}});
    let params = json!({"field": "name"});
    let answer = suggest(json!({"query": query, "params": params})).await;
    let mut found = texts(&answer.body["s"][0]["options"]);
    found.sort_unstable();
    assert_eq!(found, ["nobel prize", "noble prize"], "{}", answer.text);
    let answer = suggest(json!({"query": query.to_string(), "params": params, "prune": true})).await;
    let options = answer.body["s"][0]["options"].as_array().unwrap();
    assert!(options.len() > 2, "{}", answer.text);
    for option in options {
        let is_there = ["nobel prize", "noble prize"].contains(&option["text"].as_str().unwrap());
        assert_eq!(option["collate_match"], is_there, "{option}");
    }
    for (collate, reason) in [
        (
            json!({"size": 1}),
            "suggester[phrase][collate] doesn't support field [size]",
        ),
        (
            json!({"query": {}, "filter": {}}),
            "suggester[phrase][collate] query already set, doesn't support additional [filter]",
        ),
    ] {
        let response = suggest(collate).await;
        assert_eq!(response.body["_shards"]["failed"], 1, "{}", response.text);
        assert!(response.text.contains(reason), "{}", response.text);
    }
}

#[rstest]
#[case(json!({"term": {"field": "title", "analyzer": "bad"}}))]
#[case(json!({"phrase": {"field": "title", "analyzer": "bad"}}))]
#[case(json!({"phrase": {"field": "title", "direct_generator": [{"field": "title", "pre_filter": "bad"}]}}))]
#[tokio::test]
async fn an_analyzer_that_cannot_be_used_fails_the_suggestions(#[case] mut own: Value) {
    let backend = Backend::new();
    let analysis = json!({
        "filter": {"bad": {"type": "shingle", "min_shingle_size": 3}},
        "analyzer": {"bad": {"tokenizer": "standard", "filter": ["bad"]}},
    });
    let settings = json!({"settings": {"number_of_shards": 1, "analysis": analysis}});
    assert_eq!(backend.send("PUT", "/music", &settings.to_string()).await.status, 200);
    backend
        .send(
            "PUT",
            "/music/song/1?refresh",
            r#"{"title": "smells like teen spirit"}"#,
        )
        .await;
    own["text"] = json!("smell");
    let answer = backend.post("/music/_suggest", &json!({"s": own}).to_string()).await;
    assert!(
        answer.text.contains("Min shingle size must be <= max shingle size"),
        "{}",
        answer.text
    );
}

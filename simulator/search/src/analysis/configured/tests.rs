//! Tests of configured analyzers.

use super::*;
use rstest::rstest;
use serde_json::json;

fn tokens(filter: Value, text: &str) -> Vec<(String, u32)> {
    let analysis =
        json!({"analyzer": {"mine": {"tokenizer": "whitespace", "filter": ["mine"]}}, "filter": {"mine": filter}});
    let analyzer = Analyzer::configured("mine", analysis.as_object()).unwrap();
    analyzer
        .terms(text)
        .into_iter()
        .map(|(position, term)| (term, position))
        .collect()
}

#[rstest]
#[case(json!({"type": "shingle"}), "a b c", &[("a", 0), ("a b", 0), ("b", 1), ("b c", 1), ("c", 2)])]
#[case(
    json!({"type": "shingle", "max_shingle_size": 3, "output_unigrams": false, "token_separator": "-"}),
    "a b c",
    &[("a-b", 0), ("a-b-c", 0), ("b-c", 1)]
)]
#[case(
    json!({"type": "synonym", "synonyms": ["tv, television", "wi fi => wifi"]}),
    "tv wi fi x",
    &[("tv", 0), ("television", 0), ("wifi", 1), ("x", 2)]
)]
#[case(
    json!({"type": "synonym", "synonyms": ["dns => domain name system"], "ignore_case": true}),
    "DNS a",
    &[("domain", 0), ("a", 1), ("name", 1), ("system", 2)]
)]
#[case(json!({"type": "synonym", "synonyms": ["b, c"], "expand": false}), "a c", &[("a", 0), ("b", 1)])]
#[case(json!({"type": "word_delimiter"}), "Wi-Fi x", &[("Wi", 0), ("Fi", 1), ("x", 2)])]
#[case(
    json!({"type": "word_delimiter"}),
    "O'Neil's PowerShot500",
    &[("O", 0), ("Neil", 1), ("Power", 2), ("Shot", 3), ("500", 4)]
)]
#[case(
    json!({"type": "word_delimiter", "catenate_words": true}),
    "Wi-Fi x",
    &[("Wi", 0), ("WiFi", 0), ("Fi", 1), ("x", 2)]
)]
#[case(
    json!({
        "type": "word_delimiter",
        "generate_word_parts": false,
        "generate_number_parts": false,
        "catenate_all": true,
    }),
    "Wi-Fi-4 x",
    &[("WiFi4", 0), ("x", 1)]
)]
#[case(
    json!({
        "type": "word_delimiter",
        "preserve_original": true,
        "split_on_case_change": false,
        "split_on_numerics": false,
    }),
    "aB1-c x",
    &[("aB1-c", 0), ("aB1", 0), ("c", 1), ("x", 2)]
)]
#[case(json!({"type": "word_delimiter", "protected_words": ["a-b"]}), "a-b c-d", &[("a-b", 0), ("c", 1), ("d", 2)])]
#[case(
    json!({"type": "common_grams", "common_words": ["the", "is"]}),
    "the fox is",
    &[("the", 0), ("the_fox", 0), ("fox", 1), ("fox_is", 1), ("is", 2)]
)]
#[case(
    json!({"type": "common_grams", "common_words": ["the"], "query_mode": true}),
    "the fox ran",
    &[("the_fox", 0), ("fox", 1), ("ran", 2)]
)]
#[case(json!({"type": "word_delimiter", "type_table": ["- => ALPHA"]}), "a-½ b", &[("a-", 0), ("½", 1), ("b", 2)])]
#[case(json!({"type": "stop", "stopwords": ["a"], "remove_trailing": false}), "a b a", &[("b", 1), ("a", 2)])]
#[case(json!({"type": "elision", "articles": ["d"]}), "d'or D'Or", &[("or", 0), ("D'Or", 1)])]
#[case(json!({"type": "stemmer_override", "rules": ["ran => run"]}), "ran a", &[("run", 0), ("a", 1)])]
#[case(json!({"type": "delimited_payload_filter"}), "a|1 b", &[("a", 0), ("b", 1)])]
#[case(json!({"type": "keep_types", "types": ["<NUM>"]}), "a 1", &[])]
#[case(json!({"type": "keep_types", "types": ["word"]}), "a 1", &[("a", 0), ("1", 1)])]
#[case(json!({"type": "cjk_bigram"}), "日本語 a", &[("日本語", 0), ("a", 1)])]
#[case(
    json!({"type": "dictionary_decompounder", "word_list": ["donau", "dampf"]}),
    "Donaudampf x",
    &[("Donaudampf", 0), ("dampf", 0), ("x", 1)]
)]
#[case(json!({"type": "edgeNGram", "side": "back"}), "abc", &[("c", 0), ("bc", 0)])]
#[case(json!({"type": "stop", "stopwords": "_french_"}), "le chat", &[("chat", 1)])]
#[case(json!({"type": "unique"}), "a b a c", &[("a", 0), ("b", 1), ("c", 2)])]
#[case(json!({"type": "limit", "max_token_count": 2}), "a b c", &[("a", 0), ("b", 1)])]
#[case(
    json!({"type": "pattern_capture", "patterns": ["([a-z]+)", "([0-9]+)"]}),
    "abc12 x",
    &[("abc12", 0), ("abc", 0), ("12", 0), ("x", 1)]
)]
#[case(json!({"type": "pattern_replace", "pattern": "(\\d+)", "replacement": "<$1>"}), "a12b", &[("a<12>b", 0)])]
#[case(json!({"type": "stop", "stopwords": ["A"], "ignore_case": true}), "a b", &[("b", 1)])]
#[case(json!({"type": "stop", "stopwords": "_none_"}), "the b", &[("the", 0), ("b", 1)])]
#[case(json!({"type": "keep", "keep_words": ["b"]}), "a b", &[("b", 1)])]
fn configured_filters_return_tokens(#[case] filter: Value, #[case] text: &str, #[case] expected: &[(&str, u32)]) {
    let expected: Vec<(String, u32)> = expected.iter().map(|(term, at)| ((*term).to_owned(), *at)).collect();
    assert_eq!(tokens(filter, text), expected);
}

#[rstest]
#[case(
    json!({"type": "nGram", "min_gram": 2, "max_gram": 3, "token_chars": ["letter", "digit"]}),
    "ab cd1",
    &[("ab", 0), ("cd", 1), ("cd1", 2), ("d1", 3)]
)]
#[case(
    json!({"type": "edgeNGram", "max_gram": 2, "token_chars": "letter"}),
    "ab-cd1",
    &[("a", 0), ("ab", 1), ("c", 2), ("cd", 3)]
)]
#[case(
    json!({"type": "nGram", "max_gram": 1, "token_chars": ["punctuation", "symbol"]}),
    "a-b+",
    &[("-", 0), ("+", 1)]
)]
#[case(json!({"type": "standard", "max_token_length": 3}), "a four abc", &[("a", 0), ("fou", 1), ("r", 2), ("abc", 3)])]
#[case(json!({"type": "classic", "max_token_length": 3}), "four abc", &[("abc", 1)])]
fn configured_tokenizers_return_tokens(#[case] tokenizer: Value, #[case] text: &str, #[case] expected: &[(&str, u32)]) {
    let analysis = json!({"tokenizer": {"mine": tokenizer}});
    let analyzer = Analyzer::assembled("mine", &[], &[], analysis.as_object()).unwrap();
    let expected: Vec<(u32, String)> = expected.iter().map(|(term, at)| (*at, (*term).to_owned())).collect();
    assert_eq!(analyzer.terms(text), expected);
}

#[test]
fn standard_analyzer_divides_long_words() {
    let own = json!({"type": "standard", "max_token_length": 4, "stopwords": ["the"]});
    let analysis = json!({"analyzer": {"mine": own}});
    let analyzer = Analyzer::configured("mine", analysis.as_object()).unwrap();
    let terms = analyzer.terms("The longest cat");
    assert_eq!(
        terms.iter().map(|(_, term)| term.as_str()).collect::<Vec<_>>(),
        ["long", "est", "cat"]
    );
}

#[test]
fn keywords_are_not_truncated() {
    let analysis = json!({
        "analyzer": {"mine": {"tokenizer": "standard", "filter": ["keyword_repeat", "short"]}},
        "filter": {"short": {"type": "truncate", "length": 2}},
    });
    let analyzer = Analyzer::configured("mine", analysis.as_object()).unwrap();
    let terms = analyzer.terms("abcd");
    assert_eq!(terms, [(0, "abcd".to_owned()), (0, "ab".to_owned())]);
}

#[rstest]
#[case(&["marked", "unique", "porter_stem"], "running walking", &["running", "walk"])]
#[case(&["marked", "word_delimiter", "porter_stem"], "running", &["running"])]
#[case(&["marked", "shingle", "porter_stem"], "running dogs", &["running", "running dogs", "dog"])]
#[case(&["marked", "nGram", "porter_stem"], "running", &["r", "ru", "u", "un", "n", "nn", "n", "ni", "i", "in", "n", "ng", "g"])]
fn streams_keep_keywords(#[case] filters: &[&str], #[case] text: &str, #[case] expected: &[&str]) {
    let analysis = json!({"filter": {"marked": {"type": "keyword_marker", "keywords": ["running"]}}});
    let analyzer = Analyzer::assembled("standard", filters, &[], analysis.as_object()).unwrap();
    let terms = analyzer.terms(text);
    let terms: Vec<&str> = terms.iter().map(|(_, term)| term.as_str()).collect();
    assert_eq!(terms, expected);
}

#[test]
fn shingles_have_fillers_for_stop_words() {
    let analysis = json!({"analyzer": {"mine": {"tokenizer": "standard", "filter": ["stop", "shingle"]}}});
    let analyzer = Analyzer::configured("mine", analysis.as_object()).unwrap();
    let terms: Vec<String> = analyzer
        .terms("divide this sentence")
        .into_iter()
        .map(|(_, term)| term)
        .collect();
    assert_eq!(terms, ["divide", "divide _", "_ sentence", "sentence"]);
}

#[test]
fn character_filters_run_first_and_offsets_are_of_the_original_text() {
    let analysis = json!({
        "analyzer": {"mine": {"tokenizer": "standard", "char_filter": ["html_strip", "amp"]}},
        "char_filter": {"amp": {"type": "mapping", "mappings": ["& => and"]}},
    });
    let analyzer = Analyzer::configured("mine", analysis.as_object()).unwrap();
    let mut tokens = Vec::new();
    analyzer.analyze("<p>rock &amp; <b>roll", &mut |token| {
        tokens.push((token.text.to_owned(), token.start, token.end));
    });
    assert_eq!(
        tokens,
        [
            ("rock".to_owned(), 3, 7),
            ("and".to_owned(), 8, 13),
            ("roll".to_owned(), 17, 21)
        ]
    );
}

#[test]
fn stemmers_do_not_change_keywords() {
    let analysis = json!({
        "analyzer": {"mine": {"tokenizer": "standard", "filter": ["marked", "porter_stem"]}},
        "filter": {"marked": {"type": "keyword_marker", "keywords": ["running"]}},
    });
    let analyzer = Analyzer::configured("mine", analysis.as_object()).unwrap();
    let terms: Vec<String> = analyzer
        .terms("running walking")
        .into_iter()
        .map(|(_, term)| term)
        .collect();
    assert_eq!(terms, ["running", "walk"]);
}

//! Names of the types of components, and of the components that exist without settings.
//!
//! Source: Elasticsearch 1.5's `AnalysisModule`, `PreBuiltTokenFilters`, `PreBuiltTokenizers`.

use serde_json::{Map, Value};

use super::settings::text;

/// Types that exist only with settings.
const CONFIGURED_ONLY: [&str; 11] = [
    "dictionary_decompounder",
    "hunspell",
    "hyphenation_decompounder",
    "keep",
    "keep_types",
    "keyword_marker",
    "mapping",
    "pattern_capture",
    "pattern_replace",
    "stemmer_override",
    "synonym",
];
/// Token filters that have no settings, and are not types.
const NOT_TYPES: [&str; 2] = ["keyword_repeat", "type_as_payload"];
/// Names with upper-case letters that exist without an index.
const GLOBAL: [&str; 3] = ["nGram", "edgeNGram", "htmlStrip"];

/// A component: the snake-case name of its type, the name to report, and its settings.
pub(super) struct Component<'a> {
    pub(super) kind: String,
    pub(super) reported: &'a str,
    pub(super) own: Option<&'a Value>,
}

/// Returns a component of the `analysis` settings, or else a built-in one.
pub(super) fn component<'a>(
    analysis: Option<&'a Map<String, Value>>,
    section: &str,
    name: &'a str,
) -> Option<Component<'a>> {
    let own = analysis.and_then(|analysis| analysis.get(section)?.get(name));
    let reported = text(own, "type").unwrap_or(name);
    let kind = snake_case(reported);
    let exists = match own {
        Some(_) => !NOT_TYPES.contains(&kind.as_str()),
        None => !CONFIGURED_ONLY.contains(&kind.as_str()) && !name.starts_with(char::is_uppercase),
    };
    exists.then_some(Component { kind, reported, own })
}

/// Returns whether a name may exist without an index.
pub(super) fn is_global(name: &str) -> bool {
    GLOBAL.contains(&name) || !name.contains(char::is_uppercase)
}

/// Returns the snake-case form of a name such as `nGram` or `wordDelimiter`.
pub(super) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    match snake.as_str() {
        "n_gram" => "ngram".to_owned(),
        "edge_n_gram" => "edge_ngram".to_owned(),
        _ => snake,
    }
}

//! Validation of the `analysis` settings of an index.
//!
//! Source: Elasticsearch 1.5's `AnalysisModule`, and its lookup of the class of a type.

use serde_json::{Map, Value};

use super::analyzer::Analyzer;
use super::configured::{char_filter_of, filter_of, is_type, text, tokenizer_of};

/// Token filter types of Elasticsearch 1.5 that are not implemented. An analyzer that uses one is an error.
const UNSUPPORTED: [&str; 8] = [
    "kstem",
    "hunspell",
    "hyphenation_decompounder",
    "brazilian_stem",
    "czech_stem",
    "hindi_normalization",
    "indic_normalization",
    "sorani_normalization",
];

/// The error of an invalid component.
#[derive(Debug, PartialEq)]
pub(crate) struct AnalysisError {
    /// Message that names the component.
    pub(crate) reason: String,
    /// An unknown type and the last class name that was tried for it.
    pub(crate) unknown: Option<(String, String)>,
}

impl From<String> for AnalysisError {
    fn from(reason: String) -> AnalysisError {
        AnalysisError { reason, unknown: None }
    }
}

/// Builds a component or returns the reason why it cannot.
type Factory = fn(&str, Option<&Map<String, Value>>) -> Result<(), String>;

/// A kind of component: its section, its names in errors, the suffix of its class names, and its factory.
struct ComponentKind {
    section: &'static str,
    name: &'static str,
    untyped: &'static str,
    class: &'static str,
    factory: Factory,
}

const KINDS: [ComponentKind; 3] = [
    ComponentKind {
        section: "char_filter",
        name: "char filter",
        untyped: "Char Filter",
        class: "CharFilterFactory",
        factory: |name, analysis| char_filter_of(name, analysis).map(drop),
    },
    ComponentKind {
        section: "filter",
        name: "token filter",
        untyped: "token filter",
        class: "TokenFilterFactory",
        factory: |name, analysis| filter_of(name, analysis).map(drop),
    },
    ComponentKind {
        section: "tokenizer",
        name: "tokenizer",
        untyped: "token filter",
        class: "TokenizerFactory",
        factory: |name, analysis| tokenizer_of(name, analysis).map(drop),
    },
];

/// Returns the last class name that Elasticsearch tries for a type.
fn class_of(kind: &str, suffix: &str) -> String {
    let mut camel = String::new();
    for (at, word) in kind.split('_').enumerate() {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if at > 0 => camel.extend(first.to_uppercase()),
            first => camel.extend(first),
        }
        camel.push_str(letters.as_str());
    }
    let mut letters = camel.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let package = camel.to_lowercase();
    format!(
        "org.elasticsearch.index.analysis.{package}.{first}{}{suffix}",
        letters.as_str()
    )
}

/// Fails for the first invalid component of `analysis`.
pub(crate) fn check(analysis: Option<&Map<String, Value>>) -> Result<(), AnalysisError> {
    let parts = |section: &str| {
        let section = analysis.and_then(|analysis| analysis.get(section));
        section.and_then(Value::as_object).into_iter().flatten()
    };
    for kind in KINDS {
        for (name, own) in parts(kind.section) {
            let Some(own) = text(Some(own), "type") else {
                return Err(format!("{} [{name}] must have a type associated with it", kind.untyped).into());
            };
            let unknown = format!("failed to find {} under [{own}]", kind.name);
            match (kind.factory)(name, analysis) {
                Err(error) if error == unknown && !UNSUPPORTED.contains(&own) => {
                    return Err(AnalysisError {
                        reason: format!("failed to find {} type [{own}] for [{name}]", kind.name),
                        unknown: Some((own.to_owned(), class_of(own, kind.class))),
                    });
                }
                // Elasticsearch finds the class of a stemmer only when it analyzes a text.
                Err(error) if error != unknown && !error.starts_with("Invalid stemmer") => return Err(error.into()),
                _ => {}
            }
        }
    }
    for (name, own) in parts("analyzer") {
        let kind = text(Some(own), "type");
        if !kind.is_some_and(is_type) && own.get("tokenizer").is_none() {
            let shown = kind.unwrap_or("null");
            return Err(AnalysisError {
                reason: format!("failed to find analyzer type [{shown}] or tokenizer for [{name}]"),
                unknown: kind.map(|kind| (kind.to_owned(), class_of(kind, "AnalyzerProvider"))),
            });
        }
        Analyzer::configured(name, analysis)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(
        json!({"filter": {"f": {"type": "my_own"}}}),
        "failed to find token filter type [my_own] for [f]",
        Some("myown.MyOwnTokenFilterFactory")
    )]
    #[case(
        json!({"tokenizer": {"t": {"type": "nope"}}}),
        "failed to find tokenizer type [nope] for [t]",
        Some("nope.NopeTokenizerFactory")
    )]
    #[case(
        json!({"char_filter": {"c": {"type": "nope"}}}),
        "failed to find char filter type [nope] for [c]",
        Some("nope.NopeCharFilterFactory")
    )]
    #[case(
        json!({"analyzer": {"a": {"type": "nope"}}}),
        "failed to find analyzer type [nope] or tokenizer for [a]",
        Some("nope.NopeAnalyzerProvider")
    )]
    #[case(json!({"analyzer": {"a": {}}}), "failed to find analyzer type [null] or tokenizer for [a]", None)]
    #[case(
        json!({"analyzer": {"a": {"type": "custom"}}}),
        "Custom Analyzer [a] must be configured with a tokenizer",
        None
    )]
    #[case(json!({"filter": {"f": {}}}), "token filter [f] must have a type associated with it", None)]
    #[case(
        json!({"filter": {"f": {"type": "synonym"}}}),
        "synonym requires either `synonyms` or `synonyms_path` to be configured",
        None
    )]
    #[case(
        json!({"filter": {"f": {"type": "keep"}}}),
        "keep requires either `keep_words` or `keep_words_path` to be configured",
        None
    )]
    fn invalid_components_are_named(#[case] analysis: Value, #[case] reason: &str, #[case] class: Option<&str>) {
        let error = check(analysis.as_object()).unwrap_err();
        assert_eq!(error.reason, reason);
        let class = class.map(|class| format!("org.elasticsearch.index.analysis.{class}"));
        assert_eq!(error.unknown.map(|(_, class)| class), class);
    }

    #[rstest]
    #[case(json!({"filter": {"f": {"type": "kstem"}}}))]
    #[case(json!({"filter": {"f": {"type": "stemmer", "language": "klingon"}}}))]
    #[case(json!({"analyzer": {"a": {"type": "nope", "tokenizer": "standard"}}}))]
    #[case(json!({"analyzer": {"a": {"type": "english"}}}))]
    fn valid_and_unused_components_are_accepted(#[case] analysis: Value) {
        assert_eq!(check(analysis.as_object()), Ok(()));
    }
}

//! Validation of the `analysis` settings of an index.
//!
//! Source: Elasticsearch 1.5's `AnalysisModule`, and its lookup of the class of a type.

use serde_json::{Map, Value};

use super::analyzer::Analyzer;
use super::configured::is_type;
use super::filter_settings::filter_of;
use super::settings::{capitalized, has_settings, is_late, text};
use super::tokenizer_settings::{char_filter_of, tokenizer_of};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::is_scalar;

/// Token filter types of Elasticsearch 1.5 that are not implemented. An analyzer that uses one is an error.
const UNSUPPORTED: [&str; 2] = ["kstem", "hyphenation_decompounder"];

/// Builds a component.
type Factory = fn(&str, Option<&Map<String, Value>>) -> Result<()>;

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
    let class: String = kind.split('_').map(capitalized).collect();
    let package = class.to_lowercase();
    format!("org.elasticsearch.index.analysis.{package}.{class}{suffix}")
}

/// Returns the error of an unknown type.
fn unknown(reason: String, kind: Option<&str>, suffix: &str) -> SearchError {
    let error = SearchError::illegal(reason);
    let Some(kind) = kind else {
        return error;
    };
    let reason = format!("Failed to load class setting [type] with value [{kind}]");
    let missing = SearchError::new(500, Exception::NoClassSettings, reason);
    let class = SearchError::new(500, Exception::ClassNotFound, class_of(kind, suffix));
    error.caused_by(missing.caused_by(class))
}

/// Fails for a component that is not a group of settings.
fn check_groups(analysis: Option<&Map<String, Value>>) -> Result<()> {
    for section in ["char_filter", "filter", "tokenizer", "analyzer"] {
        let section_value = analysis.and_then(|analysis| analysis.get(section));
        let names: Vec<String> = match section_value {
            Some(Value::Object(parts)) => {
                let scalars = parts.iter().filter(|(_, own)| is_scalar(own));
                scalars.map(|(name, _)| name.clone()).collect()
            }
            Some(Value::Array(items)) if items.iter().any(is_scalar) => vec!["0".to_owned()],
            _ => vec![],
        };
        if let Some(name) = names.first() {
            let group = format!("index.analysis.{section}.");
            let reason = format!(
                "Failed to get setting group for [{group}] setting prefix and setting [{group}{name}] because of a \
                 missing '.'"
            );
            return Err(SearchError::new(500, Exception::Settings, reason));
        }
    }
    Ok(())
}

/// Fails for the first invalid component of `analysis`.
///
/// # Errors
/// A component of an unknown type, or with an invalid setting. Some settings are errors only when they are used.
pub(crate) fn check(analysis: Option<&Map<String, Value>>) -> Result<()> {
    check_groups(analysis)?;
    let parts = |section: &str| {
        let section = analysis.and_then(|analysis| analysis.get(section));
        let parts = section.and_then(Value::as_object).into_iter().flatten();
        parts.filter(|(_, own)| has_settings(own))
    };
    // All types are looked up before the first component is made.
    let mut failed = None;
    for kind in KINDS {
        for (name, own) in parts(kind.section) {
            let Some(own) = text(Some(own), "type") else {
                let untyped = kind.untyped;
                let reason = format!("{untyped} [{name}] must have a type associated with it");
                return Err(SearchError::illegal(reason));
            };
            let Err(error) = (kind.factory)(name, analysis) else {
                continue;
            };
            let is_unknown = [own, name]
                .iter()
                .any(|own| error.reason == format!("failed to find {} under [{own}]", kind.name));
            if is_unknown && !UNSUPPORTED.contains(&own) {
                let reason = format!("failed to find {} type [{own}] for [{name}]", kind.name);
                return Err(unknown(reason, Some(own), kind.class));
            }
            if !is_unknown && !is_late(&error) {
                failed.get_or_insert(error);
            }
        }
    }
    for (name, own) in parts("analyzer") {
        let kind = text(Some(own), "type");
        if !kind.is_some_and(is_type) && own.get("tokenizer").is_none() {
            let shown = kind.unwrap_or("null");
            let reason = format!("failed to find analyzer type [{shown}] or tokenizer for [{name}]");
            return Err(unknown(reason, kind, "AnalyzerProvider"));
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    for (name, _) in parts("analyzer") {
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
    #[case(json!({"analyzer": {"a": {"x": 1}}}), "failed to find analyzer type [null] or tokenizer for [a]", None)]
    #[case(
        json!({"analyzer": {"a": {"type": "custom"}}}),
        "Custom Analyzer [a] must be configured with a tokenizer",
        None
    )]
    #[case(json!({"filter": {"f": {"x": 1}}}), "token filter [f] must have a type associated with it", None)]
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
        let innermost = error.cause.and_then(|cause| cause.cause);
        assert_eq!(innermost.map(|cause| cause.reason), class);
    }

    #[rstest]
    #[case(json!({"filter": {"f": {}}}))]
    #[case(json!({"filter": {"f": {"type": "kstem"}}}))]
    #[case(json!({"filter": {"f": {"type": "stemmer", "language": "klingon"}}}))]
    #[case(json!({"analyzer": {"a": {"type": "nope", "tokenizer": "standard"}}}))]
    #[case(json!({"analyzer": {"a": {"type": "english"}}}))]
    fn valid_and_unused_components_are_accepted(#[case] analysis: Value) {
        check(analysis.as_object()).unwrap();
    }
}

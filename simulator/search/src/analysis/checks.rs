//! Parts of the analysis settings of an index that cannot be made.
//!
//! Source: `AnalysisModule` of Elasticsearch 1.5, and how its settings find the class of a type.

use serde_json::{Map, Value};

use super::analyzer::Analyzer;
use super::configured::{char_filter_of, filter_of, is_type, text, tokenizer_of};

/// Types of filters that exist and are left out. They are refused where an analyzer has them.
const LEFT_OUT: [&str; 8] = [
    "kstem",
    "hunspell",
    "hyphenation_decompounder",
    "brazilian_stem",
    "czech_stem",
    "hindi_normalization",
    "indic_normalization",
    "sorani_normalization",
];

/// Why a part of the settings cannot be made.
#[derive(Debug, PartialEq)]
pub(crate) struct Unmade {
    /// A sentence that names the part.
    pub(crate) reason: String,
    /// The type that no class has, and the class that was looked for last.
    pub(crate) unknown: Option<(String, String)>,
}

impl From<String> for Unmade {
    fn from(reason: String) -> Unmade {
        Unmade { reason, unknown: None }
    }
}

/// Makes a part, or says why it cannot be made.
type Make = fn(&str, Option<&Map<String, Value>>) -> Result<(), String>;

/// A kind of parts: its section, what errors call it, the end of its classes, and what makes one.
struct Kind {
    section: &'static str,
    name: &'static str,
    untyped: &'static str,
    class: &'static str,
    make: Make,
}

const KINDS: [Kind; 3] = [
    Kind {
        section: "char_filter",
        name: "char filter",
        untyped: "Char Filter",
        class: "CharFilterFactory",
        make: |name, analysis| char_filter_of(name, analysis).map(drop),
    },
    Kind {
        section: "filter",
        name: "token filter",
        untyped: "token filter",
        class: "TokenFilterFactory",
        make: |name, analysis| filter_of(name, analysis).map(drop),
    },
    Kind {
        section: "tokenizer",
        name: "tokenizer",
        untyped: "token filter",
        class: "TokenizerFactory",
        make: |name, analysis| tokenizer_of(name, analysis).map(drop),
    },
];

/// The class that a type is last looked for in.
fn class_of(kind: &str, end: &str) -> String {
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
        "org.elasticsearch.index.analysis.{package}.{first}{}{end}",
        letters.as_str()
    )
}

/// Fails for the first part of `analysis` that cannot be made.
pub(crate) fn check(analysis: Option<&Map<String, Value>>) -> Result<(), Unmade> {
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
            match (kind.make)(name, analysis) {
                Err(error) if error == unknown && !LEFT_OUT.contains(&own) => {
                    return Err(Unmade {
                        reason: format!("failed to find {} type [{own}] for [{name}]", kind.name),
                        unknown: Some((own.to_owned(), class_of(own, kind.class))),
                    });
                }
                // The classes of stems are looked for where a text is analyzed.
                Err(error) if error != unknown && !error.starts_with("Invalid stemmer") => return Err(error.into()),
                _ => {}
            }
        }
    }
    for (name, own) in parts("analyzer") {
        let kind = text(Some(own), "type");
        if !kind.is_some_and(is_type) && own.get("tokenizer").is_none() {
            let shown = kind.unwrap_or("null");
            return Err(Unmade {
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
    #[case(json!({"filter": {"f": {"type": "my_own"}}}), "failed to find token filter type [my_own] for [f]", Some("myown.MyOwnTokenFilterFactory"))]
    #[case(json!({"tokenizer": {"t": {"type": "nope"}}}), "failed to find tokenizer type [nope] for [t]", Some("nope.NopeTokenizerFactory"))]
    #[case(json!({"char_filter": {"c": {"type": "nope"}}}), "failed to find char filter type [nope] for [c]", Some("nope.NopeCharFilterFactory"))]
    #[case(json!({"analyzer": {"a": {"type": "nope"}}}), "failed to find analyzer type [nope] or tokenizer for [a]", Some("nope.NopeAnalyzerProvider"))]
    #[case(json!({"analyzer": {"a": {}}}), "failed to find analyzer type [null] or tokenizer for [a]", None)]
    #[case(json!({"analyzer": {"a": {"type": "custom"}}}), "Custom Analyzer [a] must be configured with a tokenizer", None)]
    #[case(json!({"filter": {"f": {}}}), "token filter [f] must have a type associated with it", None)]
    #[case(json!({"filter": {"f": {"type": "synonym"}}}), "synonym requires either `synonyms` or `synonyms_path` to be configured", None)]
    #[case(json!({"filter": {"f": {"type": "keep"}}}), "keep requires either `keep_words` or `keep_words_path` to be configured", None)]
    fn what_cannot_be_made_is_named(#[case] analysis: Value, #[case] reason: &str, #[case] class: Option<&str>) {
        let unmade = check(analysis.as_object()).unwrap_err();
        assert_eq!(unmade.reason, reason);
        let class = class.map(|class| format!("org.elasticsearch.index.analysis.{class}"));
        assert_eq!(unmade.unknown.map(|(_, class)| class), class);
    }

    #[rstest]
    #[case(json!({"filter": {"f": {"type": "kstem"}}}))]
    #[case(json!({"filter": {"f": {"type": "stemmer", "language": "klingon"}}}))]
    #[case(json!({"analyzer": {"a": {"type": "nope", "tokenizer": "standard"}}}))]
    #[case(json!({"analyzer": {"a": {"type": "english"}}}))]
    fn what_is_not_used_or_can_be_made_is_taken(#[case] analysis: Value) {
        assert_eq!(check(analysis.as_object()), Ok(()));
    }
}

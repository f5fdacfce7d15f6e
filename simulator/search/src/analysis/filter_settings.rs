//! Token filters from the `analysis` settings of an index in Elasticsearch 1.5.
//!
//! Limits: no `kstem`; payloads are not parsed.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::filter::Filter;
use super::language;
use super::names::{Component, component};
use super::normalize::normalization;
use super::patterns::{pattern_of, replacement};
use super::settings::{capitalized, flag, integer, late, number, required, text, words};
use super::stem::{snowball, stemmer, stemmer_filter};
use super::stream::StreamFilter;
use super::stream_settings::{stems, stream_filter};
use super::tokenizer_settings::grams_of;
use super::word_set::WordSet;
use crate::error::{Result, SearchError};
use crate::exception::Exception;

/// Returns the filters of a token filter by its name. A name can stand for no filter or for several.
pub(super) fn filter_of(name: &str, analysis: Option<&Map<String, Value>>) -> Result<Vec<Filter>> {
    let unknown = |name: &str| SearchError::illegal(format!("failed to find token filter under [{name}]"));
    let Component { kind, reported, own } = component(analysis, "filter", name).ok_or_else(|| unknown(name))?;
    Ok(vec![match kind.as_str() {
        "apostrophe" => Filter::Apostrophe,
        "asciifolding" => Filter::AsciiFolding(flag(own, "preserve_original", false)),
        "cjk_width" if own.is_some() => {
            return Err(SearchError::new(
                500,
                Exception::ElasticsearchIllegalState,
                "[index.version.created] is not present in the index settings for index with uuid: [null]",
            ));
        }
        "classic" => Filter::Classic,
        "delimited_payload_filter" => {
            let delimiter = text(own, "delimiter").and_then(|text| text.chars().next());
            Filter::Payload(delimiter.unwrap_or('|'))
        }
        "edge_ngram" => Filter::Grams(grams_of(own, true)?),
        "elision" => Filter::Elision(match words(own, "articles")? {
            Some(articles) => WordSet::new(articles, flag(own, "articles_case", false)),
            None => language::french_articles(),
        }),
        "keep" if own.is_some_and(|own| own.get("keep_words").is_some() && own.get("keep_words_path").is_some()) => {
            return required(None, "keep_words", "keep").map(|_| vec![]);
        }
        "keep" => {
            let ignore_case = flag(own, "keep_words_case", false);
            Filter::Keep(WordSet::new(required(own, "keep_words", "keep")?, ignore_case))
        }
        "keyword_marker" => {
            let ignore_case = flag(own, "ignore_case", false);
            Filter::KeywordMarker(WordSet::new(required(own, "keywords", "keyword filter")?, ignore_case))
        }
        "keyword_repeat" => Filter::KeywordRepeat,
        "length" => length_of(own)?,
        "lowercase" => lowercase_of(own)?,
        "ngram" => Filter::Grams(grams_of(own, false)?),
        "pattern_replace" => {
            if text(own, "pattern").is_none() {
                return Err(SearchError::illegal(format!(
                    "pattern is missing for [{name}] token filter of type 'pattern_replace'"
                )));
            }
            Filter::PatternReplace {
                pattern: pattern_of(own, "pattern", "")?,
                replacement: replacement(own),
                all: flag(own, "all", true),
            }
        }
        "reverse" => Filter::Reverse,
        "snowball" | "stemmer" => stemmer_of(&kind, own)?,
        "standard" | "type_as_payload" => return Ok(vec![]),
        "stemmer_override" => Filter::StemmerOverride(Arc::new(stems(own)?)),
        "stop" => stop_filter(own.unwrap_or(&Value::Null))?,
        "trim" => Filter::Trim,
        "truncate" => match integer(own, "length", if own.is_some() { -1 } else { 10 })? {
            length @ 1.. => Filter::Truncate(usize::try_from(length).unwrap_or(usize::MAX)),
            _ => return Err(SearchError::illegal("length parameter must be provided")),
        },
        "uppercase" => Filter::Uppercase,
        kind => match (stemmer_filter(kind), normalization(kind)) {
            (Some(stem), _) => {
                let kept = words(own, "stem_exclusion")?.map(|kept| Filter::KeywordMarker(WordSet::new(kept, false)));
                return Ok(kept.into_iter().chain([Filter::Stem(stem)]).collect());
            }
            (None, Some(change)) => Filter::Normalize(change),
            (None, None) => {
                let stream = stream_filter(name, kind, own, analysis)?.ok_or_else(|| unknown(reported))?;
                Filter::Stream(Arc::new(stream))
            }
        },
    }])
}

/// Builds a `stop` filter. Default: the English stop words.
pub(super) fn stop_filter(own: &Value) -> Result<Filter> {
    let settings = Some(own);
    if !flag(settings, "enable_position_increments", true) {
        return Err(SearchError::illegal(
            "[enable_position_increments: false] is not supported anymore as of Lucene 4.4 as it can create broken \
             token streams. Please fix your analysis chain or use an older compatibility version (<=4.3) but beware \
             that it might cause unexpected behavior.",
        ));
    }
    let listed = words(settings, "stopwords")?.or(words(settings, "stop_words")?);
    // Blanks around the commas of a text are part of the words.
    let mut stopped = match text(settings, "stopwords") {
        Some(text) => text.split(',').map(str::to_owned).collect(),
        None => listed.unwrap_or_default(),
    };
    match stopped.as_slice() {
        [only] if only == "_none_" => stopped.clear(),
        [] => stopped = vec!["_english_".to_owned()],
        _ => {}
    }
    let ignore_case = flag(settings, "ignore_case", false);
    let stopped = WordSet::new(language::with_stop_words(stopped), ignore_case);
    if flag(settings, "remove_trailing", true) {
        return Ok(Filter::Stop(stopped));
    }
    Ok(Filter::Stream(Arc::new(StreamFilter::InnerStop(stopped))))
}

fn length_of(own: Option<&Value>) -> Result<Filter> {
    let (min, max) = (number(own, "min", 0)?, number(own, "max", usize::MAX)?);
    if min > max {
        return Err(late("maximum length must not be greater than minimum length"));
    }
    Ok(Filter::Length { min, max })
}

/// Builds a `lowercase` filter, which has special rules for some languages.
fn lowercase_of(own: Option<&Value>) -> Result<Filter> {
    let Some(language) = text(own, "language") else {
        return Ok(Filter::Lowercase);
    };
    match normalization(&format!("{}_lowercase", language.to_lowercase())) {
        Some(change) => Ok(Filter::Normalize(change)),
        None => Err(SearchError::illegal(format!(
            "language [{language}] not support for lower case"
        ))),
    }
}

/// Builds a `snowball` or `stemmer` filter.
fn stemmer_of(kind: &str, own: Option<&Value>) -> Result<Filter> {
    let default = if kind == "snowball" { "English" } else { "porter" };
    let language = text(own, "language").or(text(own, "name")).unwrap_or(default);
    let name = language.to_lowercase();
    if kind == "snowball" {
        return snowball(&name)
            .map(Filter::Stem)
            .ok_or_else(|| invalid_stemmer(language));
    }
    // `lightFinnish` is another name of `light_finnish`.
    let prefix = ["light", "minimal", "possessive"].into_iter().find_map(|prefix| {
        let rest = name.strip_prefix(prefix)?;
        Some(format!("{prefix}_{}", rest.trim_start_matches('_')))
    });
    match prefix.as_deref().unwrap_or(&name) {
        "possessive_english" => Ok(Filter::Possessive),
        "light_english" | "kstem" => Err(SearchError::illegal(format!(
            "the stemmer [{language}] is not supported"
        ))),
        name => stemmer(name).map(Filter::Stem).ok_or_else(|| invalid_stemmer(language)),
    }
}

/// The error of an unknown stemmer.
pub(super) fn invalid_stemmer(language: &str) -> SearchError {
    let class = capitalized(language);
    let missing = format!("org.tartarus.snowball.ext.{class}Stemmer");
    late(format!("Invalid stemmer class specified: {class}")).caused_by(SearchError::new(
        500,
        Exception::ClassNotFound,
        missing,
    ))
}

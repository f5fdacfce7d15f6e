//! Analyzers, tokenizers and filters built from the `analysis` settings of an index in Elasticsearch 1.5.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::analyzer::{Analyzer, Tokenizer};
use super::chars::CharFilter;
use super::filter::{Filter, lowercase};
use super::grams::{Grams, PathHierarchy, token_chars_pattern};
use super::language;
use super::normalize::normalization;
use super::stream_settings::{stems, stream_filter};

/// Maximum length of an n-gram, in characters.
const MAX_GRAM: usize = 32;
/// Default of `max_token_length`, in characters, and its maximum.
const MAX_TOKEN_LENGTH: usize = 255;

/// Returns whether an analyzer type exists.
pub(super) fn is_type(kind: &str) -> bool {
    matches!(kind, "custom" | "pattern" | "snowball") || Analyzer::named(kind).is_some()
}

impl Analyzer {
    /// Returns an analyzer of the index settings (`analysis.analyzer`), or else a built-in one.
    ///
    /// # Errors
    /// A message that names the invalid setting.
    pub fn configured(name: &str, analysis: Option<&Map<String, Value>>) -> Result<Analyzer, String> {
        let Some(own) = section(analysis, "analyzer", name) else {
            return Analyzer::named(name).ok_or_else(|| format!("Analyzer [{name}] not found"));
        };
        let kind = own.get("type").and_then(Value::as_str).unwrap_or("custom");
        match kind {
            // Elasticsearch ignores an unknown type if there is a tokenizer.
            kind if kind == "custom" || !is_type(kind) && own.get("tokenizer").is_some() => {
                let tokenizer = own
                    .get("tokenizer")
                    .and_then(Value::as_str)
                    .ok_or_else(|| format!("Custom Analyzer [{name}] must be configured with a tokenizer"))?;
                let (filters, chars) = (strings(own.get("filter")), strings(own.get("char_filter")));
                Analyzer::assembled(tokenizer, &texts(&filters), &texts(&chars), analysis).map_err(|error| match error
                    .strip_prefix("failed to find ")
                {
                    Some(what) => {
                        let what = what.replace("token filter under", "filter under name");
                        let what = what.replace("tokenizer under", "tokenizer under name");
                        let what = what.replace("char filter under", "char_filter under name");
                        format!("Custom Analyzer [{name}] failed to find {what}")
                    }
                    None => error,
                })
            }
            "pattern" => {
                let lowercase = own.get("lowercase").is_none_or(crate::mapping::truth);
                let mut filters = if lowercase { vec![Filter::Lowercase] } else { vec![] };
                if own.get("stopwords").is_some() {
                    filters.push(stop_filter(own));
                }
                let pattern = pattern_of(Some(own), "pattern", r"\W+")?;
                Ok(Analyzer::new(Tokenizer::Pattern(pattern, None), filters))
            }
            "standard" | "stop" => {
                let base = Analyzer::named(kind).ok_or_else(|| format!("Analyzer [{kind}] not found"))?;
                let length = length_filter(Some(own)).filter(|_| kind == "standard");
                let has_stop_words = own.get("stopwords").or_else(|| own.get("stop_words")).is_some();
                if length.is_none() && !has_stop_words {
                    return Ok(base);
                }
                let stop = has_stop_words.then(|| stop_filter(own));
                let filters = length.into_iter().chain([Filter::Lowercase]).chain(stop);
                Ok(base.filtered_by(filters.collect()))
            }
            "snowball" => {
                let language = own.get("language").and_then(Value::as_str).unwrap_or("English");
                let filters = language::snowball_analyzer(language)
                    .ok_or_else(|| format!("Unknown Analyzer type [{kind}] for [{name}]"))?;
                Ok(Analyzer::new(Tokenizer::Standard, filters))
            }
            kind => Analyzer::named(kind).ok_or_else(|| format!("Unknown Analyzer type [{kind}] for [{name}]")),
        }
    }

    /// Builds an analyzer from the names of a tokenizer, token filters and character filters, as in `_analyze`.
    ///
    /// # Errors
    /// A message that names the unknown component.
    pub fn assembled(
        tokenizer: &str,
        filters: &[&str],
        chars: &[&str],
        analysis: Option<&Map<String, Value>>,
    ) -> Result<Analyzer, String> {
        let own = section(analysis, "tokenizer", tokenizer);
        // Some tokenizers include a filter.
        let first = match text(own, "type").unwrap_or(tokenizer) {
            "lowercase" => Some(Filter::Lowercase),
            "standard" | "classic" | "uax_url_email" => length_filter(own),
            _ => None,
        };
        let tokenizer = tokenizer_of(tokenizer, analysis)?;
        let filters = filters
            .iter()
            .map(|filter| filter_of(filter, analysis))
            .collect::<Result<Vec<_>, _>>()?;
        let filters = first.into_iter().chain(filters.into_iter().flatten());
        let chars = chars
            .iter()
            .map(|chars| char_filter_of(chars, analysis))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Analyzer::new(tokenizer, filters.collect()).with_chars(chars))
    }
}

/// Returns the settings of a component.
fn section<'a>(analysis: Option<&'a Map<String, Value>>, kind: &str, name: &str) -> Option<&'a Value> {
    analysis
        .and_then(|analysis| analysis.get(kind))
        .and_then(|section| section.get(name))
}

/// Returns a string setting.
pub(super) fn text<'a>(own: Option<&'a Value>, key: &str) -> Option<&'a str> {
    own.and_then(|own| own.get(key)).and_then(Value::as_str)
}

pub(super) fn number(own: Option<&Value>, key: &str, default: usize) -> usize {
    let value = own.and_then(|own| own.get(key));
    value
        .and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
        .map_or(default, |value| usize::try_from(value).unwrap_or(usize::MAX))
}

pub(super) fn flag(own: Option<&Value>, key: &str, default: bool) -> bool {
    own.and_then(|own| own.get(key)).map_or(default, crate::mapping::truth)
}

/// Converts a string, a comma-separated string or an array of strings to a list.
pub(super) fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => text.split(',').map(|part| part.trim().to_owned()).collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => vec![],
    }
}

fn texts(strings: &[String]) -> Vec<&str> {
    strings.iter().map(String::as_str).collect()
}

/// Compiles a pattern with Java's names of flags, separated by `|`.
pub(super) fn compiled(pattern: &str, flags: &str) -> Result<Arc<regex::Regex>, String> {
    let is_set = |name: &str| flags.split('|').any(|flag| flag.trim() == name);
    regex::RegexBuilder::new(pattern)
        .case_insensitive(is_set("CASE_INSENSITIVE"))
        .multi_line(is_set("MULTILINE"))
        .dot_matches_new_line(is_set("DOTALL"))
        .ignore_whitespace(is_set("COMMENTS"))
        .size_limit(1 << 20)
        .build()
        .map(Arc::new)
        .map_err(|error| format!("pattern [{pattern}]: {error}"))
}

/// Compiles the pattern of a setting.
fn pattern_of(own: Option<&Value>, key: &str, default: &str) -> Result<Arc<regex::Regex>, String> {
    compiled(text(own, key).unwrap_or(default), text(own, "flags").unwrap_or(""))
}

/// Converts a replacement of Java, in which a group reference has one digit.
fn replacement(own: Option<&Value>) -> String {
    let mut converted = String::new();
    let mut chars = text(own, "replacement").unwrap_or("").chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('$', Some(digit)) if digit.is_ascii_digit() => {
                converted.push_str(&format!("${{{digit}}}"));
                chars.next();
            }
            _ => converted.push(c),
        }
    }
    converted
}

/// Builds a `stop` filter. Default: the English stop words.
fn stop_filter(own: &Value) -> Filter {
    let mut words = strings(own.get("stopwords").or_else(|| own.get("stop_words")));
    match words.as_slice() {
        [only] if only == "_none_" => words.clear(),
        [] => words = vec!["_english_".to_owned()],
        _ => {}
    }
    let ignore_case = flag(Some(own), "ignore_case", false);
    let words = words
        .into_iter()
        .flat_map(|word| match language::named_stop_words(&word) {
            Some(words) => words,
            None if ignore_case => vec![lowercase(&word)],
            None => vec![word],
        });
    Filter::Stop(Arc::new(words.collect()), ignore_case)
}

pub(super) fn tokenizer_of(name: &str, analysis: Option<&Map<String, Value>>) -> Result<Tokenizer, String> {
    let own = section(analysis, "tokenizer", name);
    Ok(match text(own, "type").unwrap_or(name) {
        "standard" | "thai" => Tokenizer::Standard,
        "uax_url_email" | "uaxUrlEmail" | "uaxURLEmail" => Tokenizer::UaxUrlEmail,
        "classic" => Tokenizer::Classic,
        "letter" | "lowercase" => Tokenizer::Letter,
        "whitespace" => Tokenizer::Whitespace,
        "keyword" => Tokenizer::Keyword,
        "pattern" => {
            let group = own
                .and_then(|own| own.get("group"))
                .and_then(Value::as_i64)
                .unwrap_or(-1);
            Tokenizer::Pattern(pattern_of(own, "pattern", r"\W+")?, usize::try_from(group).ok())
        }
        "ngram" | "nGram" => Tokenizer::Grams(grams_of(own, false), token_chars(own)?),
        "edge_ngram" | "edgeNGram" => Tokenizer::Grams(grams_of(own, true), token_chars(own)?),
        "path_hierarchy" | "PathHierarchy" => {
            let delimiter = text(own, "delimiter").and_then(|text| text.chars().next());
            Tokenizer::PathHierarchy(PathHierarchy {
                delimiter: delimiter.unwrap_or('/'),
                skip: number(own, "skip", 0),
                reverse: flag(own, "reverse", false),
            })
        }
        other => return Err(format!("failed to find tokenizer under [{other}]")),
    })
}

/// Compiles `token_chars`, the characters that n-grams may contain. Default: all.
fn token_chars(own: Option<&Value>) -> Result<Option<Arc<regex::Regex>>, String> {
    let classes = strings(own.and_then(|own| own.get("token_chars")));
    token_chars_pattern(&classes)?
        .map(|pattern| compiled(&pattern, ""))
        .transpose()
}

/// Returns the filter for `max_token_length`, if that is less than the default.
fn length_filter(own: Option<&Value>) -> Option<Filter> {
    let max = number(own, "max_token_length", MAX_TOKEN_LENGTH);
    (max < MAX_TOKEN_LENGTH).then_some(Filter::Length { min: 0, max })
}

/// Returns the settings of an n-gram filter or tokenizer. Default: 1 to 2 characters.
fn grams_of(own: Option<&Value>, edge: bool) -> Grams {
    Grams {
        min: number(own, "min_gram", 1).min(MAX_GRAM),
        max: number(own, "max_gram", 2).min(MAX_GRAM),
        edge,
        back: text(own, "side") == Some("back"),
    }
}

pub(super) fn char_filter_of(name: &str, analysis: Option<&Map<String, Value>>) -> Result<CharFilter, String> {
    let own = section(analysis, "char_filter", name);
    Ok(match text(own, "type").unwrap_or(name) {
        "html_strip" | "htmlStrip" => CharFilter::HtmlStrip,
        "mapping" => {
            let rules = match own.and_then(|own| own.get("mappings")) {
                Some(Value::Array(rules)) => rules.iter().filter_map(Value::as_str).collect(),
                Some(Value::String(rule)) => vec![rule.as_str()],
                _ => return Err("mapping requires either `mappings` or `mappings_path` to be configured".to_owned()),
            };
            let rules = rules
                .into_iter()
                .map(|rule| {
                    let (from, to) = rule
                        .split_once("=>")
                        .ok_or_else(|| format!("Invalid Mapping Rule : [{rule}]"))?;
                    Ok((from.trim().to_owned(), to.trim().to_owned()))
                })
                .collect::<Result<Vec<_>, String>>()?;
            CharFilter::Mapping(rules.into())
        }
        "pattern_replace" => {
            if text(own, "pattern").is_none() {
                return Err(format!(
                    "pattern is missing for [{name}] char filter of type 'pattern_replace'"
                ));
            }
            CharFilter::PatternReplace(pattern_of(own, "pattern", "")?, replacement(own))
        }
        other => return Err(format!("failed to find char filter under [{other}]")),
    })
}

pub(super) fn filter_of(name: &str, analysis: Option<&Map<String, Value>>) -> Result<Vec<Filter>, String> {
    let own = section(analysis, "filter", name);
    let kind = text(own, "type").unwrap_or(name);
    let words = |key: &str| Arc::new(strings(own.and_then(|own| own.get(key))).into_iter().collect());
    Ok(vec![match kind {
        "lowercase" => Filter::Lowercase,
        "uppercase" => Filter::Uppercase,
        "standard" | "type_as_payload" | "typeAsPayload" => return Ok(vec![]),
        "asciifolding" => Filter::AsciiFolding(flag(own, "preserve_original", false)),
        "trim" => Filter::Trim,
        "reverse" => Filter::Reverse,
        "truncate" => Filter::Truncate(number(own, "length", 10)),
        "length" => Filter::Length {
            min: number(own, "min", 0),
            max: number(own, "max", usize::MAX),
        },
        "stop" => stop_filter(own.unwrap_or(&Value::Null)),
        "keep" if own.and_then(|own| own.get("keep_words")).is_none() => {
            return Err("keep requires either `keep_words` or `keep_words_path` to be configured".to_owned());
        }
        "keep" => Filter::Keep(words("keep_words")),
        "keyword_marker" | "keywordMarker" => Filter::KeywordMarker(words("keywords")),
        "keyword_repeat" | "keywordRepeat" => Filter::KeywordRepeat,
        "stemmer_override" | "stemmerOverride" => Filter::StemmerOverride(Arc::new(stems(own)?)),
        "delimited_payload_filter" | "delimitedPayloadFilter" => {
            let delimiter = text(own, "delimiter").and_then(|text| text.chars().next());
            Filter::Payload(delimiter.unwrap_or('|'))
        }
        "ngram" | "nGram" => Filter::Grams(grams_of(own, false)),
        "edge_ngram" | "edgeNGram" => Filter::Grams(grams_of(own, true)),
        "porter_stem" | "porterStem" => Filter::Porter,
        "snowball" | "stemmer" => {
            let language = text(own, "language").or(text(own, "name")).unwrap_or("English");
            return language::stemmer(kind, language)
                .map(|filter| vec![filter])
                .ok_or_else(|| format!("Invalid stemmer class specified: {language}"));
        }
        "dutch_stem" | "french_stem" | "german_stem" | "russian_stem" => {
            let language = kind.trim_end_matches("_stem");
            return Ok(language::stemmer(kind, language).into_iter().collect());
        }
        "arabic_stem" => return Ok(normalization(kind).map(Filter::Stem).into_iter().collect()),
        kind if normalization(kind).is_some() => {
            return Ok(normalization(kind).map(Filter::Normalize).into_iter().collect());
        }
        "elision" => Filter::Elision(match own.and_then(|own| own.get("articles")) {
            None => Arc::new(language::french_articles()),
            _ => words("articles"),
        }),
        "apostrophe" => Filter::Apostrophe,
        "pattern_replace" => {
            if text(own, "pattern").is_none() {
                return Err(format!(
                    "pattern is missing for [{name}] token filter of type 'pattern_replace'"
                ));
            }
            Filter::PatternReplace {
                pattern: pattern_of(own, "pattern", "")?,
                replacement: replacement(own),
                all: flag(own, "all", true),
            }
        }
        _ => return stream_filter(name, kind, own, analysis).map(|filter| vec![Filter::Stream(Arc::new(filter))]),
    }])
}

#[cfg(test)]
mod tests;

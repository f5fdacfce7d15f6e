//! Tokenizers and character filters from the `analysis` settings of an index in Elasticsearch 1.5.

use std::collections::HashSet;
use std::sync::Arc;

use regex::Regex;
use serde_json::{Map, Value};

use super::analyzer::Tokenizer;
use super::chars::CharFilter;
use super::filter::Filter;
use super::grams::{Grams, PathHierarchy, token_chars_pattern};
use super::names::{Component, component};
use super::patterns::{pattern_of, replacement, unescaped};
use super::runs::thai_words;
use super::settings::{character, flag, integer, late, max_token_length, number, required, runtime, strings, text};
use crate::error::{Result, SearchError};
use crate::java_pattern::JavaPattern;

/// Maximum length of an n-gram, in characters.
const MAX_GRAM: usize = 32;

/// Returns a tokenizer, and the filter that it includes.
pub(super) fn tokenizer_of(name: &str, analysis: Option<&Map<String, Value>>) -> Result<(Tokenizer, Option<Filter>)> {
    let unknown = |name: &str| SearchError::illegal(format!("failed to find tokenizer under [{name}]"));
    let Component { kind, reported, own } = component(analysis, "tokenizer", name).ok_or_else(|| unknown(name))?;
    let mut filter = None;
    let tokenizer = match kind.as_str() {
        "standard" => Tokenizer::Standard(max_token_length(own)?),
        "thai" => Tokenizer::Pattern(thai_words().ok_or_else(|| unknown(reported))?, Some(0)),
        "uax_url_email" => Tokenizer::UaxUrlEmail(max_token_length(own)?),
        "classic" => {
            let max = max_token_length(own)?;
            filter = Some(Filter::Length { min: 0, max });
            Tokenizer::Classic
        }
        "letter" => Tokenizer::Letter,
        "lowercase" => {
            filter = Some(Filter::Lowercase);
            Tokenizer::Letter
        }
        "whitespace" => Tokenizer::Whitespace,
        "keyword" if number(own, "buffer_size", 1)? == 0 => return Err(late("bufferSize must be > 0")),
        "keyword" => Tokenizer::Keyword,
        "pattern" => {
            let pattern = pattern_of(own, "pattern", r"\W+")?;
            let group = usize::try_from(integer(own, "group", -1)?).ok();
            let count = pattern.group_count();
            if group.is_some_and(|group| group > count) {
                return Err(late(format!(
                    "invalid group specified: pattern only has: {count} capturing groups"
                )));
            }
            Tokenizer::Pattern(pattern, group)
        }
        "ngram" => Tokenizer::Grams(grams_of(own, false)?, token_chars(own)?),
        "edge_ngram" if text(own, "side") == Some("back") => {
            return Err(SearchError::illegal(
                "side=back is not supported anymore. Please fix your analysis chain or use an older compatibility \
                 version (<=4.2) but beware that it might cause highlighting bugs. To obtain the same behavior as the \
                 previous version please use \"edgeNGram\" filter which still supports side=back in combination with \
                 a \"keyword\" tokenizer",
            ));
        }
        "edge_ngram" => Tokenizer::Grams(grams_of(own, true)?, token_chars(own)?),
        "path_hierarchy" => {
            let delimiter = character(own, "delimiter", '/')?;
            let replacement = character(own, "replacement", delimiter)?;
            if replacement != delimiter {
                filter = Some(Filter::PatternReplace {
                    pattern: Arc::new(JavaPattern::literal(delimiter)?),
                    replacement: format!("\\{replacement}"),
                    all: true,
                });
            }
            let skip = integer(own, "skip", 0)?;
            Tokenizer::PathHierarchy(PathHierarchy {
                delimiter,
                skip: usize::try_from(skip).map_err(|_| late("skip cannot be negative"))?,
                reverse: flag(own, "reverse", false),
            })
        }
        _ => return Err(unknown(reported)),
    };
    Ok((tokenizer, filter))
}

/// Compiles `token_chars`, the characters that n-grams may contain. Default: all.
fn token_chars(own: Option<&Value>) -> Result<Option<Arc<Regex>>> {
    let classes = strings(own.and_then(|own| own.get("token_chars")));
    let pattern = token_chars_pattern(&classes).map_err(SearchError::illegal)?;
    let pattern = pattern.map(|pattern| Regex::new(&pattern).map_err(SearchError::engine));
    Ok(pattern.transpose()?.map(Arc::new))
}

/// Returns the settings of an n-gram filter or tokenizer. Default: 1 to 2 characters, or 1 character at the edge if
/// there are no settings.
pub(super) fn grams_of(own: Option<&Value>, edge: bool) -> Result<Grams> {
    let max = if edge && own.is_none() { 1 } else { 2 };
    let (min, max) = (number(own, "min_gram", 1)?, number(own, "max_gram", max)?);
    if min == 0 {
        return Err(late("minGram must be greater than zero"));
    }
    if min > max {
        return Err(late("minGram must not be greater than maxGram"));
    }
    Ok(Grams {
        min: min.min(MAX_GRAM),
        max: max.min(MAX_GRAM),
        edge,
        back: text(own, "side") == Some("back"),
    })
}

/// Returns a character filter.
pub(super) fn char_filter_of(name: &str, analysis: Option<&Map<String, Value>>) -> Result<CharFilter> {
    let unknown = |name: &str| SearchError::illegal(format!("failed to find char filter under [{name}]"));
    let Component { kind, reported, own } = component(analysis, "char_filter", name).ok_or_else(|| unknown(name))?;
    Ok(match kind.as_str() {
        "html_strip" => CharFilter::HtmlStrip(strings(own.and_then(|own| own.get("escaped_tags")))),
        "mapping" => mapping(own)?,
        "pattern_replace" => {
            if text(own, "pattern").is_none() {
                return Err(SearchError::illegal(format!(
                    "pattern is missing for [{name}] char filter of type 'pattern_replace'"
                )));
            }
            CharFilter::PatternReplace(pattern_of(own, "pattern", "")?, replacement(own))
        }
        _ => return Err(unknown(reported)),
    })
}

/// Builds a `mapping` character filter.
fn mapping(own: Option<&Value>) -> Result<CharFilter> {
    let mut sources = HashSet::new();
    let mut rules = Vec::new();
    for rule in required(own, "mappings", "mapping")? {
        let (from, to) = rule
            .split_once("=>")
            .ok_or_else(|| runtime(format!("Invalid Mapping Rule : [{rule}]")))?;
        let (from, to) = (unescaped(from.trim()), unescaped(to.trim()));
        if !sources.insert(from.clone()) {
            return Err(SearchError::argument(format!("match \"{from}\" was already added")));
        }
        rules.push((from, to));
    }
    Ok(CharFilter::Mapping(rules.into()))
}

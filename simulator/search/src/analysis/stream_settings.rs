//! Stream filters from the `analysis` settings of an index in Elasticsearch 1.5.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::analyzer::Analyzer;
use super::configured::{compiled, flag, number, strings, text, tokenizer_of};
use super::delimiter::WordDelimiter;
use super::filter::{Filter, lowercase};
use super::language;
use super::stream::{CommonGrams, Decompounder, Shingle, StreamFilter, Synonyms};

/// Maximum size of a shingle, in tokens.
const MAX_SHINGLE_SIZE: usize = 16;

/// Returns the stream filter of a type, with its settings if it has any.
pub(super) fn stream_filter(
    name: &str,
    kind: &str,
    own: Option<&Value>,
    analysis: Option<&Map<String, Value>>,
) -> Result<StreamFilter, String> {
    Ok(match kind {
        "shingle" => {
            let min = number(own, "min_shingle_size", 2).clamp(2, MAX_SHINGLE_SIZE);
            StreamFilter::Shingle(Shingle {
                min,
                max: number(own, "max_shingle_size", 2).clamp(min, MAX_SHINGLE_SIZE),
                unigrams: flag(own, "output_unigrams", true),
                unigrams_if_no_shingles: flag(own, "output_unigrams_if_no_shingles", false),
                separator: text(own, "token_separator").unwrap_or(" ").to_owned(),
                filler: text(own, "filler_token").unwrap_or("_").to_owned(),
            })
        }
        "synonym" => StreamFilter::Synonyms(Arc::new(synonyms(own, analysis)?)),
        "unique" => StreamFilter::Unique(flag(own, "only_on_same_position", false)),
        "word_delimiter" | "wordDelimiter" => StreamFilter::Delimiter(Box::new(WordDelimiter {
            word_parts: flag(own, "generate_word_parts", true),
            number_parts: flag(own, "generate_number_parts", true),
            catenate_words: flag(own, "catenate_words", false),
            catenate_numbers: flag(own, "catenate_numbers", false),
            catenate_all: flag(own, "catenate_all", false),
            split_on_case_change: flag(own, "split_on_case_change", true),
            split_on_numerics: flag(own, "split_on_numerics", true),
            preserve_original: flag(own, "preserve_original", false),
            stem_english_possessive: flag(own, "stem_english_possessive", true),
            protected: strings(own.and_then(|own| own.get("protected_words")))
                .into_iter()
                .collect(),
        })),
        "common_grams" | "commonGrams" => {
            let ignore_case = flag(own, "ignore_case", false);
            let words = strings(own.and_then(|own| own.get("common_words"))).into_iter();
            let words: HashSet<String> = words
                .flat_map(|word| language::named_stop_words(&word).unwrap_or_else(|| vec![word]))
                .map(|word| if ignore_case { lowercase(&word) } else { word })
                .collect();
            if words.is_empty() {
                return Err(
                    "mising or empty [common_words] or [common_words_path] configuration for common_grams token filter"
                        .to_owned(),
                );
            }
            StreamFilter::CommonGrams(CommonGrams {
                words,
                ignore_case,
                query_mode: flag(own, "query_mode", false),
            })
        }
        "keep_types" | "keepTypes" => {
            let types = strings(own.and_then(|own| own.get("types")));
            if types.is_empty() {
                return Err("keep_types requires `types` to be configured".to_owned());
            }
            StreamFilter::KeepTypes(types.into_iter().collect())
        }
        "cjk_bigram" | "cjkBigram" => StreamFilter::CjkBigram(flag(own, "output_unigrams", false)),
        "dictionary_decompounder" | "dictionaryDecompounder" => {
            let words = strings(own.and_then(|own| own.get("word_list")));
            if words.is_empty() {
                return Err("word_list must be provided for [".to_owned()
                    + name
                    + "], either as a path to a file, or directly");
            }
            StreamFilter::Decompounder(Decompounder {
                words: words.iter().map(|word| lowercase(word)).collect(),
                min_word_size: number(own, "min_word_size", 5),
                min_subword_size: number(own, "min_subword_size", 2).max(1),
                max_subword_size: number(own, "max_subword_size", 15),
                only_longest_match: flag(own, "only_longest_match", false),
            })
        }
        "limit" => StreamFilter::Limit(number(own, "max_token_count", 1)),
        "pattern_capture" => {
            let patterns = match own.and_then(|own| own.get("patterns")) {
                Some(Value::Array(patterns)) => patterns.iter().filter_map(Value::as_str).collect(),
                Some(Value::String(pattern)) => vec![pattern.as_str()],
                _ => {
                    return Err(format!(
                        "required setting 'patterns' is missing for token filter [{name}]"
                    ));
                }
            };
            let patterns = patterns
                .into_iter()
                .map(|pattern| compiled(pattern, "").map(|pattern| pattern.as_ref().clone()))
                .collect::<Result<Vec<_>, _>>()?;
            StreamFilter::PatternCapture(patterns.into(), flag(own, "preserve_original", true))
        }
        other => return Err(format!("failed to find token filter under [{other}]")),
    })
}

/// Parses the `word => stem` rules of a stemmer override filter.
pub(super) fn stems(own: Option<&Value>) -> Result<HashMap<String, String>, String> {
    let rules = strings(own.and_then(|own| own.get("rules")));
    if rules.is_empty() {
        return Err("stemmer override filter requires either `rules` or `rules_path` to be configured".to_owned());
    }
    let parsed = rules.iter().map(
        |rule| match rule.split("=>").map(str::trim).collect::<Vec<_>>().as_slice() {
            [word, stem] if !word.is_empty() && !stem.is_empty() => Ok(((*word).to_owned(), (*stem).to_owned())),
            _ => Err(format!("Invalid Keyword override Rule:{rule}")),
        },
    );
    parsed.collect()
}

/// Parses the rules of a synonym filter, in Solr's format.
fn synonyms(own: Option<&Value>, analysis: Option<&Map<String, Value>>) -> Result<Synonyms, String> {
    let rules = match own.and_then(|own| own.get("synonyms")) {
        Some(Value::Array(rules)) => rules.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(rule)) => vec![rule.as_str()],
        _ => return Err("synonym requires either `synonyms` or `synonyms_path` to be configured".to_owned()),
    };
    let ignore_case = flag(own, "ignore_case", false);
    let tokenizer = tokenizer_of(text(own, "tokenizer").unwrap_or("whitespace"), analysis)?;
    let filters = if ignore_case { vec![Filter::Lowercase] } else { vec![] };
    let analyzer = Analyzer::new(tokenizer, filters);
    let words = |text: &str| analyzer.terms(text).into_iter().map(|(_, term)| term).collect();
    let mut synonyms = Synonyms::default();
    synonyms.ignore_case = ignore_case;
    for rule in rules.into_iter().filter(|rule| !rule.trim_start().starts_with('#')) {
        synonyms.add(rule, flag(own, "expand", true), &words);
    }
    Ok(synonyms)
}

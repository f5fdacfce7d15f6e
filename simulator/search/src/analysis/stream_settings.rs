//! Stream filters from the `analysis` settings of an index in Elasticsearch 1.5.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::analyzer::Analyzer;
use super::cjk_bigram::{CjkBigram, SCRIPTS};
use super::delimiter::{CharClass, WordDelimiter};
use super::filter::Filter;
use super::language;
use super::patterns::unescaped;
use super::settings::{flag, late, number, required, runtime, strings, text, words};
use super::stream::{CommonGrams, Decompounder, Shingle, StreamFilter};
use super::synonyms::Synonyms;
use super::tokenizer_settings::tokenizer_of;
use super::word_set::WordSet;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::java_pattern::JavaPattern;

/// Maximum size of a shingle, in tokens.
const MAX_SHINGLE_SIZE: usize = 16;

/// Returns the stream filter of a type, if there is one.
pub(super) fn stream_filter(
    name: &str,
    kind: &str,
    own: Option<&Value>,
    analysis: Option<&Map<String, Value>>,
) -> Result<Option<StreamFilter>> {
    Ok(Some(match kind {
        "shingle" => {
            let max = number(own, "max_shingle_size", 2)?;
            let min = number(own, "min_shingle_size", 2)?;
            if max < 2 {
                return Err(late("Max shingle size must be >= 2"));
            }
            if min < 2 {
                return Err(late("Min shingle size must be >= 2"));
            }
            if min > max {
                return Err(late("Min shingle size must be <= max shingle size"));
            }
            StreamFilter::Shingle(Shingle {
                min: min.min(MAX_SHINGLE_SIZE),
                max: max.min(MAX_SHINGLE_SIZE),
                unigrams: flag(own, "output_unigrams", true),
                unigrams_if_no_shingles: flag(own, "output_unigrams_if_no_shingles", false),
                separator: text(own, "token_separator").unwrap_or(" ").to_owned(),
                filler: text(own, "filler_token").unwrap_or("_").to_owned(),
            })
        }
        "synonym" => StreamFilter::Synonyms(Arc::new(synonyms(own, analysis)?)),
        "unique" => StreamFilter::Unique(flag(own, "only_on_same_position", false)),
        "word_delimiter" => StreamFilter::Delimiter(Box::new(WordDelimiter {
            word_parts: flag(own, "generate_word_parts", true),
            number_parts: flag(own, "generate_number_parts", true),
            catenate_words: flag(own, "catenate_words", false),
            catenate_numbers: flag(own, "catenate_numbers", false),
            catenate_all: flag(own, "catenate_all", false),
            split_on_case_change: flag(own, "split_on_case_change", true),
            split_on_numerics: flag(own, "split_on_numerics", true),
            preserve_original: flag(own, "preserve_original", false),
            stem_english_possessive: flag(own, "stem_english_possessive", true),
            protected: words(own, "protected_words")?.unwrap_or_default().into_iter().collect(),
            classes: classes(own)?,
        })),
        "common_grams" => {
            let common = language::with_stop_words(words(own, "common_words")?.unwrap_or_default());
            let common = WordSet::new(common, flag(own, "ignore_case", false));
            if common.is_empty() && own.is_some() {
                return Err(SearchError::illegal(
                    "mising or empty [common_words] or [common_words_path] configuration for common_grams token filter",
                ));
            }
            StreamFilter::CommonGrams(CommonGrams {
                words: common,
                query_mode: flag(own, "query_mode", false),
            })
        }
        "keep_types" => {
            let types = strings(own.and_then(|own| own.get("types")));
            if types.is_empty() {
                return Err(SearchError::illegal("keep_types requires `types` to be configured"));
            }
            StreamFilter::KeepTypes(types.into_iter().collect())
        }
        "cjk_bigram" => {
            let ignored = strings(own.and_then(|own| own.get("ignored_scripts")));
            let is_ignored = |script: &str| ignored.iter().any(|ignored| ignored == script);
            let ignored = SCRIPTS
                .iter()
                .filter(|(script, _)| is_ignored(script))
                .map(|(_, kind)| *kind);
            StreamFilter::CjkBigram(CjkBigram {
                unigrams: flag(own, "output_unigrams", false),
                ignored: ignored.collect(),
            })
        }
        "hunspell" => return hunspell(own),
        "dictionary_decompounder" | "hyphenation_decompounder" => {
            let words = words(own, "word_list")?.ok_or_else(|| {
                SearchError::illegal(format!(
                    "word_list must be provided for [{name}], either as a path to a file, or directly"
                ))
            })?;
            if kind == "hyphenation_decompounder" {
                return match text(own, "hyphenation_patterns_path") {
                    Some(_) => Ok(None),
                    None => Err(SearchError::illegal("hyphenation_patterns_path is a required setting.")),
                };
            }
            StreamFilter::Decompounder(Decompounder {
                words: words.into_iter().collect(),
                min_word_size: number(own, "min_word_size", 5)?,
                min_subword_size: number(own, "min_subword_size", 2)?.max(1),
                max_subword_size: number(own, "max_subword_size", 15)?,
                only_longest_match: flag(own, "only_longest_match", false),
            })
        }
        "limit" => match number(own, "max_token_count", 1)? {
            0 => return Err(late("maxTokenCount must be greater than zero")),
            max => StreamFilter::Limit(max),
        },
        "pattern_capture" => {
            let patterns = strings(own.and_then(|own| own.get("patterns")));
            if patterns.is_empty() {
                return Err(SearchError::illegal(format!(
                    "required setting 'patterns' is missing for token filter [{name}]"
                )));
            }
            let patterns = patterns.iter().map(|pattern| JavaPattern::new(pattern, 0));
            let patterns = patterns.collect::<Result<Vec<_>>>()?;
            StreamFilter::PatternCapture(patterns.into(), flag(own, "preserve_original", true))
        }
        _ => return Ok(None),
    }))
}

/// Returns the error of a `hunspell` filter: there are no dictionaries.
fn hunspell(own: Option<&Value>) -> Result<Option<StreamFilter>> {
    let locale = ["locale", "language", "lang"].iter().find_map(|key| text(own, key));
    let Some(locale) = locale else {
        return Err(SearchError::illegal(
            "missing [locale | language | lang] configuration for hunspell token filter",
        ));
    };
    let reason = format!("Could not find hunspell dictionary [{locale}]");
    let thrown = format!("org.elasticsearch.ElasticsearchException: {reason}");
    Err(
        SearchError::new(500, Exception::UncheckedExecution, thrown).caused_by(SearchError::new(
            500,
            Exception::Elasticsearch,
            reason,
        )),
    )
}

/// Parses the `word => stem` rules of a stemmer override filter.
pub(super) fn stems(own: Option<&Value>) -> Result<HashMap<String, String>> {
    let rules = required(own, "rules", "stemmer override filter")?;
    let parsed = rules.iter().map(
        |rule| match rule.split("=>").map(str::trim).collect::<Vec<_>>().as_slice() {
            [word, stem] if !word.is_empty() && !stem.is_empty() => Ok(((*word).to_owned(), (*stem).to_owned())),
            _ => Err(runtime(format!("Invalid Keyword override Rule:{rule}"))),
        },
    );
    parsed.collect()
}

/// Parses the `character => class` rules of a word delimiter filter.
fn classes(own: Option<&Value>) -> Result<HashMap<char, CharClass>> {
    let rules = words(own, "type_table")?.unwrap_or_default();
    let parsed = rules.iter().map(|rule| {
        let invalid = |problem: &str| runtime(format!("Invalid Mapping Rule : [{rule}]{problem}"));
        let (from, class) = rule.rsplit_once("=>").ok_or_else(|| invalid(""))?;
        let class = CharClass::named(class.trim()).ok_or_else(|| invalid(". Illegal type."))?;
        let from = unescaped(from.trim());
        let mut letters = from.chars();
        match (letters.next(), letters.next()) {
            (Some(only), None) => Ok((only, class)),
            _ => Err(invalid(". Only a single character is allowed.")),
        }
    });
    parsed.collect()
}

/// Builds the rules of a synonym filter, in the format of Solr or of WordNet.
fn synonyms(own: Option<&Value>, analysis: Option<&Map<String, Value>>) -> Result<Synonyms> {
    let rules = match own.and_then(|own| own.get("synonyms")) {
        Some(Value::String(rule)) => vec![rule.clone()],
        _ => required(own, "synonyms", "synonym")?,
    };
    let ignore_case = flag(own, "ignore_case", false);
    let name = text(own, "tokenizer").unwrap_or("whitespace");
    let (tokenizer, first) = tokenizer_of(name, analysis)
        .map_err(|_| SearchError::illegal(format!("failed to find tokenizer [{name}] for synonym token filter")))?;
    let lowercase = ignore_case.then_some(Filter::Lowercase);
    let analyzer = Analyzer::new(tokenizer, first.into_iter().chain(lowercase).collect());
    let words = |text: &str| {
        let terms = analyzer.terms(text);
        if terms
            .iter()
            .zip(0..)
            .any(|((position, _), expected)| *position != expected)
        {
            let reason = format!("term: {text} analyzed to a token with posinc != 1");
            return Err(SearchError::argument(reason));
        }
        if terms.is_empty() {
            let reason = format!("term: {text} was completely eliminated by analyzer");
            return Err(SearchError::argument(reason));
        }
        Ok(terms.into_iter().map(|(_, term)| term).collect())
    };
    let expand = flag(own, "expand", true);
    let mut synonyms = Synonyms::default();
    synonyms.ignore_case = ignore_case;
    let failed = |at: usize, problem: SearchError| {
        let failed = SearchError::illegal("failed to build synonyms");
        let line = format!("Invalid synonym rule at line {}", at + 1);
        let failed = match problem.kind {
            Exception::IllegalArgument => failed.caused_by(SearchError::new(400, Exception::JavaParse, line)),
            _ => failed,
        };
        failed.caused_by(problem)
    };
    if text(own, "format") == Some("wordnet") {
        for set in wordnet_sets(&rules) {
            let words = set
                .iter()
                .map(|(at, word)| words(word).map_err(|problem| failed(*at, problem)));
            synonyms.add_equal(&words.collect::<Result<Vec<_>>>()?, expand);
        }
        return Ok(synonyms);
    }
    for (at, rule) in rules.iter().map(|rule| rule.trim()).enumerate() {
        if !rule.is_empty() && !rule.starts_with('#') {
            synonyms
                .add(rule, expand, &words)
                .map_err(|problem| failed(at, problem))?;
        }
    }
    Ok(synonyms)
}

/// Returns the words of each set of lines such as `s(100000001,1,'abstain',v,1,0).`, with the numbers of their lines.
fn wordnet_sets(lines: &[String]) -> Vec<Vec<(usize, String)>> {
    let mut sets: IndexMap<&str, Vec<(usize, String)>> = IndexMap::new();
    for (at, line) in lines.iter().enumerate() {
        let id = line.strip_prefix("s(").and_then(|rest| rest.split_once(','));
        let word = line.split_once('\'').and_then(|(_, rest)| rest.rsplit_once('\''));
        if let (Some((id, _)), Some((word, _))) = (id, word) {
            sets.entry(id).or_default().push((at, word.replace("''", "'")));
        }
    }
    sets.into_values().collect()
}

//! Term suggester: similar terms for the words of a text.
//!
//! Source: Elasticsearch 1.5's term suggester on Lucene 4.10's `DirectSpellChecker`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::positive;
use crate::analysis::Analyzer;
use crate::budget::Budget;
use crate::cluster::Index;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::View;
use crate::json::{self, is_scalar};
use crate::query::{QueryField, similar_terms};
use crate::score::score_json;

/// `suggest_mode`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Suggestions only for words that are not in the index.
    Missing,
    /// Only terms with a higher document frequency than the word.
    Popular,
    Always,
}

/// `string_distance`.
#[derive(Clone, Copy)]
enum Distance {
    Internal,
    JaroWinkler,
    Levenshtein,
    Ngram,
}

/// Settings of a term suggester.
pub(super) struct Settings {
    field: String,
    analyzer: Option<String>,
    mode: Mode,
    size: usize,
    /// Default: `size`.
    shard_size: Option<usize>,
    max_edits: u8,
    prefix_length: usize,
    min_word_length: usize,
    min_doc_freq: f32,
    max_term_freq: f32,
    max_inspections: usize,
    accuracy: f32,
    by_frequency: bool,
    distance: Distance,
    /// Analyzer of the words of the text, of a candidate generator.
    pub(super) pre_filter: Option<String>,
    /// Analyzer of the candidates of a candidate generator.
    pub(super) post_filter: Option<String>,
}

impl Settings {
    /// Returns the field whose analyzer splits the text.
    pub(super) fn analyzed_field(&self) -> Option<&str> {
        self.analyzer.is_none().then_some(self.field.as_str())
    }

    /// Names of the analyzers.
    pub(super) fn analyzers(&self) -> impl Iterator<Item = &String> {
        let names = [&self.analyzer, &self.pre_filter, &self.post_filter];
        names.into_iter().flatten()
    }

    /// Parses the settings of a term suggester, or of a candidate generator.
    ///
    /// # Errors
    /// A setting that does not exist, or with a value that is none.
    pub(super) fn parse(own: &Map<String, Value>, is_generator: bool) -> Result<Settings> {
        let mut settings = Settings {
            field: String::new(),
            analyzer: None,
            mode: Mode::Missing,
            size: 5,
            shard_size: None,
            max_edits: 2,
            prefix_length: 1,
            min_word_length: 4,
            min_doc_freq: 0.0,
            max_term_freq: 0.01,
            max_inspections: 5,
            accuracy: 0.5,
            by_frequency: false,
            distance: Distance::Internal,
            pre_filter: None,
            post_filter: None,
        };
        let mut field = None;
        for (key, value) in own {
            if !is_scalar(value) {
                if is_generator {
                    continue;
                }
                let reason = format!("suggester[term]  doesn't support field [{key}]");
                return Err(SearchError::illegal(reason));
            }
            let text = || json::text_of(value);
            let float = || json::float(value);
            let whole = || json::int(value, json::PART).map(|number| usize::try_from(number).unwrap_or(0));
            match key.as_str() {
                "field" => field = Some(text()),
                "pre_filter" | "preFilter" if is_generator => settings.pre_filter = Some(text()),
                "post_filter" | "postFilter" if is_generator => settings.post_filter = Some(text()),
                "analyzer" if !is_generator => settings.analyzer = Some(text()),
                "size" if is_generator && whole()? == 0 => {
                    return Err(SearchError::illegal("Size must be positive"));
                }
                "size" => settings.size = positive("Size", value)?,
                "shard_size" | "shardSize" => settings.shard_size = Some(positive("ShardSize", value)?),
                "max_edits" | "maxEdits" => settings.max_edits = edits(value)?,
                "prefix_length" | "prefix_len" | "prefixLength" => settings.prefix_length = whole()?,
                "min_word_length" | "min_word_len" | "minWordLength" => settings.min_word_length = whole()?,
                "min_doc_freq" | "minDocFreq" => settings.min_doc_freq = float()?,
                "max_term_freq" | "maxTermFreq" => settings.max_term_freq = float()?,
                "max_inspections" | "maxInspections" => settings.max_inspections = whole()?,
                "accuracy" => settings.accuracy = float()?,
                "sort" => {
                    settings.by_frequency = match value.as_str() {
                        Some("score") => false,
                        Some("frequency") => true,
                        _ => return Err(SearchError::illegal(format!("Illegal suggest sort {}", text()))),
                    }
                }
                "suggest_mode" | "suggestMode" => {
                    settings.mode = match text().to_lowercase().as_str() {
                        "missing" => Mode::Missing,
                        "popular" => Mode::Popular,
                        "always" => Mode::Always,
                        _ => {
                            return Err(SearchError::illegal(format!(
                                "Illegal suggest mode {}",
                                text().to_lowercase()
                            )));
                        }
                    }
                }
                "string_distance" | "stringDistance" => {
                    settings.distance = match value.as_str() {
                        Some("internal" | "damerau_levenshtein" | "damerauLevenshtein") => Distance::Internal,
                        Some("levenstein" | "levenshtein") => Distance::Levenshtein,
                        Some("jarowinkler" | "jaroWinkler") => Distance::JaroWinkler,
                        Some("ngram") => Distance::Ngram,
                        _ => {
                            let reason = format!("Illegal distance option {}", text());
                            return Err(SearchError::illegal(reason));
                        }
                    }
                }
                other => {
                    let reader = if is_generator {
                        "CandidateGenerator"
                    } else {
                        "suggester[term]"
                    };
                    let reason = format!("{reader} doesn't support [{other}]");
                    return Err(SearchError::illegal(reason));
                }
            }
        }
        settings.field = field.ok_or_else(|| SearchError::illegal("The required field option is missing"))?;
        Ok(settings)
    }

    /// Checks the settings that Elasticsearch checks when it looks for terms.
    ///
    /// # Errors
    /// A document frequency that is neither a share nor a count.
    pub(super) fn check_frequencies(&self) -> Result<()> {
        let is_fraction = |frequency: f32| frequency >= 1.0 && frequency != frequency as i32 as f32;
        if is_fraction(self.min_doc_freq) || is_fraction(self.max_term_freq) {
            let reason = "Fractional absolute document frequencies are not allowed";
            return Err(SearchError::new(500, Exception::IllegalArgument, reason));
        }
        Ok(())
    }

    /// Number of options for each word and shard.
    fn shard_size(&self) -> usize {
        self.shard_size.unwrap_or(self.size.max(5))
    }

    /// Name of the field whose terms are suggested.
    pub(super) fn field(&self) -> &str {
        &self.field
    }

    /// Returns the minimum document frequency of candidates for a word of a phrase, which depends on the `frequency` of
    /// the word among all `occurrences`.
    pub(super) fn threshold(&self, frequency: f64, occurrences: f64) -> f32 {
        const LOG_BASE: f64 = 5.0;
        let plateau = match self.min_doc_freq >= 1.0 {
            true => self.min_doc_freq.trunc(),
            false => (occurrences as f32 * self.min_doc_freq).trunc(),
        };
        match self.mode {
            Mode::Always => 0.0,
            _ if frequency <= 0.0 => 0.0,
            Mode::Missing | Mode::Popular => {
                let scale = (frequency - f64::from(plateau)).log10() * (1.0 / LOG_BASE.log10());
                (frequency * scale + 1.0).round().max(0.0) as f32
            }
        }
    }

    /// Returns the options of a candidate generator for a word of a phrase on one shard, the best first.
    ///
    /// # Errors
    /// Those of [`Settings::options`].
    pub(super) fn candidates(
        &self,
        view: &View,
        field: &QueryField,
        word: &str,
        threshold: f32,
        budget: &Budget,
    ) -> Result<Vec<Candidate>> {
        self.near(view, field, word, (threshold, self.size), budget)
    }

    /// Returns the options for a word on one shard, the best first.
    ///
    /// # Errors
    /// A limit of the budget; no term may be inspected.
    pub(super) fn options(
        &self,
        view: &View,
        field: &QueryField,
        word: &str,
        budget: &Budget,
    ) -> Result<Vec<Candidate>> {
        self.near(view, field, word, (self.min_doc_freq, self.shard_size()), budget)
    }

    /// Returns up to `count` terms near a word. `threshold`: minimum document frequency, as a share or a count.
    fn near(
        &self,
        view: &View,
        field: &QueryField,
        word: &str,
        (threshold, count): (f32, usize),
        budget: &Budget,
    ) -> Result<Vec<Candidate>> {
        let length = word.chars().count();
        let Some(ordinal) = field.ordinal.filter(|_| length >= self.min_word_length) else {
            return Ok(vec![]);
        };
        let own = view.doc_freq(ordinal, word)?;
        let docs = view.max_doc() as f32;
        let max_freq = match self.max_term_freq >= 1.0 {
            true => self.max_term_freq,
            false => (self.max_term_freq * docs).ceil(),
        };
        if self.mode == Mode::Missing && own > 0 || own as f32 > max_freq {
            return Ok(vec![]);
        }
        let mut min_freq = if self.mode == Mode::Popular { own } else { 0 };
        if threshold >= 1.0 {
            min_freq = min_freq.max(threshold as u32);
        } else if threshold > 0.0 {
            min_freq = min_freq.max(((threshold * docs) as u32).saturating_sub(1));
        }
        let inspections = count.saturating_mul(self.max_inspections);
        let mut found: Vec<Candidate> = Vec::new();
        for edits in 1..=self.max_edits {
            if edits > 1 && found.len() >= inspections {
                break;
            }
            let prefix = self.prefix_length.max(usize::from(edits) - 1);
            let mut fresh = Vec::new();
            for near in similar_terms(view, ordinal, word, edits, prefix, true, budget)? {
                if inspections == 0 {
                    // Elasticsearch compares with the worst term that it has inspected.
                    return Err(SearchError::null_pointer());
                }
                let freq = view.doc_freq(ordinal, &near.text)?;
                let score = match self.distance {
                    Distance::Internal => near.boost,
                    Distance::Levenshtein => {
                        1.0 - levenshtein(word, &near.text) as f32 / length.max(near.text.chars().count()) as f32
                    }
                    Distance::JaroWinkler => jaro_winkler(word, &near.text),
                    Distance::Ngram => bigram_similarity(word, &near.text),
                };
                if near.text != word && freq > min_freq && score >= self.accuracy {
                    let candidate = Candidate {
                        text: near.text,
                        score,
                        freq,
                    };
                    fresh.push((near.boost, candidate));
                }
            }
            fresh.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.text.cmp(&b.1.text)));
            fresh.truncate(inspections);
            for (_, candidate) in fresh {
                if found.iter().all(|known| known.text != candidate.text) {
                    found.push(candidate);
                }
            }
        }
        self.sort(&mut found);
        found.truncate(count);
        Ok(found)
    }

    fn sort(&self, options: &mut [Candidate]) {
        if self.by_frequency {
            options.sort_by(|a, b| b.freq.cmp(&a.freq).then_with(|| a.by_score(b)));
        } else {
            options.sort_by(Candidate::by_score);
        }
    }
}

fn edits(value: &Value) -> Result<u8> {
    match json::int(value, json::PART)? {
        1 => Ok(1),
        2 => Ok(2),
        number => Err(SearchError::illegal(format!("Illegal max_edits value {number}"))),
    }
}

/// A suggested term.
pub(super) struct Candidate {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) freq: u32,
}

impl Candidate {
    fn by_score(&self, other: &Candidate) -> std::cmp::Ordering {
        let best = other.score.total_cmp(&self.score);
        best.then_with(|| other.freq.cmp(&self.freq))
            .then_with(|| self.text.cmp(&other.text))
    }
}

fn levenshtein(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in two.iter().enumerate() {
            let cost = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

fn jaro_winkler(one: &str, two: &str) -> f32 {
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let reach = (one.len().max(two.len()) / 2).saturating_sub(1);
    let mut taken = vec![false; two.len()];
    let mut matched = Vec::new();
    for (i, c) in one.iter().enumerate() {
        let from = i.saturating_sub(reach);
        let to = (i + reach + 1).min(two.len());
        if let Some(j) = (from..to).find(|j| !taken[*j] && two[*j] == *c) {
            taken[j] = true;
            matched.push(*c);
        }
    }
    if matched.is_empty() {
        return 0.0;
    }
    let others = two.iter().zip(&taken).filter(|(_, taken)| **taken).map(|(c, _)| c);
    let moved = matched.iter().zip(others).filter(|(a, b)| a != b).count() / 2;
    let count = matched.len() as f32;
    let jaro = (count / one.len() as f32 + count / two.len() as f32 + (count - moved as f32) / count) / 3.0;
    let prefix = one.iter().zip(&two).take_while(|(a, b)| a == b).count() as f32;
    if jaro < 0.7 {
        jaro
    } else {
        jaro + (0.1f32).min(1.0 / one.len().max(two.len()) as f32) * prefix * (1.0 - jaro)
    }
}

/// Returns the similarity of two words by their bigrams. The letter before a word is the same for all words, and
/// counts only if the second letters differ.
///
/// Source: G. Kondrak, "N-gram similarity and distance".
fn bigram_similarity(one: &str, two: &str) -> f32 {
    let bigrams = |text: &str| {
        let letters: Vec<char> = text.chars().collect();
        let before = std::iter::once('\0').chain(letters.clone());
        before.zip(letters).collect::<Vec<_>>()
    };
    let (one, two) = (bigrams(one), bigrams(two));
    let cost = |a: &(char, char), b: &(char, char)| {
        let differing = u8::from(a.0 != b.0) + u8::from(a.1 != b.1);
        let compared = 2 - u8::from(a.0 == b.0 && a.0 == '\0');
        f32::from(differing) / f32::from(compared)
    };
    let mut row: Vec<f32> = (0..=two.len()).map(|j| j as f32).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = (i + 1) as f32;
        for (j, b) in two.iter().enumerate() {
            let replaced = diagonal + cost(a, b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1.0).min(row[j] + 1.0);
        }
    }
    let distance = row.last().copied().unwrap_or(0.0);
    1.0 - distance / one.len().max(two.len()).max(1) as f32
}

/// Returns the options for each word of a text.
pub(super) fn terms(indices: &[Arc<Index>], settings: &Settings, text: &str, budget: &Budget) -> Result<Value> {
    // `options` has the options of each word, by text.
    let mut words: Vec<(String, usize, usize)> = Vec::new();
    let mut options: Vec<BTreeMap<String, (f32, u32)>> = Vec::new();
    for index in indices {
        let mapping = index.mapping();
        let field = mapping.field(&settings.field);
        let analyzer = match &settings.analyzer {
            Some(name) => super::analyzer(name, &mapping)?,
            None => field.map_or_else(Analyzer::standard, |field| field.search_analyzer.clone()),
        };
        analyzer.check()?;
        if words.is_empty() {
            let units = |end: usize| text.get(..end).map_or(0, |text| text.encode_utf16().count());
            analyzer.analyze(text, &mut |token| {
                words.push((token.text.to_owned(), units(token.start), units(token.end)));
            });
            options = words.iter().map(|_| BTreeMap::new()).collect();
            budget.elements("words", words.len())?;
        }
        let field = field.map_or_else(|| QueryField::unmapped(&settings.field), QueryField::of);
        for shard in &index.shards {
            let began = Instant::now();
            for ((word, ..), merged) in words.iter().zip(&mut options) {
                for option in settings.options(&shard.view(), &field, word, budget)? {
                    let known = merged.entry(option.text).or_insert((option.score, 0));
                    known.1 += option.freq;
                }
            }
            shard.counters.suggest.add(began);
        }
    }
    let entries = words.into_iter().zip(options).map(|((word, start, end), merged)| {
        let mut options: Vec<Candidate> = merged
            .into_iter()
            .map(|(text, (score, freq))| Candidate { text, score, freq })
            .collect();
        settings.sort(&mut options);
        options.truncate(settings.size);
        let options: Vec<Value> = options
            .iter()
            .map(|option| json!({"text": option.text, "score": score_json(option.score), "freq": option.freq}))
            .collect();
        json!({"text": word, "offset": start, "length": end - start, "options": options})
    });
    Ok(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("kitten", "sitting", 3)]
    #[case("", "abc", 3)]
    #[case("same", "same", 0)]
    fn edits_are_counted(#[case] one: &str, #[case] two: &str, #[case] expected: usize) {
        assert_eq!(levenshtein(one, two), expected);
    }

    #[test]
    fn a_common_prefix_increases_the_similarity() {
        assert!((jaro_winkler("martha", "marhta") - 0.961_11).abs() < 1e-4);
        assert_eq!(jaro_winkler("abc", "xyz"), 0.0);
        assert_eq!(bigram_similarity("retrx", "retry"), 0.9);
        assert_eq!(bigram_similarity("warninx", "warning"), 0.928_571_4);
        assert_eq!(bigram_similarity("abc", "abc"), 1.0);
    }
}

//! Corrected phrases: candidates for each word, scored with a model of which words follow which.
//!
//! Limits: `collate` and the filters of generators are refused.
//! Source: Elasticsearch 1.5's `NoisyChannelSpellChecker`, `CandidateScorer` and word scorers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use super::term::{Settings, number};
use crate::analysis::Analyzer;
use crate::budget::Budget;
use crate::cluster::Index;
use crate::error::{Result, SearchError};
use crate::index::{View, field_prefix, term_key};
use crate::mapping::FieldOrdinal;
use crate::query::QueryField;
use crate::score::{END, shown};

/// How probable a word is behind others that it was never seen behind.
#[derive(Clone, Copy)]
enum Smoothing {
    StupidBackoff(f64),
    Laplace(f64),
    /// Shares of three words, two words and one word.
    Linear(f64, f64, f64),
}

/// Settings of a phrase suggester.
struct Phrase {
    field: String,
    analyzer: Option<String>,
    size: usize,
    shard_size: usize,
    gram_size: Option<usize>,
    real_word_error_likelihood: f64,
    confidence: f64,
    max_errors: f64,
    separator: String,
    token_limit: usize,
    smoothing: Smoothing,
    tags: Option<(String, String)>,
    generators: Vec<Settings>,
}

/// A word that may be meant.
#[derive(Clone)]
struct Word {
    text: String,
    frequency: f64,
    /// How like the word of the text it is.
    similarity: f64,
    given: bool,
}

/// A phrase that may be meant.
#[derive(Clone)]
struct Correction {
    words: Vec<Word>,
    score: f64,
}

impl Phrase {
    fn parse(own: &Map<String, Value>) -> Result<Phrase> {
        let mut phrase = Phrase {
            field: String::new(),
            analyzer: None,
            size: 5,
            shard_size: 5,
            gram_size: None,
            real_word_error_likelihood: 0.95,
            confidence: 1.0,
            max_errors: 1.0,
            separator: " ".to_owned(),
            token_limit: 10,
            smoothing: Smoothing::StupidBackoff(0.4),
            tags: None,
            generators: vec![],
        };
        for (key, value) in own {
            let text = || value.as_str().unwrap_or("").to_owned();
            let float = || number(value).unwrap_or(0.0);
            let whole = || number(value).unwrap_or(0.0) as usize;
            match key.as_str() {
                "field" => phrase.field = text(),
                "analyzer" => phrase.analyzer = Some(text()),
                "size" => phrase.size = whole(),
                "shard_size" | "shardSize" => phrase.shard_size = whole(),
                "gram_size" | "gramSize" => {
                    if whole() < 1 {
                        return Err(SearchError::illegal("gram_size must be >= 1"));
                    }
                    phrase.gram_size = Some(whole());
                }
                "real_word_error_likelihood" | "realWordErrorLikelihood" => {
                    if float() <= 0.0 {
                        return Err(SearchError::illegal("real_word_error_likelihood must be > 0.0"));
                    }
                    phrase.real_word_error_likelihood = float();
                }
                "confidence" => {
                    if float() < 0.0 {
                        return Err(SearchError::illegal("confidence must be >= 0.0"));
                    }
                    phrase.confidence = float();
                }
                "max_errors" | "maxErrors" => {
                    if float() <= 0.0 {
                        return Err(SearchError::illegal("max_error must be > 0.0"));
                    }
                    phrase.max_errors = float();
                }
                "separator" => phrase.separator = text(),
                "token_limit" | "tokenLimit" => phrase.token_limit = whole(),
                "force_unigrams" | "forceUnigrams" => {}
                "smoothing" => phrase.smoothing = smoothing(value)?,
                "highlight" => {
                    let tag = |key: [&str; 2]| key.iter().find_map(|key| value.get(*key)?.as_str()).map(str::to_owned);
                    phrase.tags = tag(["pre_tag", "preTag"]).zip(tag(["post_tag", "postTag"]));
                }
                "direct_generator" | "directGenerator" => {
                    let generators = value.as_array().cloned().unwrap_or_default();
                    for generator in generators.iter().filter_map(Value::as_object) {
                        phrase.generators.push(Settings::parse(generator, "")?);
                    }
                }
                other => {
                    let reason = format!("suggester[phrase] doesn't support field [{other}]");
                    return Err(SearchError::illegal(reason));
                }
            }
        }
        if phrase.field.is_empty() {
            return Err(SearchError::illegal("The required field option is missing"));
        }
        if phrase.generators.is_empty() {
            let own = Map::from_iter([("field".to_owned(), Value::from(phrase.field.as_str()))]);
            phrase.generators.push(Settings::parse(&own, "")?);
        }
        phrase.shard_size = phrase.shard_size.max(phrase.size);
        Ok(phrase)
    }
}

fn smoothing(value: &Value) -> Result<Smoothing> {
    let (name, own) = value
        .as_object()
        .and_then(|object| object.iter().next())
        .ok_or_else(|| SearchError::illegal("smoothing must be an object"))?;
    let part = |key: &str, default: f64| own.get(key).and_then(number).unwrap_or(default);
    match name.as_str() {
        "stupid_backoff" | "stupidBackoff" => Ok(Smoothing::StupidBackoff(part("discount", 0.4))),
        "laplace" => Ok(Smoothing::Laplace(part("alpha", 0.5))),
        "linear_interpolation" | "linearInterpolation" => {
            let (three, two, one) = (
                part("trigram_lambda", 0.0),
                part("bigram_lambda", 0.0),
                part("unigram_lambda", 0.0),
            );
            if (three + two + one - 1.0).abs() > 0.001 {
                return Err(SearchError::illegal("linear smoothing lambdas must sum to 1"));
            }
            Ok(Smoothing::Linear(three, two, one))
        }
        other => Err(SearchError::illegal(format!(
            "suggester[phrase] doesn't support object field [{other}]"
        ))),
    }
}

/// Frequencies of the words of a field in a shard.
struct Model<'a> {
    view: &'a View,
    field: Option<FieldOrdinal>,
    phrase: &'a Phrase,
    gram_size: usize,
    /// Number of occurrences of all words, and number of words.
    occurrences: f64,
    words: f64,
    known: HashMap<String, f64>,
}

impl<'a> Model<'a> {
    fn new(
        view: &'a View,
        field: Option<FieldOrdinal>,
        phrase: &'a Phrase,
        gram_size: usize,
        budget: &Budget,
    ) -> Result<Model<'a>> {
        let (mut occurrences, mut words) = (0.0, std::collections::HashSet::new());
        for view in view.segments.iter().filter(|_| field.is_some()) {
            let own = field.unwrap_or(0);
            let (from, to) = (field_prefix(own).to_string(), field_prefix(own + 1).to_string());
            let mut stream = view.segment.terms().terms().range().ge(&from).lt(&to).into_stream()?;
            while stream.advance() {
                budget.terms(1)?;
                let mut postings = view.segment.postings(stream.value(), IndexRecordOption::WithFreqs)?;
                while postings.doc() != END {
                    occurrences += f64::from(postings.term_freq());
                    postings.advance();
                }
                words.insert(stream.key().to_vec());
            }
        }
        Ok(Model {
            view,
            field,
            phrase,
            gram_size,
            occurrences,
            words: words.len() as f64,
            known: HashMap::new(),
        })
    }

    /// Number of occurrences of a word, or of several in a row.
    fn frequency(&mut self, text: &str) -> Result<f64> {
        if let Some(known) = self.known.get(text) {
            return Ok(*known);
        }
        let mut frequency = 0.0;
        if let Some(field) = self.field {
            let key = term_key(field, text);
            for view in &self.view.segments {
                if let Some(info) = view.segment.term_info(&key)? {
                    let mut postings = view.segment.postings(&info, IndexRecordOption::WithFreqs)?;
                    while postings.doc() != END {
                        frequency += f64::from(postings.term_freq());
                        postings.advance();
                    }
                }
            }
        }
        self.known.insert(text.to_owned(), frequency);
        Ok(frequency)
    }

    fn joined(&mut self, words: &[&Word]) -> Result<f64> {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let text = texts.join(&self.phrase.separator);
        self.frequency(&text)
    }

    fn one(&self, word: &Word) -> f64 {
        (1.0 + word.frequency) / (self.occurrences + self.words)
    }

    fn two(&mut self, word: &Word, before: &Word) -> Result<f64> {
        let count = self.joined(&[before, word])?;
        Ok(match self.phrase.smoothing {
            Smoothing::StupidBackoff(discount) if count < 1.0 => discount * self.one(word),
            Smoothing::StupidBackoff(_) => count / (before.frequency + 1e-11),
            Smoothing::Laplace(alpha) => (alpha + count) / (before.frequency + alpha * self.words),
            Smoothing::Linear(_, _, one) if count < 1.0 => one * self.one(word),
            Smoothing::Linear(_, two, one) => two * (count / (0.5 + before.frequency)) + one * self.one(word),
        })
    }

    fn three(&mut self, word: &Word, before: &Word, first: &Word) -> Result<f64> {
        let count = self.joined(&[first, before, word])?;
        let pair = self.joined(&[first, before])?;
        Ok(match self.phrase.smoothing {
            Smoothing::StupidBackoff(discount) if count < 1.0 => {
                if pair < 1.0 {
                    discount * self.one(word)
                } else {
                    discount * self.two(word, before)?
                }
            }
            Smoothing::StupidBackoff(_) => count / (pair + 1e-11),
            Smoothing::Laplace(alpha) => (alpha + count) / (pair + alpha * self.words),
            Smoothing::Linear(..) if count < 1.0 => self.two(word, before)?,
            Smoothing::Linear(three, two, one) => {
                let behind = self.joined(&[before, word])?;
                three * (count / (1.0 + pair)) + two * (behind / (1.0 + before.frequency)) + one * self.one(word)
            }
        })
    }

    /// The logarithm of how probable the word at a place of a phrase is.
    fn score(&mut self, path: &[Word], at: usize) -> Result<f64> {
        let Some(word) = path.get(at) else {
            return Ok(0.0);
        };
        // A word of the text is as probable as that a real word is no mistake.
        let channel = if word.similarity == 1.0 {
            self.phrase.real_word_error_likelihood
        } else {
            word.similarity
        };
        let before = |by: usize| at.checked_sub(by).and_then(|at| path.get(at));
        let probability = match (before(1), before(2), self.gram_size) {
            (None, _, _) | (_, _, 1) => self.one(word),
            (Some(one), None, _) | (Some(one), _, 2) => self.two(word, one)?,
            (Some(one), Some(two), _) => self.three(word, one, two)?,
        };
        Ok((channel * probability).log10())
    }
}

/// Collects the phrases that are more probable than the text.
struct Search<'a, 'b> {
    model: Model<'a>,
    choices: &'b [(Word, Vec<Word>)],
    cutoff: f64,
    found: Vec<Correction>,
    budget: &'b Budget,
}

impl Search<'_, '_> {
    fn step(&mut self, path: &mut Vec<Word>, errors: usize, score: f64) -> Result<()> {
        self.budget.check()?;
        let at = path.len();
        let choices = self.choices;
        let Some((given, candidates)) = choices.get(at) else {
            // The sum of decimal logarithms is taken as one of natural ones, as the original does.
            let score = score.exp();
            if score > self.cutoff {
                self.found.push(Correction {
                    words: path.clone(),
                    score,
                });
            }
            return Ok(());
        };
        let others = candidates
            .iter()
            .filter(|_| errors > 0)
            .map(|word| (word, errors.saturating_sub(1)));
        for (word, left) in std::iter::once((given, errors)).chain(others) {
            path.push(word.clone());
            let own = self.model.score(path, at)?;
            self.step(path, left, score + own)?;
            path.pop();
        }
        Ok(())
    }
}

impl Correction {
    fn text(&self, separator: &str, tags: Option<&(String, String)>) -> String {
        let is_new = |at: Option<usize>| at.and_then(|at| self.words.get(at)).is_some_and(|word| !word.given);
        let words: Vec<String> = self
            .words
            .iter()
            .enumerate()
            .map(|(at, word)| match tags {
                Some((pre, post)) if !word.given => {
                    let pre = if is_new(at.checked_sub(1)) { "" } else { pre };
                    let post = if is_new(Some(at + 1)) { "" } else { post };
                    format!("{pre}{}{post}", word.text)
                }
                _ => word.text.clone(),
            })
            .collect();
        words.join(separator)
    }
}

/// The words of a text on one shard, each with those that may be meant.
fn choices(
    phrase: &Phrase,
    model: &mut Model<'_>,
    words: &[String],
    index: &Index,
    budget: &Budget,
) -> Result<Vec<(Word, Vec<Word>)>> {
    let mapping = index.mapping();
    let mut choices = Vec::new();
    for text in words {
        let given = Word {
            text: text.clone(),
            frequency: model.frequency(text)?,
            similarity: 1.0,
            given: true,
        };
        let mut candidates: Vec<Word> = Vec::new();
        for generator in &phrase.generators {
            let name = generator.field();
            let field = mapping
                .field(name)
                .map_or_else(|| QueryField::unmapped(name), QueryField::of);
            for option in generator.options(model.view, &field, text, budget)? {
                if candidates.iter().all(|known| known.text != option.text) {
                    candidates.push(Word {
                        frequency: model.frequency(&option.text)?,
                        similarity: f64::from(option.score),
                        text: option.text,
                        given: false,
                    });
                }
            }
        }
        candidates.truncate(phrase.shard_size);
        choices.push((given, candidates));
    }
    Ok(choices)
}

/// The phrases that may be meant by a text.
pub(super) fn phrases(indices: &[Arc<Index>], own: &Map<String, Value>, text: &str, budget: &Budget) -> Result<Value> {
    let phrase = Phrase::parse(own)?;
    let mut options: HashMap<String, (Correction, f64)> = HashMap::new();
    for index in indices {
        let mapping = index.mapping();
        let field = mapping
            .field(&phrase.field)
            .ok_or_else(|| SearchError::illegal(format!("No mapping found for field [{}]", phrase.field)))?;
        let analyzer = match &phrase.analyzer {
            Some(name) => Analyzer::configured(name, mapping.analysis())
                .map_err(|_| SearchError::illegal(format!("Analyzer [{name}] doesn't exists")))?,
            None => field.search_analyzer.clone(),
        };
        let mut words = Vec::new();
        analyzer.analyze(text, &mut |token| {
            if token.kind != Some("shingle") {
                words.push(token.text.to_owned());
            }
        });
        if words.is_empty() || words.len() >= phrase.token_limit {
            continue;
        }
        budget.elements("words", words.len())?;
        let gram_size = phrase.gram_size.or(field.index_analyzer.longest_shingle()).unwrap_or(1);
        for shard in &index.shards {
            let began = Instant::now();
            let view = shard.view();
            let mut model = Model::new(&view, Some(field.ordinal), &phrase, gram_size, budget)?;
            let choices = choices(&phrase, &mut model, &words, index, budget)?;
            let given: Vec<Word> = choices.iter().map(|(given, _)| given.clone()).collect();
            let mut score = 0.0;
            for at in 0..given.len() {
                score += model.score(&given, at)?;
            }
            let errors = if phrase.max_errors >= 1.0 {
                phrase.max_errors
            } else {
                (phrase.max_errors * words.len() as f64).round()
            };
            let mut search = Search {
                model,
                choices: &choices,
                cutoff: if phrase.confidence > 0.0 {
                    score.exp() * phrase.confidence
                } else {
                    f64::MIN_POSITIVE
                },
                found: Vec::new(),
                budget,
            };
            search.step(&mut Vec::new(), errors as usize, 0.0)?;
            search.found.sort_by(|a, b| b.score.total_cmp(&a.score));
            search.found.truncate(phrase.shard_size);
            for found in search.found {
                let score = found.score;
                options
                    .entry(found.text(&phrase.separator, None))
                    .or_insert((found, score));
            }
            shard.counters.suggest.add(began);
        }
    }
    let mut options: Vec<(String, (Correction, f64))> = options.into_iter().collect();
    options.sort_by(|(text, (_, score)), (other, (_, best))| best.total_cmp(score).then_with(|| text.cmp(other)));
    options.truncate(phrase.size);
    let options: Vec<Value> = options
        .into_iter()
        .map(|(text, (correction, score))| {
            let mut option = json!({"text": text});
            if let Some(tags) = &phrase.tags {
                option["highlighted"] = json!(correction.text(&phrase.separator, Some(tags)));
            }
            option["score"] = shown(score as f32);
            option
        })
        .collect();
    let length = text.encode_utf16().count();
    Ok(json!([{"text": text, "offset": 0, "length": length, "options": options}]))
}

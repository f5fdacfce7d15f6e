//! How probable words are: alone, and behind others.
//!
//! Source: the word scorers of Elasticsearch 1.5's phrase suggester.

use std::collections::HashMap;

use serde_json::Value;
use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use super::term::number;
use crate::budget::Budget;
use crate::error::{Result, SearchError};
use crate::index::{View, field_prefix, term_key};
use crate::mapping::FieldOrdinal;
use crate::score::END;

/// How probable a word is behind others that it was never seen behind.
#[derive(Clone, Copy)]
pub(super) enum Smoothing {
    StupidBackoff(f64),
    Laplace(f64),
    /// Shares of three words, two words and one word.
    Linear(f64, f64, f64),
}

/// What a model needs of a phrase suggester.
pub(super) struct ModelSettings {
    pub(super) real_word_error_likelihood: f64,
    pub(super) separator: String,
    pub(super) smoothing: Smoothing,
}

/// A word that may be meant.
#[derive(Clone)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) frequency: f64,
    /// How like the word of the text it is.
    pub(super) similarity: f64,
    pub(super) given: bool,
}

/// The smoothing that a setting names.
pub(super) fn smoothing(value: &Value) -> Result<Smoothing> {
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
pub(super) struct Model<'a> {
    pub(super) view: &'a View,
    field: Option<FieldOrdinal>,
    settings: &'a ModelSettings,
    gram_size: usize,
    /// Number of occurrences of all words, and number of words.
    occurrences: f64,
    words: f64,
    known: HashMap<String, f64>,
}

impl<'a> Model<'a> {
    pub(super) fn new(
        view: &'a View,
        field: Option<FieldOrdinal>,
        settings: &'a ModelSettings,
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
            settings,
            gram_size,
            occurrences,
            words: words.len() as f64,
            known: HashMap::new(),
        })
    }

    /// Number of occurrences of a word, or of several in a row.
    pub(super) fn frequency(&mut self, text: &str) -> Result<f64> {
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
        let text = texts.join(&self.settings.separator);
        self.frequency(&text)
    }

    fn one(&self, word: &Word) -> f64 {
        (1.0 + word.frequency) / (self.occurrences + self.words)
    }

    fn two(&mut self, word: &Word, before: &Word) -> Result<f64> {
        let count = self.joined(&[before, word])?;
        Ok(match self.settings.smoothing {
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
        Ok(match self.settings.smoothing {
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
    pub(super) fn score(&mut self, path: &[Word], at: usize) -> Result<f64> {
        let Some(word) = path.get(at) else {
            return Ok(0.0);
        };
        // A word of the text is as probable as that a real word is no mistake.
        let channel = if word.similarity == 1.0 {
            self.settings.real_word_error_likelihood
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

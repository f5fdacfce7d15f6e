//! Language model of the phrase suggester: probabilities of n-grams.
//!
//! Source: the word scorers of Elasticsearch 1.5's phrase suggester.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::Value;
use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use crate::budget::Budget;
use crate::error::{Result, SearchError};
use crate::index::{View, field_prefix, term_key};
use crate::json::number_of;
use crate::mapping::FieldOrdinal;
use crate::score::END;

/// Smoothing model, for n-grams that do not occur.
#[derive(Clone, Copy)]
pub(super) enum Smoothing {
    StupidBackoff(f64),
    Laplace(f64),
    /// Weights of trigrams, bigrams and unigrams.
    Linear(f64, f64, f64),
}

impl Smoothing {
    pub(super) const DEFAULT: Smoothing = Smoothing::StupidBackoff(0.4);
}

/// Settings of a model.
pub(super) struct ModelSettings {
    pub(super) real_word_error_likelihood: f64,
    pub(super) separator: String,
    pub(super) smoothing: Smoothing,
}

/// A candidate for a word.
#[derive(Clone)]
pub(super) struct Word {
    pub(super) text: String,
    /// Number of occurrences in the field of its candidate generator.
    pub(super) frequency: f64,
    /// Similarity to the word of the text, from 0 to 1.
    pub(super) similarity: f64,
    /// Whether it is the word of the text itself.
    pub(super) given: bool,
}

/// Parses `smoothing`.
pub(super) fn smoothing(value: &Value) -> Result<Smoothing> {
    let Some((name, own)) = value.as_object().and_then(|object| object.iter().next()) else {
        return Ok(Smoothing::DEFAULT);
    };
    let part = |key: &str, default: f64| own.get(key).and_then(number_of).unwrap_or(default);
    match name.as_str() {
        "stupid_backoff" | "stupidBackoff" => Ok(Smoothing::StupidBackoff(part("discount", 0.4))),
        "laplace" => Ok(Smoothing::Laplace(part("alpha", 0.5))),
        "linear" => {
            let known = ["trigram_lambda", "bigram_lambda", "unigram_lambda"];
            let mut keys = own.as_object().into_iter().flat_map(|own| own.keys());
            if let Some(key) = keys.find(|key| !known.contains(&key.as_str())) {
                let reason = format!("suggester[phrase][smoothing][linear] doesn't support field [{key}]");
                return Err(SearchError::illegal(reason));
            }
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

/// Words of a field in a shard.
#[derive(Default)]
struct Words {
    /// Number of occurrences of all words.
    occurrences: f64,
    /// Number of distinct words.
    count: f64,
    /// Cached frequencies.
    frequencies: HashMap<String, f64>,
}

impl Words {
    fn of(view: &View, field: FieldOrdinal, budget: &Budget) -> Result<Words> {
        let (mut occurrences, mut words) = (0.0, std::collections::HashSet::new());
        let (from, to) = (field_prefix(field).to_string(), field_prefix(field + 1).to_string());
        for view in &view.segments {
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
        Ok(Words {
            occurrences,
            count: words.len() as f64,
            frequencies: HashMap::new(),
        })
    }

    fn frequency(&mut self, view: &View, field: FieldOrdinal, text: &str) -> Result<f64> {
        if let Some(known) = self.frequencies.get(text) {
            return Ok(*known);
        }
        let mut frequency = 0.0;
        let key = term_key(field, text);
        for view in &view.segments {
            if let Some(info) = view.segment.term_info(&key)? {
                let mut postings = view.segment.postings(&info, IndexRecordOption::WithFreqs)?;
                while postings.doc() != END {
                    frequency += f64::from(postings.term_freq());
                    postings.advance();
                }
            }
        }
        self.frequencies.insert(text.to_owned(), frequency);
        Ok(frequency)
    }
}

/// Probabilities of the n-grams of a field in a shard.
pub(super) struct Model<'a> {
    pub(super) view: &'a View,
    pub(super) field: FieldOrdinal,
    pub(super) settings: &'a ModelSettings,
    gram_size: usize,
    budget: &'a Budget,
    /// Words of the field, and of those of the candidate generators.
    words: HashMap<FieldOrdinal, Words>,
}

impl<'a> Model<'a> {
    pub(super) fn new(
        view: &'a View,
        field: FieldOrdinal,
        settings: &'a ModelSettings,
        gram_size: usize,
        budget: &'a Budget,
    ) -> Model<'a> {
        Model {
            view,
            field,
            settings,
            gram_size,
            budget,
            words: HashMap::new(),
        }
    }

    fn words(&mut self, field: FieldOrdinal) -> Result<&mut Words> {
        Ok(match self.words.entry(field) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(own) => own.insert(Words::of(self.view, field, self.budget)?),
        })
    }

    /// Number of occurrences of all words of a field.
    pub(super) fn occurrences(&mut self, field: FieldOrdinal) -> Result<f64> {
        Ok(self.words(field)?.occurrences)
    }

    /// Number of distinct words of the field. Lucene does not count those of several segments.
    fn distinct(&mut self) -> Result<f64> {
        let count = self.words(self.field)?.count;
        Ok(if self.view.segments.len() > 1 { -1.0 } else { count })
    }

    /// Returns whether a field has words.
    pub(super) fn has_words(&mut self, field: FieldOrdinal) -> Result<bool> {
        Ok(self.words(field)?.count > 0.0)
    }

    /// Returns the number of occurrences of a word or n-gram of a field.
    pub(super) fn frequency_in(&mut self, field: FieldOrdinal, text: &str) -> Result<f64> {
        let view = self.view;
        self.words(field)?.frequency(view, field, text)
    }

    fn ngram_frequency(&mut self, words: &[&Word]) -> Result<f64> {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let text = texts.join(&self.settings.separator);
        self.frequency_in(self.field, &text)
    }

    fn unigram(&mut self, word: &Word) -> Result<f64> {
        let frequency = self.ngram_frequency(&[word])?;
        Ok((1.0 + frequency) / (self.occurrences(self.field)? + self.distinct()?))
    }

    fn bigram(&mut self, word: &Word, before: &Word) -> Result<f64> {
        let count = self.ngram_frequency(&[before, word])?;
        Ok(match self.settings.smoothing {
            Smoothing::StupidBackoff(discount) if count < 1.0 => discount * self.unigram(word)?,
            Smoothing::StupidBackoff(_) => count / (before.frequency + 1e-11),
            Smoothing::Laplace(alpha) => (alpha + count) / (alpha + before.frequency + self.occurrences(self.field)?),
            Smoothing::Linear(_, _, one) if count < 1.0 => one * self.unigram(word)?,
            Smoothing::Linear(_, two, one) => two * (count / (0.5 + before.frequency)) + one * self.unigram(word)?,
        })
    }

    fn trigram(&mut self, word: &Word, before: &Word, first: &Word) -> Result<f64> {
        // Linear smoothing counts the words in reverse order; all models compare with the last two of them.
        let (grams, pair) = match self.settings.smoothing {
            Smoothing::Linear(..) => ([word, before, first], [word, before]),
            _ => ([first, before, word], [before, word]),
        };
        let count = self.ngram_frequency(&grams)?;
        let pair = self.ngram_frequency(&pair)?;
        Ok(match self.settings.smoothing {
            Smoothing::StupidBackoff(discount) if pair < 1.0 => discount * self.unigram(word)?,
            Smoothing::StupidBackoff(discount) if count < 1.0 => discount * (pair / (before.frequency + 1e-11)),
            Smoothing::StupidBackoff(_) => count / (pair + 1e-11),
            Smoothing::Laplace(alpha) => (alpha + count) / (alpha + pair + self.occurrences(self.field)?),
            Smoothing::Linear(..) if count < 1.0 => self.bigram(word, before)?,
            Smoothing::Linear(three, two, one) => {
                three * (count / (1.0 + pair)) + two * (pair / (0.5 + before.frequency)) + one * self.unigram(word)?
            }
        })
    }

    /// Returns the decimal logarithm of the probability of the word at a position of a phrase.
    pub(super) fn score(&mut self, path: &[Word], at: usize) -> Result<f64> {
        let Some(word) = path.get(at) else {
            return Ok(0.0);
        };
        // For a word of the text, the channel probability is that an existing word is not an error.
        let channel = if word.similarity == 1.0 {
            self.settings.real_word_error_likelihood
        } else {
            word.similarity
        };
        let before = |by: usize| at.checked_sub(by).and_then(|at| path.get(at));
        let probability = match (before(1), before(2), self.gram_size) {
            (None, _, _) | (_, _, 1) => self.unigram(word)?,
            (Some(one), None, _) | (Some(one), _, 2) => self.bigram(word, one)?,
            (Some(one), Some(two), _) => self.trigram(word, one, two)?,
        };
        Ok((channel * probability).log10())
    }
}

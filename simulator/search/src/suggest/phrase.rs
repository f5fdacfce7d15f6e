//! Phrase suggester: candidates for each word, scored with a language model.
//!
//! Limits: filters of candidate generators are rejected.
//!
//! Source: Elasticsearch 1.5's `NoisyChannelSpellChecker`, `CandidateScorer` and word scorers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::collate::Collate;
use super::language_model::{Model, ModelSettings, Smoothing, Word, smoothing};
use super::term::Settings;
use super::{float, positive, whole};
use crate::budget::Budget;
use crate::cluster::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::json::{is_scalar, java_text};
use crate::mapping::{Field, Mapping};
use crate::query::QueryField;
use crate::score::score_json;

/// Settings of a phrase suggester.
pub(super) struct Phrase {
    field: String,
    analyzer: Option<String>,
    size: usize,
    /// Default: `size`.
    shard_size: Option<usize>,
    gram_size: Option<usize>,
    model: ModelSettings,
    confidence: f64,
    max_errors: f64,
    token_limit: usize,
    tags: Option<(String, String)>,
    generators: Vec<Settings>,
    collate: Option<Collate>,
}

/// A corrected phrase.
#[derive(Clone)]
struct Correction {
    words: Vec<Word>,
    score: f64,
}

impl Phrase {
    /// Returns the field whose analyzer splits the text.
    pub(super) fn analyzed_field(&self) -> Option<&str> {
        self.analyzer.is_none().then_some(self.field.as_str())
    }

    /// Returns the field of the suggester.
    ///
    /// # Errors
    /// A field that is not mapped, of the suggester or of a candidate generator.
    pub(super) fn mapped<'m>(&self, mapping: &'m Mapping) -> Result<&'m Field> {
        let mapped = |name: &str| {
            let field = mapping.field(name);
            field.ok_or_else(|| SearchError::illegal(format!("No mapping found for field [{name}]")))
        };
        let generators = self.generators.iter().map(Settings::field);
        generators.map(mapped).try_for_each(|field| field.map(drop))?;
        mapped(&self.field)
    }

    pub(super) fn parse(own: &Map<String, Value>) -> Result<Phrase> {
        let mut phrase = Phrase {
            field: String::new(),
            analyzer: None,
            size: 5,
            shard_size: None,
            gram_size: None,
            model: ModelSettings {
                real_word_error_likelihood: 0.95,
                separator: " ".to_owned(),
                smoothing: Smoothing::DEFAULT,
            },
            confidence: 1.0,
            max_errors: 1.0,
            token_limit: 10,
            tags: None,
            generators: vec![],
            collate: None,
        };
        for (key, value) in own {
            let is_known = match key.as_str() {
                "direct_generator" | "directGenerator" => value.is_array(),
                "smoothing" | "highlight" | "collate" => value.is_object(),
                _ => !(value.is_array() || value.is_object()),
            };
            if !is_known {
                let what = match is_scalar(value) {
                    true => "doesn't support field",
                    false => " doesn't support array field",
                };
                return Err(SearchError::illegal(format!("suggester[phrase] {what} [{key}]")));
            }
            let text = || java_text(value);
            let float = float(value);
            match key.as_str() {
                "field" => phrase.field = text(),
                "analyzer" => phrase.analyzer = Some(text()),
                "size" => phrase.size = positive("Size", value)?,
                "shard_size" | "shardSize" => phrase.shard_size = Some(positive("ShardSize", value)?),
                "gram_size" | "gramSize" => match usize::try_from(whole(value)?) {
                    Ok(size @ 1..) => phrase.gram_size = Some(size),
                    _ => return Err(SearchError::illegal("gram_size must be >= 1")),
                },
                "real_word_error_likelihood" | "realWordErrorLikelihood" => {
                    phrase.model.real_word_error_likelihood = float?;
                    if phrase.model.real_word_error_likelihood <= 0.0 {
                        return Err(SearchError::illegal("real_word_error_likelihood must be > 0.0"));
                    }
                }
                "confidence" => {
                    phrase.confidence = float?;
                    if phrase.confidence < 0.0 {
                        return Err(SearchError::illegal("confidence must be >= 0.0"));
                    }
                }
                "max_errors" | "maxErrors" => {
                    phrase.max_errors = float?;
                    if phrase.max_errors <= 0.0 {
                        return Err(SearchError::illegal("max_error must be > 0.0"));
                    }
                }
                "separator" => phrase.model.separator = text(),
                "token_limit" | "tokenLimit" => match usize::try_from(whole(value)?) {
                    Ok(limit @ 1..) => phrase.token_limit = limit,
                    _ => return Err(SearchError::illegal("token_limit must be >= 1")),
                },
                "force_unigrams" | "forceUnigrams" => {}
                "smoothing" => phrase.model.smoothing = smoothing(value)?,
                "highlight" => {
                    let (before, after) = (["pre_tag", "preTag"], ["post_tag", "postTag"]);
                    let mut keys = value.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
                    if let Some(key) = keys.find(|key| !before.contains(key) && !after.contains(key)) {
                        let reason = format!("suggester[phrase][highlight] doesn't support field [{key}]");
                        return Err(SearchError::illegal(reason));
                    }
                    let tag = |keys: [&str; 2]| keys.iter().find_map(|key| value.get(*key)).map(java_text);
                    phrase.tags = match (tag(before), tag(after)) {
                        (Some(before), Some(after)) => Some((before, after)),
                        (None, None) => None,
                        _ => return Err(SearchError::null_pointer()),
                    };
                }
                "direct_generator" | "directGenerator" => {
                    for generator in value.as_array().into_iter().flatten() {
                        let unknown =
                            || SearchError::illegal("suggester[phrase] doesn't support field [direct_generator]");
                        let generator = generator.as_object().ok_or_else(unknown)?;
                        phrase.generators.push(Settings::parse(generator, true)?);
                    }
                }
                "collate" => phrase.collate = Collate::parse(value)?,
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
            phrase.generators.push(Settings::parse(&own, true)?);
        }
        Ok(phrase)
    }
}

/// Search for the phrases that are more probable than the text.
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
            // As in Elasticsearch, the sum of decimal logarithms is used as if they were natural ones.
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
    fn text(&self, tags: Option<&(String, String)>) -> String {
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
        words.join(" ")
    }
}

/// Returns the words of a text, each with its candidates on one shard.
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
        candidates.truncate(phrase.shard_size.unwrap_or(phrase.size));
        choices.push((given, candidates));
    }
    Ok(choices)
}

/// Returns the corrected phrases for a text.
pub(super) fn phrases(
    cluster: &Cluster,
    indices: &[Arc<Index>],
    phrase: &Phrase,
    text: &str,
    budget: &Budget,
) -> Result<Value> {
    let mut options: HashMap<String, (Correction, bool)> = HashMap::new();
    for index in indices {
        let mapping = index.mapping();
        let field = phrase.mapped(&mapping)?;
        let analyzer = match &phrase.analyzer {
            Some(name) => super::analyzer(name, &mapping)?,
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
        let gram_size = phrase
            .gram_size
            .or(field.index_analyzer.max_shingle_size())
            .unwrap_or(1);
        for shard in &index.shards {
            let began = Instant::now();
            let view = shard.view();
            let mut model = Model::new(&view, Some(field.ordinal), &phrase.model, gram_size, budget)?;
            let choices = choices(phrase, &mut model, &words, index, budget)?;
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
            search.found.truncate(phrase.shard_size.unwrap_or(phrase.size));
            for found in search.found {
                let text = found.text(None);
                let collate = phrase.collate.as_ref();
                let matches = collate.map_or(Ok(true), |own| own.matches(cluster, index, &text, budget))?;
                if matches || collate.is_some_and(|own| own.prune) {
                    let known = options.entry(text).or_insert((found, matches));
                    known.1 |= matches;
                }
            }
            shard.counters.suggest.add(began);
        }
    }
    let mut options: Vec<(String, (Correction, bool))> = options.into_iter().collect();
    options
        .sort_by(|(text, (own, _)), (other, (best, _))| best.score.total_cmp(&own.score).then_with(|| text.cmp(other)));
    options.truncate(phrase.size);
    let options: Vec<Value> = options
        .into_iter()
        .map(|(text, (correction, matches))| {
            let mut option = json!({"text": text});
            if let Some(tags) = &phrase.tags {
                option["highlighted"] = json!(correction.text(Some(tags)));
            }
            option["score"] = score_json(correction.score as f32);
            if phrase.collate.as_ref().is_some_and(|own| own.prune) {
                option["collate_match"] = json!(matches);
            }
            option
        })
        .collect();
    let length = text.encode_utf16().count();
    Ok(json!([{"text": text, "offset": 0, "length": length, "options": options}]))
}

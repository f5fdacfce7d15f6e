//! Phrase suggester: candidates for each word, scored with a language model.
//!
//! Source: Elasticsearch 1.5's `NoisyChannelSpellChecker`, `CandidateScorer` and word scorers.

use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::candidates::{Choice, choices};
use super::collate::Collate;
use super::language_model::{Model, ModelSettings, Smoothing, Word, smoothing};
use super::positive;
use super::term::Settings;
use crate::budget::Budget;
use crate::cluster::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::json::{self, is_scalar, java_text};
use crate::mapping::{Field, Mapping, flag};
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
    confidence: f32,
    max_errors: f32,
    token_limit: usize,
    /// Whether n-grams of the text are no words.
    force_unigrams: bool,
    /// What is before and after a changed word. Without the first, nothing is highlighted.
    tags: (Option<String>, Option<String>),
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

    /// Names of the analyzers.
    pub(super) fn analyzers(&self) -> impl Iterator<Item = &String> {
        let own = self.analyzer.iter();
        own.chain(self.generators.iter().flat_map(Settings::analyzers))
    }

    /// Checks the settings that Elasticsearch checks when it looks for candidates.
    ///
    /// # Errors
    /// Those of [`Settings::check_frequencies`].
    pub(super) fn check_frequencies(&self) -> Result<()> {
        self.generators.iter().try_for_each(Settings::check_frequencies)
    }

    fn shard_size(&self) -> usize {
        self.shard_size.unwrap_or(self.size.max(5))
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
            max_errors: 0.5,
            token_limit: 10,
            force_unigrams: true,
            tags: (None, None),
            generators: vec![],
            collate: None,
        };
        let mut field = None;
        for (key, value) in own {
            let is_known = match key.as_str() {
                "direct_generator" | "directGenerator" => value.is_array(),
                "smoothing" | "highlight" | "collate" => value.is_object(),
                _ => is_scalar(value),
            };
            if !is_known {
                let what = match value.is_array() || value.is_object() {
                    true => " doesn't support array field",
                    false => "doesn't support field",
                };
                return Err(SearchError::illegal(format!("suggester[phrase] {what} [{key}]")));
            }
            let text = || json::text_of(value);
            match key.as_str() {
                "field" => field = Some(text()),
                "analyzer" => phrase.analyzer = Some(text()),
                "size" => phrase.size = positive("Size", value)?,
                "shard_size" | "shardSize" => phrase.shard_size = Some(positive("ShardSize", value)?),
                "gram_size" | "gramSize" => match usize::try_from(json::int(value, json::PART)?) {
                    Ok(size @ 1..) => phrase.gram_size = Some(size),
                    _ => return Err(SearchError::illegal("gram_size must be >= 1")),
                },
                "real_word_error_likelihood" | "realWordErrorLikelihood" => {
                    phrase.model.real_word_error_likelihood = f64::from(json::float(value)?);
                    if phrase.model.real_word_error_likelihood <= 0.0 {
                        return Err(SearchError::illegal("real_word_error_likelihood must be > 0.0"));
                    }
                }
                "confidence" => {
                    phrase.confidence = json::float(value)?;
                    if phrase.confidence < 0.0 {
                        return Err(SearchError::illegal("confidence must be >= 0.0"));
                    }
                }
                "max_errors" | "maxErrors" => {
                    phrase.max_errors = json::float(value)?;
                    if phrase.max_errors <= 0.0 {
                        return Err(SearchError::illegal("max_error must be > 0.0"));
                    }
                }
                "separator" => phrase.model.separator = text(),
                "token_limit" | "tokenLimit" => match usize::try_from(json::int(value, json::PART)?) {
                    Ok(limit @ 1..) => phrase.token_limit = limit,
                    _ => return Err(SearchError::illegal("token_limit must be >= 1")),
                },
                "force_unigrams" | "forceUnigrams" => phrase.force_unigrams = flag(value)?,
                "smoothing" => phrase.model.smoothing = smoothing(value)?,
                "highlight" => {
                    let (before, after) = (["pre_tag", "preTag"], ["post_tag", "postTag"]);
                    let mut keys = value.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
                    if let Some(key) = keys.find(|key| !before.contains(key) && !after.contains(key)) {
                        let reason = format!("suggester[phrase][highlight] doesn't support field [{key}]");
                        return Err(SearchError::illegal(reason));
                    }
                    let tag = |keys: [&str; 2]| keys.iter().find_map(|key| value.get(*key)).map(java_text);
                    phrase.tags = (tag(before), tag(after));
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
        phrase.field = field.ok_or_else(|| SearchError::illegal("The required field option is missing"))?;
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
    choices: &'b [Choice],
    cutoff: f64,
    found: Vec<Correction>,
    budget: &'b Budget,
}

impl Search<'_, '_> {
    fn step(&mut self, path: &mut Vec<Word>, errors: usize, score: f64) -> Result<()> {
        self.budget.check()?;
        let at = path.len();
        let choices = self.choices;
        let Some(Choice { given, candidates }) = choices.get(at) else {
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
    /// Returns the text with the changed words between tags.
    ///
    /// # Errors
    /// There is only the tag before a word.
    fn highlighted(&self, (pre, post): &(Option<String>, Option<String>)) -> Result<Option<String>> {
        let Some(pre) = pre else { return Ok(None) };
        match post {
            None if self.words.iter().any(|word| !word.given) => Err(SearchError::null_pointer()),
            post => Ok(Some(self.text(post.as_deref().map(|post| (pre.as_str(), post))))),
        }
    }

    fn text(&self, tags: Option<(&str, &str)>) -> String {
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

/// A suggested phrase.
struct PhraseOption {
    text: String,
    highlighted: Option<String>,
    score: f32,
    /// Whether it passes `collate`.
    matches: bool,
}

/// Merges the phrases of the shards, the best first. Those of one shard may be equal, and are compared with the cutoff
/// score already.
fn merged(shards: Vec<Vec<PhraseOption>>, cutoff: f64) -> Vec<PhraseOption> {
    let mut options: Vec<PhraseOption> = match shards.len() {
        1 => shards.into_iter().flatten().collect(),
        _ => {
            let mut merged: IndexMap<String, PhraseOption> = IndexMap::new();
            for own in shards.into_iter().flatten() {
                if let Some(known) = merged.get_mut(&own.text) {
                    known.score = known.score.max(own.score);
                    known.matches |= own.matches;
                } else {
                    merged.insert(own.text.clone(), own);
                }
            }
            merged.retain(|_, option| f64::from(option.score) > cutoff);
            merged.into_values().collect()
        }
    };
    options.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.text.cmp(&b.text)));
    options
}

/// Returns the corrected phrases for the words of a text on one shard, the best first, and the score that they exceed.
fn corrections(
    phrase: &Phrase,
    mut model: Model<'_>,
    words: &[String],
    mapping: &Mapping,
    budget: &Budget,
) -> Result<(Vec<Correction>, f64)> {
    let has_words = model.has_words(model.field)?;
    let choices = match has_words && !words.is_empty() && words.len() < phrase.token_limit {
        true => choices(
            &phrase.generators,
            phrase.shard_size(),
            &mut model,
            words,
            mapping,
            budget,
        )?,
        false => None,
    };
    let Some(choices) = choices else {
        return Ok((vec![], f64::MIN_POSITIVE));
    };
    let given: Vec<Word> = choices.iter().map(|choice| choice.given.clone()).collect();
    let mut score = 0.0;
    for at in 0..given.len() {
        score += model.score(&given, at)?;
    }
    let errors = if phrase.max_errors >= 1.0 {
        phrase.max_errors
    } else {
        (phrase.max_errors * words.len() as f32).round()
    };
    let mut search = Search {
        model,
        choices: &choices,
        cutoff: if phrase.confidence > 0.0 {
            score.exp() * f64::from(phrase.confidence)
        } else {
            f64::MIN_POSITIVE
        },
        found: Vec::new(),
        budget,
    };
    search.step(&mut Vec::new(), (errors as usize).max(1), 0.0)?;
    search.found.sort_by(|a, b| b.score.total_cmp(&a.score));
    search.found.truncate(phrase.shard_size());
    Ok((search.found, search.cutoff))
}

/// Returns the corrected phrases for a text.
pub(super) fn phrases(
    cluster: &Cluster,
    indices: &[Arc<Index>],
    phrase: &Phrase,
    text: &str,
    budget: &Budget,
) -> Result<Value> {
    // The phrases of each shard, and the highest score that phrases must exceed.
    let (mut shards, mut cutoff) = (Vec::new(), f64::MIN_POSITIVE);
    for index in indices {
        let mapping = index.mapping();
        let field = phrase.mapped(&mapping)?;
        let analyzer = match &phrase.analyzer {
            Some(name) => super::analyzer(name, &mapping)?,
            None => field.search_analyzer.clone(),
        };
        analyzer.check()?;
        let mut words = Vec::new();
        analyzer.analyze(text, &mut |token| {
            if !phrase.force_unigrams || token.kind != Some("shingle") {
                words.push(token.text.to_owned());
            }
        });
        budget.elements("words", words.len())?;
        let gram_size = phrase.gram_size.or(analyzer.max_shingle_size()).unwrap_or(1);
        for shard in &index.shards {
            let view = shard.view();
            if view.live_docs() == 0 {
                continue;
            }
            let began = Instant::now();
            let model = Model::new(&view, field.ordinal, &phrase.model, gram_size, budget);
            let (found, own_cutoff) = corrections(phrase, model, &words, &mapping, budget)?;
            cutoff = cutoff.max(own_cutoff);
            let mut options = Vec::new();
            for found in found {
                let text = found.text(None);
                let collate = phrase.collate.as_ref();
                let matches = collate.map_or(Ok(true), |own| own.matches(cluster, index, &text, budget))?;
                if matches || collate.is_some_and(|own| own.prune) {
                    options.push(PhraseOption {
                        score: found.score as f32,
                        highlighted: found.highlighted(&phrase.tags)?,
                        text,
                        matches,
                    });
                }
            }
            shards.push(options);
            shard.counters.suggest.add(began);
        }
    }
    let mut options = merged(shards, cutoff);
    options.truncate(phrase.size);
    let options: Vec<Value> = options
        .into_iter()
        .map(|own| {
            let mut option = json!({"text": own.text});
            if let Some(highlighted) = own.highlighted {
                option["highlighted"] = highlighted.into();
            }
            option["score"] = score_json(own.score);
            if phrase.collate.as_ref().is_some_and(|own| own.prune) {
                option["collate_match"] = own.matches.into();
            }
            option
        })
        .collect();
    let length = text.encode_utf16().count();
    Ok(json!([{"text": text, "offset": 0, "length": length, "options": options}]))
}

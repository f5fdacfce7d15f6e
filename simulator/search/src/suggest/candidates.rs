//! Candidates of the phrase suggester: words that may be meant by those of a text.
//!
//! Source: Elasticsearch 1.5's `DirectCandidateGenerator` and `MultiCandidateGeneratorWrapper`.

use super::language_model::{Model, Word};
use super::term::Settings;
use crate::analysis::Analyzer;
use crate::budget::Budget;
use crate::error::Result;
use crate::mapping::{FieldOrdinal, Mapping};
use crate::query::QueryField;

/// A candidate generator on one shard.
struct Generator<'a> {
    settings: &'a Settings,
    field: QueryField,
    ordinal: FieldOrdinal,
    pre_filter: Option<Analyzer>,
    post_filter: Option<Analyzer>,
}

impl<'a> Generator<'a> {
    /// `None`: its field has no words.
    fn of(settings: &'a Settings, model: &mut Model<'_>, mapping: &Mapping) -> Result<Option<Generator<'a>>> {
        let Some(field) = mapping.field(settings.field()) else {
            return Ok(None);
        };
        if !model.has_words(field.ordinal)? {
            return Ok(None);
        }
        let usable = |name: &String| {
            let analyzer = super::analyzer(name, mapping)?;
            analyzer.check().map(|()| analyzer)
        };
        let filter = |name: &Option<String>| name.as_ref().map(usable).transpose();
        Ok(Some(Generator {
            settings,
            field: QueryField::of(field),
            ordinal: field.ordinal,
            pre_filter: filter(&settings.pre_filter)?,
            post_filter: filter(&settings.post_filter)?,
        }))
    }

    /// Returns the word that is looked for instead of a word of the text.
    fn looked_for(&self, word: &str) -> String {
        let last = |analyzer: &Analyzer| analyzer.terms(word).pop().map(|(_, text)| text);
        match &self.pre_filter {
            Some(filter) => last(filter).unwrap_or_default(),
            None => word.to_owned(),
        }
    }

    /// Returns a word of the text.
    fn given(&self, model: &mut Model<'_>, word: &str) -> Result<Word> {
        Ok(Word {
            text: word.to_owned(),
            frequency: model.frequency_in(self.ordinal, &self.looked_for(word))?,
            similarity: 1.0,
            given: true,
        })
    }

    /// Returns the candidates for a word of the text with their scores.
    fn candidates(&self, model: &mut Model<'_>, given: &Word, budget: &Budget) -> Result<Vec<(f64, Word)>> {
        let word = self.looked_for(&given.text);
        let occurrences = model.occurrences(self.ordinal)?;
        let threshold = self.settings.threshold(given.frequency, occurrences);
        let mut candidates = Vec::new();
        for near in self
            .settings
            .candidates(model.view, &self.field, &word, threshold, budget)?
        {
            let frequency = model.frequency_in(self.ordinal, &near.text)?;
            let similarity = f64::from(near.score);
            let score = |frequency: f64| similarity * ((frequency + 1.0) / (occurrences + 1.0));
            let candidate = |text: String, similarity: f64| Word {
                text,
                frequency,
                similarity,
                given: false,
            };
            match &self.post_filter {
                None => candidates.push((score(f64::from(near.freq)), candidate(near.text, similarity))),
                Some(filter) => {
                    // A changed candidate is as probable as a word of the text.
                    let other = model.settings.real_word_error_likelihood;
                    let filtered = filter.terms(&near.text).into_iter().map(|(_, text)| {
                        let similarity = if text == near.text { similarity } else { other };
                        (score(frequency), candidate(text, similarity))
                    });
                    candidates.extend(filtered);
                }
            }
        }
        Ok(candidates)
    }
}

/// A word of the text with its candidates.
pub(super) struct Choice {
    pub(super) given: Word,
    /// The best first.
    pub(super) candidates: Vec<Word>,
}

/// Returns the words of a text, each with its candidates on one shard: up to `limit`, the best first. `None`: no
/// generator has words.
pub(super) fn choices(
    settings: &[Settings],
    limit: usize,
    model: &mut Model<'_>,
    words: &[String],
    mapping: &Mapping,
    budget: &Budget,
) -> Result<Option<Vec<Choice>>> {
    let mut generators = Vec::new();
    for settings in settings {
        generators.extend(Generator::of(settings, model, mapping)?);
    }
    let Some(first) = generators.first() else {
        return Ok(None);
    };
    let mut choices = Vec::new();
    for text in words {
        let given = first.given(model, text)?;
        let mut candidates: Vec<(f64, Word)> = Vec::new();
        for generator in &generators {
            // The last generator of a candidate counts.
            let mut fresh = generator.candidates(model, &given, budget)?;
            candidates.retain(|(_, known)| fresh.iter().all(|(_, own)| own.text != known.text));
            candidates.append(&mut fresh);
        }
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        candidates.truncate(limit);
        choices.push(Choice {
            given,
            candidates: candidates.into_iter().map(|(_, word)| word).collect(),
        });
    }
    Ok(Some(choices))
}

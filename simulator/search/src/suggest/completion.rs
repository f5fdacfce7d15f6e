//! Completion suggester: completions of a prefix, the highest weight first.
//!
//! Completions are terms of the field: contexts, analyzed input, weight, output and payload.
//!
//! Limits: as in Elasticsearch, completions of deleted documents disappear only when their segment is merged.
//!
//! Source: Elasticsearch 1.5's completion suggester on Lucene 4.10's `AnalyzingSuggester`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::{analyzer, positive};
use crate::budget::Budget;
use crate::cluster::Index;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::{
    Completion, NO_WEIGHT, SegmentView, View, completion_keys, completion_of, contexts_of, field_prefix,
};
use crate::json::java_text;
use crate::mapping::{Field, Kind, Mapping, truth};
use crate::ties::in_hash_order_for;

/// Settings of fuzzy completions.
struct Fuzziness {
    edits: Option<usize>,
    transpositions: bool,
    min_length: usize,
    prefix_length: usize,
    /// Whether lengths and edits count characters. Default: bytes.
    unicode_aware: bool,
}

impl Fuzziness {
    fn parse(settings: &Value) -> Option<Fuzziness> {
        let number = |keys: [&str; 2], default: usize| {
            let value = keys.iter().find_map(|key| settings.get(*key));
            let value = value.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
            value.map_or(default, |value| usize::try_from(value).unwrap_or(default))
        };
        let edits = match settings.get("fuzziness").or_else(|| settings.get("edit_distance")) {
            Some(Value::String(text)) if text.eq_ignore_ascii_case("auto") => None,
            Some(Value::String(text)) => Some(text.parse().unwrap_or(1)),
            Some(value) => Some(value.as_u64().map_or(1, |edits| usize::try_from(edits).unwrap_or(1))),
            None => Some(1),
        };
        match settings {
            Value::Object(_) | Value::Bool(true) => Some(Fuzziness {
                edits: edits.map(|edits| edits.min(2)),
                transpositions: settings.get("transpositions").is_none_or(truth),
                min_length: number(["min_length", "minLength"], 3),
                prefix_length: number(["prefix_length", "prefixLength"], 1),
                unicode_aware: settings.get("unicode_aware").is_some_and(truth),
            }),
            _ => None,
        }
    }

    /// Splits a text into the units that are counted.
    fn units(&self, text: &str) -> Vec<u32> {
        if self.unicode_aware {
            text.chars().map(u32::from).collect()
        } else {
            text.bytes().map(u32::from).collect()
        }
    }

    /// Number of edits that are allowed for a text of `length` units.
    fn edits(&self, length: usize) -> usize {
        if length < self.min_length {
            return 0;
        }
        self.edits.unwrap_or(match length {
            0..=2 => 0,
            3..=5 => 1,
            _ => 2,
        })
    }
}

/// Minimum number of edits between `wanted` and a prefix of `text`.
fn prefix_edits(wanted: &[u32], text: &[u32], transpositions: bool) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    let mut best = wanted.len();
    let mut last = None;
    for (at, c) in text.iter().copied().enumerate().take(wanted.len() + 2) {
        let mut next = vec![at + 1];
        for (column, own) in wanted.iter().enumerate() {
            let get = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let mut min = (get(&row, column) + usize::from(*own != c))
                .min(get(&row, column + 1) + 1)
                .min(get(&next, column) + 1);
            let swapped = column > 0 && last == Some(*own) && wanted.get(column - 1) == Some(&c);
            if transpositions && swapped {
                min = min.min(get(&before, column - 1) + 1);
            }
            next.push(min);
        }
        before = std::mem::replace(&mut row, next);
        best = best.min(row.last().copied().unwrap_or(best));
        last = Some(c);
    }
    best
}

/// Prefix of the completions to find.
struct CompletionPrefix<'a> {
    /// Encoded contexts.
    context: &'a str,
    input: &'a str,
    fuzziness: Option<&'a Fuzziness>,
}

/// Returns the completions of a field in a segment that start with `wanted`, in the order of their inputs.
fn starting_with(
    view: &SegmentView,
    field: &Field,
    wanted: &CompletionPrefix<'_>,
    budget: &Budget,
) -> Result<Vec<Completion>> {
    let fuzzy = wanted
        .fuzziness
        .map(|fuzziness| (fuzziness, fuzziness.units(wanted.input)));
    let fuzzy = fuzzy.filter(|(fuzziness, units)| fuzziness.edits(units.len()) > 0);
    let fixed = match &fuzzy {
        // `prefix_length` counts units: a character can have several.
        Some((fuzziness, _)) => {
            let mut counted = 0;
            let end = wanted.input.char_indices().find_map(|(at, c)| {
                counted += if fuzziness.unicode_aware { 1 } else { c.len_utf8() };
                (counted > fuzziness.prefix_length).then_some(at)
            });
            wanted.input.get(..end.unwrap_or(wanted.input.len())).unwrap_or("")
        }
        None => wanted.input,
    };
    let own = format!("{}{}", field_prefix(field.ordinal), wanted.context);
    let from = format!("{own}{fixed}");
    // The completions of each input, and the number of their documents.
    let mut found: BTreeMap<String, (Vec<Completion>, i64)> = BTreeMap::new();
    let mut stream = view.segment.terms().terms().range().ge(&from).into_stream()?;
    while stream.advance() {
        budget.terms(1)?;
        let Some(term) = std::str::from_utf8(stream.key())
            .ok()
            .filter(|term| term.starts_with(&from))
        else {
            break;
        };
        let Some((input, completion)) = term.get(own.len()..).and_then(completion_of) else {
            continue;
        };
        let is_near = fuzzy.as_ref().is_none_or(|(fuzziness, units)| {
            let input = fuzziness.units(input);
            prefix_edits(units, &input, fuzziness.transpositions) <= fuzziness.edits(units.len())
        });
        if is_near {
            let (same, count) = found.entry(input.to_owned()).or_default();
            *count += i64::from(stream.value().doc_freq);
            same.push(completion);
        }
    }
    let found = found.into_values();
    Ok(found.flat_map(|(same, count)| of_one_input(same, count)).collect())
}

/// Returns the completions of an input. Of several with the same text, one without a weight counts or, if all have one,
/// that with the highest weight. Without a weight, it is the number of documents.
fn of_one_input(same: Vec<Completion>, documents: i64) -> impl Iterator<Item = Completion> {
    let rank = |completion: &Completion| (completion.weight == NO_WEIGHT, completion.weight);
    let mut kept: IndexMap<String, Completion> = IndexMap::new();
    for completion in same {
        keep(&mut kept, completion, |known, own| rank(known) < rank(own));
    }
    kept.into_values().map(move |completion| match completion.weight {
        NO_WEIGHT => Completion {
            weight: documents,
            ..completion
        },
        _ => completion,
    })
}

/// Keeps one completion of each text: the first, unless a later one is better.
fn keep(
    kept: &mut IndexMap<String, Completion>,
    completion: Completion,
    is_better: impl Fn(&Completion, &Completion) -> bool,
) {
    match kept.get_mut(&completion.text) {
        Some(known) if is_better(known, &completion) => *known = completion,
        Some(_) => {}
        None => drop(kept.insert(completion.text.clone(), completion)),
    }
}

/// Returns the best completions of a shard: those of its segments, the best of each text.
fn of_shard(
    view: &View,
    field: &Field,
    wanted: &[CompletionPrefix<'_>],
    size: usize,
    budget: &Budget,
) -> Result<Vec<Completion>> {
    let mut best: IndexMap<String, Completion> = IndexMap::new();
    for view in &view.segments {
        let mut found = Vec::new();
        for wanted in wanted {
            found.extend(starting_with(view, field, wanted, budget)?);
        }
        found.sort_by_key(|completion| std::cmp::Reverse(completion.weight));
        let mut seen = HashSet::new();
        found.retain(|completion| {
            let payload = completion.payload.as_ref().map(Value::to_string);
            seen.insert((completion.text.clone(), payload))
        });
        for completion in found.into_iter().take(size) {
            keep(&mut best, completion, |known, own| known.weight < own.weight);
        }
    }
    let expected = view.segments.len().saturating_mul(size);
    let bins = if expected < 3 {
        expected + 1
    } else {
        expected + expected / 3
    };
    let mut best = in_hash_order_for(bins, best.into_values().collect(), |found| found.text.clone());
    best.sort_by_key(|completion| std::cmp::Reverse(completion.weight));
    best.truncate(size);
    Ok(best)
}

/// Settings of a completion suggester.
pub(super) struct Settings<'a> {
    field: String,
    size: usize,
    fuzziness: Option<Fuzziness>,
    context: Option<&'a Value>,
    analyzer: Option<&'a str>,
}

impl<'a> Settings<'a> {
    /// Parses the settings. Unknown ones are ignored if they are no objects.
    ///
    /// # Errors
    /// A size that is not positive, lists, nulls and unknown objects.
    pub(super) fn parse(own: &'a Map<String, Value>) -> Result<Settings<'a>> {
        let mut settings = Settings {
            field: String::new(),
            size: 5,
            fuzziness: None,
            context: None,
            analyzer: None,
        };
        for (key, value) in own {
            let refused = match value {
                Value::Object(_) if !matches!(key.as_str(), "fuzzy" | "context") => Some("suggester [completion]"),
                Value::Array(_) | Value::Null => Some("suggester[completion] "),
                _ => None,
            };
            if let Some(what) = refused {
                return Err(SearchError::illegal(format!("{what} doesn't support field [{key}]")));
            }
            match key.as_str() {
                "field" => settings.field = java_text(value),
                "size" => settings.size = positive("Size", value)?,
                "fuzzy" => settings.fuzziness = Fuzziness::parse(value),
                "context" => settings.context = Some(value).filter(|value| value.is_object()),
                "analyzer" => settings.analyzer = value.as_str(),
                _ => {}
            }
        }
        Ok(settings)
    }

    /// Fails for a field of another type, for contexts that are not those of the field, and for an analyzer that does
    /// not exist. The analyzer is not used.
    pub(super) fn check(&self, mapping: &Mapping) -> Result<()> {
        if let Some(name) = self.analyzer {
            analyzer(name, mapping)?;
        }
        if self.field.is_empty() {
            return Err(SearchError::null_pointer());
        }
        let Some(field) = mapping.field(&self.field) else {
            return Ok(());
        };
        match field.field_type.kind {
            Kind::Completion => contexts_of(field)?.of_search(self.context).map(drop),
            kind => {
                let mapper = "org.elasticsearch.index.mapper";
                let reason = format!(
                    "{mapper}.{} cannot be cast to {mapper}.core.CompletionFieldMapper",
                    kind.mapper()
                );
                Err(SearchError::new(500, Exception::ClassCast, reason))
            }
        }
    }

    /// Returns the field.
    ///
    /// # Errors
    /// A field that is not mapped.
    pub(super) fn mapped<'m>(&self, mapping: &'m Mapping) -> Result<&'m Field> {
        self.check(mapping)?;
        mapping.field(&self.field).ok_or_else(|| {
            let reason = format!("Field [{}] is not a completion suggest field", self.field);
            SearchError::new(500, Exception::Elasticsearch, reason)
        })
    }
}

/// Returns the completions of a text.
pub(super) fn completions(
    indices: &[Arc<Index>],
    settings: &Settings<'_>,
    text: &str,
    budget: &Budget,
) -> Result<Value> {
    let mut shards = Vec::new();
    for index in indices {
        let mapping = index.mapping();
        if index.live_docs() == 0 {
            continue;
        }
        let field = settings.mapped(&mapping)?;
        let mut contexts = contexts_of(field)?.of_search(settings.context)?;
        contexts.sort_unstable();
        let inputs = completion_keys(field, text, true)?;
        if inputs.is_empty() {
            continue;
        }
        let wanted = contexts.iter().flat_map(|context| {
            inputs.iter().map(|input| CompletionPrefix {
                context,
                input,
                fuzziness: settings.fuzziness.as_ref(),
            })
        });
        let wanted: Vec<CompletionPrefix<'_>> = wanted.collect();
        for shard in &index.shards {
            let view = shard.view();
            if view.live_docs() == 0 {
                continue;
            }
            let began = Instant::now();
            shards.push(of_shard(&view, field, &wanted, settings.size, budget)?);
            shard.counters.suggest.add(began);
        }
    }
    let is_one = shards.len() == 1;
    let mut best: IndexMap<String, Completion> = IndexMap::new();
    for found in shards.into_iter().flatten() {
        keep(&mut best, found, |known, own| known.weight < own.weight);
    }
    let mut best: Vec<Completion> = best.into_values().collect();
    if !is_one {
        best.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.text.cmp(&b.text)));
    }
    best.truncate(settings.size);
    let options: Vec<Value> = best
        .into_iter()
        .map(|found| {
            let mut option = json!({"text": found.text, "score": found.weight as f64});
            if let Some(payload) = found.payload {
                option["payload"] = payload;
            }
            option
        })
        .collect();
    let length = text.encode_utf16().count();
    Ok(json!([{"text": text, "offset": 0, "length": length, "options": options}]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("nir", "nirvana", true, 0)]
    #[case("niv", "nirvana", true, 1)]
    #[case("nri", "nirvana", true, 1)]
    #[case("niravna", "nirvana", false, 2)]
    #[case("abc", "", true, 3)]
    fn edits_to_a_prefix_are_counted(
        #[case] wanted: &str,
        #[case] text: &str,
        #[case] transpositions: bool,
        #[case] expected: usize,
    ) {
        let units = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
        assert_eq!(prefix_edits(&units(wanted), &units(text), transpositions), expected);
    }
}

//! The `terms` facet: the most frequent terms of fields.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::order::{Order, Shards};
use super::settings::{script, texts};
use super::{Values, each, refuse};
use crate::aggs::buckets::live_docs;
use crate::aggs::terms::Key;
use crate::aggs::values::{Input, Source, kinds};
use crate::aggs::{Matches, Scope};
use crate::error::{Result, SearchError};
use crate::java_pattern::{JavaPattern, flags};
use crate::json::{PART, int, java_number, java_text};
use crate::mapping::{Kind, sortable, truth, unsortable};
use crate::query::GeoPoint;

/// Settings of the facet.
pub(super) struct Terms {
    pub(super) values: Vec<Values>,
    /// Whether several fields were given: their terms are strings, and those that are not mapped are ignored.
    are_several: bool,
    order: Order,
    size: usize,
    shard_size: usize,
    /// Whether terms without matching documents are listed.
    has_all: bool,
    excluded: HashSet<String>,
    pattern: Option<JavaPattern>,
}

impl Terms {
    pub(super) fn parse(name: &str, settings: &Map<String, Value>) -> Result<Terms> {
        let unknown =
            |key: &str| SearchError::parse(format!("unknown parameter [{key}] while parsing terms facet [{name}]"));
        let is_known = |key: &str, value: &Value| match value {
            Value::Object(_) => key == "params",
            Value::Array(_) => matches!(key, "exclude" | "fields"),
            _ => true,
        };
        let (mut field, mut fields, mut order, mut has_all) = (None, None, Order::default(), false);
        let (mut size, mut shard_size, mut excluded) = (10, -1, HashSet::new());
        let (mut pattern, mut pattern_flags) = (None, 0);
        for (key, value) in settings {
            if !is_known(key, value) {
                return Err(unknown(key));
            }
            match (key.as_str(), value) {
                ("exclude", Value::Array(_)) => excluded.extend(texts(value)),
                ("fields", Value::Array(_)) => fields = Some(texts(value).collect::<Vec<_>>()),
                (_, Value::Null | Value::Object(_)) => {}
                ("field", _) => field = Some(java_text(value)),
                ("size", _) => size = int(value, PART)?,
                ("shard_size" | "shardSize", _) => shard_size = int(value, PART)?,
                ("all_terms" | "allTerms", _) => has_all = truth(value),
                ("regex", _) => pattern = Some(java_text(value)),
                ("regex_flags" | "regexFlags", _) => pattern_flags = flags(&java_text(value).into())?,
                ("order" | "comparator", _) => order = Order::parse(value, "terms", false)?,
                ("script" | "script_field" | "scriptField" | "script_id" | "script_file", _) => {}
                ("lang" | "execution_hint" | "executionHint", _) => {}
                _ => return Err(unknown(key)),
            }
        }
        let script = script(settings, &["script_field", "scriptField", "script"])?;
        let are_several = fields.as_ref().is_some_and(|fields| fields.len() != 1);
        let fields = fields.unwrap_or_else(|| field.into_iter().collect());
        let values = match script {
            Some(_) if !fields.is_empty() => {
                return Err(refuse(name, "an expression cannot change the terms of a field"));
            }
            Some(script) => vec![Values::Script(script)],
            None if fields.is_empty() && !are_several => {
                return Err(SearchError::parse(format!(
                    "terms facet [{name}] must have a field, fields or script parameter"
                )));
            }
            None => fields.into_iter().map(Values::Field).collect(),
        };
        Ok(Terms {
            values,
            are_several,
            order,
            size: usize::try_from(size).unwrap_or(0),
            shard_size: usize::try_from(shard_size.max(size)).unwrap_or(0),
            has_all,
            excluded,
            pattern: pattern
                .map(|pattern| JavaPattern::whole(&pattern, pattern_flags))
                .transpose()?,
        })
    }

    pub(super) fn compute(&self, scope: &Scope<'_>, matches: &Matches) -> Result<Map<String, Value>> {
        let (mut missing, mut total) = (0u64, 0u64);
        let is_used = |shard: usize, values: &Values| match values {
            Values::Field(field) if self.are_several => {
                let searched = scope.searched.get(shard);
                searched.is_some_and(|searched| searched.mapping.field_data(field).is_some())
            }
            _ => true,
        };
        for set in &matches.sets {
            if !self.values.iter().any(|values| is_used(set.index, values)) {
                missing += set.docs.len() as u64;
            }
        }
        // Terms of one field are of its type. Those of several fields and of scripts are strings.
        let single = match self.values.as_slice() {
            [values @ Values::Field(_)] if !self.are_several => Some(values.input()),
            _ => None,
        };
        let key = |key: Key| match single {
            Some(_) => key,
            None => Key::Text(text(&key).into()),
        };
        let excluded = self.excluded_keys(scope, single)?;
        let is_excluded = |key: &Key| {
            let differs = |pattern: &JavaPattern| matches!(key, Key::Text(text) if !pattern.is_match(text));
            excluded.contains(key) || self.pattern.as_ref().is_some_and(differs)
        };
        let mut shards = Shards::new(scope, single, false);
        for values in &self.values {
            let input = values.input();
            if self.has_all {
                each(scope, &live_docs(scope), input, None, |set, doc, source, _| {
                    // Excluded numbers are not counted, but listed.
                    let terms = keys(source, doc).map(key);
                    let terms = terms.filter(|key| matches!(key, Key::Number(..)) || !is_excluded(key));
                    terms.for_each(|term| shards.entry(set.index, term).0 += 0);
                    Ok(())
                })?;
            }
            each(scope, matches, input, None, |set, doc, source, _| {
                missing += u64::from(source.is_missing(doc) && is_used(set.index, values));
                for term in keys(source, doc).map(key) {
                    total += 1;
                    if !is_excluded(&term) {
                        shards.entry(set.index, term).0 += 1;
                    }
                }
                Ok(())
            })?;
        }
        let entries = shards.first(self.order, self.shard_size, self.size)?;
        scope.spend(entries.len())?;
        let kept: u64 = entries.iter().map(|entry| entry.count).sum();
        let terms = entries
            .iter()
            .map(|entry| json!({"term": shown(&entry.key), "count": entry.count}));
        Ok(Map::from_iter([
            ("missing".to_owned(), json!(missing)),
            ("total".to_owned(), json!(total)),
            ("other".to_owned(), json!(total.saturating_sub(kept))),
            ("terms".to_owned(), terms.collect()),
        ]))
    }

    /// Returns the excluded terms of a field, or those that are strings if there is no single one.
    ///
    /// # Errors
    /// A text that is no number, for a field of numbers.
    fn excluded_keys(&self, scope: &Scope<'_>, field: Option<Input<'_>>) -> Result<HashSet<Key>> {
        let kind = field.and_then(|field| kinds(scope, field).find(|kind| kind.is_numeric()));
        let key = |text: &String| -> Result<Key> {
            let invalid = |error| SearchError { status: 500, ..error };
            Ok(match kind {
                None => Key::Text(text.as_str().into()),
                Some(kind) if kind.is_floating() => {
                    let number = text.parse().map_err(|_| invalid(SearchError::float(text)))?;
                    Key::Number(sortable(number), true)
                }
                Some(_) => Key::Number(text.parse().map_err(|_| invalid(SearchError::number(text)))?, false),
            })
        };
        self.excluded.iter().map(key).collect()
    }
}

/// Returns the terms of a document.
pub(super) fn keys(source: &Source, doc: u32) -> impl Iterator<Item = Key> + '_ {
    let (terms, numbers, constant) = match source {
        Source::Terms(terms) => (Some(terms), None, None),
        Source::Numbers { values, kind } => (None, Some((values, *kind)), None),
        Source::Constant(text) => (None, None, Some(Key::Text(text.as_str().into()))),
        Source::Nothing => (None, None, None),
    };
    let terms = terms.into_iter().flat_map(move |terms| {
        terms
            .of(doc)
            .iter()
            .map(|ordinal| Key::Text(terms.term(*ordinal).into()))
    });
    let numbers = numbers.into_iter().flat_map(move |(values, kind)| {
        values.of(doc).iter().map(move |value| match kind {
            Kind::GeoPoint => {
                let GeoPoint { lat, lon } = GeoPoint::decode(*value);
                Key::Text(format!("[{}, {}]", java_number(lat), java_number(lon)).into())
            }
            kind => Key::Number(*value, kind.is_floating()),
        })
    });
    terms.chain(numbers).chain(constant)
}

fn text(key: &Key) -> String {
    match key {
        Key::Text(text) => text.to_string(),
        Key::Number(number, false) => number.to_string(),
        Key::Number(number, true) => java_number(unsortable(*number)),
    }
}

/// Returns a term as it is shown in a response.
pub(super) fn shown(key: &Key) -> Value {
    match key {
        Key::Text(text) => json!(text),
        Key::Number(number, false) => json!(number),
        Key::Number(number, true) => json!(unsortable(*number)),
    }
}

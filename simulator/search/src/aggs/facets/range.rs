//! The `range` facet: documents by ranges of a field's values.

use serde_json::{Map, Value, json};

use super::settings::script;
use super::stats::Stats;
use super::{Values, each, refuse};
use crate::aggs::ranges::is_inside;
use crate::aggs::values::{Input, Source};
use crate::aggs::{Matches, Scope};
use crate::error::{Result, SearchError};
use crate::index::encoded_date;
use crate::json::{is_scalar, java_text, spread};
use crate::mapping::{FieldType, Kind};

/// A bound of a range.
#[derive(Clone)]
pub(super) enum Bound {
    Number(f64),
    Text(String),
}

impl Bound {
    fn parse(value: &Value) -> Option<Bound> {
        match value.as_f64() {
            Some(number) => Some(Bound::Number(number)),
            None => is_scalar(value).then(|| Bound::Text(java_text(value))),
        }
    }

    /// Returns the number. A text is a value of the field.
    ///
    /// # Errors
    /// A text that is no value of the field.
    fn of(&self, field: Option<&FieldType>) -> Result<f64> {
        match (self, field) {
            (Bound::Number(number), _) => Ok(*number),
            (Bound::Text(text), Some(field)) if field.kind == Kind::Date => {
                encoded_date(field, &json!(text), text).map(|millis| millis as f64)
            }
            (Bound::Text(text), Some(field)) => field.encode_text(text).map(|encoded| field.decode(encoded)),
            (Bound::Text(text), None) => text.parse().map_err(|_| SearchError::float(text)),
        }
    }
}

/// Bounds of a range: `from` is inclusive, `to` is exclusive.
#[derive(Clone)]
pub(super) struct Bounds {
    from: Option<Bound>,
    to: Option<Bound>,
}

impl Bounds {
    /// Parses a list of ranges. Other items are skipped, as by Elasticsearch's parser, which reads a range up to the
    /// end of an object.
    ///
    /// # Errors
    /// A last item that is no object: the parser reads on to the end of the source.
    pub(super) fn list(ranges: &Value) -> Result<Vec<Bounds>> {
        let items: Vec<&Value> = ranges.as_array().into_iter().flatten().flat_map(spread).collect();
        if items.last().is_some_and(|last| !last.is_object()) {
            return Err(SearchError::null_pointer());
        }
        let parse = |range: &Value| {
            let bound = |key: &str| spread(range.get(key)?).into_iter().filter_map(Bound::parse).next_back();
            Bounds {
                from: bound("from"),
                to: bound("to"),
            }
        };
        Ok(items.into_iter().filter(|item| item.is_object()).map(parse).collect())
    }

    /// Returns the range of the numbers of a field.
    ///
    /// # Errors
    /// A bound that is no value of the field.
    pub(super) fn of(&self, field: Option<&FieldType>) -> Result<NumberRange> {
        let number = |bound: &Option<Bound>| bound.as_ref().map(|bound| bound.of(field)).transpose();
        Ok(NumberRange {
            from: number(&self.from)?,
            to: number(&self.to)?,
        })
    }
}

/// A range of numbers: `from` is inclusive, `to` is exclusive.
pub(super) struct NumberRange {
    from: Option<f64>,
    to: Option<f64>,
}

impl NumberRange {
    fn has(&self, number: f64) -> bool {
        is_inside(number, self.from, self.to)
    }

    /// Returns the bounds and the document count as JSON.
    pub(super) fn to_json(&self, count: u64) -> Map<String, Value> {
        let bounds = [("from", self.from), ("to", self.to)].into_iter();
        let mut result: Map<String, Value> = bounds
            .filter_map(|(name, bound)| Some((name.to_owned(), json!(bound?))))
            .collect();
        result.insert("count".to_owned(), json!(count));
        result
    }
}

/// Counts the documents with a number in each range. Their statistics are those of the first such number or, if there
/// is a second input, of its values.
pub(super) fn count(
    scope: &Scope<'_>,
    matches: &Matches,
    (keys, values): (Input<'_>, Option<&Values>),
    ranges: &[NumberRange],
    numbers: impl Fn(&Source, u32) -> Vec<f64>,
) -> Result<Vec<(u64, Stats)>> {
    let mut counted = vec![(0, Stats::default()); ranges.len()];
    each(
        scope,
        matches,
        keys,
        values.map(Values::input),
        |_, doc, keys, others| {
            let numbers = numbers(keys, doc);
            for (range, (count, stats)) in ranges.iter().zip(&mut counted) {
                let Some(first) = numbers.iter().find(|number| range.has(**number)) else {
                    continue;
                };
                *count += 1;
                match values {
                    None => stats.add(*first),
                    Some(_) => others.numbers(doc).for_each(|number| stats.add(number)),
                }
            }
            Ok(())
        },
    )?;
    Ok(counted)
}

/// Settings of the facet.
pub(super) struct Range {
    pub(super) keys: Values,
    pub(super) values: Option<Values>,
    pub(super) ranges: Vec<Bounds>,
}

impl Range {
    pub(super) fn parse(name: &str, settings: &Map<String, Value>) -> Result<Range> {
        let (mut key, mut value, mut ranges) = (None, None, Vec::new());
        for (setting, list) in settings.iter().filter(|(_, value)| value.is_array()) {
            // The short form names the field as the key of its ranges.
            if setting != "ranges" {
                key = Some(setting.clone());
            }
            ranges.extend(Bounds::list(list)?);
        }
        for (setting, text) in settings.iter().filter(|(_, value)| is_scalar(value)) {
            match setting.as_str() {
                "field" | "key_field" | "keyField" => key = Some(java_text(text)),
                "value_field" | "valueField" => value = Some(java_text(text)),
                _ => {}
            }
        }
        if ranges.is_empty() {
            return Err(refuse(name, "no ranges defined for range facet"));
        }
        let key_script = script(settings, &["key_script", "keyScript"])?;
        let value_script = script(settings, &["value_script", "valueScript"])?;
        let missing = "key field is required to be set for range facet, either using [field] or using [key_field]";
        let (keys, values) = match (key_script, value_script) {
            (Some(keys), Some(values)) => (Values::Script(keys), Some(Values::Script(values))),
            _ => {
                let key = key.ok_or_else(|| refuse(name, missing))?;
                let value = value.filter(|value| *value != key).map(Values::Field);
                (Values::Field(key), value)
            }
        };
        Ok(Range { keys, values, ranges })
    }

    pub(super) fn compute(&self, scope: &Scope<'_>, matches: &Matches) -> Result<Map<String, Value>> {
        let mut mappings = scope.searched.iter().map(|searched| &searched.mapping);
        let field = self.keys.field();
        let field = field.and_then(|field| mappings.find_map(|mapping| mapping.field(field)));
        let ranges = self
            .ranges
            .iter()
            .map(|bounds| bounds.of(field.map(|field| &field.field_type)));
        let ranges: Vec<NumberRange> = ranges.collect::<Result<_>>()?;
        let numbers = |keys: &Source, doc| keys.numbers(doc).collect();
        let counted = count(
            scope,
            matches,
            (self.keys.input(), self.values.as_ref()),
            &ranges,
            numbers,
        )?;
        let mut list = Vec::new();
        for ((bounds, range), (count, stats)) in self.ranges.iter().zip(&ranges).zip(counted) {
            let mut entry = range.to_json(count);
            for (name, bound) in [("from_str", &bounds.from), ("to_str", &bounds.to)] {
                if let Some(Bound::Text(text)) = bound {
                    entry.insert(name.to_owned(), json!(text));
                }
            }
            stats.write_to(&mut entry);
            if stats.count == 0 {
                entry.shift_remove("min");
                entry.shift_remove("max");
            }
            list.push(Value::Object(entry));
        }
        Ok(Map::from_iter([("ranges".to_owned(), list.into())]))
    }
}

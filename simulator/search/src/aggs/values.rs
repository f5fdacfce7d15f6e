//! Values of a field in a segment, whatever its type.

use std::iter;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::aggs::number_format::NumberFormat;
use crate::aggs::{Aggregation, DocSet, Scope, refuse};
use crate::dates::DateFormat;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::Searched;
use crate::index::{Ordinals, SegmentView, Values};
use crate::json::{floating, java_number};
use crate::mapping::{FieldData, Kind, own_terms, sortable, unsortable};
use crate::script::Script;

/// The values of a field in a segment.
pub(super) enum Source {
    Numbers {
        values: Arc<Values>,
        kind: Kind,
    },
    Terms(Arc<Ordinals>),
    /// The same string for every document.
    Constant(String),
    Nothing,
}

/// Format of the numbers of a field in a response.
#[derive(Clone, Debug)]
pub(super) enum ValueFormatter {
    Raw,
    Number(NumberFormat),
    Date(DateFormat),
    Ipv4,
}

/// Source of the values of an aggregation.
#[derive(Clone, Copy)]
pub(super) enum Input<'a> {
    Field(&'a str),
    /// A script that computes values of a kind.
    Script(&'a Script, Kind),
    /// A script that changes the numbers of a field.
    Changed(&'a str, &'a Script),
    /// A script that cannot change the values of a field, because they are texts.
    Unchanged(&'a str),
}

/// Returns the field or the script of an aggregation.
pub(super) fn input_of(aggregation: &Aggregation) -> Result<Input<'_>> {
    let kind = aggregation.kind.as_str();
    match (&aggregation.script, field_of(aggregation)) {
        (None, field) => field.map(Input::Field),
        (Some(Err(_)), Ok(field)) => Ok(Input::Field(field)),
        (Some(Ok(_)), Ok(field)) if kind == "value_count" => Ok(Input::Unchanged(field)),
        (Some(Ok(script)), Ok(field)) => Ok(Input::Changed(field, script)),
        (Some(Err(error)), Err(_)) => Err(error.clone()),
        (Some(Ok(script)), Err(_)) => {
            let is_any = matches!(kind, "terms" | "cardinality" | "value_count");
            let kind = match value_type(aggregation) {
                _ if !is_any => Kind::Double,
                Some("double" | "float") => Kind::Double,
                Some("byte" | "short" | "integer" | "long" | "date" | "ip") => Kind::Long,
                _ => Kind::String,
            };
            Ok(Input::Script(script, kind))
        }
    }
}

/// Returns the type that an aggregation gives to the values of its script.
fn value_type(aggregation: &Aggregation) -> Option<&str> {
    let mut types = ["value_type", "valueType"].iter();
    types
        .find_map(|key| aggregation.settings.get(*key))
        .and_then(Value::as_str)
}

/// Returns the field of an aggregation.
fn field_of(aggregation: &Aggregation) -> Result<&str> {
    aggregation
        .text("field")
        .ok_or_else(|| refuse(format!("aggregation [{}] must have a field", aggregation.name)))
}

impl Source {
    pub(super) fn of(scope: &Scope<'_>, set: &DocSet, input: Input<'_>) -> Result<Source> {
        let Some((searched, view)) = scope
            .searched
            .get(set.index)
            .and_then(|searched| Some((searched, searched.view.segments.get(set.segment)?)))
        else {
            return Ok(Source::Nothing);
        };
        let mapping = &searched.mapping;
        let field = match input {
            Input::Field(field) => field,
            Input::Script(script, kind) => return Source::computed(script, kind, searched, view, set),
            Input::Changed(field, script) => {
                let source = Source::of(scope, set, Input::Field(field))?;
                return source.changed(script, searched, view, set);
            }
            Input::Unchanged(field) => {
                let source = Source::of(scope, set, Input::Field(field))?;
                return if set.docs.iter().all(|doc| source.is_missing(*doc)) {
                    Ok(source)
                } else {
                    Err(no_number())
                };
            }
        };
        if field == "_index" {
            return Ok(Source::Constant(searched.index.name.clone()));
        }
        if let Some(ordinal) = own_terms(field) {
            return Ok(Source::Terms(view.segment.ordinals(ordinal)?));
        }
        let Some(field) = mapping.field(field) else {
            return Ok(Source::Nothing);
        };
        let kind = field.field_type.kind;
        Ok(if kind.is_numeric() || kind == Kind::GeoPoint {
            Source::Numbers {
                values: view.segment.values(field.ordinal)?,
                kind,
            }
        } else {
            Source::Terms(view.segment.field_terms(field)?)
        })
    }

    /// Computes the values of the documents of a set by a script.
    fn computed(script: &Script, kind: Kind, searched: &Searched, view: &SegmentView, set: &DocSet) -> Result<Source> {
        let script = script.mapped(&searched.mapping)?.without_score()?.of(&view.segment)?;
        if set.docs.is_empty() {
            return Ok(Source::Nothing);
        }
        let mut numbers = vec![vec![]; view.segment.max_doc() as usize];
        for doc in &set.docs {
            if let Some(own) = numbers.get_mut(*doc as usize) {
                own.push(script.value(*doc));
            }
        }
        if kind == Kind::String {
            let text = |numbers: Vec<f64>| numbers.into_iter().map(java_number).collect();
            let texts: Vec<String> = numbers.into_iter().map(text).collect();
            return Ok(Source::Terms(Arc::new(Ordinals::of_texts(&texts))));
        }
        Ok(Source::of_numbers(numbers, kind))
    }

    /// Changes the numbers of the documents of a set by a script.
    fn changed(self, script: &Script, searched: &Searched, view: &SegmentView, set: &DocSet) -> Result<Source> {
        if matches!(self, Source::Nothing) {
            return Ok(self);
        }
        let script = script.mapped(&searched.mapping)?.without_score()?;
        let reads_value = script.reads_value();
        let script = script.of(&view.segment)?;
        let mut changed = vec![vec![]; view.segment.max_doc() as usize];
        for doc in set.docs.iter().filter(|doc| !self.is_missing(**doc)) {
            match &self {
                Source::Numbers { .. } if reads_value => {}
                Source::Numbers { .. } => return Err(SearchError::null_pointer()),
                _ => return Err(no_number()),
            }
            if let Some(own) = changed.get_mut(*doc as usize) {
                // A script is evaluated once for a document: all its values get that of the first.
                let first = self.numbers(*doc).next().map(|number| script.changed(*doc, number));
                own.extend(
                    self.numbers(*doc)
                        .zip(iter::repeat(first))
                        .filter_map(|(_, first)| first),
                );
            }
        }
        Ok(Source::of_numbers(changed, Kind::Double))
    }

    fn of_numbers(numbers: Vec<Vec<f64>>, kind: Kind) -> Source {
        let encoded = |number: f64| {
            if kind.is_floating() {
                sortable(number)
            } else {
                number as i64
            }
        };
        let encoded = numbers
            .into_iter()
            .map(|numbers| numbers.into_iter().map(encoded).collect());
        Source::Numbers {
            values: Arc::new(Values::several(encoded)),
            kind,
        }
    }

    /// Returns the numeric values of a document, decoded.
    pub(super) fn numbers(&self, doc: u32) -> impl Iterator<Item = f64> + '_ {
        let (values, floating) = match self {
            Source::Numbers { values, kind } => (values.of(doc), kind.is_floating()),
            _ => (&[][..], false),
        };
        values
            .iter()
            .map(move |value| if floating { unsortable(*value) } else { *value as f64 })
    }

    pub(super) fn is_missing(&self, doc: u32) -> bool {
        match self {
            Source::Numbers { values, .. } => values.of(doc).is_empty(),
            Source::Terms(terms) => terms.of(doc).is_empty(),
            Source::Constant(_) => false,
            Source::Nothing => true,
        }
    }
}

/// Returns the error for a script that is to change a text.
fn no_number() -> SearchError {
    let reason = "Cannot use expression with text variable";
    SearchError::new(500, Exception::ExpressionScriptExecution, reason)
}

/// Kinds of a field in the searched shards that map it.
pub(super) fn kinds(scope: &Scope<'_>, input: Input<'_>) -> impl Iterator<Item = Kind> {
    let name = match input {
        Input::Field(name) | Input::Changed(name, _) | Input::Unchanged(name) => Some(name),
        Input::Script(..) => None,
    };
    let fields = scope
        .searched
        .iter()
        .filter_map(move |searched| searched.mapping.field(name?));
    fields.map(|field| field.field_type.kind)
}

/// Returns whether a field is mapped as something other than a number.
pub(super) fn numeric_mismatch(scope: &Scope<'_>, input: Input<'_>) -> bool {
    kinds(scope, input).any(|kind| !kind.is_numeric())
}

/// Field data of an aggregation's field in the searched shards that map it, with the name of the field.
pub(super) fn field_data<'a>(
    scope: &'a Scope<'_>,
    aggregation: &'a Aggregation,
) -> impl Iterator<Item = (FieldData, &'a str)> {
    let name = aggregation.text("field");
    name.into_iter().flat_map(|name| {
        let searched = scope.searched.iter();
        searched.filter_map(move |searched| Some((searched.mapping.field_data(name)?, name)))
    })
}

/// Returns whether no searched index has the field.
pub(super) fn is_unmapped(scope: &Scope<'_>, input: Input<'_>) -> bool {
    let (Input::Field(name) | Input::Changed(name, _) | Input::Unchanged(name)) = input else {
        return false;
    };
    let is_absent = |searched: &Searched| searched.mapping.field(name).is_none();
    !name.starts_with('_') && scope.searched.iter().all(is_absent)
}

/// Returns the format of an aggregation: its `format` setting, or the format of the field in the first index that has
/// it.
///
/// # Errors
/// An invalid date format.
pub(super) fn formatter(scope: &Scope<'_>, aggregation: &Aggregation) -> Result<ValueFormatter> {
    let format = aggregation.text("format");
    let own = || format.map(DateFormat::new).transpose();
    let number = || {
        format.map_or(ValueFormatter::Raw, |format| {
            ValueFormatter::Number(NumberFormat::new(format))
        })
    };
    let Some(field) = aggregation.text("field") else {
        return Ok(match value_type(aggregation) {
            Some("date") => ValueFormatter::Date(own()?.unwrap_or_default()),
            Some("ip") => ValueFormatter::Ipv4,
            _ => number(),
        });
    };
    for searched in scope.searched {
        let mapping = &searched.mapping;
        if let Some(field) = mapping.field(field) {
            return Ok(match field.field_type.kind {
                Kind::Date => ValueFormatter::Date(own()?.unwrap_or_else(|| field.field_type.format.clone())),
                Kind::Ip => ValueFormatter::Ipv4,
                kind if kind.is_numeric() => number(),
                _ => ValueFormatter::Raw,
            });
        }
    }
    Ok(match aggregation.kind.as_str() {
        "date_histogram" | "date_range" => ValueFormatter::Date(own()?.unwrap_or_default()),
        "ip_range" => ValueFormatter::Ipv4,
        _ => number(),
    })
}

impl ValueFormatter {
    /// Returns a number as a string for `..._as_string`, if the format has one.
    pub(super) fn text(&self, number: f64) -> Option<String> {
        match self {
            ValueFormatter::Raw => None,
            ValueFormatter::Number(format) => Some(format.print(number)),
            ValueFormatter::Date(format) => Some(format.print(number as i64)),
            ValueFormatter::Ipv4 => {
                // Elasticsearch takes the last 32 bits of the number. The parts of a negative one are negative.
                let number = number as i64;
                let parts = [24, 16, 8, 0].map(|bits| ((number >> bits) % 256).to_string());
                Some(parts.join("."))
            }
        }
    }
}

/// Returns an integer without a fraction, any other number with one.
pub(super) fn plain(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        json!(number as i64)
    } else {
        floating(number)
    }
}

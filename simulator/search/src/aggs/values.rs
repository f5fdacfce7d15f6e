//! The values of a field in a segment, whatever its kind.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::aggs::number_format::NumberFormat;
use crate::aggs::{Aggregation, DocSet, Scope, refuse};
use crate::dates::DateFormat;
use crate::error::{Result, SearchError};
use crate::find::Searched;
use crate::index::{Ordinals, Values};
use crate::mapping::{Kind, sortable, unsortable};
use crate::script::Script;

/// The values of a field in a segment.
pub(super) enum Source {
    Numbers {
        values: Arc<Values>,
        kind: Kind,
    },
    Terms(Arc<Ordinals>),
    /// The same text for every document.
    Constant(String),
    Nothing,
}

/// How numbers of a field are shown.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    Number,
    Formatted(NumberFormat),
    Date(DateFormat),
    Ip,
}

/// Where the values of an aggregation come from.
#[derive(Clone, Copy)]
pub(super) enum Input<'a> {
    Field(&'a str),
    Script(&'a Script),
}

/// The field or the script that an aggregation is about.
pub(super) fn input_of(aggregation: &Aggregation) -> Result<Input<'_>> {
    match &aggregation.script {
        Some(script) => Ok(Input::Script(script)),
        None => field_of(aggregation).map(Input::Field),
    }
}

/// The name of the field that an aggregation is about.
fn field_of(aggregation: &Aggregation) -> Result<&str> {
    aggregation
        .settings
        .get("field")
        .and_then(Value::as_str)
        .ok_or_else(|| refuse(format!("[{}] needs a field", aggregation.name)))
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
            Input::Script(script) => {
                let script = script.mapped(mapping)?.of(&view.segment)?;
                let mut numbers = vec![vec![]; view.segment.max_doc() as usize];
                for (at, doc) in set.docs.iter().enumerate() {
                    if let Some(own) = numbers.get_mut(*doc as usize) {
                        own.push(sortable(script.value(*doc, set.score(at))));
                    }
                }
                return Ok(Source::Numbers {
                    values: Arc::new(Values::several(numbers.into_iter())),
                    kind: Kind::Double,
                });
            }
        };
        if field == "_index" {
            return Ok(Source::Constant(searched.index.name.clone()));
        }
        if field == "_type" {
            return Ok(Source::Terms(view.segment.ordinals(crate::mapping::TYPE)?));
        }
        if field == "_uid" {
            return Ok(Source::Terms(view.segment.ordinals(crate::mapping::UID)?));
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
            Source::Terms(view.segment.ordinals(field.ordinal)?)
        })
    }

    /// The numbers of a document, as they compare.
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

/// Returns whether a field has texts where an aggregation needs numbers.
pub(super) fn numeric_mismatch(scope: &Scope<'_>, input: Input<'_>) -> bool {
    let Input::Field(field) = input else {
        return false;
    };
    scope.searched.iter().any(|searched| {
        searched
            .index
            .mapping()
            .field(field)
            .is_some_and(|field| !field.field_type.kind.is_numeric())
    })
}

/// Fails for a field that has something else where an aggregation needs points.
pub(super) fn check_points(scope: &Scope<'_>, input: Input<'_>) -> Result<()> {
    let Input::Field(name) = input else {
        return Ok(());
    };
    let kinds = scope
        .searched
        .iter()
        .filter_map(|searched| searched.mapping.field(name));
    let other = kinds
        .map(|field| field.field_type.kind)
        .find(|kind| *kind != Kind::GeoPoint);
    let class = match other {
        None => return Ok(()),
        Some(Kind::Double) => "DoubleArray",
        Some(Kind::Float) => "FloatArray",
        Some(kind) if kind.is_numeric() => "PackedArray",
        Some(_) => "PagedBytes",
    };
    let package = "org.elasticsearch.index.fielddata";
    let reason = format!("{package}.plain.{class}IndexFieldData cannot be cast to {package}.IndexGeoPointFieldData");
    Err(SearchError::new(500, "ClassCastException", reason))
}

/// Returns whether no index that is searched has the field.
pub(super) fn is_unmapped(scope: &Scope<'_>, input: Input<'_>) -> bool {
    let Input::Field(name) = input else {
        return false;
    };
    let is_absent = |searched: &Searched| searched.mapping.field(name).is_none();
    !name.starts_with('_') && scope.searched.iter().all(is_absent)
}

/// Returns whether a field has numbers.
pub(super) fn has_numbers(scope: &Scope<'_>, input: Input<'_>) -> bool {
    let Input::Field(name) = input else {
        return false;
    };
    scope.searched.iter().any(|searched| {
        let mapping = &searched.mapping;
        mapping
            .field(name)
            .is_some_and(|field| field.field_type.kind.is_numeric())
    })
}

/// How the numbers of a field are shown: as the first index that has it says, or as the aggregation does.
///
/// # Errors
/// A format of dates that is none.
pub(super) fn shown(scope: &Scope<'_>, aggregation: &Aggregation) -> Result<Shown> {
    let format = aggregation.settings.get("format").and_then(Value::as_str);
    let own = || format.map(DateFormat::new).transpose();
    let number = || format.map_or(Shown::Number, |format| Shown::Formatted(NumberFormat::new(format)));
    let Some(field) = aggregation.settings.get("field").and_then(Value::as_str) else {
        return Ok(number());
    };
    for searched in scope.searched {
        let mapping = &searched.mapping;
        if let Some(field) = mapping.field(field) {
            return Ok(match field.field_type.kind {
                Kind::Date => Shown::Date(own()?.unwrap_or_else(|| field.field_type.format.clone())),
                Kind::Ip => Shown::Ip,
                kind if kind.is_numeric() => number(),
                _ => Shown::Number,
            });
        }
    }
    Ok(match aggregation.kind.as_str() {
        "date_histogram" | "date_range" => Shown::Date(own()?.unwrap_or_default()),
        "ip_range" => Shown::Ip,
        _ => number(),
    })
}

impl Shown {
    /// A number as text, if it is shown so beside the number.
    pub(super) fn text(&self, number: f64) -> Option<String> {
        match self {
            Shown::Number => None,
            Shown::Formatted(format) => Some(format.print(number)),
            Shown::Date(format) => Some(format.print(number as i64)),
            Shown::Ip => Some(std::net::Ipv4Addr::from(number.clamp(0.0, f64::from(u32::MAX)) as u32).to_string()),
        }
    }
}

/// A whole number without a fraction, any other with one.
pub(super) fn plain(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

//! Sort criteria of hits.

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::error::{Result, SearchError};
use crate::find::geo_sort::{GeoSettings, GeoSort};
use crate::json::is_scalar;
use crate::mapping::{Kind, TIMESTAMP, truth};
use crate::query::{Context, check_nested};
use crate::score::score_json;
use crate::script::Script;

/// A sort criterion.
#[derive(Clone, Debug)]
pub(crate) struct SortSpec {
    pub(crate) field: String,
    pub(crate) descending: bool,
    pub(super) missing: Missing,
    pub(super) mode: Option<String>,
    /// `unmapped_type`: type to assume if the field is not mapped.
    unmapped: Option<String>,
    ignore_unmapped: bool,
    /// Path of the nested objects whose values count. Default: that of the objects that contain the field.
    pub(super) nested_path: Option<String>,
    /// Script that computes the value, instead of a field.
    pub(super) script: Option<Script>,
    /// Origins of a sort by distance.
    pub(super) geo: Option<GeoSort>,
    /// Filter of the nested objects whose values count.
    pub(super) nested_filter: Option<Value>,
}

/// Position of documents without a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Missing {
    Last,
    First,
    As(String),
}

impl SortSpec {
    fn of(field: &str, descending: Option<bool>) -> SortSpec {
        SortSpec {
            field: field.to_owned(),
            descending: descending.unwrap_or(field == "_score"),
            missing: Missing::Last,
            mode: None,
            unmapped: None,
            ignore_unmapped: false,
            nested_path: None,
            script: None,
            geo: None,
            nested_filter: None,
        }
    }
}

fn direction(field: &str, text: &str) -> Result<bool> {
    match text {
        "asc" => Ok(false),
        "desc" => Ok(true),
        _ => Err(SearchError::illegal(format!("sort direction [{field}] not supported"))),
    }
}

/// Parses a parameter `sort=field:desc,other`. Returns the criteria and the equivalent search source.
///
/// A field with an unknown direction is ignored.
pub(super) fn parse_sort_text(text: &str) -> (Vec<SortSpec>, Value) {
    let (mut specs, mut shown) = (Vec::new(), Vec::new());
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (field, order) = part
            .rsplit_once(':')
            .map_or((part, None), |(field, order)| (field, Some(order)));
        match order {
            None => {
                specs.push(SortSpec::of(field, None));
                shown.push(json!({field: {}}));
            }
            Some("asc" | "desc") => {
                specs.push(SortSpec::of(field, Some(order == Some("desc"))));
                shown.push(json!({field: {"order": order}}));
            }
            Some(_) => {}
        }
    }
    (specs, shown.into())
}

/// Parses `sort` of a body.
pub(crate) fn parse_sort(value: &Value) -> Result<Vec<SortSpec>> {
    match value {
        Value::Array(items) => {
            let parse_item = |item: &Value| match item {
                Value::String(_) | Value::Object(_) => parse_sort(item),
                _ => Err(SearchError::illegal(
                    "malformed sort format, within the sort array, an object, or an actual string are allowed",
                )),
            };
            let parsed: Result<Vec<_>> = items.iter().map(parse_item).collect();
            parsed.map(|all| all.into_iter().flatten().collect())
        }
        Value::String(field) => Ok(vec![SortSpec::of(field, None)]),
        Value::Object(fields) => fields
            .iter()
            .map(|(field, settings)| parse_one(field, settings))
            .collect(),
        _ => Err(SearchError::illegal(
            "malformed sort format, either start with array, object, or an actual string",
        )),
    }
}

fn parse_one(field: &str, settings: &Value) -> Result<SortSpec> {
    if let ("_geo_distance", Value::Object(settings)) = (field, settings) {
        let wanted = GeoSettings::parse(settings)?;
        return Ok(SortSpec {
            mode: wanted.mode,
            geo: Some(wanted.geo),
            nested_path: wanted.nested_path,
            nested_filter: wanted.nested_filter,
            ..SortSpec::of(&wanted.field, Some(wanted.descending))
        });
    }
    match settings {
        Value::String(order) => Ok(SortSpec::of(field, Some(direction(field, order)?))),
        Value::Object(settings) => {
            let mut spec = SortSpec::of(field, None);
            if field == "_script" {
                spec.script = Some(Script::parse(&Value::Object(settings.clone()))?);
            }
            for (key, value) in settings {
                match (key.as_str(), value.as_str()) {
                    // An unknown direction is ignored here, unlike in the short form.
                    ("order", Some(order)) => spec.descending = direction(field, order).unwrap_or(spec.descending),
                    ("order", _) if is_scalar(value) => {}
                    // Scores are sorted in descending order, unless that is reversed.
                    ("reverse", _) => spec.descending = truth(value) != (field == "_score"),
                    ("missing", Some("_last")) => spec.missing = Missing::Last,
                    ("missing", Some("_first")) => spec.missing = Missing::First,
                    ("missing", _) => {
                        spec.missing = Missing::As(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                    }
                    ("mode", Some(mode @ ("min" | "max" | "sum" | "avg"))) => spec.mode = Some(mode.to_owned()),
                    ("mode", Some(mode)) => {
                        return Err(SearchError::illegal(format!("Illegal sort_mode {mode}")));
                    }
                    ("ignore_unmapped" | "ignoreUnmapped", _) => spec.ignore_unmapped = truth(value),
                    ("unmapped_type", Some(kind)) => spec.unmapped = Some(kind.to_owned()),
                    ("script" | "lang" | "params" | "type", _) if field == "_script" => {}
                    ("nested_path" | "nestedPath", Some(path)) => spec.nested_path = Some(path.to_owned()),
                    ("nested_filter" | "nestedFilter", _) => spec.nested_filter = Some(value.clone()),
                    (other, _) => {
                        return Err(SearchError::illegal(format!("sort option [{other}] not supported")));
                    }
                }
            }
            Ok(spec)
        }
        other => Err(SearchError::illegal(format!(
            "sort direction [{field}] not supported: {other}"
        ))),
    }
}

/// Sort value of a hit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SortValue {
    /// A score, or a number of a field of single precision.
    Single(f32),
    Whole(i64),
    Floating(f64),
    Text(Option<String>),
}

impl SortValue {
    fn order(&self, other: &SortValue) -> Ordering {
        match (self, other) {
            (SortValue::Single(a), SortValue::Single(b)) => a.total_cmp(b),
            (SortValue::Whole(a), SortValue::Whole(b)) => a.cmp(b),
            (SortValue::Floating(a), SortValue::Floating(b)) => a.total_cmp(b),
            (SortValue::Text(a), SortValue::Text(b)) => a.cmp(b),
            // A field can have different types in different indices.
            (SortValue::Whole(a), SortValue::Floating(b)) => (*a as f64).total_cmp(b),
            (SortValue::Floating(a), SortValue::Whole(b)) => a.total_cmp(&(*b as f64)),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            SortValue::Single(_) => 0,
            SortValue::Whole(_) | SortValue::Floating(_) => 1,
            SortValue::Text(_) => 2,
        }
    }

    /// Renders the value for a hit.
    pub(crate) fn json(&self) -> Value {
        match self {
            SortValue::Single(number) if number.is_finite() => score_json(*number),
            SortValue::Single(number) => not_finite(f64::from(*number)),
            SortValue::Whole(number) => json!(number),
            SortValue::Floating(number) if number.is_finite() => json!(number),
            SortValue::Floating(number) => not_finite(*number),
            SortValue::Text(text) => json!(text),
        }
    }
}

/// Renders a number that JSON does not have.
fn not_finite(number: f64) -> Value {
    json!(match number {
        _ if number.is_nan() => "NaN",
        _ if number > 0.0 => "Infinity",
        _ => "-Infinity",
    })
}

/// Compares two hits by these criteria.
pub(super) fn compare(specs: &[SortSpec], a: &[SortValue], b: &[SortValue]) -> Ordering {
    for ((spec, a), b) in specs.iter().zip(a).zip(b) {
        // The position of documents without a value does not depend on the direction.
        let missing = match (a, b) {
            (SortValue::Text(a), SortValue::Text(b)) if a.is_none() != b.is_none() => {
                let after = a.is_none() != (spec.missing == Missing::First);
                Some(if after { Ordering::Greater } else { Ordering::Less })
            }
            _ => None,
        };
        let order = missing.unwrap_or_else(|| if spec.descending { b.order(a) } else { a.order(b) });
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Returns the type to assume for an unmapped field.
///
/// # Errors
/// A criterion without `unmapped_type` or `ignore_unmapped`, or an unknown type.
pub(super) fn unmapped(spec: &SortSpec) -> Result<Kind> {
    match &spec.unmapped {
        Some(name) => {
            Kind::named(name).ok_or_else(|| SearchError::illegal(format!("No mapper found for type [{name}]")))
        }
        None if spec.ignore_unmapped => Ok(Kind::Long),
        None => {
            let reason = format!("No mapping found for [{}] in order to sort on", spec.field);
            Err(SearchError::search(reason))
        }
    }
}

/// Metadata fields that hits can be sorted by.
const METADATA: [&str; 5] = ["_type", "_uid", "_id", "_index", TIMESTAMP];

/// Checks that the fields are mapped and the nested paths are nested objects.
pub(super) fn check_sort(specs: &[SortSpec], context: &Context<'_>) -> Result<()> {
    let mapping = context.mapping;
    // Metadata fields are those of a type.
    let has_type = context.types.is_empty() || !context.type_names().is_empty();
    for spec in specs {
        if let Some(path) = &spec.nested_path {
            check_nested(context, path)?;
        }
        if let Some(script) = &spec.script {
            script.mapped(mapping)?;
        } else if spec.geo.is_some() {
            let field = context.mapped_in_types(&spec.field);
            if field.is_none_or(|field| field.field_type.kind != Kind::GeoPoint) {
                return Err(GeoSettings::unmapped(&spec.field));
            }
        } else if !matches!(spec.field.as_str(), "_score" | "_doc")
            && (!has_type || !METADATA.contains(&spec.field.as_str()))
        {
            match context.mapped_in_types(&spec.field).map(|field| field.field_type.kind) {
                None if spec.field == "_source" => {}
                None => drop(unmapped(spec)?),
                Some(Kind::Completion) => {
                    let reason = format!("Sorting not supported for field[{}]", spec.field);
                    return Err(SearchError::search(reason));
                }
                Some(_) => {}
            }
            if let Some(data) = mapping.field_data(&spec.field) {
                data.check_sort(&spec.field)?;
            }
        }
    }
    Ok(())
}

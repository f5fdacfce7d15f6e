//! The parse phase of facets: kinds, settings, fields.
//!
//! Guarantees: what no document decides is refused here, before documents are collected.
//! Source: the parsers of Elasticsearch 1.5's facets.

use serde_json::Value;

use crate::aggs::facets::{Facet, parse};
use crate::aggs::geo_facet;
use crate::aggs::histogram::Rounding;
use crate::error::{Result, SearchError};
use crate::mapping::{DataUse, FieldData};
use crate::query::Context;

/// Orders of terms.
const ORDERS: [&str; 6] = [
    "count",
    "term",
    "reverse_count",
    "reverseCount",
    "reverse_term",
    "reverseTerm",
];
/// Orders of terms with statistics, beside those of terms.
const STATISTICS: [&str; 12] = [
    "total",
    "reverse_total",
    "reverseTotal",
    "min",
    "reverse_min",
    "reverseMin",
    "max",
    "reverse_max",
    "reverseMax",
    "mean",
    "reverse_mean",
    "reverseMean",
];
/// Settings of the facet of terms that are neither objects nor arrays.
const OF_TERMS: [&str; 16] = [
    "field",
    "script",
    "script_id",
    "script_file",
    "lang",
    "size",
    "shard_size",
    "shardSize",
    "all_terms",
    "allTerms",
    "regex",
    "regex_flags",
    "regexFlags",
    "order",
    "comparator",
    "execution_hint",
];

/// Fails for facets that cannot be parsed, or whose fields an index does not have.
pub(crate) fn check(wanted: Option<&Value>, context: &Context<'_>) -> Result<()> {
    for (name, definition) in wanted.and_then(Value::as_object).into_iter().flatten() {
        let facet = parse(name, definition)?;
        match facet.kind {
            "query" => drop(context.parse_query(facet.settings)?),
            "filter" => drop(context.parse_filter(facet.settings)?),
            "terms" => terms(&facet, context)?,
            "date_histogram" => dates(&facet, context)?,
            "histogram" => histogram(&facet, context)?,
            "statistical" => statistical(&facet, context)?,
            "terms_stats" => terms_stats(&facet, context)?,
            "range" => range(&facet, context)?,
            _ => {
                for field in geo_facet::check(&facet, context)? {
                    numeric(&facet, context, field, &format!("(key) field [{field}] not found"))?;
                }
            }
        }
        for key in ["facet_filter", "facetFilter"] {
            definition
                .get(key)
                .map(|filter| context.parse_filter(filter))
                .transpose()?;
        }
    }
    Ok(())
}

/// Returns the field data of a field.
///
/// # Errors
/// `missing` if the field is not mapped.
fn mapped(facet: &Facet<'_>, context: &Context<'_>, field: &str, missing: &str) -> Result<FieldData> {
    let data = context.mapping.field_data(field);
    let data = data.filter(|_| field.starts_with('_') || context.mapped_in_types(field).is_some());
    data.ok_or_else(|| facet.refuse(missing))
}

fn numeric(facet: &Facet<'_>, context: &Context<'_>, field: &str, missing: &str) -> Result<()> {
    mapped(facet, context, field, missing)?.cast(field, DataUse::Numbers)
}

/// Fails for a field without numbers. `shown` is its name in the error.
fn of_numbers(facet: &Facet<'_>, data: FieldData, shown: &str) -> Result<()> {
    let kind = match data {
        FieldData::None => return Err(SearchError::null_pointer()),
        FieldData::Points => "geo_point",
        FieldData::Disabled => "binary",
        FieldData::Index => "_index",
        FieldData::Parents => "_parent",
        FieldData::PagedBytes => "string",
        _ => return Ok(()),
    };
    Err(facet.refuse(&format!("{shown} isn't a number field, but a {kind}")))
}

/// Fails for an order that is none.
fn order(facet: &Facet<'_>, what: &str, orders: &[&str]) -> Result<()> {
    match facet.text(&["order", "comparator"]) {
        Some(other) if !orders.contains(&other) => Err(SearchError::illegal(format!(
            "No type argument match for {what} comparator [{other}]"
        ))),
        _ => Ok(()),
    }
}

fn terms(facet: &Facet<'_>, context: &Context<'_>) -> Result<()> {
    for (key, value) in facet.settings.as_object().into_iter().flatten() {
        let is_known = match value {
            Value::Object(_) => key == "params",
            Value::Array(_) => key == "exclude" || key == "fields",
            Value::Null => true,
            _ => OF_TERMS.contains(&key.as_str()) || key == "executionHint",
        };
        if !is_known {
            return Err(SearchError::parse(format!(
                "unknown parameter [{key}] while parsing terms facet [{}]",
                facet.name
            )));
        }
    }
    order(facet, "terms facet", &ORDERS)?;
    if ["field", "fields", "script"]
        .iter()
        .all(|key| facet.settings.get(*key).is_none())
    {
        return Err(SearchError::parse(format!(
            "terms facet [{}] must have a field, fields or script parameter",
            facet.name
        )));
    }
    let fields = facet.settings.get("fields").map(crate::find::names).unwrap_or_default();
    for field in facet
        .text(&["field"])
        .into_iter()
        .chain(fields.iter().map(String::as_str))
    {
        if let Some(data) = context.mapping.field_data(field) {
            data.check(field)?;
        }
    }
    Ok(())
}

fn dates(facet: &Facet<'_>, context: &Context<'_>) -> Result<()> {
    order(facet, "histogram", &["time", "count", "total"])?;
    if facet.settings.get("interval").is_none() {
        return Err(facet.refuse("[interval] is required to be set for histogram facet"));
    }
    let field = facet.histogram_field()?;
    numeric(facet, context, field, &format!("(key) field [{field}] not found"))?;
    Rounding::parse(facet.settings, true, facet.name)?;
    if let Some(field) = facet.value_field() {
        numeric(facet, context, field, &format!("(value) field [{field}] not found"))?;
    }
    Ok(())
}

fn histogram(facet: &Facet<'_>, context: &Context<'_>) -> Result<()> {
    order(facet, "histogram", &["key", "count", "total"])?;
    let field = facet.histogram_field()?;
    if facet.numeric_rounding()?.is_none() {
        return Err(facet.refuse("[interval] is required to be set for histogram facet"));
    }
    pair(facet, context, field)
}

/// Checks the field of the keys and that of the values.
fn pair(facet: &Facet<'_>, context: &Context<'_>, field: &str) -> Result<()> {
    let missing = format!("No mapping found for key_field [{field}]");
    numeric(facet, context, field, &missing)?;
    if let Some(field) = facet.value_field() {
        let missing = format!("No mapping found for value_field [{field}]");
        numeric(facet, context, field, &missing)?;
    }
    Ok(())
}

fn statistical(facet: &Facet<'_>, context: &Context<'_>) -> Result<()> {
    let single = facet.text(&["field"]);
    let fields = facet.settings.get("fields").map(crate::find::names);
    if single.is_none() && fields.is_none() {
        return Err(facet.refuse("statistical facet requires either [script] or [field] to be set"));
    }
    for field in fields.unwrap_or_else(|| single.map(str::to_owned).into_iter().collect()) {
        let found = mapped(facet, context, &field, &format!("No mapping found for field [{field}]"))?;
        of_numbers(facet, found, &format!("field [{}]", single.unwrap_or("null")))?;
    }
    Ok(())
}

fn terms_stats(facet: &Facet<'_>, context: &Context<'_>) -> Result<()> {
    let orders: Vec<&str> = ORDERS.into_iter().chain(STATISTICS).collect();
    order(facet, "terms stats", &orders)?;
    let key = facet
        .text(&["key_field", "keyField"])
        .ok_or_else(|| facet.refuse("[key_field] is required to be set for terms stats facet"))?;
    let value = facet
        .value_field()
        .ok_or_else(|| facet.refuse("either [value_field] or [script] are required to be set for terms stats facet"))?;
    mapped(facet, context, key, &format!("failed to find mapping for {key}"))?;
    let found = mapped(facet, context, value, &format!("failed to find mapping for {value}"))?;
    of_numbers(facet, found, &format!("value_field [{value}]"))
}

fn range(facet: &Facet<'_>, context: &Context<'_>) -> Result<()> {
    let (field, ranges) = facet.ranges();
    if ranges.is_empty() {
        return Err(facet.refuse("no ranges defined for range facet"));
    }
    if field.is_empty() {
        return Err(
            facet.refuse("key field is required to be set for range facet, either using [field] or using [key_field]")
        );
    }
    pair(facet, context, &field)
}

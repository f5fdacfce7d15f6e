//! Queries for exact values of fields, including metadata fields.
//!
//! Source: the `termQuery`, `prefixQuery` and `regexpQuery` of Elasticsearch 1.5's field mappers.

use serde_json::Value;

use crate::dates::Fill;
use crate::error::Result;
use crate::json;
use crate::json::text_of;
use crate::mapping::{Field, Kind};
use crate::query::text::{bounded, exact, id_pattern_query, matching, term_text};
use crate::query::{Context, FrequencyQuery, Matcher, NumericRange, Query, QueryField, QueryKind, Rewrite};

/// Builds the query for one exact value of a field or metadata field.
pub(super) fn term(context: &Context<'_>, name: &str, value: &Value) -> Result<Query> {
    let text = text_of(value);
    match name {
        "_type" => return Ok(context.of_type(&text).constant()),
        "_parent" => return Ok(context.of_parent(&text).constant()),
        "_id" => return Ok(ids_of_types(context, &[], &[text])),
        "_uid" => {
            let docs = match text.split_once('#') {
                Some((type_name, id)) => ids_of_types(context, &[type_name.to_owned()], &[id.to_owned()]),
                None => QueryKind::Nothing.into(),
            };
            return Ok(listed(context.field(name), text, docs));
        }
        _ => {}
    }
    match context.mapped(name) {
        Some(field) => exact_value(context, field, value),
        None => Ok(QueryKind::Term {
            field: context.field(name),
            text,
        }
        .into()),
    }
}

/// Builds the query for one exact value of a mapped field. Numbers are read as by [`encoded`].
pub(super) fn exact_value(context: &Context<'_>, field: &Field, value: &Value) -> Result<Query> {
    match encoded(field, value) {
        Some(number) => Ok(QueryKind::Range {
            field: QueryField::of_terms(field),
            range: NumericRange::only(field.field_type.kind, number),
        }
        .into()),
        None => exact(context, field, &text_of(value)),
    }
}

/// Converts a number to one of a field of whole numbers, as Java's casts do: the time of a date field, in milliseconds
/// since 1970, the address of a field of addresses. `None` for texts and for other fields.
fn encoded(field: &Field, value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    let whole = json::whole(number)?;
    // A fraction is cut to an integer first, a whole number is not.
    let integer = match number.as_f64().filter(|_| number.is_f64()) {
        Some(fraction) => fraction as i32,
        None => whole as i32,
    };
    Some(match field.field_type.kind {
        Kind::Date | Kind::Ip | Kind::Long | Kind::Hash => whole,
        Kind::Integer | Kind::TokenCount => i64::from(integer),
        Kind::Short => i64::from(integer as i16),
        Kind::Byte => i64::from(integer as i8),
        _ => return None,
    })
}

/// Creates the range between two bounds of a field of numbers, as [`bounded`] does.
pub(super) fn number_range(
    field: &Field,
    lower: Option<(&Value, bool)>,
    upper: Option<(&Value, bool)>,
    above: Fill,
    read: impl Fn(&str, Fill) -> Result<i64>,
) -> Result<NumericRange> {
    bounded(
        field.field_type.kind,
        lower,
        upper,
        above,
        |value, fill| match encoded(field, value) {
            Some(number) => Ok(number),
            None => read(&text_of(value), fill),
        },
    )
}

/// Builds the query for documents with these ids. Default of `types`: all.
pub(super) fn ids_of_types(context: &Context<'_>, types: &[String], ids: &[String]) -> Query {
    let types = if types.is_empty() {
        context.type_names().into_iter().map(str::to_owned).collect()
    } else {
        types.to_vec()
    };
    Query::from(QueryKind::Ids {
        types,
        ids: ids.to_vec(),
    })
    .constant()
}

/// Builds the query for the number or the date that a pattern for a field of these is. `None` for other fields.
///
/// # Errors
/// A text that is neither.
pub(super) fn number_term(context: &Context<'_>, field: Option<&Field>, value: &Value) -> Result<Option<Query>> {
    let Some(field) = field.filter(|field| field.field_type.kind.is_numeric()) else {
        return Ok(None);
    };
    let format = &field.field_type.format;
    if field.field_type.kind == Kind::Date && !value.is_number() {
        let text = text_of(value);
        if format.parse(&text, Fill::Floor).is_none() {
            return Err(format.invalid(&text));
        }
    }
    exact_value(context, field, value).map(Some)
}

/// Returns the field of numbers or booleans of which a text is one exact value. `None` for other fields.
///
/// # Errors
/// A text that is no date, for the dates of a type that is not searched: it is analyzed.
pub(super) fn exact_field<'c>(context: &Context<'c>, name: &str, text: &str) -> Result<Option<&'c Field>> {
    let is_exact = |field: &&Field| field.field_type.kind.is_numeric() || field.field_type.kind == Kind::Boolean;
    let field = context.analyzed(name).filter(is_exact);
    if let Some(field) = field.filter(|field| field.field_type.kind == Kind::Date)
        && context.mapped(name).is_none()
    {
        number_term(context, Some(field), &text.into())?;
    }
    Ok(field)
}

/// Builds the query for the documents of a term that the index does not have.
fn listed(field: QueryField, text: String, docs: Query) -> Query {
    let docs = Box::new(docs);
    QueryKind::ListedTerm { field, text, docs }.into()
}

/// Builds a query as [`number_term`] does, but scored as a term.
///
/// # Errors
/// Those of [`number_term`].
pub(super) fn scored_number(context: &Context<'_>, field: Option<&Field>, text: &str) -> Result<Option<Query>> {
    let query = number_term(context, field, &text.into())?;
    Ok(query.map(|query| match &query.kind {
        QueryKind::Range { field, range } => listed(field.clone(), range.term_text(), query.clone()),
        _ => query,
    }))
}

/// Builds the query for the terms of a field, or the ids, that match. `rewrite` is how they count in scores.
pub(super) fn rewritten(context: &Context<'_>, name: &str, matcher: Matcher, rewrite: Option<Rewrite>) -> Query {
    let Some(rewrite) = rewrite else {
        return matching(context, name, matcher);
    };
    id_pattern_query(context, name, &matcher).unwrap_or_else(|| {
        let field = context.field(name);
        QueryKind::ByFrequency(FrequencyQuery::Rewritten {
            field,
            matcher,
            rewrite,
        })
        .into()
    })
}

/// Builds the query for the terms of a field that match a pattern, whose text is first made one of the field's terms.
/// `rewrite` is how they count in scores.
///
/// # Errors
/// Those of [`number_term`] and of `matcher`.
pub(super) fn pattern(
    context: &Context<'_>,
    name: &str,
    value: &Value,
    rewrite: Option<Rewrite>,
    matcher: impl FnOnce(String) -> Result<Matcher>,
) -> Result<Query> {
    match number_term(context, context.mapped(name), value)? {
        Some(query) => Ok(query),
        None => {
            let matcher = matcher(term_text(context, name, text_of(value))?)?;
            Ok(rewritten(context, name, matcher, rewrite))
        }
    }
}

/// Builds the query for the terms of a field with a prefix.
pub(super) fn prefix(context: &Context<'_>, name: &str, value: &Value, rewrite: Option<Rewrite>) -> Result<Query> {
    pattern(context, name, value, rewrite, |text| Ok(Matcher::Prefix(text)))
}

//! Queries for one exact value of a field, or of what every document has: its type, its id, its parent, its index.
//!
//! Source: the `termQuery`, `prefixQuery` and `regexpQuery` of Elasticsearch 1.5's field mappers.

use serde_json::Value;

use crate::dates::Fill;
use crate::error::Result;
use crate::mapping::{Field, Kind};
use crate::query::dsl_parts::{text_for, text_of};
use crate::query::text::{bounded, exact};
use crate::query::{Context, Matcher, NumericRange, Query, QueryField, QueryKind};

/// The query for one exact value.
pub(super) fn term(context: &Context<'_>, name: &str, value: &Value) -> Result<Query> {
    let text = text_of(value);
    match name {
        "_type" => return Ok(context.of_type(&text).constant()),
        "_parent" => return Ok(context.of_parent(&text).constant()),
        "_id" | "_uid" => {
            let id = text.rsplit_once('#').map_or(text.as_str(), |(_, id)| id).to_owned();
            return Ok(ids_of_type(context, &[], &[id]));
        }
        "_index" => {
            let fits = crate::pattern::matches(&text, context.index);
            return Ok(Query::from(if fits { QueryKind::All } else { QueryKind::Nothing }).constant());
        }
        _ => {}
    }
    match context.mapped(name) {
        Some(field) => exact_value(context, field, value),
        None => Ok(QueryKind::Term {
            field: QueryField::unmapped(name),
            text,
        }
        .into()),
    }
}

/// The query for exactly one value of a field: a number is a time of a date field, in milliseconds.
pub(super) fn exact_value(context: &Context<'_>, field: &Field, value: &Value) -> Result<Query> {
    match millis_of(field, value) {
        Some(millis) => Ok(QueryKind::Range {
            field: QueryField::of(field),
            range: NumericRange::only(Kind::Date, millis),
        }
        .into()),
        None => exact(context, field, &text_for(Some(field), value)),
    }
}

/// The time that a number is for a field of dates.
fn millis_of(field: &Field, value: &Value) -> Option<i64> {
    let number = value.as_number().filter(|_| field.field_type.kind == Kind::Date)?;
    number.as_i64().or_else(|| number.as_f64().map(|number| number as i64))
}

/// The range between two bounds of a date field.
pub(super) fn date_range(
    field: &Field,
    lower: Option<(&Value, bool)>,
    upper: Option<(&Value, bool)>,
    read: impl Fn(&str, Fill) -> Result<i64>,
) -> Result<NumericRange> {
    bounded(Kind::Date, lower, upper, |value, fill| match millis_of(field, value) {
        Some(millis) => Ok(millis),
        None => read(&text_of(value), fill),
    })
}

/// The documents with these ids, of these types or of any.
pub(super) fn ids_of_type(context: &Context<'_>, types: &[String], ids: &[String]) -> Query {
    let types = if types.is_empty() {
        context.mapping.type_names().map(str::to_owned).collect()
    } else {
        types.to_vec()
    };
    Query::from(QueryKind::Ids {
        types,
        ids: ids.to_vec(),
    })
    .constant()
}

/// The query for ids that fit. `None` for another field, and for what ids are not searched by.
pub(super) fn of_ids(name: &str, matcher: &Matcher) -> Option<Query> {
    let searched = name == "_id" && matches!(matcher, Matcher::Prefix(_) | Matcher::Regexp(_));
    searched.then(|| Query::from(QueryKind::IdPattern(matcher.clone())).constant())
}

//! Queries for one exact value of a field, or of what every document has: its type, its id, its parent, its index.
//!
//! Source: the `termQuery`, `prefixQuery` and `regexpQuery` of Elasticsearch 1.5's field mappers.

use serde_json::Value;

use crate::error::Result;
use crate::query::dsl_parts::{text_for, text_of};
use crate::query::text::exact;
use crate::query::{Context, Matcher, Query, QueryField, QueryKind};

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
        Some(field) => exact(context, field, &text_for(Some(field), value)),
        None => Ok(QueryKind::Term {
            field: QueryField::unmapped(name),
            text,
        }
        .into()),
    }
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

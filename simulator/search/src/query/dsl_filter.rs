//! Filters of the DSL: queries without scores.
//!
//! Source: the filter parsers of Elasticsearch 1.5.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::{Token, Tokens};
use crate::query::dsl::{clauses, of_indices, unwrap, whole};
use crate::query::dsl_filter_leaf::leaf;
use crate::query::dsl_geo::{geo, geohash_cell};
use crate::query::dsl_parts::parsing_error;
use crate::query::join::{has_child, has_parent, nested};
use crate::query::reader::{CACHING, Form, Refused, Setting, Settings};
use crate::query::{Caching, Context, FilterClass, Query, QueryKind};
use crate::script::Script;

/// Parses a filter, whose first token is the current one. `None`: an empty one. Reads on to its end.
///
/// # Errors
/// A body that is not a filter, or that is nested too deeply.
pub(super) fn parse_filter(outer: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let malformed = |reason: &str| parsing_error(outer, &format!("[_na] filter malformed, {reason}"));
    if !matches!(tokens.current(), Token::Object) && !matches!(tokens.advance(), Token::Object) {
        return Err(malformed("must start with start_object"));
    }
    let name = match tokens.advance() {
        Token::Name(name) => name,
        Token::EndObject | Token::Null => return Ok(None),
        _ => return Err(malformed("no field after start_object")),
    };
    if !matches!(tokens.advance(), Token::Object | Token::Array) {
        return Err(malformed("no field after start_object"));
    }
    let filter = filter(&outer.nested()?, name, tokens)?;
    if matches!(tokens.current(), Token::EndObject | Token::EndArray) {
        tokens.advance();
    }
    Ok(filter)
}

/// Parses the settings of the filter `name`, whose first token is the current one.
fn filter(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let filter = match name {
        "match_all" => {
            while !matches!(tokens.advance(), Token::EndObject | Token::EndArray | Token::End) {}
            QueryKind::All.into()
        }
        "bool" => return boolean(context, tokens),
        "and" | "or" => return list(context, name, tokens),
        "not" => return not(context, tokens),
        "query" => return Ok(context.query_at(tokens)?.map(|query| wrapper(query, Caching::Uncached))),
        "fquery" => return fquery(context, tokens),
        "indices" => return indices(context, tokens),
        "wrapper" => whole(tokens, |object| {
            context.parse_filter(&unwrap(context, object, "filter")?)
        })?,
        "geo_distance" | "geo_distance_range" | "geo_bounding_box" | "geo_bbox" | "geo_polygon" => {
            whole(tokens, |object| {
                let filter = geo(context, name, object)?.filter(FilterClass::Plain, Caching::of(object, false));
                Ok(named(context, object, filter))
            })?
        }
        "geohash_cell" if !matches!(tokens.current(), Token::Object) => {
            return Err(SearchError::parse("geohash_cell must be an object"));
        }
        "geohash_cell" => whole(tokens, |object| {
            Ok(named(context, object, geohash_cell(context, object)?))
        })?,
        "has_child" | "hasChild" => {
            let (children, settings) = has_child(context, tokens, "has_child", "filter")?;
            let children = children.filter(FilterClass::CustomWrapper, Caching::Uncached);
            settings.named(context, children)
        }
        "has_parent" | "hasParent" => {
            let (parents, settings) = has_parent(context, tokens, "filter")?;
            let parents = parents.filter(FilterClass::CustomWrapper, Caching::Uncached);
            settings.named(context, parents)
        }
        "nested" => {
            let (nested, settings) = nested(context, tokens, "filter")?;
            let caching = Caching::of(settings.values(), false);
            let filter = match nested.kind {
                // Without a join, the filter matches the nested objects themselves.
                QueryKind::Nested(nested) if settings.flag("join") == Some(false) => wrapper(nested.query, caching),
                kind => wrapper(kind.into(), caching),
            };
            settings.named(context, filter)
        }
        "script" => {
            let body = tokens.whole().unwrap_or(&Value::Null);
            const SETTINGS: [&str; 4] = ["_name", "_cache", "_cache_key", "_cacheKey"];
            if let Some(key) = Script::unknown(body, &SETTINGS) {
                return Err(parsing_error(
                    context,
                    &format!("[script] filter does not support [{key}]"),
                ));
            }
            let missing = || parsing_error(context, "script must be provided with a [script] filter");
            let script = Script::parse(body)?.ok_or_else(missing)?.mapped(context.mapping)?;
            let empty = Map::new();
            let object = body.as_object().unwrap_or(&empty);
            let script = Query::from(QueryKind::Script(script)).filter(FilterClass::Plain, Caching::of(object, false));
            named(context, object, script)
        }
        other => leaf(context, other, tokens)?
            .ok_or_else(|| parsing_error(context, &format!("No filter registered for [{other}]")))?,
    };
    Ok(Some(filter))
}

/// Records a filter under the name in its settings.
fn named(context: &Context<'_>, object: &Map<String, Value>, filter: Query) -> Query {
    context.name(object.get("_name"), &filter);
    filter
}

fn boolean(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let own = [
        (["must"].as_slice(), Setting::Filters),
        (&["should"], Setting::Filters),
        (&["must_not", "mustNot"], Setting::Filters),
    ];
    let form = Form {
        name: "[bool] filter",
        settings: &[CACHING.as_slice(), &own].concat(),
        refused: &[Refused::Object, Refused::Array, Refused::Value],
    };
    let settings = form.read(context, tokens)?;
    if !["must", "should", "must_not"].iter().any(|key| settings.has(key)) {
        let reason = "[bool] filter has no inner should/must/must_not elements";
        return Err(parsing_error(context, reason));
    }
    let (caching, name) = (settings.caching(false), settings.get("_name").cloned());
    let clauses = clauses(context, settings)?;
    let count = clauses.len();
    if count == 0 {
        return Ok(None);
    }
    let has_optional = clauses.iter().any(|(occur, _)| *occur == crate::query::Occur::Should);
    let boolean = Query::from(QueryKind::Bool {
        clauses,
        // One of the `should` clauses of a filter must match.
        minimum_should_match: usize::from(has_optional),
        coord: true,
    });
    let filter = boolean.fix_negative().filter(FilterClass::Boolean(count), caching);
    context.name(name.as_ref(), &filter);
    Ok(Some(filter))
}

/// Parses `and` and `or`: an array of filters, or an object that has one.
fn list(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let form = Form {
        name: &format!("[{name}] filter"),
        settings: &CACHING,
        refused: &[Refused::Value],
    };
    let (mut filters, mut is_found) = (Vec::new(), false);
    let mut read = |tokens: &mut Tokens<'_>, is_alone: bool| -> Result<bool> {
        if !matches!(tokens.current(), Token::Array) {
            return Ok(false);
        }
        // A list may be empty as a setting, for `or` only as `filters`.
        is_found |= !is_alone && (name == "and" || tokens.name() == Some("filters"));
        while tokens.within_array().is_some() {
            is_found = true;
            filters.extend(context.filter_at(tokens)?);
            context.check_clauses(filters.len())?;
        }
        Ok(true)
    };
    let settings = match read(tokens, true)? {
        true => Settings::default(),
        false => form.read_with(context, tokens, |tokens, _, _| read(tokens, false))?,
    };
    if !is_found {
        let reason = format!("[{name}] filter requires 'filters' to be set on it'");
        return Err(parsing_error(context, &reason));
    }
    if filters.is_empty() {
        return Ok(None);
    }
    let caching = settings.caching(false);
    let filter = match name {
        "and" => Query::every(filters).filter(FilterClass::And, caching),
        _ => Query::any(filters).filter(FilterClass::Or, caching),
    };
    Ok(Some(settings.named(context, filter)))
}

/// Parses `not`. The name of its filter is either `filter` or the kind of the filter.
fn not(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let form = Form {
        name: "[not] filter",
        settings: &CACHING,
        refused: &[Refused::Value],
    };
    let mut negated = None;
    let settings = form.read_with(context, tokens, |tokens, key, _| {
        negated = Some(match (tokens.current(), key) {
            (Token::Object, Some("filter")) => context.filter_at(tokens)?,
            (Token::Object | Token::Array, Some(name)) => filter(&context.nested()?, name, tokens)?,
            _ => return Ok(false),
        });
        Ok(true)
    })?;
    let negated = negated.ok_or_else(|| parsing_error(context, "filter is required when using `not` filter"))?;
    Ok(negated.map(|negated| {
        let filter = Query::not(negated).filter(FilterClass::Not, settings.caching(false));
        settings.named(context, filter)
    }))
}

fn fquery(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let form = Form {
        name: "[fquery] filter",
        settings: &[CACHING.as_slice(), &[(&["query"], Setting::Query)]].concat(),
        refused: &[Refused::Object, Refused::Value],
    };
    let settings = form.read(context, tokens)?;
    let query = settings.parsed("query");
    let query = query.ok_or_else(|| parsing_error(context, "[fquery] requires 'query' element"))?;
    Ok(query.map(|query| {
        let filter = wrapper(query.clone(), settings.caching(false));
        settings.named(context, filter)
    }))
}

/// Wraps a query in a filter. Parent and child queries run on a whole shard, in another wrapper class.
fn wrapper(query: Query, caching: Caching) -> Query {
    match query.kind {
        QueryKind::Related(_) => query.filter(FilterClass::CustomWrapper, caching),
        _ => query.filter(FilterClass::Wrapper, caching),
    }
}

/// Parses `indices`: one filter for the named indices, another one for the others.
fn indices(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let form = Form {
        name: "[indices] filter",
        settings: &[
            (&["indices"], Setting::List),
            (&["index"], Setting::Scalar),
            (&["_name"], Setting::Scalar),
        ],
        refused: &[Refused::Object, Refused::Array, Refused::Value],
    };
    of_indices(context, tokens, &form, "filter")
}

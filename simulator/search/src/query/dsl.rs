//! Query DSL of request bodies: compound queries.
//!
//! Guarantees: every body is parsed to a query or an error; nesting depth and number of clauses are bounded.
//!
//! Source: the query parsers of Elasticsearch 1.5.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::{self, Token, Tokens};
use crate::mustache::Template;
use crate::query::dsl_function::function_score;
use crate::query::dsl_leaf::leaf;
use crate::query::dsl_parts::{parsing_error, with_boost, with_minimum};
use crate::query::dsl_similar::similar;
use crate::query::dsl_span::span;
use crate::query::join::{has_child, has_parent, nested};
use crate::query::reader::{Form, Refused, Setting, Settings};
use crate::query::{Context, Occur, Query, QueryKind};

/// Parses a query, whose first token is the current one. `None`: a query without content. Reads on to its end.
///
/// # Errors
/// A body that is not a query, or that is nested too deeply.
pub(super) fn parse_query(outer: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let context = &outer.nested()?;
    let malformed = |reason: &str| parsing_error(context, &format!("[_na] query malformed, {reason}"));
    if !matches!(tokens.current(), Token::Object) && !matches!(tokens.advance(), Token::Object) {
        return Err(malformed("must start with start_object"));
    }
    let Token::Name(name) = tokens.advance() else {
        return Err(malformed("no field after start_object"));
    };
    if !matches!(tokens.advance(), Token::Object | Token::Array) {
        return Err(malformed("no field after start_object"));
    }
    let query = query(context, name, tokens)?;
    if matches!(tokens.current(), Token::EndObject | Token::EndArray) {
        tokens.advance();
    }
    Ok(query)
}

/// Parses the settings of the query `name`, whose first token is the current one.
fn query(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let query = match name {
        "match_all" => match_all(context, tokens)?,
        "bool" => boolean(context, tokens)?,
        "filtered" => filtered(context, tokens)?,
        "constant_score" => return constant_score(context, tokens),
        "dis_max" | "disMax" => return dis_max(context, tokens),
        "boosting" => boosting(context, tokens)?,
        "indices" => return indices(context, tokens),
        "nested" => named(context, nested(context, tokens, "query")?),
        "has_child" | "hasChild" => named(context, has_child(context, tokens, "has_child", "query")?),
        "top_children" | "topChildren" => named(context, has_child(context, tokens, "top_children", "query")?),
        "has_parent" | "hasParent" => named(context, has_parent(context, tokens, "query")?),
        "function_score" | "functionScore" => function_score(context, tokens)?,
        "wrapper" => whole(tokens, |object| context.parse_query(&unwrap(context, object, "query")?))?,
        "template" => whole(tokens, |object| context.parse_query(&templated(context, object)?))?,
        _ => match span(context, name, tokens)? {
            Some(query) => query,
            None => match similar(context, name, tokens)? {
                Some(query) => query,
                None => leaf(context, name, tokens)?,
            },
        },
    };
    Ok(Some(query))
}

/// Records a query under the name in its settings.
fn named(context: &Context<'_>, (query, settings): (Query, Settings)) -> Query {
    settings.named(context, query)
}

/// Parses the settings of a query as a whole.
pub(super) fn whole<T>(tokens: &mut Tokens<'_>, parse: impl FnOnce(&Map<String, Value>) -> Result<T>) -> Result<T> {
    match tokens.whole().and_then(Value::as_object) {
        Some(object) => parse(object),
        None => parse(&Map::new()),
    }
}

fn match_all(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[match_all] query",
        settings: &[(&["boost"], Setting::Float)],
        refused: &[Refused::Value],
    };
    let settings = form.read_to_any_end(context, tokens)?;
    Ok(match settings.boost() {
        1.0 => QueryKind::All.into(),
        boost => Query::from(QueryKind::AllDocs).boosted(boost),
    })
}

fn filtered(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[filtered] query",
        settings: &[
            (&["query"], Setting::Query),
            (&["filter"], Setting::Filter),
            (&["boost"], Setting::Float),
            (&["_cache"], Setting::Flag),
            (&["strategy"], Setting::Scalar),
            (&["_name"], Setting::Scalar),
            (&["_cache_key", "_cacheKey"], Setting::Scalar),
        ],
        refused: &[Refused::Object, Refused::Value],
    };
    let settings = form.read(context, tokens)?;
    if let Some(strategy) = settings.text("strategy").filter(|strategy| !is_strategy(strategy)) {
        let reason = format!("[filtered] strategy value not supported [{strategy}]");
        return Err(parsing_error(context, &reason));
    }
    let Some(query) = settings
        .parsed("query")
        .map_or_else(|| Some(QueryKind::All.into()), |query| query.cloned())
    else {
        return Ok(QueryKind::Nothing.into());
    };
    let boost = settings.boost();
    let filter = settings.parsed("filter").flatten().cloned();
    Ok(match filter.map(|filter| filter.cached_if(settings.values())) {
        // A filter that matches all documents is omitted.
        None => query,
        Some(filter) if filter.kind == QueryKind::All => query,
        // All documents that match the filter have the same score.
        Some(filter) if query.kind == QueryKind::All => filter.constant().boosted(query.boost * boost),
        Some(filter) => settings.named(context, with_boost(query.filtered(filter), boost)),
    })
}

/// Returns whether a text names a way to run a filtered query. It has no effect on what the query matches.
fn is_strategy(text: &str) -> bool {
    const KNOWN: [&str; 9] = [
        "query_first",
        "queryFirst",
        "random_access_always",
        "randomAccessAlways",
        "leap_frog",
        "leapFrog",
        "leap_frog_query_first",
        "leapFrogQueryFirst",
        "leap_frog_filter_first",
    ];
    let threshold = text
        .strip_prefix("random_access_")
        .or(text.strip_prefix("randomAccess"));
    KNOWN.contains(&text) || threshold.is_some_and(|threshold| threshold.parse::<i32>().is_ok())
}

fn constant_score(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let form = Form {
        name: "[constant_score] query",
        settings: &[
            (&["query"], Setting::Query),
            (&["filter"], Setting::Filter),
            (&["boost"], Setting::Float),
            (&["_cache"], Setting::Flag),
            (&["_cache_key", "_cacheKey"], Setting::Scalar),
        ],
        refused: &[Refused::Object, Refused::Value],
    };
    let settings = form.read(context, tokens)?;
    let inner = match (settings.parsed("filter"), settings.parsed("query")) {
        (None, None) => {
            let reason = "[constant_score] requires either 'filter' or 'query' element";
            return Err(parsing_error(context, reason));
        }
        (Some(Some(filter)), _) => filter.clone().cached_if(settings.values()),
        // As a query, all documents are a constant-score query, too.
        (_, Some(Some(query))) if query.kind == QueryKind::All => query.clone().constant(),
        (_, Some(Some(query))) => query.clone(),
        _ => return Ok(None),
    };
    Ok(Some(inner.constant().boosted(settings.boost())))
}

fn dis_max(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let form = Form::of_any(
        "[dis_max] query",
        &[
            (&["queries"], Setting::Query),
            (&["boost"], Setting::Float),
            (&["tie_breaker", "tieBreaker"], Setting::Float),
            (&["_name"], Setting::Scalar),
        ],
    );
    let settings = form.read_with(context, tokens, |tokens, key, settings| {
        match (tokens.current(), key) {
            (Token::Array, Some("queries")) => {}
            (Token::Array | Token::Object, key) if key != Some("queries") => {
                return Err(parsing_error(context, &form.unsupported(key)));
            }
            _ => return Ok(false),
        }
        // The first item is one, even of an empty list.
        while !matches!(tokens.current(), Token::EndArray | Token::End) {
            settings.add_parsed("queries", context.query_at(tokens)?);
            context.check_clauses(settings.parsed_count())?;
            tokens.advance();
        }
        Ok(true)
    })?;
    if settings.parsed("queries").is_none() {
        return Err(parsing_error(context, "[dis_max] requires 'queries' field"));
    }
    let (tie, boost) = (settings.float("tie_breaker").unwrap_or(0.0), settings.boost());
    let name = settings.get("_name").cloned();
    let queries: Vec<Query> = settings.into_parsed().map(|(_, query)| query).collect();
    if queries.is_empty() {
        return Ok(None);
    }
    let query = Query::from(QueryKind::DisjunctionMax { queries, tie }).boosted(boost);
    context.name(name.as_ref(), &query);
    Ok(Some(query))
}

fn boosting(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[boosting] query",
        settings: &[
            (&["positive"], Setting::Query),
            (&["negative"], Setting::Query),
            (&["negative_boost", "negativeBoost"], Setting::Float),
            (&["boost"], Setting::Float),
        ],
        refused: &[Refused::Object, Refused::Value],
    };
    let settings = form.read(context, tokens)?;
    let part = |key: &str| match settings.parsed(key) {
        Some(query) => Ok(query.cloned().unwrap_or_else(|| QueryKind::Nothing.into())),
        None => {
            let reason = format!("[boosting] query requires '{key}' query to be set'");
            Err(parsing_error(context, &reason))
        }
    };
    let (positive, negative) = (part("positive")?, part("negative")?);
    let factor = settings.float("negative_boost").filter(|factor| *factor != -1.0);
    Ok(Query::from(QueryKind::Boosting {
        positive: Box::new(positive),
        // It has no score.
        negative: Box::new(negative.boosted(0.0)),
        is_rewritten: false,
        factor: factor
            .ok_or_else(|| parsing_error(context, "[boosting] query requires 'negative_boost' to be set'"))?,
    })
    .boosted(settings.boost()))
}

/// Renders the query of a `template`.
fn templated(context: &Context<'_>, object: &Map<String, Value>) -> Result<Value> {
    let rendered = Template::of_query(object)
        .ok_or_else(SearchError::null_pointer)?
        .render()?;
    let query = json::rendered_object(&rendered).map_err(|error| context.unparsed(error))?;
    let query = Value::Object(query);
    if let Some(budget) = context.budget {
        budget.check_time()?;
        budget.query(&query)?;
    }
    Ok(query)
}

/// Decodes the body of a `wrapper`, which is base64. `kind` is `query` or `filter`.
pub(super) fn unwrap(context: &Context<'_>, object: &Map<String, Value>, kind: &str) -> Result<Value> {
    let malformed = || parsing_error(context, &format!("[wrapper] {kind} malformed"));
    let (_, value) = object
        .iter()
        .next()
        .filter(|(name, _)| *name == kind)
        .ok_or_else(malformed)?;
    let bytes = json::binary(value, json::PART).map_err(|error| context.unparsed(error))?;
    json::object(&bytes).map(Value::Object)
}

/// Parses `indices`: one query for the named indices, another one for the others.
fn indices(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    let form = Form {
        name: "[indices] query",
        settings: &[
            (&["indices"], Setting::List),
            (&["index"], Setting::Scalar),
            (&["_name"], Setting::Scalar),
        ],
        refused: &[Refused::Object, Refused::Array, Refused::Value],
    };
    of_indices(context, tokens, &form, "query")
}

/// Parses `indices` as a query or filter.
pub(super) fn of_indices(
    context: &Context<'_>,
    tokens: &mut Tokens<'_>,
    form: &Form<'_>,
    kind: &str,
) -> Result<Option<Query>> {
    let no_match = format!("no_match_{kind}");
    let (mut inner, mut otherwise) = (None, None);
    let settings = form.read_with(context, tokens, |tokens, name, _| {
        match (tokens.current(), name) {
            (Token::Object, Some(name)) if name == kind => inner = tokens.whole(),
            (Token::Object | Token::Value(_), Some(name)) if name == no_match => otherwise = tokens.whole(),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let names = settings
        .get("indices")
        .or(settings.get("index"))
        .map(crate::find::names);
    let inner = inner.ok_or_else(|| parsing_error(context, &format!("[indices] requires '{kind}' element")))?;
    let names = names.ok_or_else(|| parsing_error(context, "[indices] requires 'indices' or 'index' element"))?;
    // Only the one for this index is parsed.
    let chosen = match context.documents.is_none_or(|all| all.includes(&names, context.index)) {
        true => Some(inner),
        false => otherwise,
    };
    // Within it, all types are searched.
    let context_within = Context { types: &[], ..*context };
    let query = match chosen {
        Some(body @ Value::Object(_)) if kind == "query" => context_within.query_at(&mut Tokens::new(body))?,
        Some(body @ Value::Object(_)) => context_within.filter_at(&mut Tokens::new(body))?,
        Some(word) if word == "none" => Some(QueryKind::Nothing.into()),
        _ => Some(QueryKind::All.into()),
    };
    Ok(query.map(|query| settings.named(context, query)))
}

fn boolean(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[bool] query",
        settings: &[
            (&["must"], Setting::Queries),
            (&["should"], Setting::Queries),
            (&["must_not", "mustNot"], Setting::Queries),
            (&["disable_coord", "disableCoord"], Setting::Flag),
            (
                &[
                    "minimum_should_match",
                    "minimumShouldMatch",
                    "minimum_number_should_match",
                ],
                Setting::Scalar,
            ),
            (&["boost"], Setting::Float),
            (&["adjust_pure_negative", "adjustPureNegative"], Setting::Flag),
            (&["_name"], Setting::Scalar),
        ],
        refused: &[Refused::Object, Refused::Value],
    };
    let settings = form.read_with(context, tokens, |tokens, name, _| match tokens.current() {
        // Elasticsearch has another text for arrays.
        Token::Array if !matches!(name, Some("must" | "should" | "must_not" | "mustNot")) => {
            let reason = format!("bool query does not support [{}]", name.unwrap_or("null"));
            Err(parsing_error(context, &reason))
        }
        _ => Ok(false),
    })?;
    let wanted = settings.get("minimum_should_match").cloned();
    let (boost, coord) = (settings.boost(), !settings.flag("disable_coord").unwrap_or(false));
    let adjusts_negative = settings.flag("adjust_pure_negative").unwrap_or(true);
    let named = settings.get("_name").cloned();
    let clauses = clauses(context, settings)?;
    if clauses.is_empty() {
        return Ok(QueryKind::AllDocs.into());
    }
    let query = Query::from(QueryKind::Bool {
        clauses,
        minimum_should_match: 0,
        coord,
    });
    let mut query = with_minimum(query, wanted.as_ref())?.boosted(boost);
    if adjusts_negative {
        query = query.fix_negative();
    }
    context.name(named.as_ref(), &query);
    Ok(query)
}

/// The clauses of a boolean query or filter.
pub(super) fn clauses(context: &Context<'_>, settings: Settings) -> Result<Vec<(Occur, Query)>> {
    let clauses = settings.into_parsed().map(|(key, query)| {
        let occur = match key {
            "must" => Occur::Must,
            "should" => Occur::Should,
            _ => Occur::MustNot,
        };
        (occur, query)
    });
    let clauses: Vec<_> = clauses.collect();
    context.check_clauses(clauses.len())?;
    Ok(clauses)
}

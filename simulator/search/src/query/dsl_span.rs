//! Span queries of the DSL.
//!
//! Source: the span query parsers of Elasticsearch 1.5.

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::text_of;
use crate::json::{Token, Tokens};
use crate::query::dsl_parts::parsing_error;
use crate::query::field_reader::settings_after;
use crate::query::reader::{Form, Refused, Setting, Settings, plain_text};
use crate::query::text::term_text;
use crate::query::value::number_term;
use crate::query::{Context, Query, QueryKind, SpanQuery};

const BOOST: (&[&str], Setting) = (&["boost"], Setting::Float);
const NAME: (&[&str], Setting) = (&["_name"], Setting::Nullable);
const ALL: &[Refused] = &[
    Refused::Object,
    Refused::Array,
    Refused::Value,
    Refused::Null,
    Refused::End,
];

/// Parses a span query. Returns `None` if `name` is not one.
pub(super) fn span(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    Ok(Some(match name {
        "span_term" | "spanTerm" => term(context, tokens)?,
        "span_or" | "spanOr" => or(context, tokens)?,
        "span_near" | "spanNear" => near(context, tokens)?,
        "span_first" | "spanFirst" => first(context, tokens)?,
        "span_not" | "spanNot" => not(context, tokens)?,
        "span_multi" | "spanMulti" => multi(context, tokens)?,
        "field_masking_span" | "fieldMaskingSpan" => masked(context, tokens)?,
        _ => return Ok(None),
    }))
}

/// Builds a span query with the boost and the name of its settings.
fn built(context: &Context<'_>, settings: &Settings, span: SpanQuery) -> Query {
    let query = Query::from(QueryKind::Span(span)).boosted(settings.boost());
    settings.named(context, query)
}

/// Converts a query within a span query.
fn inner(query: Option<&Query>, error: impl FnOnce() -> SearchError) -> Result<SpanQuery> {
    match query {
        Some(Query {
            kind: QueryKind::Span(span),
            boost,
        }) => Ok(match *boost {
            1.0 => span.clone(),
            boost => SpanQuery::Boosted(Box::new(span.clone()), boost),
        }),
        _ => Err(error()),
    }
}

/// Returns the span query of a setting. `name` is that of the outer query in errors.
fn part(context: &Context<'_>, settings: &Settings, name: &str, key: &str, what: &str) -> Result<Box<SpanQuery>> {
    let missing = || parsing_error(context, &format!("{name} must have [{key}] span query clause"));
    let found = settings.parsed(key).ok_or_else(missing)?;
    let other = || parsing_error(context, &format!("{name} [{what}] must be of type span query"));
    inner(found, other).map(Box::new)
}

/// Checks that span queries to be combined have the same field, as Lucene does.
fn check_field<'a>(clauses: impl IntoIterator<Item = &'a SpanQuery>) -> Result<()> {
    let mut names = clauses
        .into_iter()
        .filter_map(SpanQuery::field)
        .map(|field| &field.name);
    let first = names.next();
    match names.all(|name| Some(name) == first) {
        true => Ok(()),
        false => Err(SearchError::new(
            500,
            Exception::IllegalArgument,
            "Clauses must have same field.",
        )),
    }
}

fn term(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form::of_any(
        "[span_term] query",
        &[(&["value", "term"], Setting::Nullable), BOOST, NAME],
    );
    // The name before the first token is the field, whatever the token is.
    if matches!(tokens.current(), Token::Object) {
        tokens.advance();
    }
    let field = tokens.name().unwrap_or("null");
    let settings = settings_after(context, tokens, &form, plain_text)?;
    // Elasticsearch takes it for a `term` query here.
    let missing = || parsing_error(context, "No value specified for term query");
    let text = settings.get("value").map(text_of).ok_or_else(missing)?;
    // A field of numbers refuses a text that is none.
    number_term(context, context.mapped(field), &text.as_str().into())?;
    let span = SpanQuery::Term {
        field: context.field(field),
        text: term_text(context, field, text)?,
    };
    Ok(built(context, &settings, span))
}

/// Reads the settings of a query that has `clauses`, and these.
fn with_clauses(
    context: &Context<'_>,
    tokens: &mut Tokens<'_>,
    form: &Form<'_>,
    name: &str,
) -> Result<(Settings, Vec<SpanQuery>)> {
    let mut clauses = Vec::new();
    let settings = form.read_with(context, tokens, |tokens, key, _| {
        if !matches!((tokens.current(), key), (Token::Array, Some("clauses"))) {
            return Ok(false);
        }
        while tokens.within_array().is_some() {
            let query = context.query_at(tokens)?;
            let other = || parsing_error(context, &format!("{name} [clauses] must be of type span query"));
            clauses.push(inner(query.as_ref(), other)?);
            context.check_clauses(clauses.len())?;
        }
        Ok(true)
    })?;
    Ok((settings, clauses))
}

fn or(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[span_or] query",
        settings: &[BOOST, NAME],
        refused: ALL,
    };
    let (settings, clauses) = with_clauses(context, tokens, &form, "spanOr")?;
    if clauses.is_empty() {
        return Err(parsing_error(context, "spanOr must include [clauses]"));
    }
    check_field(&clauses)?;
    Ok(built(context, &settings, SpanQuery::Or(clauses)))
}

fn near(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[span_near] query",
        settings: &[
            (&["in_order", "inOrder"], Setting::Flag),
            (&["collect_payloads", "collectPayloads"], Setting::Flag),
            (&["slop"], Setting::Int),
            BOOST,
            NAME,
        ],
        refused: ALL,
    };
    let (settings, clauses) = with_clauses(context, tokens, &form, "spanNear")?;
    if clauses.is_empty() {
        return Err(parsing_error(context, "span_near must include [clauses]"));
    }
    let slop = settings
        .int("slop")
        .ok_or_else(|| parsing_error(context, "span_near must include [slop]"))?;
    check_field(&clauses)?;
    let span = SpanQuery::Near {
        clauses,
        slop,
        in_order: settings.flag("in_order").unwrap_or(true),
    };
    Ok(built(context, &settings, span))
}

fn first(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form::of_any(
        "[span_first] query",
        &[(&["match"], Setting::Query), (&["end"], Setting::Int), BOOST, NAME],
    );
    let settings = form.read(context, tokens)?;
    let inner = part(context, &settings, "spanFirst", "match", "match")?;
    let end = settings.int("end").filter(|end| *end != -1);
    let end = end.ok_or_else(|| parsing_error(context, "spanFirst must have [end] set for it"))?;
    let span = SpanQuery::First {
        inner,
        end: u32::try_from(end).unwrap_or(0),
    };
    Ok(built(context, &settings, span))
}

fn not(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form::of_any(
        "[span_not] query",
        &[
            (&["include"], Setting::Query),
            (&["exclude"], Setting::Query),
            (&["dist"], Setting::Int),
            (&["pre"], Setting::Int),
            (&["post"], Setting::Int),
            BOOST,
            NAME,
        ],
    );
    let settings = form.read(context, tokens)?;
    let include = part(context, &settings, "spanNot", "include", "include")?;
    let exclude = part(context, &settings, "spanNot", "exclude", "exclude")?;
    let both = settings.int("dist");
    if both.is_some() && (settings.int("pre").is_some() || settings.int("post").is_some()) {
        let reason = "spanNot can either use [dist] or [pre] & [post] (or none)";
        return Err(parsing_error(context, reason));
    }
    check_field([&*include, &*exclude])?;
    let around = |key: &str| u32::try_from(settings.int(key).or(both).unwrap_or(0)).unwrap_or(0);
    let span = SpanQuery::Not {
        include,
        exclude,
        before: around("pre"),
        after: around("post"),
    };
    Ok(built(context, &settings, span))
}

/// Parses `span_multi`, whose only setting is its query.
fn multi(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let malformed = |what: &str| parsing_error(context, &format!("spanMultiTerm {what}"));
    let no_match = || malformed("must have [match] multi term query clause");
    if !matches!(tokens.advance(), Token::Name("match")) || !matches!(tokens.advance(), Token::Object) {
        return Err(no_match());
    }
    let found = context.query_at(tokens)?;
    // The end of the setting.
    tokens.advance();
    match found {
        Some(Query {
            kind: QueryKind::MultiTerm { field, matcher },
            boost,
        }) => Ok(QueryKind::Span(SpanQuery::MultiTerm { field, matcher, boost }).into()),
        _ => Err(malformed("[match] must be of type multi term query")),
    }
}

fn masked(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[field_masking_span] query",
        settings: &[(&["query"], Setting::Query), (&["field"], Setting::Scalar), BOOST, NAME],
        refused: ALL,
    };
    let settings = form.read(context, tokens)?;
    let inner = part(context, &settings, "field_masking_span", "query", "query")?;
    let field = settings.get("field").map(text_of);
    let field = field.ok_or_else(|| parsing_error(context, "field_masking_span must have [field] set for it"))?;
    let span = SpanQuery::Masked {
        inner,
        field: context.field(&field),
    };
    Ok(built(context, &settings, span))
}

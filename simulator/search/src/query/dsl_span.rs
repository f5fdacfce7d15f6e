//! Span queries of the DSL.

use serde_json::{Map, Value};

use crate::error::Result;
use crate::query::dsl_leaf::{multi_term, one_field, value_and_boost};
use crate::query::dsl_parts::{boost_of, number, parsing_error, text_of, unsupported};
use crate::query::{Context, Query, QueryKind, SpanQuery};

/// Parses a span query. Returns `None` if `name` is not one.
pub(super) fn span(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> Result<Option<Query>> {
    let boost = own_boost(name, object);
    Ok(parse(context, name, object)?.map(|span| Query::from(QueryKind::Span(span)).boosted(boost)))
}

/// Boost of a span query.
fn own_boost(name: &str, object: &Map<String, Value>) -> f32 {
    match name {
        "span_term" | "spanTerm" => {
            let settings = object.values().next();
            settings.map_or(1.0, |settings| number(settings.get("boost")).unwrap_or(1.0))
        }
        "span_multi" | "spanMulti" => 1.0,
        _ => boost_of(object),
    }
}

/// Parses a span query within another one.
fn inner(context: &Context<'_>, value: &Value, outer: &str) -> Result<SpanQuery> {
    let context = &context.nested()?;
    let (name, settings) = value
        .as_object()
        .and_then(|object| object.iter().next())
        .and_then(|(name, settings)| Some((name, settings.as_object()?)))
        .ok_or_else(|| parsing_error(context, &format!("{outer} [clauses] must be of type span query")))?;
    let span = parse(context, name, settings)?
        .ok_or_else(|| parsing_error(context, &format!("{outer} [clauses] must be of type span query")))?;
    Ok(match own_boost(name, settings) {
        1.0 => span,
        boost => SpanQuery::Boosted(Box::new(span), boost),
    })
}

fn parse(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> Result<Option<SpanQuery>> {
    let part = |key: &str, name: &str| {
        object
            .get(key)
            .ok_or_else(|| parsing_error(context, &format!("{name} must have [{key}] span query clause")))
            .and_then(|value| inner(context, value, name))
    };
    let clauses = |name: &str| -> Result<Vec<SpanQuery>> {
        let list = object
            .get("clauses")
            .and_then(Value::as_array)
            .filter(|list| !list.is_empty())
            .ok_or_else(|| parsing_error(context, &format!("{name} must include [clauses]")))?;
        list.iter().map(|clause| inner(context, clause, name)).collect()
    };
    let whole = |key: &str| object.get(key).and_then(Value::as_i64);
    Ok(Some(match name {
        "span_term" | "spanTerm" => {
            let body = Value::Object(object.clone());
            let (field, settings) = one_field(context, "span_term", &body)?;
            let (value, _) = value_and_boost(context, "span_term", settings, &["value", "term"])?;
            SpanQuery::Term {
                field: context.field(field),
                text: text_of(&value),
            }
        }
        "span_or" | "spanOr" => {
            if let Some(key) = object
                .keys()
                .find(|key| !matches!(key.as_str(), "clauses" | "boost" | "_name"))
            {
                return Err(unsupported(context, "span_or", key));
            }
            SpanQuery::Or(clauses("spanOr")?)
        }
        "span_near" | "spanNear" => SpanQuery::Near {
            clauses: clauses("span_near")?,
            slop: whole("slop").ok_or_else(|| parsing_error(context, "span_near must include [slop]"))?,
            in_order: ["in_order", "inOrder"]
                .iter()
                .find_map(|key| object.get(*key))
                .is_none_or(crate::mapping::truth),
        },
        "span_first" | "spanFirst" => SpanQuery::First {
            inner: Box::new(part("match", "spanFirst")?),
            end: whole("end")
                .and_then(|end| u32::try_from(end).ok())
                .ok_or_else(|| parsing_error(context, "spanFirst must have [end] set for it"))?,
        },
        "span_not" | "spanNot" => {
            let both = whole("dist");
            if both.is_some() && (whole("pre").is_some() || whole("post").is_some()) {
                let reason = "spanNot can either use [dist] or [pre] & [post] (or none)";
                return Err(parsing_error(context, reason));
            }
            let around = |key: &str| {
                whole(key)
                    .or(both)
                    .and_then(|distance| u32::try_from(distance).ok())
                    .unwrap_or(0)
            };
            SpanQuery::Not {
                include: Box::new(part("include", "spanNot")?),
                exclude: Box::new(part("exclude", "spanNot")?),
                before: around("pre"),
                after: around("post"),
            }
        }
        "span_multi" | "spanMulti" => {
            let (kind, settings) = object
                .get("match")
                .and_then(Value::as_object)
                .and_then(|wrapped| wrapped.iter().next())
                .ok_or_else(|| parsing_error(context, "spanMultiTerm must have [match] multi term query clause"))?;
            match multi_term(context, kind, settings)? {
                Some(Query {
                    kind: QueryKind::MultiTerm { field, matcher },
                    boost,
                }) => SpanQuery::MultiTerm { field, matcher, boost },
                _ => {
                    return Err(parsing_error(
                        context,
                        "spanMultiTerm [match] must be of type multi term query",
                    ));
                }
            }
        }
        "field_masking_span" | "fieldMaskingSpan" => {
            let field = object.get("field").map(text_of);
            let field =
                field.ok_or_else(|| parsing_error(context, "field_masking_span must have [field] set for it"))?;
            SpanQuery::Masked {
                inner: Box::new(part("query", "field_masking_span")?),
                field: context.field(&field),
            }
        }
        _ => return Ok(None),
    }))
}

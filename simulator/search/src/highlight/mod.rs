//! Highlighting: marks the matches of a query in a document with tags.
//!
//! Guarantees: a field without a match has no fragments, unless `no_match_size` is set.
//!
//! Source: Elasticsearch 1.5's plain, fast vector and postings highlighters.

mod clause;
mod plain;
mod postings;
mod settings;
mod token;
mod vector;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::budget::Budget;
use crate::error::{Result, SearchError};
use crate::find::{extract, names};
use crate::highlight::clause::{Clause, ClauseKind, clauses};
use crate::highlight::settings::{Settings, setting};
use crate::index::View;
use crate::mapping::{Field, Kind, truth};
use crate::query::{Context, Query, parse_body};
use crate::score::Rewriter;

/// Input of the highlighting of a document.
pub(crate) struct Highlighting<'a> {
    /// The shard, whose terms replace the patterns of a query.
    pub(crate) view: &'a View,
    pub(crate) budget: &'a Budget,
    /// `highlight` element of the request.
    pub(crate) wanted: &'a Value,
    pub(crate) query: &'a Query,
    pub(crate) context: &'a Context<'a>,
    pub(crate) source: &'a Value,
    /// Path of the nested object whose source is highlighted.
    pub(crate) nested_path: Option<&'a str>,
    /// Whether the type stores `_source`.
    pub(crate) has_source: bool,
}

/// A highlighter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Highlighter {
    Plain,
    Vector,
    Postings,
}

impl Highlighter {
    /// Returns the highlighter with a name. Default: the best one for the field.
    fn of(name: Option<&str>, field: &Field) -> Result<Highlighter> {
        match name {
            Some("plain" | "highlighter") => Ok(Highlighter::Plain),
            Some("fvh" | "fast-vector-highlighter") => Ok(Highlighter::Vector),
            Some("postings" | "postings-highlighter") => Ok(Highlighter::Postings),
            None if field.field_type.has_offsets_in_vectors() => Ok(Highlighter::Vector),
            None if field.field_type.has_offsets_in_postings() => Ok(Highlighter::Postings),
            None => Ok(Highlighter::Plain),
            Some(other) => {
                let reason = format!("unknown highlighter type [{other}] for the field [{}]", field.name);
                Err(SearchError::illegal(reason))
            }
        }
    }

    /// Returns the reason why the highlighter cannot highlight a field, if it cannot.
    fn unsupported_reason(self, field: &Field) -> Option<String> {
        let name = &field.name;
        match self {
            Highlighter::Vector if !field.field_type.has_offsets_in_vectors() => Some(format!(
                "the field [{name}] should be indexed with term vector with position offsets \
                 to be used with fast vector highlighter"
            )),
            Highlighter::Postings if !field.field_type.has_offsets_in_postings() => Some(format!(
                "the field [{name}] should be indexed with positions and offsets in the postings list \
                 to be used with postings highlighter"
            )),
            _ => None,
        }
    }
}

/// Returns the highlighted fields of a request, with their settings.
fn wanted_fields(wanted: &Value) -> Vec<(&String, &Value)> {
    match wanted.get("fields") {
        Some(Value::Object(fields)) => fields.iter().collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_object).flatten().collect(),
        _ => vec![],
    }
}

/// Checks the settings that do not depend on a document.
///
/// # Errors
/// A numeric setting whose value is not a number.
pub(crate) fn check(wanted: &Value) -> Result<()> {
    let own = wanted_fields(wanted).into_iter().map(|(_, own)| own);
    std::iter::once(wanted).chain(own).try_for_each(settings::check)
}

/// Checks the queries of the settings for an index.
///
/// # Errors
/// A query that the index cannot parse.
pub(crate) fn check_queries(wanted: Option<&Value>, context: &Context<'_>) -> Result<()> {
    let own = wanted.map(wanted_fields).into_iter().flatten().map(|(_, own)| own);
    let mut queries = wanted
        .into_iter()
        .chain(own)
        .filter_map(|settings| setting(settings, "highlight_query"));
    queries.try_for_each(|query| parse_body(context, query).map(drop))
}

/// Highlights a document. Returns the fragments by field.
///
/// # Errors
/// An unknown highlighter, one that cannot highlight the field, or a query that cannot be parsed.
pub(crate) fn highlight(highlighting: &Highlighting<'_>) -> Result<Map<String, Value>> {
    let Highlighting { wanted, context, .. } = *highlighting;
    let mapping = context.mapping;
    let mut found = Map::new();
    for (pattern, own) in wanted_fields(wanted) {
        let get = |key: &str| setting(own, key).or_else(|| setting(wanted, key));
        let settings = Settings::parse(wanted, own);
        let own_query;
        let query = match get("highlight_query") {
            Some(body) => {
                own_query = parse_body(context, body)?;
                &own_query
            }
            None => highlighting.query,
        };
        let is_pattern = pattern.contains('*');
        let listed = if is_pattern {
            mapping.field_names(pattern)
        } else {
            names(&json!([pattern]))
        };
        if get("force_source").is_some_and(truth) && !highlighting.has_source {
            let reason = format!("source is forced for fields {listed:?} but type has disabled _source");
            return Err(SearchError::illegal(reason.replace('"', "")));
        }
        for name in listed {
            let Some(field) = mapping.field(&name) else {
                continue;
            };
            if is_pattern && field.field_type.kind != Kind::String {
                continue;
            }
            let highlighter = Highlighter::of(get("type").and_then(Value::as_str), field)?;
            match highlighter.unsupported_reason(field) {
                Some(_) if is_pattern => continue,
                Some(reason) => return Err(SearchError::illegal(reason)),
                None => {}
            }
            let texts = of_field(highlighting, highlighter, (&name, field), query, &settings)?;
            if !texts.is_empty() {
                found.insert(name, json!(texts));
            }
        }
    }
    Ok(found)
}

/// Wraps the failure to highlight a field.
fn failed(name: &str, error: SearchError) -> SearchError {
    SearchError::new(
        500,
        "FetchPhaseExecutionException",
        format!("Failed to highlight field [{name}]"),
    )
    .caused_by(error)
}

fn of_field(
    highlighting: &Highlighting<'_>,
    highlighter: Highlighter,
    (name, field): (&str, &Field),
    query: &Query,
    settings: &Settings,
) -> Result<Vec<String>> {
    let prefix = highlighting.nested_path.map(|path| format!("{path}."));
    let path = prefix
        .as_ref()
        .and_then(|prefix| name.strip_prefix(prefix.as_str()))
        .unwrap_or(name);
    let mut values = extract(highlighting.source, path);
    // A multi-field has the text of its parent field.
    if values.is_empty()
        && let Some((parent, _)) = path.rsplit_once('.')
        && highlighting.context.mapping.exact_field(parent).is_some()
    {
        values = extract(highlighting.source, parent);
    }
    let values: Vec<String> = values
        .into_iter()
        .filter(|value| !value.is_null() && !value.is_object())
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .collect();
    // The plain highlighter rewrites the query with the terms of the text alone.
    let rewriter = Rewriter {
        view: highlighting.view,
        budget: highlighting.budget,
        explains: false,
    };
    let query = match highlighter {
        Highlighter::Plain => Cow::Borrowed(query),
        Highlighter::Vector | Highlighter::Postings => rewriter.rewrite(query)?,
    };
    let clauses_of = |field: &str| -> Result<Vec<Clause>> {
        let mut clauses = clauses(&query, Some(field).filter(|_| settings.match_field))?;
        // A pattern is replaced by the terms of its own field.
        let is_pattern = |clause: &Clause| matches!(clause.kind, ClauseKind::Test(_));
        clauses.retain(|clause| highlighter != Highlighter::Vector || !is_pattern(clause) || *clause.field == *field);
        Ok(clauses)
    };
    let analyzer = &field.index_analyzer;
    match highlighter {
        Highlighter::Postings => Ok(postings::passages(
            &values,
            analyzer,
            &clauses_of(&field.name)?,
            settings,
        )),
        Highlighter::Vector if settings.matched_fields.is_empty() => {
            vector::fragments(&values, &[(analyzer, clauses_of(&field.name)?)], settings)
                .map_err(|error| failed(name, error))
        }
        Highlighter::Vector => {
            let mapping = highlighting.context.mapping;
            let fields = settings.matched_fields.iter().filter_map(|name| mapping.field(name));
            let fields = fields.filter(|field| field.field_type.has_offsets_in_vectors());
            let analyzers = fields.map(|field| Ok((&field.index_analyzer, clauses_of(&field.name)?)));
            vector::fragments(&values, &analyzers.collect::<Result<Vec<_>>>()?, settings)
                .map_err(|error| failed(name, error))
        }
        Highlighter::Plain => {
            let clauses = clauses_of(&field.name)?;
            let mut fragments = Vec::new();
            for value in &values {
                fragments.extend(plain::fragments(name, value, analyzer, &clauses, settings)?);
            }
            if settings.by_score {
                fragments.sort_by(|a, b| b.0.total_cmp(&a.0));
            }
            if settings.fragments > 0 || values.len() == 1 {
                fragments.truncate(settings.fragments.max(1));
            }
            let mut texts: Vec<String> = fragments.into_iter().map(|(_, text)| text).collect();
            if texts.is_empty() && settings.no_match_size > 0 {
                let first = values.first();
                texts.extend(first.and_then(|text| plain::beginning(text, analyzer, settings.no_match_size)));
            }
            Ok(texts)
        }
    }
}

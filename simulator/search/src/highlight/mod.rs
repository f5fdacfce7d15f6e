//! Highlighting: marks the matches of a query in a document with tags.
//!
//! Guarantees: a field without a match has no fragments, unless `no_match_size` is set.
//!
//! Source: Elasticsearch 1.5's plain, fast vector and postings highlighters.

mod clause;
mod phrases;
mod plain;
mod postings;
mod sentences;
mod settings;
mod token;
mod vector;

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::budget::Budget;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::extract;
use crate::highlight::clause::clauses;
use crate::highlight::settings::Settings;
pub(crate) use crate::highlight::settings::Wanted;
use crate::index::View;
use crate::json::java_text;
use crate::mapping::{Field, Kind};
use crate::query::{Context, Query};
use crate::score::Rewriter;

/// Input of the highlighting of a document.
pub(crate) struct Highlighting<'a> {
    /// The shard, whose terms replace the patterns of a query.
    pub(crate) view: &'a View,
    pub(crate) budget: &'a Budget,
    /// `highlight` element of the request.
    pub(crate) wanted: &'a Wanted,
    pub(crate) query: &'a Query,
    pub(crate) context: &'a Context<'a>,
    pub(crate) type_name: &'a str,
    /// The source, if the type stores it.
    pub(crate) source: Option<&'a Value>,
    /// Returns the values that the index stores of a field.
    pub(crate) stored: &'a dyn Fn(&Field) -> Vec<Value>,
    /// Path of the nested object whose source is highlighted.
    pub(crate) nested_path: Option<&'a str>,
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

    /// Returns the settings for a field that was highlighted before with others, of which Elasticsearch keeps some.
    fn with_first(self, settings: Settings, first: Settings) -> Settings {
        match self {
            Highlighter::Plain => Settings {
                fragments: settings.fragments,
                no_match_size: settings.no_match_size,
                by_score: settings.by_score,
                ..first
            },
            Highlighter::Vector => Settings {
                whole: first.whole,
                fragment_offset: first.fragment_offset,
                by_score: first.by_score,
                open: first.open,
                close: first.close,
                boundary_chars: first.boundary_chars,
                boundary_max_scan: first.boundary_max_scan,
                ..settings
            },
            Highlighter::Postings => Settings {
                open: first.open,
                close: first.close,
                html: first.html,
                ..settings
            },
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

/// Checks the queries of the settings for an index.
///
/// # Errors
/// A query that the index cannot parse.
pub(crate) fn check_queries(wanted: Option<&Wanted>, context: &Context<'_>) -> Result<()> {
    let mut queries = wanted
        .into_iter()
        .flat_map(Wanted::all_settings)
        .filter_map(|settings| settings.get("highlight_query"));
    queries.try_for_each(|query| context.parse_query(query).map(drop))
}

/// A field that was highlighted, and how.
struct Highlighted<'a> {
    highlighter: Highlighter,
    field: String,
    settings: Settings,
    query: &'a Query,
}

/// Highlights a document. Returns the fragments by field.
///
/// # Errors
/// An unknown highlighter, one that cannot highlight the field, or a query that cannot be parsed.
pub(crate) fn highlight(highlighting: &Highlighting<'_>) -> Result<Map<String, Value>> {
    let Highlighting { wanted, context, .. } = *highlighting;
    let mapping = context.mapping;
    let mut found = Map::new();
    // All fields with the same highlighter share the query of the first one: Elasticsearch caches it. The plain one has
    // a query for each field.
    let mut shared: Vec<((Highlighter, bool), &Query)> = Vec::new();
    let mut before: Vec<Highlighted<'_>> = Vec::new();
    let own_query = |own: &Map<String, Value>| {
        let body = own.get("highlight_query");
        let body = body.or_else(|| wanted.settings.get("highlight_query"));
        body.map(|body| context.parse_query(body)).transpose()
    };
    let own_queries = wanted.fields.iter().map(|(_, own)| own_query(own));
    let own_queries = own_queries.collect::<Result<Vec<_>>>()?;
    for ((pattern, own), own_query) in wanted.fields.iter().zip(&own_queries) {
        let settings = Settings::of(&wanted.settings, own);
        let query = own_query.as_ref().unwrap_or(highlighting.query);
        let is_pattern = pattern.contains('*');
        let listed = if is_pattern {
            mapping.field_names(pattern)
        } else {
            vec![pattern.clone()]
        };
        if settings.forces_source && highlighting.source.is_none() {
            let reason = format!(
                "source is forced for fields [{}] but type [{}] has disabled _source",
                listed.join(", "),
                highlighting.type_name
            );
            return Err(SearchError::illegal(reason));
        }
        for name in listed {
            // Names do not begin with types here.
            let Some(field) = mapping.field(&name).filter(|_| mapping.named_type(&name).is_none()) else {
                continue;
            };
            if is_pattern && !matches!(field.field_type.kind, Kind::String | Kind::Boolean | Kind::Completion) {
                continue;
            }
            let highlighter = Highlighter::of(settings.highlighter.as_deref(), field)?;
            match highlighter.unsupported_reason(field) {
                Some(_) if is_pattern => continue,
                Some(reason) => return Err(SearchError::illegal(reason)),
                None => {}
            }
            let known = before
                .iter()
                .find(|known| known.highlighter == highlighter && known.field == name);
            let settings = match known {
                Some(known) => highlighter.with_first(settings.clone(), known.settings.clone()),
                None => settings.clone(),
            };
            let key = (highlighter, highlighter == Highlighter::Vector && settings.match_field);
            let query = match (shared.iter().find(|(own, _)| *own == key), known) {
                (Some((_, query)), _) => query,
                (None, Some(known)) if highlighter == Highlighter::Plain => known.query,
                (None, _) => query,
            };
            if highlighter != Highlighter::Plain {
                shared.push((key, query));
            }
            if known.is_none() {
                before.push(Highlighted {
                    highlighter,
                    field: name.clone(),
                    settings: settings.clone(),
                    query,
                });
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
        Exception::FetchPhaseExecution,
        format!("Failed to highlight field [{name}]"),
    )
    .caused_by(error)
}

/// Returns the texts of a field of the document.
fn texts_of(highlighting: &Highlighting<'_>, field: &Field) -> Vec<String> {
    let text = |value: &Value| (!value.is_null() && !value.is_object()).then(|| java_text(value));
    let Some(source) = highlighting.source else {
        let stored = if field.field_type.store {
            (highlighting.stored)(field)
        } else {
            vec![]
        };
        return stored.iter().filter_map(text).collect();
    };
    let prefix = highlighting.nested_path.map(|path| format!("{path}."));
    let path = prefix
        .as_ref()
        .and_then(|prefix| field.name.strip_prefix(prefix.as_str()))
        .unwrap_or(&field.name);
    let mut values = extract(source, path);
    // A multi-field has the text of its parent field.
    if values.is_empty()
        && let Some((parent, _)) = path.rsplit_once('.')
        && highlighting.context.mapping.exact_field(parent).is_some()
    {
        values = extract(source, parent);
    }
    values.into_iter().filter_map(text).collect()
}

fn of_field(
    highlighting: &Highlighting<'_>,
    highlighter: Highlighter,
    (name, field): (&str, &Field),
    query: &Query,
    settings: &Settings,
) -> Result<Vec<String>> {
    let values = texts_of(highlighting, field);
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
    // Elasticsearch rewrites patterns with the terms of the index, or those of the text.
    let expansions = match highlighter {
        Highlighter::Plain => None,
        Highlighter::Vector => Some(1024),
        Highlighter::Postings => Some(50),
    };
    let clauses_of = |field: &str| {
        clauses(
            &query,
            &rewriter,
            expansions,
            Some(field).filter(|_| settings.match_field),
        )
    };
    let analyzer = &field.index_analyzer;
    match highlighter {
        Highlighter::Postings => postings::passages(&values, field, &clauses_of(&field.name)?, settings),
        Highlighter::Vector => {
            let mapping = highlighting.context.mapping;
            let matched = settings.matched_fields.iter().filter_map(|name| mapping.field(name));
            let fields: Vec<&Field> = match settings.matched_fields.is_empty() {
                true => vec![field],
                false => matched
                    .filter(|field| field.field_type.has_offsets_in_vectors())
                    .collect(),
            };
            let clauses = clauses(&query, &rewriter, expansions, None)?;
            vector::fragments(&values, &fields, &clauses, settings).map_err(|error| failed(name, error))
        }
        Highlighter::Plain => {
            settings.check_tags()?;
            let Ok(limit) = usize::try_from(settings.fragments) else {
                let text = settings.fragments.saturating_add(1).min(-1).to_string();
                return Err(SearchError::new(500, Exception::NegativeArraySize, text));
            };
            let clauses = clauses_of(&field.name)?;
            let mut fragments = Vec::new();
            for value in &values {
                fragments.extend(plain::fragments(name, value, analyzer, &clauses, settings)?);
            }
            if settings.by_score {
                fragments.sort_by(|a, b| b.0.total_cmp(&a.0));
            }
            if limit > 0 || values.len() == 1 {
                fragments.truncate(limit.max(1));
            }
            let mut texts: Vec<String> = fragments.into_iter().map(|(_, text)| text).collect();
            // A number has no words at which a fragment could end.
            if texts.is_empty() && settings.no_match_size > 0 && !field.field_type.kind.is_numeric() {
                let first = values.first();
                texts.extend(first.and_then(|text| plain::beginning(text, analyzer, settings.no_match_size)));
            }
            Ok(texts)
        }
    }
}

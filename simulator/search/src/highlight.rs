//! Highlighting: the words of a document that a query asked for, between tags.
//!
//! Promises: fragments are whole words of the stored text; nothing is shown for a field in which nothing was met.
//! Limits: terms, phrases (term by term) and patterns are marked; fragments are cut by length.
//! Source: Elasticsearch 1.5's plain highlighter.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::error::{Result, SearchError};
use crate::find::{extract, names};
use crate::mapping::Kind;
use crate::query::{Context, FrequencyQuery, Matcher, Query, QueryKind, SpanQuery, TermTest, parse_body};

/// What a query asks of one field.
#[derive(Default)]
struct Wanted {
    terms: BTreeSet<String>,
    tests: Vec<TermTest>,
}

impl Wanted {
    fn has(&self, term: &str) -> bool {
        self.terms.contains(term) || self.tests.iter().any(|test| test.accepts(term))
    }
}

struct Settings {
    open: String,
    close: String,
    fragment_size: usize,
    fragments: usize,
    no_match_size: usize,
    match_field: bool,
}

impl Settings {
    fn parse(all: &Value, own: &Value) -> Settings {
        let get = |key: &str| own.get(key).or_else(|| all.get(key));
        let styled = get("tags_schema").and_then(Value::as_str) == Some("styled");
        let tag = |key: &str, default: &str| match get(key) {
            _ if styled && key == "pre_tags" => "<em class=\"hlt1\">".to_owned(),
            Some(Value::Array(tags)) => tags.first().and_then(Value::as_str).unwrap_or(default).to_owned(),
            Some(Value::String(tag)) => tag.clone(),
            _ => default.to_owned(),
        };
        let number = |key: &str, default: usize| {
            get(key)
                .and_then(Value::as_u64)
                .map_or(default, |number| usize::try_from(number).unwrap_or(default))
        };
        Settings {
            open: tag("pre_tags", "<em>"),
            close: tag("post_tags", "</em>"),
            fragment_size: number("fragment_size", 100),
            fragments: number("number_of_fragments", 5),
            no_match_size: number("no_match_size", 0),
            match_field: get("require_field_match").is_some_and(crate::mapping::truth),
        }
    }
}

/// The fragments of a document's fields, by field.
///
/// # Errors
/// Settings without fields.
pub(crate) fn highlight(
    wanted: &Value,
    query: &Query,
    context: &Context<'_>,
    source: &Value,
) -> Result<Map<String, Value>> {
    let mapping = context.mapping;
    let fields: Vec<(String, Value)> = match wanted.get("fields") {
        Some(Value::Object(fields)) => fields.iter().map(|(name, own)| (name.clone(), own.clone())).collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_object)
            .flatten()
            .map(|(name, own)| (name.clone(), own.clone()))
            .collect(),
        _ => vec![],
    };
    let mut found = Map::new();
    for (pattern, own) in fields {
        let settings = Settings::parse(wanted, &own);
        let own_query;
        let query = match own.get("highlight_query").or_else(|| wanted.get("highlight_query")) {
            Some(body) => {
                own_query = parse_body(context, body)?;
                &own_query
            }
            None => query,
        };
        let listed = if pattern.contains('*') {
            mapping.field_names(&pattern)
        } else {
            names(&json!([pattern]))
        };
        for name in listed {
            let Some(field) = mapping.field(&name) else {
                continue;
            };
            if pattern.contains('*') && field.field_type.kind != Kind::String {
                continue;
            }
            match own.get("type").or_else(|| wanted.get("type")).and_then(Value::as_str) {
                Some("fvh" | "fast-vector-highlighter") if !field.field_type.has_offsets_in_vectors() => {
                    return Err(SearchError::illegal(format!(
                        "the field [{name}] should be indexed with term vector with position offsets to be used with fast vector highlighter"
                    )));
                }
                Some("postings" | "postings-highlighter") if !field.field_type.has_offsets_in_postings() => {
                    return Err(SearchError::illegal(format!(
                        "the field [{name}] should be indexed with positions and offsets in the postings list to be used with postings highlighter"
                    )));
                }
                None
                | Some(
                    "fvh" | "fast-vector-highlighter" | "postings" | "postings-highlighter" | "plain" | "highlighter",
                ) => {}
                Some(other) => {
                    let reason = format!("unknown highlighter type [{other}] for the field [{name}]");
                    return Err(SearchError::illegal(reason));
                }
            }
            let mut terms = Wanted::default();
            collect(query, if settings.match_field { Some(&name) } else { None }, &mut terms)?;
            let mut fragments = Vec::new();
            for value in extract(source, &name) {
                let Some(text) = value.as_str() else { continue };
                let (mut spans, mut tokens) = (Vec::new(), Vec::new());
                field.search_analyzer.analyze(text, &mut |token| {
                    tokens.push((token.start, token.end));
                    if terms.has(token.text) {
                        spans.push((token.start, token.end));
                    }
                });
                fragments.extend(cut(text, &tokens, &spans, &settings));
            }
            fragments.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
            let mut texts: Vec<String> = fragments.into_iter().map(|(_, text)| text).collect();
            if settings.fragments > 0 {
                texts.truncate(settings.fragments);
            }
            if texts.is_empty() && settings.no_match_size > 0 {
                texts.extend(
                    extract(source, &name)
                        .first()
                        .and_then(|value| value.as_str())
                        .map(|text| text.chars().take(settings.no_match_size).collect()),
                );
            }
            if !texts.is_empty() {
                found.insert(name, json!(texts));
            }
        }
    }
    Ok(found)
}

/// The terms that a query asks for, of one field or of any.
fn collect(query: &Query, field: Option<&str>, wanted: &mut Wanted) -> Result<()> {
    let fits =
        |name: &str| field.is_none_or(|field| field == name) && !name.starts_with("_type") && name != "_field_names";
    match &query.kind {
        QueryKind::Term { field, text } if fits(&field.name) => wanted.terms.extend([text.clone()]),
        QueryKind::Phrase { field, slots, .. } if fits(&field.name) => wanted
            .terms
            .extend(slots.iter().flat_map(|(_, texts)| texts.iter().cloned())),
        QueryKind::PhrasePrefix { field, slots, last, .. } if fits(&field.name) => {
            wanted
                .terms
                .extend(slots.iter().flat_map(|(_, texts)| texts.iter().cloned()));
            if let Some((_, prefix)) = last {
                wanted.tests.push(TermTest::new(&Matcher::Prefix(prefix.clone()))?);
            }
        }
        QueryKind::MultiTerm { field, matcher }
        | QueryKind::ByFrequency(FrequencyQuery::Rewritten { field, matcher, .. })
            if fits(&field.name) =>
        {
            wanted.tests.push(TermTest::new(matcher)?)
        }
        QueryKind::Bool { clauses, .. } => {
            for (occur, query) in clauses {
                if *occur != crate::query::Occur::MustNot {
                    collect(query, field, wanted)?;
                }
            }
        }
        QueryKind::DisjunctionMax { queries, .. } => {
            queries.iter().try_for_each(|query| collect(query, field, wanted))?
        }
        QueryKind::Constant(inner) => collect(inner, field, wanted)?,
        QueryKind::Functions { query, .. } => collect(query, field, wanted)?,
        QueryKind::Boosting { positive, .. } => collect(positive, field, wanted)?,
        QueryKind::Blended { fields, text, .. } if fields.iter().any(|(field, _)| fits(&field.name)) => {
            wanted.terms.extend([text.clone()]);
        }
        QueryKind::Span(span) => {
            let mut open = vec![span];
            while let Some(span) = open.pop() {
                match span {
                    SpanQuery::Term { field, text } if fits(&field.name) => wanted.terms.extend([text.clone()]),
                    SpanQuery::MultiTerm { field, matcher } if fits(&field.name) => {
                        wanted.tests.push(TermTest::new(matcher)?);
                    }
                    _ => {}
                }
                open.extend(span.clauses());
            }
        }
        QueryKind::Filtered { query, .. } => collect(query, field, wanted)?,
        _ => {}
    }
    Ok(())
}

/// The fragments of a text that have marked words, with the number of different words.
///
/// As in Lucene's `SimpleFragmenter`, a fragment ends with the token whose end reaches a multiple of the fragment size.
fn cut(text: &str, tokens: &[(usize, usize)], spans: &[(usize, usize)], settings: &Settings) -> Vec<(usize, String)> {
    let mut starts = vec![0];
    let mut fragments = 1;
    if settings.fragments > 0 {
        let units = |end: usize| text.get(..end).map_or(0, |before| before.encode_utf16().count());
        let length = units(text.len());
        let mut last = 0;
        for (_, end) in tokens {
            let end_units = units(*end);
            if end_units >= settings.fragment_size * fragments && length - end_units >= settings.fragment_size / 2 {
                fragments += 1;
                // The token belongs to the new fragment, with what precedes it.
                starts.push(last);
            }
            last = *end;
        }
    }
    let mut found = Vec::new();
    for (at, start) in starts.iter().enumerate() {
        let next = starts.get(at + 1).copied();
        let end = next.unwrap_or(text.len());
        let inside: Vec<&(usize, usize)> = spans
            .iter()
            .filter(|(from, to)| from >= start && (*to <= end && (next.is_none() || *from < end)))
            .collect();
        if inside.is_empty() {
            continue;
        }
        let mut fragment = String::new();
        let mut position = *start;
        for (from, to) in inside.iter().copied() {
            fragment.push_str(text.get(position..*from).unwrap_or(""));
            fragment.push_str(&settings.open);
            fragment.push_str(text.get(*from..*to).unwrap_or(""));
            fragment.push_str(&settings.close);
            position = *to;
        }
        fragment.push_str(text.get(position..end).unwrap_or(""));
        let mut words: Vec<String> = inside
            .iter()
            .map(|(from, to)| text.get(*from..*to).unwrap_or("").to_lowercase())
            .collect();
        words.sort();
        words.dedup();
        found.push((words.len(), fragment));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_whole_words_with_marks() {
        let settings = Settings::parse(&json!({"fragment_size": 10}), &json!({}));
        let text = "the quick brown fox jumps over the lazy dog";
        let mut tokens = Vec::new();
        crate::analysis::Analyzer::standard().analyze(text, &mut |token| tokens.push((token.start, token.end)));
        let fragments = cut(text, &tokens, &[(4, 9), (35, 39)], &settings);
        assert_eq!(
            fragments,
            [
                (1, "the <em>quick</em>".to_owned()),
                (1, " over the <em>lazy</em> dog".to_owned())
            ]
        );
    }
}

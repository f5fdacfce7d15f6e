//! Highlighting: the words of a document that a query asked for, between tags.
//!
//! Promises: fragments are whole words of the stored text; nothing is shown for a field in which nothing was met.
//! Limits: terms, phrases (term by term) and patterns are marked; fragments are cut by length.
//! Source: Elasticsearch 1.5's plain highlighter.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::error::{Result, SearchError};
use crate::find::{extract, names};
use crate::mapping::Mapping;
use crate::query::{Matcher, Query, QueryKind, TermTest};

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
        let tag = |key: &str, default: &str| match get(key) {
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
    mapping: &Mapping,
    source: &Value,
) -> Result<Map<String, Value>> {
    let fields: Vec<(String, Value)> = match wanted.get("fields") {
        Some(Value::Object(fields)) => fields.iter().map(|(name, own)| (name.clone(), own.clone())).collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_object)
            .flatten()
            .map(|(name, own)| (name.clone(), own.clone()))
            .collect(),
        _ => {
            return Err(SearchError::new(
                400,
                "SearchParseException",
                "Parse Failure [highlight needs fields]",
            ));
        }
    };
    let mut found = Map::new();
    for (pattern, own) in fields {
        let settings = Settings::parse(wanted, &own);
        let query = match own.get("highlight_query").or_else(|| wanted.get("highlight_query")) {
            Some(_) => {
                return Err(SearchError::new(
                    400,
                    "SearchParseException",
                    "Parse Failure [highlight_query is not part of this backend]",
                ));
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
            let mut terms = Wanted::default();
            collect(query, if settings.match_field { Some(&name) } else { None }, &mut terms)?;
            let mut fragments = Vec::new();
            for value in extract(source, &name) {
                let Some(text) = value.as_str() else { continue };
                let mut spans = Vec::new();
                field.search_analyzer.analyze(text, &mut |token| {
                    if terms.has(token.text) {
                        spans.push((token.start, token.end));
                    }
                });
                fragments.extend(cut(text, &spans, &settings));
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
        QueryKind::Multi { field, matcher } if fits(&field.name) => wanted.tests.push(TermTest::new(matcher)?),
        QueryKind::Bool { clauses, .. } => {
            for (occur, query) in clauses {
                if *occur != crate::query::Occur::MustNot {
                    collect(query, field, wanted)?;
                }
            }
        }
        QueryKind::Best { queries, .. } => queries.iter().try_for_each(|query| collect(query, field, wanted))?,
        QueryKind::Constant(inner) => collect(inner, field, wanted)?,
        QueryKind::Filtered { query, .. } => collect(query, field, wanted)?,
        _ => {}
    }
    Ok(())
}

/// The fragments of a text that have marked words, with how many they have.
fn cut(text: &str, spans: &[(usize, usize)], settings: &Settings) -> Vec<(usize, String)> {
    let mut fragments = Vec::new();
    let mut rest = spans;
    let whole = settings.fragments == 0;
    while let Some((first, _)) = rest.first() {
        let start = if whole {
            0
        } else {
            fragment_start(text, *first, settings.fragment_size)
        };
        let end = if whole {
            text.len()
        } else {
            fragment_end(text, start, settings.fragment_size).max(rest.first().map_or(0, |(_, end)| *end))
        };
        let inside = rest.iter().take_while(|(_, to)| *to <= end).count().max(1);
        let (marked, after) = rest.split_at(inside.min(rest.len()));
        let mut fragment = String::new();
        let mut at = start;
        for (from, to) in marked {
            fragment.push_str(text.get(at..*from).unwrap_or(""));
            fragment.push_str(&settings.open);
            fragment.push_str(text.get(*from..*to).unwrap_or(""));
            fragment.push_str(&settings.close);
            at = *to;
        }
        fragment.push_str(text.get(at..end).unwrap_or(""));
        fragments.push((marked.len(), fragment));
        rest = after;
    }
    fragments
}

/// Fragments follow one another from the beginning, so each starts at a multiple of its size, at a word.
fn fragment_start(text: &str, first: usize, size: usize) -> usize {
    let mut start = 0;
    loop {
        let end = fragment_end(text, start, size);
        if end > first || end <= start {
            return start;
        }
        start = end;
    }
}

/// The end of the word in which a fragment is as long as it may be.
fn fragment_end(text: &str, start: usize, size: usize) -> usize {
    let rest = text.get(start..).unwrap_or("");
    let end = rest
        .char_indices()
        .enumerate()
        .find(|(count, (_, c))| *count >= size.max(1) && c.is_whitespace());
    start + end.map_or(rest.len(), |(_, (offset, _))| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_whole_words_with_marks() {
        let settings = Settings::parse(&json!({"fragment_size": 10}), &json!({}));
        let text = "the quick brown fox jumps over the lazy dog";
        let fragments = cut(text, &[(4, 9), (35, 39)], &settings);
        assert_eq!(
            fragments,
            [
                (1, "the <em>quick</em> brown".to_owned()),
                (1, " over the <em>lazy</em>".to_owned())
            ]
        );
    }
}

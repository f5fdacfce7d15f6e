//! Postings highlighter: the best sentences, in the order of the text.
//!
//! Source: Lucene 4.10's `PostingsHighlighter` and `PassageScorer`, and Elasticsearch 1.5's use of them.

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::highlight::clause::Clause;
use crate::highlight::sentences::{SEPARATOR, sentences};
use crate::highlight::settings::Settings;
use crate::highlight::token::{Token, Units, tokens_of_values};
use crate::mapping::Field;

/// Length of an average passage, for the BM25 norm.
const PIVOT: f32 = 87.0;
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// A passage: a sentence, or a whole value.
struct Passage {
    start: usize,
    end: usize,
    score: f32,
    matches: Vec<(usize, usize)>,
}

/// Returns the best passages of the values of a field.
///
/// # Errors
/// A negative number of fragments; a list of tags without any.
pub(super) fn passages(
    values: &[String],
    field: &Field,
    clauses: &[Clause],
    settings: &Settings,
) -> Result<Vec<String>> {
    if settings.fragments < 0 {
        return Err(SearchError::new(500, Exception::IllegalArgument, "null"));
    }
    settings.check_tags()?;
    let mut passages = Vec::new();
    let mut text = String::new();
    let mut length = 0;
    for value in values {
        // The separator ends the last sentence of a value.
        let own = format!("{value}{SEPARATOR}");
        let parts: Vec<&str> = if settings.fragments == 0 {
            vec![own.as_str()]
        } else {
            sentences(&own)
        };
        for part in parts {
            let start = length;
            length += part.encode_utf16().count();
            passages.push(Passage {
                start,
                end: length,
                score: 0.0,
                matches: vec![],
            });
        }
        text.push_str(&own);
    }
    let text_length = length.saturating_sub(1) as f32;
    let mut terms: Vec<(String, Vec<Token>)> = Vec::new();
    for token in tokens_of_values(field, values) {
        if !clauses.iter().any(|clause| clause.kind.accepts(&token.text)) {
            continue;
        }
        match terms.iter_mut().find(|(term, _)| *term == token.text) {
            Some((_, places)) => places.push(token),
            None => terms.push((token.text.clone(), vec![token])),
        }
    }
    for passage in &mut passages {
        for (_, places) in &terms {
            let inside = |token: &&Token| (passage.start..passage.end).contains(&token.start);
            let own: Vec<(usize, usize)> = places
                .iter()
                .filter(inside)
                .map(|token| (token.start, token.end))
                .collect();
            if own.is_empty() {
                continue;
            }
            let documents = 1.0 + text_length / PIVOT;
            let weight = (K1 + 1.0) * (1.0 + (documents + 0.5) / (places.len() as f32 + 0.5)).ln();
            let frequency = own.len() as f32;
            let norm = K1 * ((1.0 - B) + B * ((passage.end - passage.start) as f32 / PIVOT));
            passage.score += weight * frequency / (frequency + norm);
            passage.matches.extend(own);
        }
        passage.matches.sort_unstable();
        passage.score *= 1.0 + 1.0 / (PIVOT + passage.start as f32).ln();
    }
    let first = if settings.no_match_size > 0 {
        passages.first()
    } else {
        None
    };
    let first = first.map(|first| (first.start, first.end));
    passages.retain(|passage| !passage.matches.is_empty());
    if let (true, Some((start, end))) = (passages.is_empty(), first) {
        passages.push(Passage {
            start,
            end,
            score: 0.0,
            matches: vec![],
        });
    }
    if settings.fragments > 0 {
        passages.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.start.cmp(&a.start)));
        passages.truncate(usize::try_from(settings.fragments).unwrap_or(usize::MAX));
        passages.sort_by_key(|passage| passage.start);
    }
    if settings.by_score {
        passages.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    let units = Units::of(&text);
    let texts = passages.iter().map(|passage| render(passage, &units, settings));
    Ok(texts.filter(|text| !text.trim().is_empty()).collect())
}

fn render(passage: &Passage, text: &Units, settings: &Settings) -> String {
    let mut rendered = String::new();
    let mut at = passage.start;
    for (start, end) in &passage.matches {
        if *start > at {
            rendered.push_str(&settings.encode(&text.slice(at, *start)));
        }
        if *end > at {
            rendered.push_str(&settings.mark(&text.slice(at.max(*start), *end), 0));
            at = *end;
        }
    }
    rendered.push_str(&settings.encode(&text.slice(at, at.max(passage.end))));
    rendered.trim_end_matches(SEPARATOR).trim().to_owned()
}

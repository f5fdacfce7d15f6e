//! Fast vector highlighter: fragments around matches; phrases are marked as a whole.
//!
//! Source: Lucene 4.10's `FieldPhraseList`, `BaseFragListBuilder`, `BaseFragmentsBuilder` and `SimpleBoundaryScanner`.

use std::collections::BTreeSet;

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::highlight::clause::{Clause, ClauseKind, PhraseTerm};
use crate::highlight::settings::Settings;
use crate::highlight::token::{Token, Units, tokens_of_values};
use crate::index::View;
use crate::mapping::Field;
use crate::query::SpanQuery;

/// How often the offset of a match must fit into a fragment.
const OFFSETS_IN_FRAGMENT: usize = 3;
/// Maximum number of combinations of alternatives in one phrase.
const MAX_COMBINATIONS: usize = 256;

/// A phrase of the query, often a single term.
struct Phrase {
    texts: Vec<String>,
    slop: u32,
    boost: f32,
}

/// A match: its parts, the number of its phrase in the query, and its boost.
#[derive(Clone)]
struct Match {
    parts: Vec<(usize, usize)>,
    number: usize,
    boost: f32,
}

impl Match {
    fn start(&self) -> usize {
        self.parts.first().map_or(0, |part| part.0)
    }

    fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| part.1)
    }
}

/// A fragment of the text with its matches.
struct Fragment {
    start: usize,
    end: usize,
    matches: Vec<Match>,
}

/// Returns the phrases of clauses. Patterns are replaced by the terms of their own fields, of which those in the text
/// count. Of the span queries, those of one term are highlighted.
fn phrases(view: &View, clauses: &[Clause], tokens: &[Token]) -> Result<Vec<Phrase>> {
    let mut found: Vec<Phrase> = Vec::new();
    let mut push = |texts: Vec<String>, slop: u32, boost: f32| {
        if !texts.is_empty() && !found.iter().any(|known| known.texts == texts) {
            found.push(Phrase { texts, slop, boost });
        }
    };
    for clause in clauses {
        match &clause.kind {
            ClauseKind::Term(text) => push(vec![text.clone()], 0, clause.boost),
            ClauseKind::Phrase(slots, slop) => {
                let mut combinations: Vec<Vec<String>> = vec![vec![]];
                for (_, wanted) in slots {
                    let texts = alternatives(wanted, tokens);
                    let longer = combinations.iter().flat_map(|before| {
                        texts.iter().map(|text| {
                            let mut texts = before.clone();
                            texts.push(text.clone());
                            texts
                        })
                    });
                    combinations = longer.take(MAX_COMBINATIONS).collect();
                }
                combinations
                    .into_iter()
                    .for_each(|texts| push(texts, *slop, clause.boost));
            }
            ClauseKind::Span(SpanQuery::Term { text, .. }, _) => push(vec![text.clone()], 0, clause.boost),
            ClauseKind::Span(..) => {}
            ClauseKind::Test(_) => {
                let texts = tokens.iter().map(|token| &token.text);
                let accepted: BTreeSet<&String> = texts.filter(|text| clause.kind.accepts(text)).collect();
                for text in accepted {
                    let ordinal = clause.field.ordinal;
                    if ordinal.map_or(Ok(0), |ordinal| view.doc_freq(ordinal, text))? > 0 {
                        push(vec![text.clone()], 0, clause.boost);
                    }
                }
            }
        }
    }
    Ok(found)
}

/// Returns the alternative terms at one position of a phrase.
fn alternatives(terms: &[PhraseTerm], tokens: &[Token]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for term in terms {
        match term {
            PhraseTerm::Term(text) => texts.push(text.clone()),
            PhraseTerm::Prefix(_) => {
                let own = tokens.iter().filter(|token| term.accepts(&token.text));
                texts.extend(own.map(|token| token.text.clone()));
            }
        }
    }
    texts.sort();
    texts.dedup();
    texts
}

/// Finds the matches in a text: the longest phrase at each position, without overlaps.
fn matches(phrases: &[Phrase], tokens: &[Token], limit: usize) -> Vec<Match> {
    let wanted = |token: &&Token| phrases.iter().any(|phrase| phrase.texts.contains(&token.text));
    let stack: Vec<&Token> = tokens.iter().filter(wanted).collect();
    let mut found: Vec<Match> = Vec::new();
    let mut at = 0;
    while at < stack.len() && found.len() < limit {
        let rest = stack.get(at..).unwrap_or(&[]);
        let longest = phrases
            .iter()
            .enumerate()
            .filter(|(_, phrase)| is_phrase_at(phrase, rest))
            .max_by_key(|(_, phrase)| phrase.texts.len());
        let Some((number, phrase)) = longest else {
            at += 1;
            continue;
        };
        let terms = rest.get(..phrase.texts.len()).unwrap_or(&[]);
        let mut parts: Vec<(usize, usize)> = Vec::new();
        let mut before = None;
        for token in terms {
            match (parts.last_mut(), before) {
                (Some(last), Some(position)) if token.position == position + 1 => last.1 = token.end,
                _ => parts.push((token.start, token.end)),
            }
            before = Some(token.position);
        }
        let own = Match {
            parts,
            number,
            boost: phrase.boost,
        };
        if found
            .iter()
            .all(|other| other.end() <= own.start() || own.end() <= other.start())
        {
            found.push(own);
        }
        at += phrase.texts.len();
    }
    found
}

fn is_phrase_at(phrase: &Phrase, tokens: &[&Token]) -> bool {
    let Some(tokens) = tokens.get(..phrase.texts.len()) else {
        return false;
    };
    let near = |pair: &[&Token]| match pair {
        [before, after] => (i64::from(after.position) - i64::from(before.position) - 1).abs() <= i64::from(phrase.slop),
        _ => true,
    };
    tokens
        .iter()
        .zip(&phrase.texts)
        .all(|(token, text)| token.text == *text)
        && tokens.windows(2).all(near)
}

/// Merges the matches of several fields. Overlapping matches become one.
fn merged(mut all: Vec<Match>) -> Vec<Match> {
    all.sort_by_key(|found| (found.start(), found.end()));
    let mut merged: Vec<Match> = Vec::new();
    for next in all {
        match merged.last_mut() {
            Some(last) if next.start() < last.end() => {
                last.boost = last.boost.max(next.boost);
                last.parts.extend(next.parts);
                last.parts.sort_unstable();
                let mut parts: Vec<(usize, usize)> = Vec::new();
                for part in &last.parts {
                    match parts.last_mut() {
                        Some(before) if part.0 < before.1 => before.1 = before.1.max(part.1),
                        _ => parts.push(*part),
                    }
                }
                last.parts = parts;
            }
            _ => merged.push(next),
        }
    }
    merged
}

/// Creates fragments of one size around the matches.
fn fragments_around(matches: Vec<Match>, settings: &Settings) -> Result<Vec<Fragment>> {
    let size = settings.fragment_size;
    let least = settings.fragment_offset.saturating_mul(OFFSETS_IN_FRAGMENT).max(1);
    let size = usize::try_from(size)
        .ok()
        .filter(|size| *size >= least)
        .ok_or_else(|| {
            SearchError::argument(format!(
                "fragCharSize({size}) is too small. It must be {least} or higher."
            ))
        })?;
    let accepted = |own: &Match, length: usize| own.parts.len() <= 1 || length <= size;
    let mut fragments = Vec::new();
    let mut start = 0;
    let mut queue = matches.into_iter().peekable();
    while let Some(first) = queue.next() {
        if first.start() < start {
            continue;
        }
        let (from, mut to) = (first.start(), first.end());
        let span_end = to.max(from.saturating_sub(settings.fragment_offset).max(start) + size);
        let mut own = Vec::new();
        if accepted(&first, to - from) {
            own.push(first);
        }
        while let Some(next) = queue.next_if(|next| next.end() <= span_end) {
            to = next.end();
            if accepted(&next, to - from) {
                own.push(next);
            }
        }
        if own.is_empty() {
            continue;
        }
        let length = to - from;
        // Center the matches.
        let margin = size.saturating_sub(length) / 2;
        let span_start = from.saturating_sub(margin).max(start);
        let end = span_start + length.max(size);
        start = end;
        fragments.push(Fragment {
            start: span_start,
            end,
            matches: own,
        });
    }
    Ok(fragments)
}

/// Splits fragments at the boundaries of values.
fn by_value(fragments: Vec<Fragment>, values: &[(usize, usize)]) -> Vec<Fragment> {
    let mut found = Vec::new();
    for fragment in fragments {
        let whole = values
            .iter()
            .any(|(start, end)| fragment.start >= *start && fragment.end <= *end);
        if whole {
            found.push(fragment);
            continue;
        }
        for (start, end) in values {
            let inside = |own: &&Match| own.start() >= *start && own.start() < *end;
            let matches: Vec<Match> = fragment.matches.iter().filter(inside).cloned().collect();
            if matches.is_empty() {
                continue;
            }
            found.push(Fragment {
                start: fragment.start.max(*start),
                end: fragment.end.min(*end),
                matches,
            });
        }
    }
    found.sort_by_key(|fragment| fragment.start);
    found
}

/// The text of a field, which grows by the values that the fragments need.
struct Text<'a> {
    units: &'a Units,
    /// Ends of the values that the text does not have yet.
    ends: &'a [usize],
    /// Length of the text, with a separator after each value.
    len: usize,
}

impl Text<'_> {
    fn grow(&mut self, end: usize) {
        while let [next, rest @ ..] = self.ends
            && self.len < end
        {
            (self.len, self.ends) = (*next, rest);
        }
    }
}

/// Returns the best fragments of the values of a field. `fields` are the matched ones, with their clauses.
///
/// # Errors
/// A size or a number of fragments that is too small; a list of tags without any.
pub(super) fn fragments(
    view: &View,
    values: &[String],
    fields: &[(&Field, Vec<Clause>)],
    settings: &Settings,
) -> Result<Vec<String>> {
    let mut all = Vec::new();
    let (mut buffer, mut value_ranges, mut ends) = (String::new(), Vec::new(), Vec::new());
    let mut end = 0;
    for value in values {
        let start = end;
        end += value.encode_utf16().count() + 1;
        buffer.push_str(value);
        buffer.push(' ');
        ends.push(end);
        if !value.is_empty() {
            value_ranges.push((start, end));
        }
    }
    for (field, clauses) in fields {
        let tokens = tokens_of_values(field, values);
        let phrases = phrases(view, clauses, &tokens)?;
        all.extend(matches(&phrases, &tokens, settings.phrase_limit));
    }
    let all = if fields.len() > 1 { merged(all) } else { all };
    let mut fragments = match (settings.fragments, all.is_empty()) {
        (0, false) => vec![Fragment {
            start: 0,
            end: usize::MAX,
            matches: all,
        }],
        (0, true) => vec![],
        _ => fragments_around(all, settings)?,
    };
    let mut limit = match settings.fragments {
        0 => usize::MAX,
        limit => usize::try_from(limit)
            .map_err(|_| SearchError::argument(format!("maxNumFragments({limit}) must be positive number.")))?,
    };
    if fragments.is_empty() && settings.no_match_size > 0 && !values.is_empty() {
        limit = 1;
        fragments.push(Fragment {
            start: 0,
            end: settings.no_match_size,
            matches: vec![],
        });
    } else if values.len() > 1 {
        fragments = by_value(fragments, &value_ranges);
    }
    if settings.by_score {
        let weight = |fragment: &Fragment| fragment.matches.iter().map(|own| own.boost).sum::<f32>();
        fragments.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.start.cmp(&b.start)));
    }
    fragments.truncate(limit);
    let has_matches = fragments.iter().any(|fragment| !fragment.matches.is_empty());
    if has_matches && settings.lacks_tags() {
        return Err(SearchError::new(500, Exception::Arithmetic, "/ by zero"));
    }
    let mut text = Text {
        units: &Units::of(&buffer),
        ends: &ends,
        len: 0,
    };
    let texts = fragments.iter().map(|fragment| render(fragment, &mut text, settings));
    Ok(texts.collect())
}

fn render(fragment: &Fragment, text: &mut Text<'_>, settings: &Settings) -> String {
    text.grow(fragment.end);
    // The text ends with a separator.
    let length = text.len.saturating_sub(1);
    let end = if length < fragment.end {
        length
    } else {
        boundary_after(text, fragment.end, settings)
    };
    let mut at = boundary_before(text, fragment.start, settings);
    let mut rendered = String::new();
    for own in &fragment.matches {
        for (from, to) in &own.parts {
            rendered.push_str(&settings.encode(&text.units.slice(at, *from)));
            rendered.push_str(&settings.mark(&text.units.slice(*from, *to), own.number));
            at = *to;
        }
    }
    rendered.push_str(&settings.encode(&text.units.slice(at, end)));
    rendered
}

fn is_boundary(text: &Text<'_>, at: usize, settings: &Settings) -> bool {
    let c = text.units.char_at(at);
    c.is_some_and(|c| settings.boundary_chars.contains(c))
}

fn boundary_before(text: &Text<'_>, start: usize, settings: &Settings) -> usize {
    if start > text.len || start < 1 {
        return start;
    }
    let min = start.saturating_sub(settings.boundary_max_scan);
    let found = (min + 1..=start).rev().find(|at| is_boundary(text, at - 1, settings));
    match found {
        Some(at) => at,
        None if min == 0 => 0,
        None => start,
    }
}

fn boundary_after(text: &Text<'_>, end: usize, settings: &Settings) -> usize {
    let limit = end.saturating_add(settings.boundary_max_scan).min(text.len);
    (end..limit).find(|at| is_boundary(text, *at, settings)).unwrap_or(end)
}

//! The terms of an index that a pattern means, and where they are.

use std::collections::BTreeMap;

use tantivy::postings::TermInfo;
use tantivy_fst::Automaton;

use super::automaton::Behind;
use super::levenshtein::Levenshtein;
use super::regexp::Regexp;
use super::{Matcher, QueryField};
use crate::budget::Budget;
use crate::error::{Result, SearchError};
use crate::index::{Segment, View, field_prefix};

/// The postings of some terms, segment by segment.
pub(crate) type Postings = Vec<Vec<TermInfo>>;

/// A term that a fuzzy query found near enough, with how near.
pub(crate) struct Near {
    pub(crate) text: String,
    pub(crate) boost: f32,
}

/// How far terms may be from a fuzzy one.
#[derive(Clone, Copy)]
struct Limits {
    edits: u8,
    /// Number of characters that have to be the same.
    prefix: usize,
    expansions: usize,
    transpositions: bool,
}

/// What a pattern comes to.
pub(crate) enum Expansion {
    /// All of these, with the same score.
    Constant(Postings),
    /// These, each with its own.
    Scored(Vec<Near>),
}

/// Finds the terms of `field` that `matcher` means.
pub(crate) fn expand(view: &View, field: &QueryField, matcher: &Matcher, budget: &Budget) -> Result<Expansion> {
    let Some(ordinal) = field.ordinal else {
        // An expression that is none is refused even where there is nothing to find.
        if let Matcher::Regexp(pattern) = matcher {
            Regexp::parse(pattern)?;
        }
        return Ok(if matches!(matcher, Matcher::Fuzzy { .. }) {
            Expansion::Scored(vec![])
        } else {
            Expansion::Constant(vec![vec![]; view.segments.len()])
        });
    };
    let prefix = field_prefix(ordinal).to_string();
    let end = field_prefix(ordinal + 1).to_string();
    match matcher {
        Matcher::Prefix(text) => {
            let start = format!("{prefix}{text}");
            constant(view, |segment| {
                span(
                    segment,
                    start.as_bytes(),
                    successor(start.as_bytes()).as_deref(),
                    budget,
                )
            })
        }
        Matcher::Range { lower, upper } => {
            let key = |text: &str| format!("{prefix}{text}").into_bytes();
            let from = match lower {
                None => prefix.clone().into_bytes(),
                Some((text, included)) => after(key(text), !included),
            };
            let to = match upper {
                None => end.clone().into_bytes(),
                Some((text, included)) => after(key(text), *included),
            };
            constant(view, |segment| {
                if from < to {
                    span(segment, &from, Some(&to), budget)
                } else {
                    Ok(vec![])
                }
            })
        }
        Matcher::Wildcard(pattern) => by_regexp(view, &prefix, &Regexp::wildcard(pattern)?, budget),
        Matcher::Regexp(pattern) => by_regexp(view, &prefix, &Regexp::parse(pattern)?, budget),
        Matcher::Fuzzy {
            term,
            edits,
            prefix: fixed,
            expansions,
            transpositions,
        } => {
            let limits = Limits {
                edits: *edits,
                prefix: *fixed,
                expansions: *expansions,
                transpositions: *transpositions,
            };
            fuzzy(view, ordinal, term, limits, budget).map(Expansion::Scored)
        }
    }
}

fn constant(view: &View, find: impl Fn(&Segment) -> Result<Vec<TermInfo>>) -> Result<Expansion> {
    view.segments
        .iter()
        .map(|view| find(&view.segment))
        .collect::<Result<Postings>>()
        .map(Expansion::Constant)
}

/// The smallest key above `key`, if `beyond`; else `key`.
fn after(mut key: Vec<u8>, beyond: bool) -> Vec<u8> {
    if beyond {
        key.push(0);
    }
    key
}

/// The smallest key above everything that starts with `key`.
fn successor(key: &[u8]) -> Option<Vec<u8>> {
    let mut key = key.to_vec();
    while let Some(last) = key.pop() {
        if last < u8::MAX {
            key.push(last + 1);
            return Some(key);
        }
    }
    None
}

fn span(segment: &Segment, from: &[u8], to: Option<&[u8]>, budget: &Budget) -> Result<Vec<TermInfo>> {
    let mut range = segment.terms().terms().range().ge(from);
    if let Some(to) = to {
        range = range.lt(to);
    }
    let mut stream = range.into_stream()?;
    let mut found = Vec::new();
    while stream.advance() {
        budget.terms(1)?;
        found.push(stream.value().clone());
    }
    Ok(found)
}

fn by_regexp(view: &View, prefix: &str, regexp: &Regexp, budget: &Budget) -> Result<Expansion> {
    let found = constant(view, |segment| {
        let mut found = Vec::new();
        matching(
            segment,
            prefix.as_bytes(),
            &regexp.literal,
            regexp,
            budget,
            |_, _, info| {
                found.push(info.clone());
            },
        )?;
        Ok(found)
    })?;
    if regexp.overflown() {
        Err(SearchError::new(
            400,
            "TooComplexToDeterminizeException",
            "Determinizing automaton would result in more than 10000 states.",
        ))
    } else {
        Ok(found)
    }
}

/// Gives every term behind `prefix` that an automaton accepts, without the prefix, to `sink`.
fn matching<A: Automaton>(
    segment: &Segment,
    prefix: &[u8],
    literal: &str,
    automaton: &A,
    budget: &Budget,
    mut sink: impl FnMut(&[u8], A::State, &TermInfo),
) -> Result<()>
where
    A::State: Clone,
{
    let start = [prefix, literal.as_bytes()].concat();
    let behind = Behind {
        prefix,
        inner: Counted { automaton, budget },
    };
    let mut search = segment.terms().terms().search(behind).ge(&start);
    if let Some(end) = successor(&start) {
        search = search.lt(end);
    }
    let mut stream = search.into_stream()?;
    while stream.advance() {
        let text = stream.key().get(prefix.len()..).unwrap_or(&[]);
        let state = text
            .iter()
            .fold(automaton.start(), |state, byte| automaton.accept(&state, *byte));
        sink(text, state, stream.value());
    }
    // The automaton stops matching when the budget is used up.
    budget.terms(0)
}

/// An automaton whose steps count as visited terms, and that matches nothing more when the budget is used up.
struct Counted<'a, A> {
    automaton: &'a A,
    budget: &'a Budget,
}

impl<A: Automaton> Automaton for Counted<'_, A> {
    type State = A::State;
    fn start(&self) -> A::State {
        self.automaton.start()
    }
    fn is_match(&self, state: &A::State) -> bool {
        self.automaton.is_match(state)
    }
    fn can_match(&self, state: &A::State) -> bool {
        self.automaton.can_match(state) && self.budget.terms(1).is_ok()
    }
    fn accept(&self, state: &A::State, byte: u8) -> A::State {
        self.automaton.accept(state, byte)
    }
}

/// The terms of a field within a number of edits of a term. A transposition is one edit with `transpositions`, else two.
pub(crate) fn similar_terms(
    view: &View,
    ordinal: u32,
    term: &str,
    edits: u8,
    prefix: usize,
    transpositions: bool,
    budget: &Budget,
) -> Result<Vec<Near>> {
    let limits = Limits {
        edits,
        prefix,
        expansions: usize::MAX,
        transpositions,
    };
    fuzzy(view, ordinal, term, limits, budget)
}

/// The best terms, in the order of the dictionary: nearer is better, and of equally near ones the earlier.
fn fuzzy(view: &View, ordinal: u32, term: &str, limits: Limits, budget: &Budget) -> Result<Vec<Near>> {
    let Limits {
        edits,
        prefix: fixed,
        expansions,
        transpositions,
    } = limits;
    let length = term.chars().count();
    if edits == 0 || fixed >= length {
        let known = view.doc_freq(ordinal, term)? > 0;
        return Ok(if known {
            vec![Near {
                text: term.to_owned(),
                boost: 1.0,
            }]
        } else {
            vec![]
        });
    }
    let at = term.char_indices().nth(fixed).map_or(term.len(), |(at, _)| at);
    let (head, tail) = term.split_at(at);
    let prefix = format!("{}{head}", field_prefix(ordinal));
    let automaton = Levenshtein::new(tail, edits, transpositions);
    let mut found: BTreeMap<String, f32> = BTreeMap::new();
    for view in &view.segments {
        matching(
            &view.segment,
            prefix.as_bytes(),
            "",
            &automaton,
            budget,
            |text, state, _| {
                let Some(distance) = automaton.distance(state) else {
                    return;
                };
                let text = format!("{head}{}", String::from_utf8_lossy(text));
                let shorter = text.chars().count().min(length);
                let similarity = 1.0 - f32::from(distance) / shorter as f32;
                if distance == 0 {
                    found.insert(text, 1.0);
                } else if similarity > 0.0 {
                    found.insert(text, similarity);
                }
            },
        )?;
    }
    let mut best: Vec<Near> = found.into_iter().map(|(text, boost)| Near { text, boost }).collect();
    if best.len() > expansions {
        best.sort_by(|a, b| b.boost.total_cmp(&a.boost));
        best.truncate(expansions);
        best.sort_by(|a, b| a.text.cmp(&b.text));
    }
    Ok(best)
}

/// The terms of a field that a matcher accepts.
pub(crate) fn terms_of(view: &View, field: &QueryField, matcher: &Matcher, budget: &Budget) -> Result<Vec<String>> {
    if let Expansion::Scored(near) = expand(view, field, matcher, budget)? {
        return Ok(near.into_iter().map(|near| near.text).collect());
    }
    let Some(ordinal) = field.ordinal else {
        return Ok(vec![]);
    };
    let test = crate::query::TermTest::new(matcher)?;
    let mut found = std::collections::BTreeSet::new();
    for view in &view.segments {
        let ordinals = view.segment.ordinals(ordinal)?;
        let terms = (0..u32::try_from(ordinals.len()).unwrap_or(u32::MAX)).map(|ordinal| ordinals.term(ordinal));
        found.extend(terms.filter(|term| test.accepts(term)).map(str::to_owned));
    }
    Ok(found.into_iter().collect())
}

/// The first terms of a field, in the order of the dictionary, that start with `text`.
pub(crate) fn starting_with(view: &View, field: &QueryField, text: &str, most: usize) -> Result<Vec<String>> {
    let Some(ordinal) = field.ordinal else {
        return Ok(vec![]);
    };
    let prefix = field_prefix(ordinal).to_string();
    let start = format!("{prefix}{text}");
    let mut found = std::collections::BTreeSet::new();
    for view in &view.segments {
        let mut range = view.segment.terms().terms().range().ge(&start);
        if let Some(end) = successor(start.as_bytes()) {
            range = range.lt(end);
        }
        let mut stream = range.into_stream()?;
        let mut taken = 0;
        while taken < most && stream.advance() {
            found.insert(String::from_utf8_lossy(stream.key().get(prefix.len()..).unwrap_or(&[])).into_owned());
            taken += 1;
        }
    }
    Ok(found.into_iter().take(most).collect())
}

//! Expansion of multi-term queries to the terms of an index.

use std::collections::BTreeMap;

use tantivy::postings::TermInfo;
use tantivy_fst::Automaton;

use super::automaton::Prefixed;
use super::expression::too_complex;
use super::levenshtein::{Levenshtein, similarity};
use super::regexp::Regexp;
use super::{Matcher, QueryField};
use crate::budget::Budget;
use crate::error::Result;
use crate::index::{Segment, View, field_prefix};

/// Postings of terms, by segment.
pub(crate) type Postings = Vec<Vec<TermInfo>>;

/// A term with a boost from its similarity.
pub(crate) struct ScoredTerm {
    pub(crate) text: String,
    pub(crate) boost: f32,
}

/// Limits of a fuzzy query.
#[derive(Clone, Copy)]
struct FuzzyLimits {
    edits: u8,
    /// Number of leading characters that must be equal.
    prefix: usize,
    expansions: usize,
    transpositions: bool,
}

/// Result of an expansion.
pub(crate) enum Expansion {
    /// Terms that all have the same score.
    Constant(Postings),
    /// Terms with their own scores.
    Scored(Vec<ScoredTerm>),
}

/// Finds the terms of `field` that `matcher` accepts.
pub(crate) fn expand(view: &View, field: &QueryField, matcher: &Matcher, budget: &Budget) -> Result<Expansion> {
    let Some(ordinal) = field.ordinal else {
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
                term_range(
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
                Some((text, included)) => bound_key(key(text), !included),
            };
            let to = match upper {
                None => end.clone().into_bytes(),
                Some((text, included)) => bound_key(key(text), *included),
            };
            constant(view, |segment| {
                if from < to {
                    term_range(segment, &from, Some(&to), budget)
                } else {
                    Ok(vec![])
                }
            })
        }
        Matcher::Wildcard(pattern) => by_regexp(view, &prefix, &Regexp::wildcard(pattern)?, budget),
        Matcher::Regexp { text, operators } => by_regexp(view, &prefix, &Regexp::parse(text, *operators)?, budget),
        Matcher::Fuzzy {
            term,
            edits,
            prefix: fixed,
            expansions,
            transpositions,
        } => {
            let limits = FuzzyLimits {
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

/// Returns the bound of a range of keys: `key` itself, or the smallest greater key if `after`.
fn bound_key(mut key: Vec<u8>, after: bool) -> Vec<u8> {
    if after {
        key.push(0);
    }
    key
}

/// Returns the smallest key above all keys that start with `key`.
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

fn term_range(segment: &Segment, from: &[u8], to: Option<&[u8]>, budget: &Budget) -> Result<Vec<TermInfo>> {
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
    if regexp.overflowed() {
        Err(too_complex())
    } else {
        Ok(found)
    }
}

/// Calls `sink` for every term after `prefix` that the automaton accepts. The term is passed without the prefix.
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
    let prefixed = Prefixed {
        prefix,
        inner: BudgetedAutomaton { automaton, budget },
    };
    let mut search = segment.terms().terms().search(prefixed).ge(&start);
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
    // The automaton stops when the budget is exhausted: report that.
    budget.terms(0)
}

/// An automaton whose steps count as visited terms. It matches nothing once the budget is exhausted.
struct BudgetedAutomaton<'a, A> {
    automaton: &'a A,
    budget: &'a Budget,
}

impl<A: Automaton> Automaton for BudgetedAutomaton<'_, A> {
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

/// Returns the terms of a field within `edits` of a term. A transposition is one edit with `transpositions`, else two.
pub(crate) fn similar_terms(
    view: &View,
    ordinal: u32,
    term: &str,
    edits: u8,
    prefix: usize,
    transpositions: bool,
    budget: &Budget,
) -> Result<Vec<ScoredTerm>> {
    let limits = FuzzyLimits {
        edits,
        prefix,
        expansions: usize::MAX,
        transpositions,
    };
    fuzzy(view, ordinal, term, limits, budget)
}

/// Returns the best terms in dictionary order: those with fewer edits, and of equal ones the first.
fn fuzzy(view: &View, ordinal: u32, term: &str, limits: FuzzyLimits, budget: &Budget) -> Result<Vec<ScoredTerm>> {
    let FuzzyLimits {
        edits,
        prefix: fixed,
        expansions,
        transpositions,
    } = limits;
    let length = term.chars().count();
    if edits == 0 || fixed >= length {
        let known = view.doc_freq(ordinal, term)? > 0;
        return Ok(if known {
            vec![ScoredTerm {
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
                found.extend(similarity(distance, shorter).map(|boost| (text, boost)));
            },
        )?;
    }
    let mut best: Vec<ScoredTerm> = found
        .into_iter()
        .map(|(text, boost)| ScoredTerm { text, boost })
        .collect();
    if best.len() > expansions {
        best.sort_by(|a, b| b.boost.total_cmp(&a.boost));
        best.truncate(expansions);
        best.sort_by(|a, b| a.text.cmp(&b.text));
    }
    Ok(best)
}

/// Returns the terms of a field that a matcher accepts.
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

/// Returns the first terms of a field, in dictionary order, that start with `text`.
pub(crate) fn terms_with_prefix(view: &View, field: &QueryField, text: &str, limit: usize) -> Result<Vec<String>> {
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
        while taken < limit && stream.advance() {
            found.insert(String::from_utf8_lossy(stream.key().get(prefix.len()..).unwrap_or(&[])).into_owned());
            taken += 1;
        }
    }
    Ok(found.into_iter().take(limit).collect())
}

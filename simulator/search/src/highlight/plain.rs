//! Plain highlighter: splits a text into fragments of one size and returns those with the highest scores.
//!
//! Source: Lucene 4.10's `Highlighter` with `QueryScorer` and `SimpleSpanFragmenter`.

use std::collections::{HashMap, HashSet};

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::highlight::clause::Clause;
use crate::highlight::settings::Settings;
use crate::highlight::token::{Token, Units, spans_of, tokens};
use crate::score::Span;

/// Maximum number of overlapping tokens that are marked as one.
const MAX_OVERLAPPING: usize = 50;

/// A term of the query with its positions in the text (Lucene's `WeightedSpanTerm`).
struct WeightedTerm {
    weight: f32,
    /// Spans in which the term matches. `None`: everywhere.
    spans: Option<Vec<Span>>,
    /// Spans of phrases, within which no fragment may end.
    whole: Vec<Span>,
}

impl WeightedTerm {
    fn matches_at(&self, position: u32) -> bool {
        let inside = |span: &Span| (span.0..span.1).contains(&position);
        self.spans.as_ref().is_none_or(|spans| spans.iter().any(inside))
    }
}

/// Returns the terms of the clauses that occur in a text.
fn weighted(clauses: &[Clause], tokens: &[Token]) -> Result<HashMap<String, WeightedTerm>> {
    let mut words: HashMap<String, WeightedTerm> = HashMap::new();
    let texts: HashSet<&String> = tokens.iter().map(|token| &token.text).collect();
    for clause in clauses {
        let spans = spans_of(clause, tokens)?;
        if spans.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        for text in &texts {
            let Some(similarity) = clause.kind.similarity(text) else {
                continue;
            };
            match (&spans, words.get_mut(*text)) {
                (Some(spans), Some(known)) => {
                    known.whole.extend(spans);
                    if let Some(own) = &mut known.spans {
                        own.extend(spans);
                    }
                }
                (_, _) => {
                    let word = WeightedTerm {
                        weight: clause.boost * similarity,
                        spans: spans.clone(),
                        whole: spans.clone().unwrap_or_default(),
                    };
                    words.insert((*text).clone(), word);
                }
            }
        }
    }
    Ok(words)
}

/// Splits a text into fragments.
struct Fragmenter {
    /// `None`: the whole text is one fragment.
    size: Option<i32>,
    /// Whether a fragment can end within a phrase or shortly before the end of the text (`simple` fragmenter).
    simple: bool,
    length: usize,
    fragments: i32,
    position: i64,
    wait_for: i64,
}

impl Fragmenter {
    /// Returns whether a token that does not overlap its predecessor starts a new fragment.
    fn starts(&mut self, token: &Token, increment: i64, words: &HashMap<String, WeightedTerm>) -> bool {
        let Some(size) = self.size else {
            return false;
        };
        if !self.simple {
            self.position += increment;
            if self.wait_for == self.position {
                self.wait_for = -1;
            } else if self.wait_for != -1 {
                return false;
            }
            let spans = words
                .get(&token.text)
                .map(|word| word.whole.as_slice())
                .unwrap_or_default();
            if let Some(span) = spans.iter().find(|span| i64::from(span.0) == self.position) {
                self.wait_for = i64::from(span.1);
            }
        }
        let end = i32::try_from(token.end).unwrap_or(i32::MAX);
        let rest = i32::try_from(self.length.saturating_sub(token.end)).unwrap_or(i32::MAX);
        // Half of a negative size is larger than any text.
        let half = size.cast_unsigned() / 2;
        let is_full = end >= size.saturating_mul(self.fragments);
        let starts = is_full && (self.simple || rest.cast_unsigned() >= half);
        self.fragments += i32::from(starts);
        starts
    }
}

struct Fragment {
    number: usize,
    score: f32,
    start: usize,
    end: usize,
}

/// A group of overlapping tokens.
#[derive(Default)]
struct Group {
    count: usize,
    end: usize,
    matched: (usize, usize),
    total: f32,
}

impl Group {
    fn add(&mut self, token: &Token, score: f32) {
        if self.count >= MAX_OVERLAPPING {
            return;
        }
        if self.count == 0 {
            (self.matched, self.end) = ((token.start, token.end), token.end);
            self.total = score;
        } else {
            self.end = self.end.max(token.end);
            if score > 0.0 {
                self.matched = if self.total == 0.0 {
                    (token.start, token.end)
                } else {
                    (self.matched.0.min(token.start), self.matched.1.max(token.end))
                };
                self.total += score;
            }
        }
        self.count += 1;
    }
}

/// Returns the best fragments of a text with their scores, the best first.
///
/// # Errors
/// An unknown fragmenter.
pub(super) fn fragments(
    name: &str,
    text: &str,
    analyzer: &Analyzer,
    clauses: &[Clause],
    settings: &Settings,
) -> Result<Vec<(f32, String)>> {
    let simple = match settings.fragmenter.as_deref() {
        None | Some("span") => false,
        Some("simple") => true,
        Some(other) => {
            let reason = format!("unknown fragmenter option [{other}] for the field [{name}]");
            return Err(SearchError::illegal(reason));
        }
    };
    let units = Units::of(text);
    let tokens = tokens(analyzer, text);
    let words = weighted(clauses, &tokens)?;
    if words.is_empty() {
        return Ok(vec![]);
    }
    let mut fragmenter = Fragmenter {
        size: (!settings.whole).then_some(settings.fragment_size),
        simple,
        length: units.len(),
        fragments: 1,
        position: -1,
        wait_for: -1,
    };
    let mut marked = String::new();
    let mut found: Vec<Fragment> = Vec::new();
    let mut current = Fragment {
        number: 0,
        score: 0.0,
        start: 0,
        end: 0,
    };
    let mut seen: HashSet<&str> = HashSet::new();
    let (mut group, mut last_end) = (Group::default(), 0);
    let write = |group: &Group, marked: &mut String, last_end: &mut usize| {
        let (start, end) = group.matched;
        if start > *last_end {
            marked.push_str(&settings.encode(&units.slice(*last_end, start)));
        }
        let text = units.slice(start, end);
        if group.total > 0.0 {
            marked.push_str(&settings.mark(&text, 0));
        } else {
            marked.push_str(&settings.encode(&text));
        }
        *last_end = end.max(*last_end);
    };
    let mut before = -1;
    for token in &tokens {
        let increment = i64::from(token.position) - before;
        before = i64::from(token.position);
        if group.count > 0 && token.start >= group.end {
            write(&group, &mut marked, &mut last_end);
            group = Group::default();
            if fragmenter.starts(token, increment, &words) {
                current.end = marked.len();
                let next = Fragment {
                    number: current.number + 1,
                    score: 0.0,
                    start: marked.len(),
                    end: 0,
                };
                found.push(std::mem::replace(&mut current, next));
                seen.clear();
            }
        }
        let word = words.get(&token.text).filter(|word| word.matches_at(token.position));
        let score = word.map_or(0.0, |word| word.weight);
        if word.is_some() && seen.insert(&token.text) {
            current.score += score;
        }
        group.add(token, score);
    }
    if group.count > 0 {
        write(&group, &mut marked, &mut last_end);
    }
    marked.push_str(&settings.encode(&units.slice(last_end, units.len())));
    current.end = marked.len();
    found.push(current);
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.number.cmp(&b.number)));
    found.truncate(usize::try_from(settings.fragments.max(1)).unwrap_or(1));
    found.retain(|fragment| fragment.score > 0.0);
    let text = |fragment: &Fragment| marked.get(fragment.start..fragment.end).unwrap_or("").to_owned();
    Ok(found.iter().map(|fragment| (fragment.score, text(fragment))).collect())
}

/// Returns the beginning of a text without a match: the whole tokens that fit into `size`.
pub(super) fn beginning(text: &str, analyzer: &Analyzer, size: usize) -> Option<String> {
    let mut end = None;
    for token in tokens(analyzer, text) {
        if token.end >= size {
            if token.end == size {
                end = Some(size);
            }
            break;
        }
        end = Some(token.end);
    }
    end.filter(|end| *end > 0).map(|end| Units::of(text).slice(0, end))
}

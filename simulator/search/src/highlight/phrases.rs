//! The terms and phrases of a query as a tree of words, and its matches in the tokens of a text.
//!
//! Source: Lucene 4.10's `FieldQuery`, `FieldTermStack` and `FieldPhraseList`, Elasticsearch 1.5's `CustomFieldQuery`.

use std::collections::{HashMap, HashSet, VecDeque};

use indexmap::IndexSet;

use crate::highlight::clause::{Clause, ClauseKind, PhraseTerm};
use crate::highlight::token::Token;
use crate::query::SpanQuery;

/// Maximum number of alternatives of a phrase. If it has more, each is highlighted on its own.
const MAX_ALTERNATIVES: usize = 16;
/// Maximum number of phrases that are compared with each other.
const MAX_COMPARED: usize = 128;

/// A match: its parts, the number of its phrase in the query, and its boost.
#[derive(Clone)]
pub(super) struct Match {
    pub(super) parts: Vec<(usize, usize)>,
    pub(super) number: usize,
    pub(super) boost: f32,
}

impl Match {
    pub(super) fn start(&self) -> usize {
        self.parts.first().map_or(0, |part| part.0)
    }

    pub(super) fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| part.1)
    }
}

/// A term or a phrase of the query.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Words<'a> {
    field: &'a str,
    texts: Vec<&'a str>,
    positions: Vec<u32>,
    slop: u32,
    /// Bits of the boost.
    boost: u32,
}

impl<'a> Words<'a> {
    fn term(clause: &'a Clause, text: &'a str, boost: f32) -> Words<'a> {
        Words {
            field: &clause.field.name,
            texts: vec![text],
            positions: vec![0],
            slop: 0,
            boost: boost.to_bits(),
        }
    }

    /// Returns the phrases of this one and `other`, which begins with words with which this one ends.
    fn joined_with(&self, other: &Words<'a>) -> impl Iterator<Item = Words<'a>> {
        let shared = (1..self.texts.len()).filter_map(|start| {
            let end = self.texts.get(start..)?;
            let (beginning, rest) = other.texts.split_at_checked(end.len())?;
            (beginning == end && !rest.is_empty()).then_some(rest)
        });
        shared.map(|rest| {
            let texts: Vec<&str> = self.texts.iter().chain(rest).copied().collect();
            Words {
                positions: (0..).zip(&texts).map(|(position, _)| position).collect(),
                texts,
                ..self.clone()
            }
        })
    }
}

/// Returns the terms and phrases of a clause. Of the span queries, those of one term are highlighted.
fn words_of(clause: &Clause) -> Vec<Words<'_>> {
    let (slots, slop) = match &clause.kind {
        ClauseKind::Term(text) | ClauseKind::Span(SpanQuery::Term { text, .. }, _) => {
            return vec![Words::term(clause, text, clause.boost)];
        }
        ClauseKind::Span(..) | ClauseKind::Test(_) => return vec![],
        ClauseKind::Phrase(slots, slop) => (slots, *slop),
    };
    let all = slots.iter().flat_map(|(_, terms)| terms).filter_map(PhraseTerm::text);
    if slots.iter().any(|(_, terms)| terms.len() > 1) && all.clone().count() > MAX_ALTERNATIVES {
        return all.map(|text| Words::term(clause, text, 1.0)).collect();
    }
    let mut combinations: Vec<Vec<&str>> = vec![vec![]];
    for (_, terms) in slots {
        let longer = combinations.iter().flat_map(|before| {
            let texts = terms.iter().filter_map(PhraseTerm::text);
            texts.map(|text| before.iter().copied().chain([text]).collect())
        });
        combinations = longer.collect();
    }
    let words = combinations.into_iter().filter_map(|texts| match texts.as_slice() {
        [] => None,
        [text] => Some(Words::term(clause, text, clause.boost)),
        _ => Some(Words {
            texts,
            positions: slots.iter().map(|(position, _)| *position).collect(),
            slop,
            ..Words::term(clause, "", clause.boost)
        }),
    });
    words.collect()
}

/// Adds the phrases that two overlapping phrases make, after the first of the two.
fn with_joined<'a>(all: &IndexSet<Words<'a>>, match_field: bool) -> IndexSet<Words<'a>> {
    let mut joined = IndexSet::new();
    let is_compared = |words: &Words<'_>| words.texts.len() > 1;
    let are_compared = all.iter().filter(|words| is_compared(words)).count() <= MAX_COMPARED;
    for (at, words) in all.iter().enumerate() {
        joined.insert(words.clone());
        let others = all.iter().skip(at + 1).filter(|_| are_compared && is_compared(words));
        let others = others.filter(|other| is_compared(other) && other.slop == words.slop);
        for other in others.filter(|other| !match_field || other.field == words.field) {
            joined.extend(words.joined_with(other));
            joined.extend(other.joined_with(words));
        }
    }
    joined
}

/// The end of a term or phrase in the tree.
#[derive(Clone, Copy)]
struct End {
    slop: u32,
    boost: f32,
    /// Number of the term or phrase in the query.
    number: usize,
}

/// A word in the tree.
#[derive(Default)]
struct Node {
    next: HashMap<String, usize>,
    end: Option<End>,
}

const ROOT: usize = 0;

/// A tree of the words of terms and phrases.
pub(super) struct Phrases {
    nodes: Vec<Node>,
    /// All words.
    words: HashSet<String>,
}

/// A token: the number of its position, and its number there.
#[derive(Clone, Copy)]
struct Place {
    position: usize,
    at: usize,
}

/// Tokens by position.
type Positions<'a> = Vec<&'a [&'a Token]>;

impl Phrases {
    /// Returns the terms and phrases of the clauses of all fields: only those of `field`, if any.
    pub(super) fn of(clauses: &[Clause], field: Option<&str>) -> Phrases {
        let mut phrases = Phrases {
            nodes: vec![Node::default()],
            words: HashSet::new(),
        };
        let all: IndexSet<Words<'_>> = clauses.iter().flat_map(words_of).collect();
        for (number, words) in with_joined(&all, field.is_some()).into_iter().enumerate() {
            if field.is_none_or(|field| field == words.field) {
                phrases.insert(&words, number);
            }
        }
        phrases
    }

    fn insert(&mut self, words: &Words<'_>, number: usize) {
        let mut at = ROOT;
        for text in &words.texts {
            self.words.insert((*text).to_owned());
            let new = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else { return };
            at = *node.next.entry((*text).to_owned()).or_insert(new);
            if at == new {
                self.nodes.push(Node::default());
            }
        }
        if let Some(node) = self.nodes.get_mut(at) {
            // The last of several with other boosts counts.
            node.end = Some(End {
                slop: words.slop,
                boost: f32::from_bits(words.boost),
                number,
            });
        }
    }

    /// Finds the matches in the tokens of a text: the longest phrase at each position, without overlaps. `limit`:
    /// their maximum number.
    pub(super) fn matches(&self, tokens: &[Token], limit: usize) -> Vec<Match> {
        let mut wanted: Vec<&Token> = tokens.iter().filter(|token| self.words.contains(&token.text)).collect();
        wanted.sort_by(|a, b| (a.position, &a.text).cmp(&(b.position, &b.text)));
        let positions: Positions<'_> = wanted.chunk_by(|a, b| a.position == b.position).collect();
        let mut rest: VecDeque<Place> = (0..positions.len()).map(|position| Place { position, at: 0 }).collect();
        let mut found: Vec<Match> = Vec::new();
        while found.len() < limit
            && let Some(place) = rest.pop_front()
        {
            let (place, Some(mut node)) = self.find(ROOT, &positions, place) else {
                continue;
            };
            let mut own = vec![place];
            while let Some(place) = rest.pop_front() {
                let (place, longer) = self.find(node, &positions, place);
                let Some(longer) = longer else {
                    rest.push_front(place);
                    break;
                };
                own.push(place);
                node = longer;
            }
            while !own.is_empty() {
                let tokens: Vec<&Token> = own.iter().filter_map(|place| token_at(&positions, *place)).collect();
                if let Some(end) = self.end_of(&tokens) {
                    let own = match_of(&tokens, end);
                    let apart = |other: &Match| other.end() <= own.start() || own.end() <= other.start();
                    if found.iter().all(apart) {
                        found.push(own);
                    }
                    break;
                }
                let last = own.pop().filter(|_| !own.is_empty());
                last.into_iter().for_each(|place| rest.push_front(place));
            }
        }
        found
    }

    /// Returns the first token, from a place, which continues a phrase, and the phrase with it. The last one if none
    /// does: it is the first to be looked at the next time.
    fn find(&self, node: usize, positions: &Positions<'_>, from: Place) -> (Place, Option<usize>) {
        let count = positions.get(from.position).map_or(1, |tokens| tokens.len());
        let mut place = from;
        for step in 0..count {
            place.at = (from.at + step) % count;
            let text = token_at(positions, place).map_or("", |token| token.text.as_str());
            let next = self.nodes.get(node).and_then(|node| node.next.get(text));
            if let Some(next) = next {
                return (place, Some(*next));
            }
        }
        (place, None)
    }

    /// Returns the end of the term or phrase that tokens are, if they are near enough to each other.
    fn end_of(&self, tokens: &[&Token]) -> Option<End> {
        let mut node = self.nodes.get(ROOT)?;
        for token in tokens {
            node = self.nodes.get(*node.next.get(&token.text)?)?;
        }
        let end = node.end?;
        let distance = |pair: &[&Token]| match pair {
            [before, after] => (i64::from(after.position) - i64::from(before.position) - 1).abs(),
            _ => 0,
        };
        let is_near = |pair: &[&Token]| distance(pair) <= i64::from(end.slop);
        tokens.windows(2).all(is_near).then_some(end)
    }
}

fn token_at<'a>(positions: &Positions<'a>, place: Place) -> Option<&'a Token> {
    positions.get(place.position)?.get(place.at).copied()
}

/// Returns the match of tokens. Those that follow each other are one part of it.
fn match_of(tokens: &[&Token], end: End) -> Match {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut before = None;
    for token in tokens {
        match (parts.last_mut(), before) {
            (Some(last), Some(position)) if token.position == position + 1 => last.1 = token.end,
            _ => parts.push((token.start, token.end)),
        }
        before = Some(token.position);
    }
    Match {
        parts,
        number: end.number,
        boost: end.boost,
    }
}

//! Simple query strings: a syntax in which every text is valid.
//!
//! Source: Lucene 4.10's `SimpleQueryParser`, Elasticsearch 1.5's `SimpleQueryStringParser`.

use crate::analysis::{Analyzer, lowercase};
use crate::error::{Result, SearchError};
use crate::query::text::{Style, analyzed, slop_of};
use crate::query::value::scored_number;
use crate::query::{Context, Matcher, Occur, Query, QueryKind};

/// Maximum length of a number, in UTF-16 units. A longer text has no terms.
const MAX_NUMBER_LENGTH: usize = 32;

/// Set of enabled operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(u16);

impl Flags {
    const AND: u16 = 1;
    const NOT: u16 = 2;
    const OR: u16 = 4;
    const PREFIX: u16 = 8;
    const PHRASE: u16 = 16;
    const PRECEDENCE: u16 = 32;
    const ESCAPE: u16 = 64;
    const WHITESPACE: u16 = 128;
    const FUZZY: u16 = 256;
    const NEAR: u16 = 512;

    /// All operators.
    pub(super) const ALL: Flags = Flags(1023);

    /// Parses a list such as `OR|AND|PREFIX`, up to `NONE` or `ALL`.
    ///
    /// # Errors
    /// The first unknown flag.
    pub(super) fn parse(text: &str) -> Result<Flags> {
        let mut flags = Flags(0);
        for name in text.split('|') {
            flags.0 |= match name.to_uppercase().as_str() {
                "" => 0,
                "NONE" => return Ok(Flags(0)),
                "ALL" => return Ok(Flags::ALL),
                "AND" => Flags::AND,
                "NOT" => Flags::NOT,
                "OR" => Flags::OR,
                "PREFIX" => Flags::PREFIX,
                "PHRASE" => Flags::PHRASE,
                "PRECEDENCE" => Flags::PRECEDENCE,
                "ESCAPE" => Flags::ESCAPE,
                "WHITESPACE" => Flags::WHITESPACE,
                "FUZZY" => Flags::FUZZY,
                "NEAR" | "SLOP" => Flags::NEAR,
                _ => {
                    return Err(SearchError::illegal(format!(
                        "Unknown simple_query_string flag [{name}]"
                    )));
                }
            };
        }
        Ok(flags)
    }

    fn has(self, flag: u16) -> bool {
        self.0 & flag != 0
    }
}

/// Settings of a simple query string.
pub(super) struct SimpleSettings {
    pub(super) fields: Vec<(String, f32)>,
    pub(super) operator: Occur,
    pub(super) flags: Flags,
    pub(super) analyzer: Option<Analyzer>,
    pub(super) lowercase: bool,
    pub(super) lenient: bool,
    /// Whether the text before a `*` is analyzed.
    pub(super) analyzes_wildcards: bool,
}

/// The query tree under construction.
#[derive(Default)]
struct State {
    top: Option<Query>,
    previous: Option<Occur>,
    current: Option<Occur>,
    negations: usize,
}

struct Parser<'a> {
    context: &'a Context<'a>,
    settings: &'a SimpleSettings,
}

/// Parses a simple query string. Returns `None` if it has no terms.
///
/// # Errors
/// A term that is invalid for its field.
pub(super) fn parse(context: &Context<'_>, text: &str, settings: &SimpleSettings) -> Result<Option<Query>> {
    let chars: Vec<char> = text.chars().collect();
    Parser { context, settings }.query(&chars, 0)
}

impl Parser<'_> {
    fn has(&self, flag: u16) -> bool {
        self.settings.flags.has(flag)
    }

    /// Returns whether `c` ends a term.
    fn ends_term(&self, c: char) -> bool {
        match c {
            '"' => self.has(Flags::PHRASE),
            '|' => self.has(Flags::OR),
            '+' => self.has(Flags::AND),
            '(' | ')' => self.has(Flags::PRECEDENCE),
            ' ' | '\t' | '\n' | '\r' => self.has(Flags::WHITESPACE),
            _ => false,
        }
    }

    fn query(&self, text: &[char], depth: usize) -> Result<Option<Query>> {
        let mut state = State::default();
        let mut at = 0;
        while let Some(c) = text.get(at) {
            match c {
                '(' if self.has(Flags::PRECEDENCE) => at = self.group(text, at + 1, depth, &mut state)?,
                ')' if self.has(Flags::PRECEDENCE) => at += 1,
                '"' if self.has(Flags::PHRASE) => at = self.phrase(text, at + 1, &mut state)?,
                '+' | '|' if self.has(if *c == '+' { Flags::AND } else { Flags::OR }) => {
                    if state.current.is_none() && state.top.is_some() {
                        state.current = Some(if *c == '+' { Occur::Must } else { Occur::Should });
                    }
                    at += 1;
                }
                '-' if self.has(Flags::NOT) => {
                    state.negations += 1;
                    at += 1;
                    continue;
                }
                ' ' | '\t' | '\n' | '\r' if self.has(Flags::WHITESPACE) => at += 1,
                _ => at = self.term(text, at, &mut state)?,
            }
            // A negation applies only to the next clause.
            state.negations = 0;
        }
        Ok(state.top)
    }

    fn group(&self, text: &[char], start: usize, depth: usize, state: &mut State) -> Result<usize> {
        let (mut at, mut level, mut escaped) = (start, 1, false);
        while let Some(c) = text.get(at) {
            match c {
                '\\' if !escaped && self.has(Flags::ESCAPE) => {
                    escaped = true;
                    at += 1;
                    continue;
                }
                '(' if !escaped => level += 1,
                ')' if !escaped => {
                    level -= 1;
                    if level == 0 {
                        break;
                    }
                }
                _ => {}
            }
            escaped = false;
            at += 1;
        }
        if at >= text.len() || depth > 100 {
            // An unclosed parenthesis is ignored.
            return Ok(start);
        }
        if at == start {
            state.current = None;
        } else {
            let inner = self.query(text.get(start..at).unwrap_or(&[]), depth + 1)?;
            self.add(state, inner);
        }
        Ok(at + 1)
    }

    fn phrase(&self, text: &[char], start: usize, state: &mut State) -> Result<usize> {
        let (mut at, mut escaped) = (start, false);
        let mut phrase = String::new();
        while let Some(c) = text.get(at) {
            if !escaped && *c == '\\' && self.has(Flags::ESCAPE) {
                escaped = true;
                at += 1;
                continue;
            }
            if !escaped && *c == '"' {
                break;
            }
            escaped = false;
            phrase.push(*c);
            at += 1;
        }
        if at >= text.len() {
            return Ok(start);
        }
        if at == start {
            state.current = None;
            return Ok(at + 1);
        }
        at += 1;
        let mut slop = 0;
        if text.get(at) == Some(&'~') && self.has(Flags::NEAR) {
            (slop, at) = self.edits(text, at);
            // The character after the number is skipped.
            at += 1;
        }
        let query = self.over_fields(|field| self.analyzed(field, &phrase, true, slop_of(slop.into())))?;
        self.add(state, query);
        Ok(at)
    }

    /// Parses the number after a tilde. Returns it and the position after it.
    fn edits(&self, text: &[char], tilde: usize) -> (u32, usize) {
        let mut at = tilde + 1;
        let mut digits = String::new();
        while let Some(c) = text.get(at).filter(|c| !self.ends_term(**c)) {
            digits.push(*c);
            at += 1;
        }
        (digits.parse().unwrap_or(0), at)
    }

    fn term(&self, text: &[char], start: usize, state: &mut State) -> Result<usize> {
        let (mut at, mut escaped, mut prefix, mut fuzzy) = (start, false, false, false);
        let mut term = String::new();
        while let Some(c) = text.get(at) {
            if !escaped {
                if *c == '\\' && self.has(Flags::ESCAPE) {
                    (escaped, prefix) = (true, false);
                    at += 1;
                    continue;
                }
                if self.ends_term(*c) {
                    break;
                }
                if !term.is_empty() && *c == '~' && self.has(Flags::FUZZY) {
                    fuzzy = true;
                    break;
                }
                prefix = !term.is_empty() && *c == '*' && self.has(Flags::PREFIX);
            }
            escaped = false;
            term.push(*c);
            at += 1;
        }
        if term.is_empty() {
            return Ok(at.max(start + 1));
        }
        let expanded = |term: &str| {
            if self.settings.lowercase {
                lowercase(term)
            } else {
                term.to_owned()
            }
        };
        let multi_term = |matcher: Matcher| {
            self.over_fields(|field| {
                Ok(Some(
                    QueryKind::MultiTerm {
                        field: self.context.field(field),
                        matcher: matcher.clone(),
                    }
                    .into(),
                ))
            })
        };
        let mut edits = 0;
        if fuzzy {
            (edits, at) = self.edits(text, at);
        }
        let query = if fuzzy && edits > 0 {
            multi_term(Matcher::Fuzzy {
                term: expanded(&term),
                edits: edits.min(2) as u8,
                prefix: 0,
                expansions: 50,
                transpositions: true,
            })?
        } else if prefix {
            term.pop();
            let term = expanded(&term);
            match self.settings.analyzes_wildcards {
                true => self.over_fields(|field| self.analyzed_prefix(field, &term))?,
                false => multi_term(Matcher::Prefix(term))?,
            }
        } else {
            self.over_fields(|field| self.analyzed(field, &term, false, 0))?
        };
        self.add(state, query);
        Ok(at)
    }

    fn analyzed(&self, name: &str, text: &str, phrase: bool, slop: i32) -> Result<Option<Query>> {
        // An analyzer makes texts of numbers, too.
        if self.settings.analyzer.is_none()
            && let Some(number) = self
                .context
                .analyzed(name)
                .filter(|field| field.field_type.kind.is_numeric())
        {
            let is_read = text.encode_utf16().count() <= MAX_NUMBER_LENGTH;
            return match is_read {
                true => scored_number(self.context, Some(number), text),
                false => Ok(None),
            };
        }
        let analyzer = self.analyzer(name);
        let style = Style {
            phrase,
            slop,
            occur: self.settings.operator,
            has_gaps: true,
        };
        let field = self.context.field(name).without_boosts();
        analyzed(self.context, &field, &analyzer, text, style)
    }

    fn analyzer(&self, name: &str) -> Analyzer {
        let own = self.settings.analyzer.clone();
        own.unwrap_or_else(|| self.context.search_analyzer(name))
    }

    /// Returns the prefixes that are the terms of a text.
    fn analyzed_prefix(&self, name: &str, text: &str) -> Result<Option<Query>> {
        if self.settings.analyzer.is_none() {
            scored_number(self.context, self.context.analyzed(name), text)?;
        }
        let analyzer = self.analyzer(name);
        analyzer.check()?;
        let mut prefixes: Vec<Query> = analyzer
            .terms(text)
            .into_iter()
            .map(|(_, term)| {
                let (field, matcher) = (self.context.field(name), Matcher::Prefix(term));
                QueryKind::MultiTerm { field, matcher }.into()
            })
            .collect();
        match prefixes.len() {
            0 => Err(SearchError::null_pointer()),
            1 => Ok(prefixes.pop()),
            _ => Ok(Some(Query::any(prefixes))),
        }
    }

    fn over_fields(&self, build: impl Fn(&str) -> Result<Option<Query>>) -> Result<Option<Query>> {
        let mut clauses = Vec::new();
        for (field, boost) in &self.settings.fields {
            match build(field) {
                Ok(query) => clauses.extend(query.map(|query| (Occur::Should, query.boosted(*boost)))),
                Err(_) if self.settings.lenient => {}
                Err(error) => return Err(error),
            }
        }
        Ok(match clauses.len() {
            0 => None,
            1 => clauses.pop().map(|(_, query)| query),
            _ => Some(
                QueryKind::Bool {
                    clauses,
                    minimum_should_match: 0,
                    coord: false,
                }
                .into(),
            ),
        })
    }

    /// Adds a clause to the tree. A change of operator creates a new root.
    fn add(&self, state: &mut State, branch: Option<Query>) {
        let Some(mut branch) = branch else { return };
        if state.negations % 2 == 1 {
            branch = Query::bool(vec![
                (Occur::MustNot, branch),
                (Occur::Should, QueryKind::AllDocs.into()),
            ]);
        }
        state.top = Some(match state.top.take() {
            None => branch,
            Some(top) => {
                let occur = state.current.unwrap_or(self.settings.operator);
                let mut root = if state.previous == Some(occur) {
                    top
                } else {
                    Query::bool(vec![(occur, top)])
                };
                if let QueryKind::Bool { clauses, .. } = &mut root.kind {
                    clauses.push((occur, branch));
                }
                state.previous = Some(occur);
                root
            }
        });
        state.current = None;
    }
}

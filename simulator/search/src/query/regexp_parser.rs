//! Parser of regular expressions: union, intersection, sequence, repetition, complement, classes, intervals, strings.
//!
//! Source: Lucene 4.10's `RegExp`, with its errors; Elasticsearch 1.5's `RegexpFlag`.

use serde_json::Value;

use super::expression::{EMPTY, Engine, Id, MAX_EXPRESSIONS, NEVER, too_complex};
use crate::error::{Result, SearchError};
use crate::json;

/// Maximum nesting depth of groups.
const MAX_DEPTH: usize = 100;

/// Operators of a regular expression that can be disabled, as bits.
pub(crate) type Operators = u32;

pub(super) const ALL: Operators = 0xFFFF;
const INTERSECTION: Operators = 1;
const COMPLEMENT: Operators = 2;
const NO_TEXT: Operators = 4;
const ANY_STRING: Operators = 8;
/// Names of other automata, of which there are none.
const AUTOMATON: Operators = 16;
const INTERVAL: Operators = 32;

/// Reads the operators of a query: names separated by `|`, or their bits. Default: all.
///
/// # Errors
/// An unknown name.
pub(super) fn operators(flags: Option<&Value>, bits: Option<i64>) -> Result<Operators> {
    let names = flags
        .filter(|flags| !flags.is_null())
        .map(json::text_of)
        .unwrap_or_default();
    let mut found = 0;
    for name in names.split('|').filter(|name| !name.is_empty()) {
        found |= match name.to_ascii_uppercase().as_str() {
            "ALL" => return Ok(ALL),
            "NONE" => 0,
            "INTERSECTION" => INTERSECTION,
            "COMPLEMENT" => COMPLEMENT,
            "EMPTY" => NO_TEXT,
            "ANYSTRING" => ANY_STRING,
            "INTERVAL" => INTERVAL,
            _ => return Err(SearchError::illegal(format!("Unknown regexp flag [{name}]"))),
        };
    }
    Ok(match bits {
        Some(bits) => Operators::try_from(bits).unwrap_or(ALL),
        None if names.is_empty() => ALL,
        None => found,
    })
}

struct Parser<'a> {
    engine: &'a mut Engine,
    operators: Operators,
    chars: Vec<char>,
    at: usize,
    depth: usize,
    /// Name of the first automaton.
    automaton: Option<String>,
}

/// Parses an expression.
///
/// # Errors
/// A text that is no expression, or a name of an automaton.
pub(super) fn parse(engine: &mut Engine, text: &str, operators: Operators) -> Result<Id> {
    let mut parser = Parser {
        engine,
        operators,
        chars: text.chars().collect(),
        at: 0,
        depth: 0,
        automaton: None,
    };
    if parser.chars.is_empty() {
        return Ok(EMPTY);
    }
    let id = parser.union()?;
    if parser.at < parser.chars.len() {
        return Err(parser.error("end-of-string expected"));
    }
    match parser.automaton {
        Some(name) => Err(SearchError::argument(format!("'{name}' not found"))),
        None => Ok(id),
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let met = self.peek() == Some(c);
        self.at += usize::from(met);
        met
    }

    fn next(&mut self) -> Result<char> {
        let c = self.peek();
        let c = c.ok_or_else(|| SearchError::argument("unexpected end-of-string"))?;
        self.at += 1;
        Ok(c)
    }

    fn has(&self, operator: Operators) -> bool {
        self.operators & operator != 0
    }

    /// Returns the error at the current place.
    fn error(&self, what: &str) -> SearchError {
        self.error_at(self.at, what)
    }

    /// Returns the error at a place, which counts UTF-16 units.
    fn error_at(&self, at: usize, what: &str) -> SearchError {
        let units: usize = self.chars.iter().take(at).map(|c| c.len_utf16()).sum();
        SearchError::argument(format!("{what} at position {units}"))
    }

    fn union(&mut self) -> Result<Id> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SearchError::argument(format!(
                "more than {MAX_DEPTH} levels of nested groups"
            )));
        }
        let mut all = vec![self.intersection()?];
        while self.take('|') {
            all.push(self.intersection()?);
        }
        self.depth -= 1;
        Ok(self.engine.union(all))
    }

    fn intersection(&mut self) -> Result<Id> {
        let mut id = self.sequence()?;
        while self.has(INTERSECTION) && self.take('&') {
            let other = self.sequence()?;
            id = self.engine.intersection(id, other);
        }
        Ok(id)
    }

    /// Parses at least one part. An operator that is not possible at the start is a character.
    fn sequence(&mut self) -> Result<Id> {
        let mut parts = vec![self.repetition()?];
        let is_end = |parser: &Self, c| matches!(c, ')' | '|') || c == '&' && parser.has(INTERSECTION);
        while self.peek().is_some_and(|c| !is_end(self, c)) {
            parts.push(self.repetition()?);
        }
        let engine = &mut *self.engine;
        Ok(parts.into_iter().rev().fold(
            EMPTY,
            |rest, part| if rest == EMPTY { part } else { engine.concat(part, rest) },
        ))
    }

    fn repetition(&mut self) -> Result<Id> {
        let mut id = self.complement()?;
        loop {
            let (least, most) = match self.peek() {
                Some('?') => (0, Some(1)),
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('{') => {
                    self.at += 1;
                    let least = self.number()?.ok_or_else(|| self.error("integer expected"))?;
                    let most = if self.take(',') { self.number()? } else { Some(least) };
                    if self.peek() != Some('}') {
                        return Err(self.error("expected '}'"));
                    }
                    (least, most)
                }
                _ => return Ok(id),
            };
            self.at += 1;
            if least.max(most.unwrap_or(0)) as usize > MAX_EXPRESSIONS {
                return Err(too_complex());
            }
            id = match most {
                Some(most) if most < least => NEVER,
                most => self.engine.repeat(id, least, most),
            };
        }
    }

    fn number(&mut self) -> Result<Option<u32>> {
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            digits.push(digit);
            self.at += 1;
        }
        match digits.parse::<i32>() {
            _ if digits.is_empty() => Ok(None),
            Ok(number) => Ok(Some(number.unsigned_abs())),
            Err(_) => Err(SearchError::number(&digits)),
        }
    }

    fn complement(&mut self) -> Result<Id> {
        let mut negations = 0;
        while self.has(COMPLEMENT) && self.take('~') {
            negations += 1;
        }
        let id = if self.take('[') { self.class()? } else { self.simple()? };
        Ok(if negations % 2 == 1 {
            self.engine.complement(id)
        } else {
            id
        })
    }

    fn simple(&mut self) -> Result<Id> {
        match self.next()? {
            '.' => Ok(self.engine.any_char()),
            '#' if self.has(NO_TEXT) => Ok(NEVER),
            '@' if self.has(ANY_STRING) => Ok(self.engine.any_string()),
            '"' => {
                let mut text = String::new();
                loop {
                    match self.peek() {
                        None => return Err(self.error("expected '\"'")),
                        Some('"') => break,
                        Some(c) => text.push(c),
                    }
                    self.at += 1;
                }
                self.at += 1;
                Ok(self.engine.literal(&text))
            }
            '(' => {
                if self.take(')') {
                    return Ok(EMPTY);
                }
                let id = self.union()?;
                match self.take(')') {
                    true => Ok(id),
                    false => Err(self.error("expected ')'")),
                }
            }
            '<' if self.has(AUTOMATON | INTERVAL) => self.interval(),
            '\\' => {
                let c = self.next()?;
                Ok(self.engine.class(vec![(c, c)]))
            }
            c => Ok(self.engine.class(vec![(c, c)])),
        }
    }

    fn class_char(&mut self) -> Result<char> {
        self.take('\\');
        self.next()
    }

    fn class(&mut self) -> Result<Id> {
        let is_negated = self.take('^');
        let mut ranges = Vec::new();
        loop {
            let from = self.class_char()?;
            let to = if self.take('-') { self.class_char()? } else { from };
            if from > to {
                let [from, to] = [from, to].map(u32::from);
                let reason = format!("invalid range: from ({from}) cannot be > to ({to})");
                return Err(SearchError::argument(reason));
            }
            ranges.push((from, to));
            match self.peek() {
                None => return Err(self.error("expected ']'")),
                Some(']') => break,
                Some(_) => {}
            }
        }
        self.at += 1;
        let class = self.engine.class(ranges);
        if !is_negated {
            return Ok(class);
        }
        let (any, other) = (self.engine.any_char(), self.engine.complement(class));
        Ok(self.engine.intersection(any, other))
    }

    /// Parses `<7-42>`: matches the numbers of the interval. If both bounds have the same length, numbers are
    /// zero-padded to it.
    fn interval(&mut self) -> Result<Id> {
        let start = self.at;
        while self.peek().is_some_and(|c| c != '>') {
            self.at += 1;
        }
        let text: String = self.chars.get(start..self.at).unwrap_or(&[]).iter().collect();
        if !self.take('>') {
            return Err(self.error("expected '>'"));
        }
        let illegal = || self.error_at(self.at - 1, "interval syntax error");
        let Some((low, high)) = text.split_once('-') else {
            return match self.has(AUTOMATON) {
                true => {
                    self.automaton.get_or_insert(text);
                    Ok(NEVER)
                }
                false => Err(illegal()),
            };
        };
        if !self.has(INTERVAL) {
            return Err(self.error_at(self.at - 1, "illegal identifier"));
        }
        let number = |digits: &str| match digits.parse::<i32>() {
            Ok(number) if number >= 0 => Ok(u64::from(number.unsigned_abs())),
            _ => Err(illegal()),
        };
        let (from, to) = (number(low)?, number(high)?);
        let width = if low.len() == high.len() { low.len() } else { 0 };
        let (from, to) = (from.min(to), from.max(to));
        let length = to.checked_ilog10().unwrap_or(0) as usize + 1;
        let mut all = Vec::new();
        for digits in 1..=length {
            // Numbers with this many digits, or all numbers padded to the width.
            if width > 0 && digits < length {
                continue;
            }
            let digits = digits.max(width);
            let min = if width > 0 || digits == 1 {
                0
            } else {
                10u64.saturating_pow(u32::try_from(digits - 1).unwrap_or(0))
            };
            let max = 10u64
                .checked_pow(u32::try_from(digits).unwrap_or(20))
                .map_or(u64::MAX, |power| power - 1);
            let (low, high) = (from.max(min), to.min(max));
            if low <= high {
                let low: Vec<u8> = format!("{low:0digits$}").into_bytes();
                let high: Vec<u8> = format!("{high:0digits$}").into_bytes();
                let id = self.between(&low, &high);
                all.push(id);
            }
        }
        let id = self.engine.union(all);
        if width > 0 {
            Ok(id)
        } else {
            let zeros = self.engine.class(vec![('0', '0')]);
            let zeros = self.engine.star(zeros);
            Ok(self.engine.concat(zeros, id))
        }
    }

    /// Matches the numbers between two bounds of the same length, digit by digit.
    fn between(&mut self, low: &[u8], high: &[u8]) -> Id {
        let (Some((first, low_rest)), Some((last, high_rest))) = (low.split_first(), high.split_first()) else {
            return EMPTY;
        };
        let digit = |engine: &mut Engine, from: u8, to: u8| {
            if from <= to {
                engine.class(vec![(char::from(from), char::from(to))])
            } else {
                NEVER
            }
        };
        if first == last {
            let (head, tail) = (digit(self.engine, *first, *first), self.between(low_rest, high_rest));
            return self.engine.concat(head, tail);
        }
        let (nines, zeros) = (vec![b'9'; low_rest.len()], vec![b'0'; low_rest.len()]);
        let mut all = Vec::new();
        for (from, to, low, high) in [
            (*first, *first, low_rest, nines.as_slice()),
            (first + 1, last - 1, zeros.as_slice(), nines.as_slice()),
            (*last, *last, zeros.as_slice(), high_rest),
        ] {
            let head = digit(self.engine, from, to);
            if head != NEVER {
                let tail = self.between(low, high);
                let id = self.engine.concat(head, tail);
                all.push(id);
            }
        }
        self.engine.union(all)
    }
}

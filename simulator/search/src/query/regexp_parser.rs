//! Parser of regular expressions: union, intersection, sequence, repetition, complement, classes, intervals, strings.

use super::expression::{EMPTY, Engine, Id, NEVER};

/// Maximum nesting depth of groups.
const MAX_DEPTH: usize = 100;
/// Maximum count of a repetition.
const MAX_REPEATS: u32 = 1_000;

struct Parser<'a> {
    engine: &'a mut Engine,
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, String>;

pub(super) fn parse(engine: &mut Engine, pattern: &str) -> Parsed<Id> {
    let mut parser = Parser {
        engine,
        chars: pattern.chars().collect(),
        at: 0,
        depth: 0,
    };
    if parser.chars.is_empty() {
        return Ok(EMPTY);
    }
    let id = parser.union()?;
    if parser.at < parser.chars.len() {
        return Err(format!("end-of-string expected at position {}", parser.at));
    }
    Ok(id)
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

    fn next(&mut self) -> Parsed<char> {
        let c = self.peek().ok_or("unexpected end-of-string")?;
        self.at += 1;
        Ok(c)
    }

    fn union(&mut self) -> Parsed<Id> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} levels of nested groups"));
        }
        let mut all = vec![self.intersection()?];
        while self.take('|') {
            all.push(self.intersection()?);
        }
        self.depth -= 1;
        Ok(self.engine.union(all))
    }

    fn intersection(&mut self) -> Parsed<Id> {
        let mut id = self.sequence()?;
        while self.take('&') {
            let other = self.sequence()?;
            id = self.engine.intersection(id, other);
        }
        Ok(id)
    }

    fn sequence(&mut self) -> Parsed<Id> {
        let mut parts = vec![self.repetition()?];
        while self.peek().is_some_and(|c| !matches!(c, ')' | '|' | '&')) {
            parts.push(self.repetition()?);
        }
        let engine = &mut *self.engine;
        Ok(parts.into_iter().rev().fold(
            EMPTY,
            |rest, part| if rest == EMPTY { part } else { engine.concat(part, rest) },
        ))
    }

    fn repetition(&mut self) -> Parsed<Id> {
        let mut id = self.complement()?;
        loop {
            id = match self.peek() {
                Some('?') => self.engine.union(vec![EMPTY, id]),
                Some('*') => self.engine.star(id),
                Some('+') => self.engine.repeat(id, 1, None),
                Some('{') => {
                    self.at += 1;
                    let min = self
                        .number()?
                        .ok_or_else(|| format!("integer expected at position {}", self.at))?;
                    let max = if self.take(',') { self.number()? } else { Some(min) };
                    if !self.take('}') {
                        return Err(format!("expected '}}' at position {}", self.at));
                    }
                    if min.max(max.unwrap_or(0)) > MAX_REPEATS {
                        return Err(format!("more than {MAX_REPEATS} repetitions at position {}", self.at));
                    }
                    id = self.engine.repeat(id, min, max);
                    continue;
                }
                _ => return Ok(id),
            };
            self.at += 1;
        }
    }

    fn number(&mut self) -> Parsed<Option<u32>> {
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            digits.push(digit);
            self.at += 1;
        }
        if digits.is_empty() {
            Ok(None)
        } else {
            digits
                .parse()
                .map(Some)
                .map_err(|_| format!("number too large at position {}", self.at))
        }
    }

    fn complement(&mut self) -> Parsed<Id> {
        let mut negations = 0;
        while self.take('~') {
            negations += 1;
        }
        let id = self.simple()?;
        Ok(if negations % 2 == 1 {
            self.engine.complement(id)
        } else {
            id
        })
    }

    fn simple(&mut self) -> Parsed<Id> {
        match self.next()? {
            '.' => Ok(self.engine.any_char()),
            '#' => Ok(NEVER),
            '@' => Ok(self.engine.any_string()),
            '[' => self.class(),
            '"' => {
                let mut text = String::new();
                loop {
                    match self
                        .next()
                        .map_err(|_| format!("expected '\"' at position {}", self.at))?
                    {
                        '"' => return Ok(self.engine.literal(&text)),
                        c => text.push(c),
                    }
                }
            }
            '(' => {
                if self.take(')') {
                    return Ok(EMPTY);
                }
                let id = self.union()?;
                if self.take(')') {
                    Ok(id)
                } else {
                    Err(format!("expected ')' at position {}", self.at))
                }
            }
            '<' => self.interval(),
            '\\' => {
                let c = self.next()?;
                Ok(self.engine.class(vec![(c, c)]))
            }
            c @ ('*' | '+' | '?' | '{' | ')' | '|' | '&') => {
                Err(format!("unexpected '{c}' at position {}", self.at - 1))
            }
            c => Ok(self.engine.class(vec![(c, c)])),
        }
    }

    fn class_char(&mut self) -> Parsed<char> {
        match self.next()? {
            '\\' => self.next(),
            c => Ok(c),
        }
    }

    fn class(&mut self) -> Parsed<Id> {
        let negated = self.take('^');
        let mut ranges = Vec::new();
        loop {
            let from = self.class_char()?;
            let to = if self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|next| *next != ']') {
                self.at += 1;
                self.class_char()?
            } else {
                from
            };
            ranges.push((from, to));
            if self.take(']') {
                break;
            }
            if self.peek().is_none() {
                return Err(format!("expected ']' at position {}", self.at));
            }
        }
        let class = self.engine.class(ranges);
        if !negated {
            return Ok(class);
        }
        let (any, other) = (self.engine.any_char(), self.engine.complement(class));
        Ok(self.engine.intersection(any, other))
    }

    /// Parses `<7-42>`: matches the numbers of the interval. If both bounds have the same length, numbers are
    /// zero-padded to it.
    fn interval(&mut self) -> Parsed<Id> {
        let start = self.at;
        while self.peek().is_some_and(|c| c != '>') {
            self.at += 1;
        }
        let text: String = self.chars.get(start..self.at).unwrap_or(&[]).iter().collect();
        if !self.take('>') {
            return Err(format!("expected '>' at position {}", self.at));
        }
        let illegal = || format!("interval syntax error at position {start}");
        let Some((low, high)) = text.split_once('-') else {
            return Err(format!("'{text}' not found"));
        };
        let (from, to): (u64, u64) = (
            low.parse().map_err(|_| illegal())?,
            high.parse().map_err(|_| illegal())?,
        );
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

//! Parser of the query language of label selectors.
//!
//! A selector consists of requirements separated by commas: `key`, `!key`, `key=value`, `key==value`, `key!=value`,
//! `key>number`, `key<number`, `key in (values)`, `key notin (values)`. Tokens may be separated by blanks. Single
//! values and values in lists may be empty. `in` and `notin` are also valid keys and values, where no operator is
//! expected.

use std::collections::BTreeSet;

use super::{Operator, QUALIFIED_NAME, Requirement, is_qualified_name};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    End,
    Open,
    Close,
    Comma,
    Not,
    Operator(Operator, &'a str),
    Word(&'a str),
}

impl Token<'_> {
    /// Text of the token in error messages.
    fn text(&self) -> &str {
        match self {
            Self::End => "",
            Self::Open => "(",
            Self::Close => ")",
            Self::Comma => ",",
            Self::Not => "!",
            Self::Operator(_, text) | Self::Word(text) => text,
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Removes the next token from `rest`. A NUL byte ends the text.
fn next<'a>(rest: &mut &'a str) -> Token<'a> {
    *rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    let symbols = [
        ("==", Token::Operator(Operator::DoubleEquals, "==")),
        ("!=", Token::Operator(Operator::NotEquals, "!=")),
        ("=", Token::Operator(Operator::Equals, "=")),
        (">", Token::Operator(Operator::GreaterThan, ">")),
        ("<", Token::Operator(Operator::LessThan, "<")),
        ("!", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
        (",", Token::Comma),
    ];
    for (symbol, token) in symbols {
        if let Some(after) = rest.strip_prefix(symbol) {
            *rest = after;
            return token;
        }
    }
    let end = rest
        .bytes()
        .position(|b| b == 0 || is_blank(b) || b"=!(),><".contains(&b))
        .unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after;
    match word {
        "" => Token::End,
        "in" => Token::Operator(Operator::In, word),
        "notin" => Token::Operator(Operator::NotIn, word),
        _ => Token::Word(word),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

/// Parses the whole of `text`.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser { rest: text };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Not => {}
            Token::End => return Ok(requirements),
            other => {
                return Err(format!(
                    "found '{}', expected: !, identifier, or 'end of string'",
                    other.text()
                ));
            }
        }
        requirements.push(
            parser
                .requirement()
                .map_err(|e| format!("unable to parse requirement: {e}"))?,
        );
        match parser.take() {
            Token::End => return Ok(requirements),
            Token::Comma => match parser.peek() {
                Token::Word(_) | Token::Not => {}
                other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
            },
            other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
        }
    }
}

impl<'a> Parser<'a> {
    /// Next token, where `in` and `notin` are words.
    fn peek(&self) -> Token<'a> {
        let mut rest = self.rest;
        value(next(&mut rest))
    }

    /// Removes and returns the next token, where `in` and `notin` are words.
    fn take(&mut self) -> Token<'a> {
        value(next(&mut self.rest))
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (negated, token) = match self.take() {
            Token::Not => (true, self.take()),
            other => (false, other),
        };
        let Token::Word(key) = token else {
            return Err(format!("found '{}', expected: identifier", token.text()));
        };
        if !is_qualified_name(key) {
            return Err(format!("invalid label key: {QUALIFIED_NAME}"));
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, BTreeSet::new());
        }
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, BTreeSet::new());
        }
        let operator = match next(&mut self.rest) {
            Token::Operator(operator, _) => operator,
            other => {
                return Err(format!(
                    "found '{}', expected: '=', '!=', '==', 'in', notin'",
                    other.text()
                ));
            }
        };
        let values = if matches!(operator, Operator::In | Operator::NotIn) {
            self.list()?
        } else {
            BTreeSet::from([self.single()?])
        };
        Requirement::new(key, operator, values)
    }

    fn single(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Comma => Ok(String::new()),
            Token::Word(word) => {
                self.take();
                Ok(word.to_owned())
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn list(&mut self) -> Result<BTreeSet<String>, String> {
        let open = self.take();
        if open != Token::Open {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        match self.peek() {
            Token::Word(_) | Token::Comma => {}
            Token::Close => {
                self.take();
                return Ok(BTreeSet::from([String::new()]));
            }
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.take() {
                Token::Word(word) => {
                    values.insert(word.to_owned());
                    match self.peek() {
                        Token::Comma => {}
                        Token::Close => break,
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Comma => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek() {
                        Token::Close => {
                            values.insert(String::new());
                            break;
                        }
                        Token::Comma => {
                            self.take();
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
        self.take();
        Ok(values)
    }
}

/// Converts an `in` or `notin` operator to a word.
fn value(token: Token<'_>) -> Token<'_> {
    match token {
        Token::Operator(Operator::In | Operator::NotIn, text) => Token::Word(text),
        other => other,
    }
}

//! Tokens of scripts.
//!
//! Source: the grammar of Lucene 4.10's JavaScript expressions, and the errors of its lexer, which ANTLR 3 generated.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use super::unparsed;
use crate::error::Result;
use crate::exception::Exception;

/// Operators and punctuation, with their names in errors. Longer ones come first.
const SIGNS: [(&str, &str); 27] = [
    (">>>", "unsigned bit shift right "),
    ("<<", "bit shift left "),
    (">>", "bit shift right "),
    ("<=", "less than or equal "),
    (">=", "greater than or equal "),
    ("==", "equal "),
    ("!=", ""),
    ("&&", "boolean and "),
    ("||", "boolean or "),
    ("<", "less than "),
    (">", "greater than "),
    ("!", "boolean not "),
    ("&", "bitwise and "),
    ("|", "bitwise or "),
    ("^", "bitwise xor "),
    ("~", "bitwise not "),
    ("+", "addition "),
    ("-", "subtraction "),
    ("*", "multiplication "),
    ("/", "division "),
    ("%", "modulo "),
    ("?", "conditional "),
    ("(", "open parenthesis "),
    (")", "close parenthesis "),
    (":", ""),
    (",", ""),
    (".", ""),
];

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sign(&'static str),
    Variable,
    Decimal,
    Octal,
    Hex,
    End,
}

/// A token. Its position is that in its line, in UTF-16 units.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) position: usize,
}

impl Token {
    /// Returns whether the token is this operator.
    pub(super) fn is(&self, sign: &str) -> bool {
        self.kind
            == Kind::Sign(
                SIGNS
                    .iter()
                    .find(|(known, _)| *known == sign)
                    .map_or("", |(known, _)| known),
            )
    }
}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            Kind::End => return formatter.write_str("end of expression"),
            Kind::Sign(sign) => SIGNS
                .iter()
                .find(|(known, _)| *known == sign)
                .map_or("", |(_, name)| name),
            Kind::Variable => "",
            Kind::Decimal => "decimal ",
            Kind::Octal => "octal ",
            Kind::Hex => "hex ",
        };
        write!(formatter, "{name}'{}'", self.text)
    }
}

/// Splits a script into tokens.
pub(super) struct Lexer<'a> {
    script: &'a str,
    rest: Peekable<Chars<'a>>,
    position: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(script: &'a str) -> Lexer<'a> {
        Lexer {
            script,
            rest: script.chars().peekable(),
            position: 0,
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    /// Moves the next character to the text of a token.
    fn take(&mut self, text: &mut String) {
        if let Some(char) = self.rest.next() {
            text.push(char);
            self.position = if char == '\n' {
                0
            } else {
                self.position + char.len_utf16()
            };
        }
    }

    /// Moves the next characters to the text of a token while they belong to it. Returns whether there were any.
    fn take_while(&mut self, text: &mut String, belongs: impl Fn(char) -> bool) -> bool {
        let before = text.len();
        while self.peek().is_some_and(&belongs) {
            self.take(text);
        }
        text.len() > before
    }

    /// Returns the error `kind` for the next character.
    fn unexpected<T>(&mut self, kind: Exception) -> Result<T> {
        // The end is shown as the last character of Unicode's basic plane.
        let char = self.peek().unwrap_or('\u{ffff}');
        let reason = format!("unexpected character '{char}' at position ({}).", self.position);
        Err(unparsed(self.script, kind, &reason))
    }

    /// Returns the next token.
    ///
    /// # Errors
    /// A character that begins or continues no token.
    pub(super) fn next(&mut self) -> Result<Token> {
        self.take_while(&mut String::new(), |char| matches!(char, ' ' | '\t' | '\r' | '\n'));
        let (position, mut text) = (self.position, String::new());
        let kind = match self.peek() {
            None => Kind::End,
            Some(char) if char.is_ascii_digit() => self.number(&mut text)?,
            Some(char) if is_start(char) => self.variable(&mut text)?,
            Some('.') => {
                self.take(&mut text);
                if self.take_while(&mut text, |char| char.is_ascii_digit()) {
                    self.exponent(&mut text)?;
                    Kind::Decimal
                } else {
                    Kind::Sign(".")
                }
            }
            Some(_) => self.sign(&mut text)?,
        };
        Ok(Token { kind, text, position })
    }

    fn sign(&mut self, text: &mut String) -> Result<Kind> {
        loop {
            let begins = |next: Option<char>| {
                let longer: String = text.chars().chain(next).collect();
                next.is_some() && SIGNS.iter().any(|(sign, _)| sign.starts_with(&longer))
            };
            if !begins(self.peek()) {
                break;
            }
            self.take(text);
        }
        match SIGNS.iter().find(|(sign, _)| sign == text) {
            Some((sign, _)) => Ok(Kind::Sign(sign)),
            None if text.is_empty() => self.unexpected(Exception::NoViableAlt),
            None => self.unexpected(Exception::MismatchedToken),
        }
    }

    fn number(&mut self, text: &mut String) -> Result<Kind> {
        let is_digit = |char: char| char.is_ascii_digit();
        let is_zero = self.peek() == Some('0');
        self.take(text);
        match self.peek() {
            Some('x' | 'X') if is_zero => {
                self.take(text);
                if self.take_while(text, |char| char.is_ascii_hexdigit()) {
                    return Ok(Kind::Hex);
                }
                return self.unexpected(Exception::EarlyExit);
            }
            Some('0'..='7') if is_zero => {
                self.take_while(text, |char| matches!(char, '0'..='7'));
                return Ok(Kind::Octal);
            }
            _ if is_zero => {}
            _ => drop(self.take_while(text, is_digit)),
        }
        if self.peek() == Some('.') {
            self.take(text);
            self.take_while(text, is_digit);
        }
        self.exponent(text)?;
        Ok(Kind::Decimal)
    }

    fn exponent(&mut self, text: &mut String) -> Result<()> {
        if !matches!(self.peek(), Some('e' | 'E')) {
            return Ok(());
        }
        self.take(text);
        if matches!(self.peek(), Some('+' | '-')) {
            self.take(text);
        }
        if self.take_while(text, |char| char.is_ascii_digit()) {
            return Ok(());
        }
        self.unexpected(Exception::EarlyExit)
    }

    /// Reads a name with its members and indices, as `doc['field'].value`.
    fn variable(&mut self, text: &mut String) -> Result<Kind> {
        loop {
            self.take_while(text, |char| is_start(char) || char.is_ascii_digit());
            while self.peek() == Some('[') {
                self.take(text);
                self.index(text)?;
                if self.peek() != Some(']') {
                    return self.unexpected(Exception::MismatchedToken);
                }
                self.take(text);
            }
            if self.peek() != Some('.') {
                return Ok(Kind::Variable);
            }
            self.take(text);
            if !self.peek().is_some_and(is_start) {
                return self.unexpected(Exception::MismatchedSet);
            }
        }
    }

    /// Reads a number or a quoted text.
    fn index(&mut self, text: &mut String) -> Result<()> {
        let quote = match self.peek() {
            Some('0') => {
                self.take(text);
                return Ok(());
            }
            Some('1'..='9') => {
                self.take_while(text, |char| char.is_ascii_digit());
                return Ok(());
            }
            Some(quote @ ('\'' | '"')) => quote,
            _ => return self.unexpected(Exception::NoViableAlt),
        };
        self.take(text);
        loop {
            match self.peek() {
                None => return self.unexpected(Exception::MismatchedToken),
                Some('\\') => {
                    self.take(text);
                    if !self.peek().is_some_and(|char| char == quote || char == '\\') {
                        return self.unexpected(Exception::NoViableAlt);
                    }
                    self.take(text);
                }
                Some(char) => {
                    self.take(text);
                    if char == quote {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Returns whether a character begins a name.
fn is_start(char: char) -> bool {
    char.is_ascii_alphabetic() || matches!(char, '_' | '$')
}

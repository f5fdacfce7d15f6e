//! Parser of scripts.
//!
//! Source: the grammar of Lucene 4.10's JavaScript expressions, and the errors of its parser, which ANTLR 3 generated.

use super::evaluation::Node;
use super::functions::function;
use super::lexer::{Kind, Lexer, Token};
use super::{invalid, unparsed};
use crate::error::{Result, SearchError};
use crate::exception::Exception;

/// Maximum nesting depth.
const MAX_DEPTH: usize = 50;

/// What a binary operator computes.
#[derive(Clone, Copy)]
enum Binary {
    Or,
    And,
    Whole(fn(i64, i64) -> i64),
    Shift(fn(i64, u32) -> i64),
    Comparison(fn(f64, f64) -> bool),
    Arithmetic(fn(f64, f64) -> f64),
}

/// Binary operators by level, from the lowest precedence to the highest.
const LEVELS: [&[(&str, Binary)]; 10] = [
    &[("||", Binary::Or)],
    &[("&&", Binary::And)],
    &[("|", Binary::Whole(|a, b| a | b))],
    &[("^", Binary::Whole(|a, b| a ^ b))],
    &[("&", Binary::Whole(|a, b| a & b))],
    &[
        ("==", Binary::Comparison(|a, b| a == b)),
        ("!=", Binary::Comparison(|a, b| a != b)),
    ],
    &[
        ("<", Binary::Comparison(|a, b| a < b)),
        (">", Binary::Comparison(|a, b| a > b)),
        ("<=", Binary::Comparison(|a, b| a <= b)),
        (">=", Binary::Comparison(|a, b| a >= b)),
    ],
    &[
        ("<<", Binary::Shift(i64::wrapping_shl)),
        (">>", Binary::Shift(i64::wrapping_shr)),
        (
            ">>>",
            Binary::Shift(|a, b| a.cast_unsigned().wrapping_shr(b).cast_signed()),
        ),
    ],
    &[
        ("+", Binary::Arithmetic(|a, b| a + b)),
        ("-", Binary::Arithmetic(|a, b| a - b)),
    ],
    &[
        ("*", Binary::Arithmetic(|a, b| a * b)),
        ("/", Binary::Arithmetic(|a, b| a / b)),
        ("%", Binary::Arithmetic(|a, b| a % b)),
    ],
];

/// Signs that end the expression in which a part is.
type Ends = &'static [&'static str];

struct Parser<'a> {
    script: &'a str,
    lexer: Lexer<'a>,
    /// Tokens that were looked at.
    ahead: Vec<Token>,
    variables: Vec<String>,
    /// Calls and numbers that are invalid, by their place: they are reported after errors of the grammar.
    invalid: Vec<(usize, SearchError)>,
    /// Number of calls and numbers so far.
    places: usize,
}

/// Parses a script. Returns its syntax tree and its variables.
///
/// # Errors
/// A script that is none, or that calls a function that there is not.
pub(super) fn parse(script: &str) -> Result<(Node, Vec<String>)> {
    let mut parser = Parser {
        script,
        lexer: Lexer::new(script),
        ahead: vec![],
        variables: vec![],
        invalid: vec![],
        places: 0,
    };
    let root = parser.conditional(&[], MAX_DEPTH)?;
    if parser.peek(0)?.kind != Kind::End {
        return Err(match parser.peek(1)?.kind {
            Kind::End => parser.error(Exception::UnwantedToken, "extraneous", 0),
            _ => parser.error(Exception::MissingToken, "missing", 0),
        });
    }
    match parser.invalid.into_iter().min_by_key(|(place, _)| *place) {
        Some((_, error)) => Err(error),
        None => Ok((root, parser.variables)),
    }
}

impl Parser<'_> {
    /// Returns a token ahead.
    fn peek(&mut self, at: usize) -> Result<&Token> {
        while self.ahead.len() <= at {
            let token = self.lexer.next()?;
            self.ahead.push(token);
        }
        self.ahead
            .get(at)
            .ok_or_else(|| invalid(self.script, "a token is missing"))
    }

    fn next(&mut self) -> Result<Token> {
        self.peek(0)?;
        Ok(self.ahead.remove(0))
    }

    /// Returns the error `kind` for the token `at`.
    fn error(&mut self, kind: Exception, what: &str, at: usize) -> SearchError {
        match self.peek(at) {
            Ok(token) => {
                let reason = format!("{what} {token} at position ({}).", token.position);
                unparsed(self.script, kind, &reason)
            }
            Err(error) => error,
        }
    }

    /// Returns the error for a token that begins or continues no expression.
    fn no_alternative(&mut self, at: usize) -> SearchError {
        const KIND: Exception = Exception::NoViableAlt;
        match self.peek(at).map(|token| token.kind) {
            Ok(Kind::End) => unparsed(self.script, KIND, "unexpected end of expression."),
            _ => self.error(KIND, "invalid sequence of tokens near", at),
        }
    }

    /// Consumes a sign. `continues` returns whether a token can be after the sign.
    fn expect(&mut self, sign: &str, continues: impl Fn(&Token) -> bool) -> Result<()> {
        if self.peek(0)?.is(sign) {
            return self.next().map(drop);
        }
        Err(if self.peek(1)?.is(sign) {
            self.error(Exception::UnwantedToken, "extraneous", 0)
        } else if continues(self.peek(0)?) {
            self.error(Exception::MissingToken, "missing", 0)
        } else {
            self.error(Exception::MismatchedToken, "unexpected token", 0)
        })
    }

    fn below(&self, depth: usize) -> Result<usize> {
        let too_deep = || invalid(self.script, "the script is nested too deeply");
        depth.checked_sub(1).ok_or_else(too_deep)
    }

    /// Parses an expression. `ends` are the signs that can be after it.
    fn conditional(&mut self, ends: Ends, depth: usize) -> Result<Node> {
        let below = self.below(depth)?;
        let condition = self.binary(0, ends, below)?;
        if !self.peek(0)?.is("?") {
            return Ok(condition);
        }
        self.next()?;
        let yes = self.conditional(&[":"], below)?;
        self.expect(":", begins)?;
        let no = self.conditional(ends, below)?;
        Ok(Node::Conditional(Box::new([condition, yes, no])))
    }

    fn binary(&mut self, level: usize, ends: Ends, depth: usize) -> Result<Node> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary(ends, depth);
        };
        let mut left = self.binary(level + 1, ends, depth)?;
        loop {
            let token = self.peek(0)?;
            let Some((_, operator)) = operators.iter().find(|(sign, _)| token.is(sign)) else {
                return Ok(left);
            };
            self.next()?;
            let parts = Box::new([left, self.binary(level + 1, ends, depth)?]);
            left = match operator {
                Binary::Or => Node::Or(parts),
                Binary::And => Node::And(parts),
                Binary::Whole(operation) => Node::Whole(*operation, parts),
                Binary::Shift(operation) => Node::Shift(*operation, parts),
                Binary::Comparison(operation) => Node::Comparison(*operation, parts),
                Binary::Arithmetic(operation) => Node::Arithmetic(*operation, parts),
            };
        }
    }

    fn unary(&mut self, ends: Ends, depth: usize) -> Result<Node> {
        let below = self.below(depth)?;
        let token = self.peek(0)?.clone();
        match token.kind {
            Kind::Sign("+") => {
                self.next()?;
                self.unary(ends, below)
            }
            Kind::Sign(sign @ ("-" | "~" | "!")) => {
                self.next()?;
                let part = Box::new(self.unary(ends, below)?);
                Ok(match sign {
                    "-" => Node::Negation(part),
                    "~" => Node::Complement(part),
                    _ => Node::Not(part),
                })
            }
            Kind::Sign("(") => {
                self.next()?;
                let inner = self.conditional(&[")"], below)?;
                self.expect(")", |token| follows(token, ends))?;
                Ok(inner)
            }
            Kind::Variable => self.variable(&token.text, ends, below),
            Kind::Decimal | Kind::Octal | Kind::Hex => {
                self.next()?;
                Ok(self.number(&token))
            }
            Kind::Sign(_) | Kind::End => Err(self.no_alternative(0)),
        }
    }

    fn variable(&mut self, name: &str, ends: Ends, depth: usize) -> Result<Node> {
        let after = self.peek(1)?;
        if after.is("(") {
            self.next()?;
            return self.call(name, ends, depth);
        }
        if after.kind != Kind::End && !follows(after, &[":", ",", ")"]) {
            return Err(self.no_alternative(1));
        }
        self.next()?;
        let name = in_single_quotes(name);
        let known = self.variables.iter().position(|own| *own == name);
        Ok(Node::Variable(known.unwrap_or_else(|| {
            self.variables.push(name);
            self.variables.len() - 1
        })))
    }

    fn call(&mut self, name: &str, ends: Ends, depth: usize) -> Result<Node> {
        let place = self.place();
        self.next()?;
        let mut parts = Vec::new();
        if begins(self.peek(0)?) {
            parts.push(self.conditional(&[",", ")"], depth)?);
            while self.peek(0)?.is(",") {
                self.next()?;
                parts.push(self.conditional(&[",", ")"], depth)?);
            }
        }
        self.expect(")", |token| follows(token, ends))?;
        let reason = match function(name) {
            None => format!("Unrecognized method call ({name})."),
            Some((_, count, _)) if count != parts.len() => format!(
                "Expected ({count}) arguments for method call ({name}), but found ({}).",
                parts.len()
            ),
            Some((.., operation)) => return Ok(Node::Call(operation, parts)),
        };
        self.invalid.push((place, SearchError::argument(reason)));
        Ok(Node::Number(0.0))
    }

    fn number(&mut self, token: &Token) -> Node {
        let place = self.place();
        let whole = |digits: &str, radix| i64::from_str_radix(digits, radix).map(Node::Integer);
        let parsed = match token.kind {
            Kind::Hex => whole(token.text.get(2..).unwrap_or(""), 16).map_err(|_| token.text.get(2..)),
            Kind::Octal => whole(token.text.get(1..).unwrap_or(""), 8).map_err(|_| token.text.get(1..)),
            _ => token
                .text
                .parse()
                .map(Node::Number)
                .map_err(|_| Some(token.text.as_str())),
        };
        parsed.unwrap_or_else(|digits| {
            self.invalid.push((place, SearchError::number(digits.unwrap_or(""))));
            Node::Number(0.0)
        })
    }

    fn place(&mut self) -> usize {
        self.places += 1;
        self.places
    }
}

/// Returns whether a token begins an expression.
fn begins(token: &Token) -> bool {
    match token.kind {
        Kind::Variable | Kind::Decimal | Kind::Octal | Kind::Hex => true,
        Kind::Sign(sign) => ["(", "+", "-", "~", "!"].contains(&sign),
        Kind::End => false,
    }
}

/// Returns whether a token can be after a part of an expression, which one of `ends` can be after.
fn follows(token: &Token, ends: &[&str]) -> bool {
    let mut operators = LEVELS.iter().flat_map(|level| level.iter());
    let Kind::Sign(sign) = token.kind else { return false };
    sign == "?" || ends.contains(&sign) || operators.any(|(known, _)| *known == sign)
}

/// Returns the name of a variable with its texts in single quotes.
fn in_single_quotes(name: &str) -> String {
    let mut single = String::with_capacity(name.len());
    let mut chars = name.chars();
    let mut quote = None;
    while let Some(char) = chars.next() {
        match (char, quote) {
            ('\\', Some('"')) => match chars.next() {
                Some('"') => single.push('"'),
                escaped => {
                    single.push('\\');
                    single.extend(escaped);
                }
            },
            ('\\', Some(_)) => {
                single.push('\\');
                single.extend(chars.next());
            }
            ('\'' | '"', None) => {
                quote = Some(char);
                single.push('\'');
            }
            (char, Some(own)) if char == own => {
                quote = None;
                single.push('\'');
            }
            ('\'', Some(_)) => single.push_str("\\'"),
            _ => single.push(char),
        }
    }
    single
}

//! The syntax of `awk` programs.
//!
//! Limits: patterns and blocks, `print`, `printf`, `if`, `next`, `exit`, assignments and expressions. No loops,
//! arrays, user-defined functions or redirections.

use regex::bytes::Regex;

use crate::filters::compile;

/// Maximum nesting depth of expressions and blocks.
const MAX_DEPTH: usize = 32;

/// A program: rules in their order.
pub(crate) type Rules = Vec<(Pattern, Vec<Statement>)>;

/// The condition of a rule.
pub(crate) enum Pattern {
    Begin,
    End,
    Always,
    If(Expression),
}

pub(crate) enum Statement {
    /// `print`, which separates its arguments.
    Print(Vec<Expression>),
    /// `printf`: the format and its arguments.
    Printf(Vec<Expression>),
    Evaluate(Expression),
    If(Expression, Vec<Statement>, Vec<Statement>),
    Next,
    Exit(Option<Expression>),
}

pub(crate) enum Expression {
    Number(f64),
    Text(String),
    Matches(Regex),
    Variable(String),
    Field(Box<Expression>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    /// An operation on two values: an arithmetic or comparison operator, `~`, `&&`, `||`, or an empty string for
    /// concatenation.
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// An assignment: target, arithmetic operator (empty for `=`), value.
    Assign(Box<Expression>, &'static str, Box<Expression>),
    /// Postfix `++` or `--`, which returns the previous value.
    Step(Box<Expression>, f64),
    Call(String, Vec<Expression>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Text(String),
    Name(String),
    Regex(String),
    Sign(&'static str),
}

/// Operators and punctuation; longer ones first.
const SIGNS: [&str; 34] = [
    "&&", "||", "==", "!=", "<=", ">=", "!~", "++", "--", "+=", "-=", "*=", "/=", "%=", "{", "}", "(", ")", "$", ",",
    ";", "\n", "+", "-", "*", "/", "%", "<", ">", "~", "!", "=", "?", ":",
];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if matches!(first, ' ' | '\t' | '\r') {
            rest = &rest[1..];
            continue;
        }
        if first == '#' {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            continue;
        }
        // After a value, a slash is a division; otherwise it starts a regular expression.
        let after_value = match tokens.last() {
            Some(Token::Number(_) | Token::Text(_) | Token::Name(_)) => true,
            Some(Token::Sign(sign)) => matches!(*sign, ")" | "$"),
            _ => false,
        };
        let (token, length) = match first {
            '"' => quoted(rest, '"').map(|(text, length)| {
                let (unescaped, _) = crate::printf::unescape(&text.replace("\\\"", "\""));
                (Token::Text(String::from_utf8_lossy(&unescaped).into_owned()), length)
            })?,
            '/' if !after_value => {
                quoted(rest, '/').map(|(text, length)| (Token::Regex(text.replace("\\/", "/")), length))?
            }
            first if first.is_ascii_digit() || first == '.' => {
                let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
                let number = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                (
                    Token::Number(number.parse().map_err(|_| number.to_owned())?),
                    number.len(),
                )
            }
            first if first.is_ascii_alphabetic() || first == '_' => {
                let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                (Token::Name(name.to_owned()), name.len())
            }
            first => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let sign = sign.ok_or_else(|| format!("unexpected character '{first}'"))?;
                (Token::Sign(sign), sign.len())
            }
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(tokens)
}

/// Returns the unescaped text between two delimiters, and its source length with them.
fn quoted(text: &str, delimiter: char) -> Result<(String, usize), String> {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == delimiter {
            return Ok((text.get(1..at).unwrap_or_default().to_owned(), at + 1));
        }
    }
    Err(format!("no closing {delimiter}"))
}

/// Parses a program.
///
/// # Errors
/// Describes the first syntax error.
pub(crate) fn parse(text: &str) -> Result<Rules, String> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
    };
    let mut rules = Rules::new();
    loop {
        parser.skip_separators();
        if parser.peek().is_none() {
            return Ok(rules);
        }
        let pattern = match parser.peek() {
            Some(Token::Name(name)) if name == "BEGIN" => parser.then(Pattern::Begin),
            Some(Token::Name(name)) if name == "END" => parser.then(Pattern::End),
            Some(Token::Sign("{")) => Pattern::Always,
            _ => Pattern::If(parser.expression()?),
        };
        let block = match parser.peek() {
            Some(Token::Sign("{")) => parser.block()?,
            _ => vec![Statement::Print(Vec::new())],
        };
        rules.push((pattern, block));
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn then<T>(&mut self, value: T) -> T {
        self.at += 1;
        value
    }

    fn take(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let Some(Token::Sign(sign)) = self.peek() else {
            return None;
        };
        let sign = signs.iter().copied().find(|wanted| wanted == sign)?;
        Some(self.then(sign))
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), String> {
        let found = format!("{:?}", self.peek());
        self.take(&[sign])
            .map(drop)
            .ok_or_else(|| format!("expected {sign}, found {found}"))
    }

    fn skip_separators(&mut self) {
        while self.take(&[";", "\n"]).is_some() {}
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.depth == MAX_DEPTH {
            return Err("nested too deeply".to_owned());
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn block(&mut self) -> Result<Vec<Statement>, String> {
        self.expect("{")?;
        let mut statements = Vec::new();
        loop {
            self.skip_separators();
            if self.take(&["}"]).is_some() {
                return Ok(statements);
            }
            statements.push(self.deeper(Self::statement)?);
        }
    }

    fn body(&mut self) -> Result<Vec<Statement>, String> {
        self.skip_separators();
        match self.peek() {
            Some(Token::Sign("{")) => self.block(),
            _ => Ok(vec![self.deeper(Self::statement)?]),
        }
    }

    fn statement(&mut self) -> Result<Statement, String> {
        let word = match self.peek() {
            Some(Token::Name(name)) => name.clone(),
            _ => String::new(),
        };
        match word.as_str() {
            "print" => {
                self.at += 1;
                self.arguments().map(Statement::Print)
            }
            "printf" => {
                self.at += 1;
                self.arguments().map(Statement::Printf)
            }
            "next" => Ok(self.then(Statement::Next)),
            "exit" => {
                self.at += 1;
                let status = if self.ends() { None } else { Some(self.expression()?) };
                Ok(Statement::Exit(status))
            }
            "if" => {
                self.at += 1;
                self.expect("(")?;
                let condition = self.expression()?;
                self.expect(")")?;
                let then = self.body()?;
                let before = self.at;
                self.skip_separators();
                let otherwise = match self.peek() {
                    Some(Token::Name(name)) if name == "else" => {
                        self.at += 1;
                        self.body()?
                    }
                    _ => {
                        self.at = before;
                        Vec::new()
                    }
                };
                Ok(Statement::If(condition, then, otherwise))
            }
            "for" | "while" | "do" | "function" | "delete" | "getline" => Err(format!("{word} is not simulated")),
            _ => self.expression().map(Statement::Evaluate),
        }
    }

    fn ends(&self) -> bool {
        matches!(self.peek(), None | Some(Token::Sign(";" | "\n" | "}")))
    }

    fn arguments(&mut self) -> Result<Vec<Expression>, String> {
        let mut arguments = Vec::new();
        while !self.ends() {
            arguments.push(self.expression()?);
            if self.take(&[","]).is_none() {
                break;
            }
        }
        if self.ends() {
            Ok(arguments)
        } else {
            Err(format!("unexpected {:?}", self.peek()))
        }
    }

    fn expression(&mut self) -> Result<Expression, String> {
        self.deeper(Self::assignment)
    }

    fn assignment(&mut self) -> Result<Expression, String> {
        let target = self.binary(0)?;
        if !matches!(target, Expression::Variable(_) | Expression::Field(_)) {
            return Ok(target);
        }
        let operator = match self.take(&["=", "+=", "-=", "*=", "/=", "%="]) {
            Some("=") => "",
            Some("+=") => "+",
            Some("-=") => "-",
            Some("*=") => "*",
            Some("/=") => "/",
            Some(_) => "%",
            None => return Ok(target),
        };
        let value = self.expression()?;
        Ok(Expression::Assign(Box::new(target), operator, Box::new(value)))
    }

    /// Parses operations of a precedence level and of higher ones.
    fn binary(&mut self, level: usize) -> Result<Expression, String> {
        const LEVELS: [&[&str]; 7] = [
            &["||"],
            &["&&"],
            &["~", "!~"],
            &["<", "<=", "==", "!=", ">", ">="],
            &[],
            &["+", "-"],
            &["*", "/", "%"],
        ];
        let Some(signs) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        loop {
            let operator = match self.take(signs) {
                Some(sign) => sign,
                None if signs.is_empty() && self.begins_value() => "",
                None => return Ok(left),
            };
            left = Expression::Binary(operator, Box::new(left), Box::new(self.binary(level + 1)?));
        }
    }

    /// Whether a value follows, which is concatenated.
    fn begins_value(&self) -> bool {
        match self.peek() {
            Some(Token::Number(_) | Token::Text(_)) => true,
            Some(Token::Name(name)) => name != "else",
            Some(Token::Sign(sign)) => matches!(*sign, "$" | "(" | "!"),
            _ => false,
        }
    }

    fn unary(&mut self) -> Result<Expression, String> {
        match self.take(&["!", "-", "+"]) {
            Some("!") => self.deeper(Self::unary).map(|value| Expression::Not(Box::new(value))),
            Some("-") => self
                .deeper(Self::unary)
                .map(|value| Expression::Negative(Box::new(value))),
            Some(_) => self.deeper(Self::unary),
            None => self.postfix(),
        }
    }

    fn postfix(&mut self) -> Result<Expression, String> {
        let value = self.primary()?;
        if !matches!(value, Expression::Variable(_) | Expression::Field(_)) {
            return Ok(value);
        }
        Ok(match self.take(&["++", "--"]) {
            Some("++") => Expression::Step(Box::new(value), 1.0),
            Some(_) => Expression::Step(Box::new(value), -1.0),
            None => value,
        })
    }

    fn primary(&mut self) -> Result<Expression, String> {
        let token = self.peek().cloned().ok_or("unexpected end")?;
        self.at += 1;
        match token {
            Token::Number(number) => Ok(Expression::Number(number)),
            Token::Text(text) => Ok(Expression::Text(text)),
            Token::Regex(pattern) => match compile(&pattern, false) {
                Some(regex) => Ok(Expression::Matches(regex)),
                None => Err(format!("bad pattern {pattern}")),
            },
            Token::Name(name) if self.peek() == Some(&Token::Sign("(")) => {
                self.at += 1;
                let mut arguments = Vec::new();
                while self.take(&[")"]).is_none() {
                    arguments.push(self.expression()?);
                    if self.take(&[","]).is_none() {
                        self.expect(")")?;
                        break;
                    }
                }
                Ok(Expression::Call(name, arguments))
            }
            Token::Name(name) if name == "length" => Ok(Expression::Call(name, Vec::new())),
            Token::Name(name) => Ok(Expression::Variable(name)),
            Token::Sign("$") => self
                .deeper(Self::primary)
                .map(|field| Expression::Field(Box::new(field))),
            Token::Sign("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Sign(sign) => Err(format!("unexpected {sign}")),
        }
    }
}

//! Parser of tokens to the syntax tree.

use crate::exception::Exception;
use crate::syntax::lexer::{Lexeme, LexicalError, TokenKind, escaped, tokens};
use crate::syntax::tree::{Clause, Conjunction, Modifier, Node, SyntaxError, Term, TermKind};

/// Maximum nesting depth of groups.
const MAX_DEPTH: usize = 100;

/// Parses a query string into its clauses.
///
/// # Errors
/// A syntax error, with the message of Lucene's parser, and the terms before it, in their order.
pub(crate) fn parse(text: &str) -> Result<Vec<Clause>, (SyntaxError, Vec<Node>)> {
    let (tokens, lexical) = tokens(text);
    let mut parser = Parser {
        text,
        tokens,
        lexical,
        at: 0,
        expected: Vec::new(),
        looked_ahead: false,
        terms: Vec::new(),
    };
    let clauses = parser.whole();
    clauses.map_err(|error| (error, parser.terms))
}

fn column(text: &str, at: usize) -> usize {
    text.get(..at).map_or(0, |before| before.encode_utf16().count())
}

/// Kinds of tokens that can start a term.
const TERM_STARTS: [TokenKind; 10] = [
    TokenKind::BareOperator,
    TokenKind::Star,
    TokenKind::Quoted,
    TokenKind::Term,
    TokenKind::PrefixTerm,
    TokenKind::WildTerm,
    TokenKind::RegexpTerm,
    TokenKind::RangeIn,
    TokenKind::RangeEx,
    TokenKind::Number,
];

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Lexeme<'a>>,
    /// The error of the lexer, if it did not reach the end.
    lexical: Option<LexicalError>,
    at: usize,
    /// Kinds of tokens that are possible after the last one.
    expected: Vec<TokenKind>,
    /// Whether the parser looked ahead for a field name after the last token.
    looked_ahead: bool,
    /// The terms, phrases and ranges that it has read.
    terms: Vec<Node>,
}

type Parsed<T> = std::result::Result<T, SyntaxError>;

impl<'a> Parser<'a> {
    /// Parses all of the text.
    fn whole(&mut self) -> Parsed<Vec<Clause>> {
        let clauses = self.query(None, 0)?;
        self.expect(&[TokenKind::End]);
        if self.kind() != TokenKind::End || self.lexical.is_some() {
            return Err(self.unexpected());
        }
        Ok(clauses)
    }

    fn peek(&self, ahead: usize) -> Lexeme<'a> {
        self.tokens.get(self.at + ahead).copied().unwrap_or(Lexeme {
            kind: TokenKind::End,
            text: "",
            at: self.text.len(),
        })
    }

    fn kind(&self) -> TokenKind {
        self.peek(0).kind
    }

    fn next(&mut self) -> Lexeme<'a> {
        let token = self.peek(0);
        self.at += 1;
        self.expected.clear();
        self.looked_ahead = false;
        token
    }

    fn expect(&mut self, kinds: &[TokenKind]) {
        self.expected.extend_from_slice(kinds);
    }

    fn take(&mut self, kind: TokenKind) -> Option<Lexeme<'a>> {
        self.expect(&[kind]);
        (self.kind() == kind).then(|| self.next())
    }

    /// Returns the error for the current token, with the text of JavaCC, Lucene's parser generator.
    fn unexpected(&self) -> SyntaxError {
        let token = self.peek(0);
        if let (TokenKind::End, Some(lexical)) = (token.kind, &self.lexical) {
            return SyntaxError {
                kind: Exception::TokenMgrError,
                message: lexical.message(self.text),
            };
        }
        let met = if token.kind == TokenKind::End {
            "<EOF>".to_owned()
        } else {
            format!(" {} \"{} \"", token.kind.image(), escaped(token.text))
        };
        let mut kinds = self.expected.clone();
        kinds.sort_unstable();
        kinds.dedup();
        if self.looked_ahead {
            kinds.extend([TokenKind::Term, TokenKind::Star]);
        }
        let was = if kinds.len() == 1 {
            "Was expecting:"
        } else {
            "Was expecting one of:"
        };
        let lines: String = kinds
            .iter()
            .map(|kind| {
                let dots = if *kind == TokenKind::End { "" } else { "..." };
                format!("\n    {} {dots}", kind.image())
            })
            .collect();
        SyntaxError::parse(format!(
            "Encountered \"{met}\" at line 1, column {}.\n{was}{lines}\n    ",
            column(self.text, token.at)
        ))
    }

    fn query(&mut self, field: Option<&str>, depth: usize) -> Parsed<Vec<Clause>> {
        if depth > MAX_DEPTH {
            return Err(SyntaxError::parse(format!("more than {MAX_DEPTH} nested groups")));
        }
        let modifier = self.modifier();
        let mut clauses = vec![Clause {
            conjunction: Conjunction::None,
            modifier,
            node: self.clause(field, depth)?,
        }];
        loop {
            self.expect(&[
                TokenKind::And,
                TokenKind::Or,
                TokenKind::Not,
                TokenKind::Plus,
                TokenKind::Minus,
                TokenKind::OpenParen,
            ]);
            self.expect(&TERM_STARTS);
            if !matches!(
                self.kind(),
                TokenKind::And
                    | TokenKind::Or
                    | TokenKind::Not
                    | TokenKind::Plus
                    | TokenKind::Minus
                    | TokenKind::OpenParen
            ) && !TERM_STARTS.contains(&self.kind())
            {
                break;
            }
            let conjunction = match self.kind() {
                TokenKind::And => Conjunction::And,
                TokenKind::Or => Conjunction::Or,
                _ => Conjunction::None,
            };
            if conjunction != Conjunction::None {
                self.next();
            }
            let modifier = self.modifier();
            clauses.push(Clause {
                conjunction,
                modifier,
                node: self.clause(field, depth)?,
            });
        }
        Ok(clauses)
    }

    fn modifier(&mut self) -> Modifier {
        self.expect(&[TokenKind::Not, TokenKind::Plus, TokenKind::Minus]);
        let modifier = match self.kind() {
            TokenKind::Plus => Modifier::Required,
            TokenKind::Minus | TokenKind::Not => Modifier::Prohibited,
            _ => return Modifier::None,
        };
        self.next();
        modifier
    }

    fn clause(&mut self, field: Option<&str>, depth: usize) -> Parsed<Node> {
        let named = if self.peek(1).kind == TokenKind::Colon && matches!(self.kind(), TokenKind::Term | TokenKind::Star)
        {
            let name = self.next();
            self.next();
            Some(if name.kind == TokenKind::Star {
                "*".to_owned()
            } else {
                unescape(name.text)?
            })
        } else {
            self.looked_ahead = true;
            None
        };
        let field = named.as_deref().or(field);
        self.expect(&TERM_STARTS);
        if self.take(TokenKind::OpenParen).is_some() {
            let mut clauses = self.query(field, depth + 1)?;
            self.take(TokenKind::CloseParen).ok_or_else(|| self.unexpected())?;
            let boost = self.boost()?;
            // A group of one clause without a modifier is that clause. The boost of the group replaces that of the
            // clause.
            if let [
                Clause {
                    modifier: Modifier::None,
                    ..
                },
            ] = clauses.as_slice()
                && let Some(only) = clauses.pop()
            {
                return Ok(with_boost(only.node, boost));
            }
            return Ok(Node::Group { clauses, boost });
        }
        let term = self.term(field.map(str::to_owned))?;
        // The parser looks at the token after a term before it builds the term.
        if self.kind() != TokenKind::End || self.lexical.is_none() {
            self.terms.push(term.clone());
        }
        Ok(term)
    }

    fn boost(&mut self) -> Parsed<Option<f32>> {
        if self.take(TokenKind::Caret).is_none() {
            return Ok(None);
        }
        let number = self.take(TokenKind::Number).ok_or_else(|| self.unexpected())?;
        Ok(Some(number.text.parse().unwrap_or(1.0)))
    }

    fn term(&mut self, field: Option<String>) -> Parsed<Node> {
        let token = self.peek(0);
        let kind = match token.kind {
            TokenKind::Term | TokenKind::BareOperator | TokenKind::Number => TermKind::Plain,
            TokenKind::Star | TokenKind::WildTerm => TermKind::Wildcard,
            TokenKind::PrefixTerm => TermKind::Prefix,
            TokenKind::RegexpTerm => TermKind::Regexp,
            TokenKind::RangeIn | TokenKind::RangeEx => return self.range(field),
            TokenKind::Quoted => {
                self.next();
                let slop = self
                    .take(TokenKind::FuzzySlop)
                    .and_then(|slop| slop.text.get(1..)?.parse::<f32>().ok())
                    .map(|slop| slop as i32);
                let text = unescape(token.text.get(1..token.text.len().saturating_sub(1)).unwrap_or(""))?;
                return Ok(Node::Phrase {
                    field,
                    text,
                    slop,
                    boost: self.boost()?,
                });
            }
            _ => return Err(self.unexpected()),
        };
        self.next();
        let mut fuzzy = self.take(TokenKind::FuzzySlop);
        let boost = self.boost()?;
        if boost.is_some() {
            fuzzy = self.take(TokenKind::FuzzySlop).or(fuzzy);
        }
        let plain = unescape(token.text)?;
        let text = match kind {
            TermKind::Plain if token.kind == TokenKind::BareOperator => token.text.chars().take(1).collect(),
            TermKind::Plain => plain,
            TermKind::Prefix => unescape(token.text.strip_suffix('*').unwrap_or(token.text))?,
            TermKind::Wildcard => token.text.to_owned(),
            TermKind::Regexp => token
                .text
                .get(1..token.text.len().saturating_sub(1))
                .unwrap_or("")
                .to_owned(),
        };
        let fuzzy = fuzzy.and_then(|fuzzy| fuzzy.text.get(1..)).map(str::to_owned);
        Ok(Node::Term {
            field,
            term: Term { kind, text, fuzzy },
            boost,
        })
    }

    fn range(&mut self, field: Option<String>) -> Parsed<Node> {
        let include_lower = self.next().kind == TokenKind::RangeIn;
        let lower = self.bound()?;
        self.take(TokenKind::RangeTo);
        let upper = self.bound()?;
        let include_upper = match self.kind() {
            TokenKind::RangeInEnd => true,
            TokenKind::RangeExEnd => false,
            _ => {
                self.expect(&[TokenKind::RangeInEnd, TokenKind::RangeExEnd]);
                return Err(self.unexpected());
            }
        };
        self.next();
        let boost = self.boost()?;
        Ok(Node::Range {
            field,
            lower,
            upper,
            include_lower,
            include_upper,
            boost,
        })
    }

    fn bound(&mut self) -> Parsed<Option<String>> {
        let token = self.peek(0);
        let text = match token.kind {
            TokenKind::RangeQuoted => token.text.get(1..token.text.len().saturating_sub(1)).unwrap_or(""),
            TokenKind::RangeGoop => token.text,
            _ => {
                self.expect(&[TokenKind::RangeQuoted, TokenKind::RangeGoop]);
                return Err(self.unexpected());
            }
        };
        self.next();
        // A quoted star is an open bound, too: Elasticsearch's parser ignores the quotes.
        if text == "*" {
            Ok(None)
        } else {
            unescape(text).map(Some)
        }
    }
}

fn with_boost(mut node: Node, boost: Option<f32>) -> Node {
    if boost.is_some() {
        match &mut node {
            Node::Term { boost: own, .. }
            | Node::Phrase { boost: own, .. }
            | Node::Range { boost: own, .. }
            | Node::Group { boost: own, .. } => *own = boost,
        }
    }
    node
}

/// Resolves backslash escapes, including `\u0041`.
fn unescape(text: &str) -> Parsed<String> {
    if !text.contains('\\') {
        return Ok(text.to_owned());
    }
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    let mut buffer = [0; 2];
    while let Some(c) = chars.next() {
        let c = if c == '\\' {
            match chars.next() {
                None => return Err(SyntaxError::parse("Term can not end with escape character.")),
                Some('u') => {
                    let mut code = 0;
                    for _ in 0..4 {
                        let digit = chars
                            .next()
                            .ok_or_else(|| SyntaxError::parse("Truncated unicode escape sequence."))?;
                        code = code * 16
                            + digit.to_digit(16).ok_or_else(|| {
                                SyntaxError::parse(format!("Non-hex character in Unicode escape sequence: {digit}"))
                            })?;
                    }
                    units.push(u16::try_from(code).unwrap_or(0xFFFD));
                    continue;
                }
                Some(escaped) => escaped,
            }
        } else {
            c
        };
        units.extend_from_slice(c.encode_utf16(&mut buffer));
    }
    Ok(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("queue AND")]
    #[case("(unclosed")]
    #[case("log:")]
    #[case("[a TO")]
    #[case("AND")]
    #[case(")")]
    #[case("a:b:c")]
    #[case("(a b)~2")]
    #[case("")]
    #[case("retry/queue")]
    #[case("a\\u00zz")]
    #[case("[TO TO b]")]
    fn invalid_queries_are_rejected(#[case] text: &str) {
        assert!(parse(text).is_err());
    }

    #[rstest]
    #[case(
        "log:",
        "Encountered \"<EOF>\" at line 1, column 4.\nWas expecting one of:\n    <BAREOPER> ...\n    \"(\" ...\n    \
         \"*\" ...\n    <QUOTED> ...\n    <TERM> ...\n    <PREFIXTERM> ...\n    <WILDTERM> ...\n    \
         <REGEXPTERM> ...\n    \"[\" ...\n    \"{\" ...\n    <NUMBER> ...\n    "
    )]
    #[case(
        "[a TO",
        "Encountered \"<EOF>\" at line 1, column 5.\nWas expecting one of:\n    \
         <RANGE_QUOTED> ...\n    <RANGE_GOOP> ...\n    "
    )]
    #[case(
        "a:[1 TO 2",
        "Encountered \"<EOF>\" at line 1, column 9.\nWas expecting one of:\n    \"]\" ...\n    \"}\" ...\n    "
    )]
    #[case(
        "AND",
        "Encountered \" <AND> \"AND \"\" at line 1, column 0.\nWas expecting one of:\n    <NOT> ...\n    \
         \"+\" ...\n    \"-\" ...\n    <BAREOPER> ...\n    \"(\" ...\n    \"*\" ...\n    <QUOTED> ...\n    \
         <TERM> ...\n    <PREFIXTERM> ...\n    <WILDTERM> ...\n    <REGEXPTERM> ...\n    \"[\" ...\n    \
         \"{\" ...\n    <NUMBER> ...\n    <TERM> ...\n    \"*\" ...\n    "
    )]
    #[case(
        "\"open quote",
        "Lexical error at line 1, column 12.  Encountered: <EOF> after : \"\\\"open quote\""
    )]
    #[case("\\", "Lexical error at line 1, column 2.  Encountered: <EOF> after : \"\"")]
    #[case(
        "retry/queue",
        "Lexical error at line 1, column 12.  Encountered: <EOF> after : \"/queue\""
    )]
    fn an_error_has_the_token_and_the_expected_tokens(#[case] text: &str, #[case] message: &str) {
        assert_eq!(parse(text).unwrap_err().0.message, message);
    }

    #[test]
    fn the_nesting_depth_of_groups_is_limited() {
        let nested = |depth: usize| format!("{}+a b{}", "(".repeat(depth), ")".repeat(depth));
        assert!(parse(&nested(99)).is_ok());
        assert!(parse(&nested(101)).is_err());
    }

    #[test]
    fn the_boost_of_a_group_replaces_that_of_its_only_clause() {
        let clauses = parse("(a^2)^3").unwrap();
        assert!(
            matches!(clauses[0].node, Node::Term { boost: Some(3.0), .. }),
            "{clauses:?}"
        );
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(unescape("a\\:b\\u0041\\\\").unwrap(), "a:bA\\");
    }
}

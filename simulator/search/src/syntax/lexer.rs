//! Lexer of query strings. The longest token wins, and of equally long ones the first in the list.

/// Kind of a token, in the order in which error messages list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TokenKind {
    End,
    And,
    Or,
    Not,
    Plus,
    Minus,
    BareOperator,
    OpenParen,
    CloseParen,
    Colon,
    Star,
    Caret,
    Quoted,
    Term,
    FuzzySlop,
    PrefixTerm,
    WildTerm,
    RegexpTerm,
    RangeIn,
    RangeEx,
    Number,
    RangeTo,
    RangeInEnd,
    RangeExEnd,
    RangeQuoted,
    RangeGoop,
}

impl TokenKind {
    /// Name of the kind in error messages.
    pub(super) fn image(self) -> &'static str {
        match self {
            TokenKind::End => "<EOF>",
            TokenKind::And => "<AND>",
            TokenKind::Or => "<OR>",
            TokenKind::Not => "<NOT>",
            TokenKind::Plus => "\"+\"",
            TokenKind::Minus => "\"-\"",
            TokenKind::BareOperator => "<BAREOPER>",
            TokenKind::OpenParen => "\"(\"",
            TokenKind::CloseParen => "\")\"",
            TokenKind::Colon => "\":\"",
            TokenKind::Star => "\"*\"",
            TokenKind::Caret => "\"^\"",
            TokenKind::Quoted => "<QUOTED>",
            TokenKind::Term => "<TERM>",
            TokenKind::FuzzySlop => "<FUZZY_SLOP>",
            TokenKind::PrefixTerm => "<PREFIXTERM>",
            TokenKind::WildTerm => "<WILDTERM>",
            TokenKind::RegexpTerm => "<REGEXPTERM>",
            TokenKind::RangeIn => "\"[\"",
            TokenKind::RangeEx => "\"{\"",
            TokenKind::Number => "<NUMBER>",
            TokenKind::RangeTo => "\"TO\"",
            TokenKind::RangeInEnd => "\"]\"",
            TokenKind::RangeExEnd => "\"}\"",
            TokenKind::RangeQuoted => "<RANGE_QUOTED>",
            TokenKind::RangeGoop => "<RANGE_GOOP>",
        }
    }
}

/// Position at which no token matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LexicalError {
    at: usize,
    /// Whether more characters could have completed a token.
    open: bool,
}

impl LexicalError {
    /// The message of Lucene's token manager.
    pub(super) fn message(&self, text: &str) -> String {
        let rest = text.get(self.at..).unwrap_or("");
        let units = |text: &str| text.encode_utf16().count();
        if self.open {
            let after = if units(rest) <= 1 { "" } else { rest };
            return format!(
                "Lexical error at line 1, column {}.  Encountered: <EOF> after : \"{}\"",
                units(text) + 1,
                escaped(after)
            );
        }
        let first = rest.chars().next().unwrap_or(' ');
        format!(
            "Lexical error at line 1, column {}.  Encountered: \"{}\" ({}), after : \"\"",
            units(text.get(..self.at).unwrap_or("")) + 1,
            escaped(&first.to_string()),
            u32::from(first)
        )
    }
}

/// Escapes a text as in Java.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for unit in text.encode_utf16() {
        match char::from_u32(u32::from(unit)) {
            Some('"') => escaped.push_str("\\\""),
            Some('\'') => escaped.push_str("\\'"),
            Some('\\') => escaped.push_str("\\\\"),
            Some('\n') => escaped.push_str("\\n"),
            Some('\r') => escaped.push_str("\\r"),
            Some('\t') => escaped.push_str("\\t"),
            Some(c @ ' '..='~') => escaped.push(c),
            _ => escaped.push_str(&format!("\\u{unit:04x}")),
        }
    }
    escaped
}

/// A token and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lexeme<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    /// Byte offset of the start.
    pub(super) at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Default,
    Boost,
    Range,
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{3000}')
}

/// Returns whether a character can start a term without an escape.
fn starts_term(c: char) -> bool {
    !is_space(c)
        && !matches!(
            c,
            '+' | '-' | '!' | '(' | ')' | ':' | '^' | '[' | ']' | '"' | '{' | '}' | '~' | '*' | '?' | '\\' | '/'
        )
}

/// Splits `text` into tokens, with an end token after the last one. On an error, returns the tokens before its
/// position.
pub(super) fn tokens(text: &str) -> (Vec<Lexeme<'_>>, Option<LexicalError>) {
    let mut tokens = Vec::new();
    let mut state = State::Default;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if state != State::Boost
            && let Some(space) = rest.chars().next().filter(|c| is_space(*c))
        {
            // White space before a token is skipped: a bare operator includes only the white space after its sign.
            at += space.len_utf8();
            continue;
        }
        let token = match state {
            State::Default => default_token(rest),
            State::Boost => number(rest),
            State::Range => range_token(rest),
        };
        let Some((kind, length)) = token else {
            let open = state == State::Default && rest.starts_with(['"', '/', '\\', '&', '|'])
                || state == State::Range && rest.starts_with('"');
            let end = Lexeme {
                kind: TokenKind::End,
                text: "",
                at,
            };
            tokens.push(end);
            return (tokens, Some(LexicalError { at, open }));
        };
        state = match kind {
            TokenKind::Caret => State::Boost,
            TokenKind::RangeIn | TokenKind::RangeEx => State::Range,
            TokenKind::Number | TokenKind::RangeInEnd | TokenKind::RangeExEnd => State::Default,
            _ => state,
        };
        tokens.push(Lexeme {
            kind,
            text: rest.get(..length).unwrap_or(""),
            at,
        });
        at += length;
    }
    tokens.push(Lexeme {
        kind: TokenKind::End,
        text: "",
        at,
    });
    (tokens, None)
}

fn default_token(rest: &str) -> Option<(TokenKind, usize)> {
    use TokenKind::*;
    let mut best: Option<(TokenKind, usize)> = None;
    let mut offer = |kind: TokenKind, length: Option<usize>| {
        if let Some(length) = length.filter(|length| *length > 0)
            && best.is_none_or(|(_, longest)| length > longest)
        {
            best = Some((kind, length));
        }
    };
    let exact = |words: &[&str]| {
        words
            .iter()
            .find(|word| rest.starts_with(**word))
            .map(|word| word.len())
    };
    offer(And, exact(&["AND", "&&"]));
    offer(Or, exact(&["OR", "||"]));
    offer(Not, exact(&["NOT", "!"]));
    offer(Plus, exact(&["+"]));
    offer(Minus, exact(&["-"]));
    offer(
        BareOperator,
        exact(&["+", "-", "!"]).and_then(|sign| {
            rest.get(sign..)?
                .chars()
                .next()
                .filter(|c| is_space(*c))
                .map(|space| sign + space.len_utf8())
        }),
    );
    offer(OpenParen, exact(&["("]));
    offer(CloseParen, exact(&[")"]));
    offer(Colon, exact(&[":"]));
    offer(Star, exact(&["*"]));
    offer(Caret, exact(&["^"]));
    offer(Quoted, quoted(rest));
    let term = term(rest);
    offer(Term, term);
    offer(FuzzySlop, rest.strip_prefix('~').map(|slop| 1 + slop_length(slop)));
    offer(
        PrefixTerm,
        term.filter(|length| rest.get(*length..).is_some_and(|after| after.starts_with('*')))
            .map(|length| length + 1),
    );
    offer(WildTerm, wild(rest));
    offer(RegexpTerm, regexp(rest));
    offer(RangeIn, exact(&["["]));
    offer(RangeEx, exact(&["{"]));
    best
}

/// Length of the term characters at the start of `rest`. `first`: the first one must be able to start a term.
fn run(rest: &str, first: bool, extra: fn(char) -> bool) -> usize {
    let mut length = 0;
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        let continues = !(first && length == 0) && matches!(c, '-' | '+');
        if c == '\\' {
            match chars.next() {
                Some(escaped) => length += 1 + escaped.len_utf8(),
                None => break,
            }
        } else if starts_term(c) || continues || extra(c) {
            length += c.len_utf8();
        } else {
            break;
        }
    }
    length
}

fn term(rest: &str) -> Option<usize> {
    Some(run(rest, true, |_| false))
}

fn wild(rest: &str) -> Option<usize> {
    Some(run(rest, true, |c| matches!(c, '*' | '?')))
}

fn slop_length(slop: &str) -> usize {
    // The grammar has digits, a fraction, then term characters. All of these are term characters.
    run(slop, false, |_| false)
}

fn quoted(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices();
    chars.next().filter(|(_, c)| *c == '"')?;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some(at + 1),
            '\\' => drop(chars.next()?),
            _ => {}
        }
    }
    None
}

fn regexp(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('/')?;
    let mut end = None;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        if c == '/' {
            end = Some(at + 2);
            if !escaped {
                break;
            }
        }
        // `\/` can end the expression or continue it: the longest match wins.
        escaped = c == '\\';
    }
    end
}

fn number(rest: &str) -> Option<(TokenKind, usize)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    if whole == 0 {
        return None;
    }
    let fraction = rest
        .get(whole..)
        .and_then(|after| after.strip_prefix('.'))
        .map_or(0, digits);
    Some((
        TokenKind::Number,
        if fraction > 0 { whole + 1 + fraction } else { whole },
    ))
}

fn range_token(rest: &str) -> Option<(TokenKind, usize)> {
    if rest.starts_with(']') {
        return Some((TokenKind::RangeInEnd, 1));
    }
    if rest.starts_with('}') {
        return Some((TokenKind::RangeExEnd, 1));
    }
    let goop = rest.find([' ', ']', '}']).unwrap_or(rest.len());
    if rest.starts_with("TO") && goop <= 2 {
        return Some((TokenKind::RangeTo, 2));
    }
    let quoted = range_quoted(rest).unwrap_or(0);
    if quoted >= goop && quoted > 0 {
        return Some((TokenKind::RangeQuoted, quoted));
    }
    (goop > 0).then_some((TokenKind::RangeGoop, goop))
}

/// Length of `"..."` with at least one character. `\"` is an escaped quote, or a backslash before the end: the longest
/// match wins.
fn range_quoted(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('"')?;
    let mut end = None;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        if c == '"' {
            if at > 0 {
                end = Some(at + 2);
            }
            if !escaped {
                break;
            }
        }
        escaped = c == '\\';
    }
    end
}

#[cfg(test)]
mod tests {
    use super::TokenKind::*;
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a AND b", &[Term, And, Term])]
    #[case("a &&b", &[Term, Term])]
    #[case("a && b", &[Term, And, Term])]
    #[case("ANDROID", &[Term])]
    #[case("- a", &[BareOperator, Term])]
    #[case("-a", &[Minus, Term])]
    #[case("a-b+c", &[Term])]
    #[case("a*", &[PrefixTerm])]
    #[case("a*b?", &[WildTerm])]
    #[case("*", &[Star])]
    #[case("**", &[WildTerm])]
    #[case("*:*", &[Star, Colon, Star])]
    #[case("a^2.5", &[Term, Caret, Number])]
    #[case("foo~bar", &[Term, FuzzySlop])]
    #[case("foo~0.8", &[Term, FuzzySlop])]
    #[case("/a\\/b/ c", &[RegexpTerm, Term])]
    #[case("[a TO \"b c\"}", &[RangeIn, RangeGoop, RangeTo, RangeQuoted, RangeExEnd])]
    #[case("{TOM TO *]", &[RangeEx, RangeGoop, RangeTo, RangeGoop, RangeInEnd])]
    #[case("a\\ b", &[Term])]
    #[case("\"a \\\" b\"~2", &[Quoted, FuzzySlop])]
    fn the_longest_token_wins(#[case] text: &str, #[case] expected: &[TokenKind]) {
        let kinds: Vec<TokenKind> = tokens(text)
            .0
            .into_iter()
            .map(|token| token.kind)
            .filter(|kind| *kind != End)
            .collect();
        assert_eq!(kinds, expected);
    }

    #[rstest]
    #[case("\"open")]
    #[case("a^x")]
    #[case("/open")]
    #[case("\\")]
    #[case("]")]
    fn invalid_tokens_are_rejected(#[case] text: &str) {
        assert!(tokens(text).1.is_some());
    }
}

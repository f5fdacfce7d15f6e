//! The tokens of a body, in their order.
//!
//! Elasticsearch's parsers read a body token by token. Where a query has another value than its parser expects, the
//! parser reads on within it, and what it leaves is read by the parser of the surrounding query.

use serde_json::{Value, map};

/// A token of a body.
#[derive(Clone, Copy)]
pub(crate) enum Token<'a> {
    /// Name of a member.
    Name(&'a str),
    Object,
    Array,
    EndObject,
    EndArray,
    /// A string, a number or a boolean.
    Value(&'a Value),
    Null,
    /// The end of the body.
    End,
}

/// An object or array that is being read.
struct Level<'a> {
    rest: Rest<'a>,
    /// The whole object or array.
    whole: &'a Value,
    /// Name of the member that is being read.
    name: Option<&'a str>,
}

enum Rest<'a> {
    Members(map::Iter<'a>),
    Items(std::slice::Iter<'a, Value>),
}

/// Reads the tokens of a body.
pub(crate) struct Tokens<'a> {
    levels: Vec<Level<'a>>,
    /// A value whose tokens are next.
    next: Option<&'a Value>,
    current: Token<'a>,
}

impl<'a> Tokens<'a> {
    /// Starts at the first token of a body.
    pub(crate) fn new(body: &'a Value) -> Tokens<'a> {
        let mut tokens = Tokens {
            levels: Vec::new(),
            next: Some(body),
            current: Token::End,
        };
        tokens.advance();
        tokens
    }

    pub(crate) fn current(&self) -> Token<'a> {
        self.current
    }

    /// Reads the next token.
    pub(crate) fn advance(&mut self) -> Token<'a> {
        self.current = match self.next.take() {
            Some(value) => self.enter(value),
            None => self.follow(),
        };
        self.current
    }

    /// Reads the next token within an object. `None`: its end, or that of the body.
    pub(crate) fn within_object(&mut self) -> Option<Token<'a>> {
        let token = self.advance();
        (!matches!(token, Token::EndObject | Token::End)).then_some(token)
    }

    /// Reads the next token within an array. `None`: its end, or that of the body.
    pub(crate) fn within_array(&mut self) -> Option<Token<'a>> {
        let token = self.advance();
        (!matches!(token, Token::EndArray | Token::End)).then_some(token)
    }

    fn enter(&mut self, value: &'a Value) -> Token<'a> {
        let (rest, token) = match value {
            Value::Null => return Token::Null,
            Value::Object(members) => (Rest::Members(members.iter()), Token::Object),
            Value::Array(items) => (Rest::Items(items.iter()), Token::Array),
            scalar => return Token::Value(scalar),
        };
        self.levels.push(Level {
            rest,
            whole: value,
            name: None,
        });
        token
    }

    fn follow(&mut self) -> Token<'a> {
        let Some(level) = self.levels.last_mut() else {
            return Token::End;
        };
        match &mut level.rest {
            Rest::Members(members) => {
                if let Some((name, value)) = members.next() {
                    level.name = Some(name);
                    self.next = Some(value);
                    return Token::Name(name);
                }
                self.levels.pop();
                Token::EndObject
            }
            Rest::Items(items) => {
                if let Some(item) = items.next() {
                    return self.enter(item);
                }
                self.levels.pop();
                Token::EndArray
            }
        }
    }

    /// Name of the member to which the current token belongs.
    pub(crate) fn name(&self) -> Option<&'a str> {
        let started = usize::from(matches!(self.current, Token::Object | Token::Array));
        let level = self.levels.len().checked_sub(1 + started)?;
        self.levels.get(level)?.name
    }

    /// Returns whether the current token is within the body.
    pub(crate) fn is_in_body(&self) -> bool {
        !self.levels.is_empty()
    }

    /// Returns the object or array that the current token starts, and reads on to its end.
    pub(crate) fn whole(&mut self) -> Option<&'a Value> {
        self.current = match self.current {
            Token::Object => Token::EndObject,
            Token::Array => Token::EndArray,
            Token::Value(value) => return Some(value),
            _ => return None,
        };
        self.levels.pop().map(|level| level.whole)
    }

    /// Text of the current token, as Jackson has it.
    pub(crate) fn text(&self) -> String {
        match self.current {
            Token::Name(name) => name.to_owned(),
            Token::Value(value) => crate::json::text_of(value),
            Token::Object => "{".to_owned(),
            Token::EndObject => "}".to_owned(),
            Token::Array => "[".to_owned(),
            Token::EndArray => "]".to_owned(),
            Token::Null | Token::End => "null".to_owned(),
        }
    }

    /// Returns the texts of the tokens up to the end of an array.
    pub(crate) fn texts(&mut self) -> Vec<String> {
        let mut texts = Vec::new();
        while self.within_array().is_some() {
            texts.push(self.text());
        }
        texts
    }

    /// Name of the current token, as Elasticsearch calls it.
    pub(crate) fn kind(&self) -> &'static str {
        match self.current {
            Token::Name(_) => "FIELD_NAME",
            Token::Object => "START_OBJECT",
            Token::Array => "START_ARRAY",
            Token::EndObject => "END_OBJECT",
            Token::EndArray => "END_ARRAY",
            Token::Value(value) => crate::json::token_of(value),
            Token::Null | Token::End => "VALUE_NULL",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_is_read_token_by_token() {
        let body = json!({"a": [1, {"b": null}], "c": "d"});
        let mut tokens = Tokens::new(&body);
        let mut read = Vec::new();
        while !matches!(tokens.current(), Token::End) {
            read.push((tokens.kind(), tokens.name()));
            tokens.advance();
        }
        let expected = [
            ("START_OBJECT", None),
            ("FIELD_NAME", Some("a")),
            ("START_ARRAY", Some("a")),
            ("VALUE_NUMBER", None),
            ("START_OBJECT", None),
            ("FIELD_NAME", Some("b")),
            ("VALUE_NULL", Some("b")),
            ("END_OBJECT", None),
            ("END_ARRAY", Some("a")),
            ("FIELD_NAME", Some("c")),
            ("VALUE_STRING", Some("c")),
            ("END_OBJECT", None),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_whole_object_is_skipped() {
        let body = json!({"a": {"b": 1}, "c": 2});
        let mut tokens = Tokens::new(&body);
        tokens.advance();
        tokens.advance();
        assert_eq!(tokens.whole(), Some(&json!({"b": 1})));
        assert_eq!(tokens.kind(), "END_OBJECT");
        assert!(matches!(tokens.advance(), Token::Name("c")));
    }
}

//! The elements `query` and `post_filter` of a search, and what their parsers leave of them.
//!
//! Source: Elasticsearch 1.5's `SearchService`, whose parser goes on where that of an element has stopped.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::json::{Token, Tokens};
use crate::query::fields::Parser;
use crate::query::{Context, Query};

/// What the parser of an element of a search leaves of it.
pub(crate) enum Rest {
    Nothing,
    /// Something that is no element.
    Unexpected(SearchError),
    /// Less than nothing: it has read a token beyond the element.
    Beyond,
}

impl Rest {
    /// Fails for what is left.
    ///
    /// # Errors
    /// What is left; `beyond` if the parser has read beyond the element.
    pub(crate) fn check(self, beyond: impl FnOnce() -> SearchError) -> Result<()> {
        match self {
            Rest::Nothing => Ok(()),
            Rest::Unexpected(error) => Err(error),
            Rest::Beyond => Err(beyond()),
        }
    }
}

/// The query or filter of an element of a search, and what its parser leaves of the element.
pub(crate) type ParsedElement = (Option<Query>, Rest);

impl Context<'_> {
    /// Parses the element `query` of a search.
    ///
    /// # Errors
    /// Those of [`Context::parse_query`].
    pub(crate) fn parse_query_element(&self, body: &Value) -> Result<ParsedElement> {
        let parsed = self.parse_element("query", body, self.parsers.query);
        parsed.map_err(|error| self.unparsed(error))
    }

    /// Parses the element `post_filter` of a search.
    ///
    /// # Errors
    /// Those of [`Context::parse_filter`].
    pub(crate) fn parse_filter_element(&self, body: &Value) -> Result<ParsedElement> {
        self.parse_element("post_filter", body, self.parsers.filter)
    }

    fn parse_element(&self, name: &str, body: &Value, parse: Parser) -> Result<ParsedElement> {
        let mut tokens = Tokens::new(body);
        let parsed = self.checked(|context| parse(context, &mut tokens))?;
        if matches!(tokens.current(), Token::End) {
            return Ok((parsed, Rest::Beyond));
        }
        let left = match tokens.advance() {
            Token::End | Token::EndObject => Rest::Nothing,
            Token::Name(name) => Rest::Unexpected(SearchError::no_element(name)),
            // The parser of the search expects another element.
            _ => {
                let name = match tokens.is_in_body() {
                    true => tokens.name().unwrap_or("null"),
                    false => name,
                };
                Rest::Unexpected(SearchError::unexpected(tokens.kind(), name))
            }
        };
        Ok((parsed, left))
    }
}

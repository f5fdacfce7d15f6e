//! Validation of query strings without an index.

use crate::budget::Budget;
use crate::error::Result;
use crate::index::{Shard, View};
use crate::mapping::{Configuration, Mapping};
use crate::options::Limits;
use crate::query::{Context, PARSERS, StringSettings, label, parse_string};
use crate::score::{Corpus, Weight};

/// Parses a query string as a search over an index without fields does, and returns it as Lucene prints it.
///
/// # Errors
/// A text that is not a query, with the position of the error, or a query that exceeds the limits.
pub fn check_query(text: &str) -> Result<String> {
    let limits = Limits::default();
    let mapping = Mapping::new(Configuration::default(), limits.fields)?;
    let context = Context {
        index: "check",
        mapping: &mapping,
        types: &[],
        now: 0,
        max_clauses: limits.clauses,
        deletes: false,
        depth: limits.depth,
        documents: None,
        budget: None,
        names: None,
        unmapped: None,
        inner_hits: None,
        nested_path: None,
        parsers: PARSERS,
    };
    let query = parse_string(&context, text, &StringSettings::default())?;
    let (view, shard) = (View::default(), Shard::new(0));
    Weight::of(&query, &Corpus::of(&mapping, &view, &shard), &Budget::default())?;
    Ok(label(&query))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("brown AND election", "+_all:brown +_all:election")]
    #[case("service AND backend OR fox", "+_all:service +_all:backend _all:fox")]
    #[case("-(retry queue)", "-(_all:retry _all:queue) +ConstantScore(*:*)")]
    #[case("(naïve heartbeat)^2 brown", "((_all:naïve _all:heartbeat)^2.0) _all:brown")]
    #[case("log:\"a b\"~2^3", "(log:\"a b\"~2)^3.0")]
    #[case("n:[1 TO 5}", "n:[1 TO 5}")]
    #[case("Foo* f?o /b.r/ Fuz~1", "_all:foo* _all:f?o _all:/b.r/ _all:fuz~1")]
    fn a_query_is_parsed_with_the_quirks_of_the_syntax(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(check_query(text).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in r#"(?s)[ a-zA-Z0-9+\-!(){}\[\]^"~*?:\\/&|<>=@#.,éß日]{0,60}"#) {
            // Both results are fine: only a panic fails this test.
            let _ = check_query(&text);
        }
    }
}

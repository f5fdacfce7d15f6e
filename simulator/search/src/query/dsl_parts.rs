//! Shared parts of the DSL parsers: errors, settings, numbers.
//!
//! Source: Elasticsearch 1.5's query parsers and `Queries.calculateMinShouldMatch`.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{self, typed_number};
use crate::query::{Context, Occur, Query, QueryKind, Rewrite};

/// Returns a `QueryParsingException` with the name of the index.
pub(super) fn parsing_error(context: &Context<'_>, reason: &str) -> SearchError {
    SearchError::query(format!("[{}] {reason}", context.index))
}

pub(super) fn with_boost(query: Query, boost: f32) -> Query {
    if boost == 1.0 { query } else { query.boosted(boost) }
}

/// Computes `minimum_should_match` for a number of optional clauses, from `2`, `-1`, `75%`, `-25%` or `2<75%`.
///
/// # Errors
/// A number that is none, as far as it counts for this number of clauses.
pub(super) fn minimum(wanted: &Value, optional: usize) -> Result<usize> {
    let count = i32::try_from(optional).unwrap_or(i32::MAX);
    let least = minimum_of(&json::text_of(wanted), count)?;
    Ok(usize::try_from(least).unwrap_or(0))
}

fn minimum_of(text: &str, count: i32) -> Result<i32> {
    let text = text.trim();
    let number = |text: &str| text.parse::<i32>().map_err(|_| SearchError::number(text));
    if !text.contains('<') {
        let least = match text.strip_suffix('%') {
            Some(percentage) => {
                let share = count.wrapping_mul(number(percentage)?) as f32 * 0.01;
                share as i32 + if share < 0.0 { count } else { 0 }
            }
            None => {
                let least = number(text)?;
                if least < 0 { count.saturating_add(least) } else { least }
            }
        };
        return Ok(least.clamp(0, count));
    }
    let parts: Vec<&str> = text.split('<').map(str::trim).collect();
    let mut least = count;
    for condition in parts.join("<").split(' ') {
        let mut parts = condition.split('<');
        if count <= number(parts.next().unwrap_or_default())? {
            break;
        }
        least = match parts.next().filter(|then| !then.is_empty()) {
            Some(then) => minimum_of(then, count)?,
            None => {
                let reason = "Index 1 out of bounds for length 1";
                return Err(SearchError::new(500, Exception::ArrayIndexOutOfBounds, reason));
            }
        };
    }
    Ok(least)
}

/// Applies `minimum_should_match` to the optional clauses of a query, if it has clauses.
///
/// # Errors
/// Those of [`minimum`].
pub(super) fn with_minimum(mut query: Query, wanted: Option<&Value>) -> Result<Query> {
    if let QueryKind::Bool {
        clauses,
        minimum_should_match,
        ..
    } = &mut query.kind
        && let Some(wanted) = wanted
    {
        let optional = clauses.iter().filter(|(occur, _)| *occur == Occur::Should).count();
        *minimum_should_match = minimum(wanted, optional)?;
    }
    Ok(query)
}

/// Returns the length of the prefix and the number of expansions of a fuzzy term.
///
/// # Errors
/// A negative length, no expansions.
pub(super) fn fuzzy_limits(context: &Context<'_>, prefix_length: i64, max_expansions: i64) -> Result<(usize, usize)> {
    let prefix =
        usize::try_from(prefix_length).map_err(|_| SearchError::argument("prefixLength cannot be negative."))?;
    match usize::try_from(max_expansions) {
        Ok(0) | Err(_) => Err(SearchError::argument("maxExpansions must be positive.")),
        Ok(expansions) => Ok((prefix, expansions.min(context.max_clauses))),
    }
}

/// Checks that a fuzziness is `AUTO` or a number.
pub(super) fn check_fuzziness(fuzziness: &str) -> Result<()> {
    if fuzziness.eq_ignore_ascii_case("auto") || typed_number::<f32>(fuzziness).is_some() {
        return Ok(());
    }
    Err(SearchError::float(fuzziness))
}

/// Parses the method `rewrite` of a multi-term query. Returns `None` for the constant-score filter.
///
/// # Errors
/// An unknown method.
pub(super) fn rewrite_of(method: Option<&Value>) -> Result<Option<Rewrite>> {
    let Some(text) = method.map(json::text_of) else {
        return Ok(None);
    };
    let unknown = || SearchError::illegal(format!("Failed to parse rewrite_method [{text}]"));
    let name = text.to_ascii_lowercase().replace('_', "");
    let (name, size) = name.split_at(name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len()));
    let size = || size.parse().map_err(|_| SearchError::number(size));
    match name {
        "constantscoreauto" | "constantscorefilter" => Ok(None),
        "constantscoreboolean" => Ok(Some(Rewrite::Constant)),
        "scoringboolean" => Ok(Some(Rewrite::Scoring)),
        "topterms" | "toptermsblendedfreqs" => Ok(Some(Rewrite::Top(size()?))),
        "toptermsboost" => Ok(Some(Rewrite::TopBoost(size()?))),
        _ => Err(unknown()),
    }
}

/// Parses the rewrite method of a fuzzy query, which is only rewritten to the best terms unless it says otherwise.
///
/// # Errors
/// An unknown method.
pub(super) fn fuzzy_rewrite_of(method: Option<&Value>) -> Result<Option<Rewrite>> {
    let rewrite = rewrite_of(method)?;
    Ok(rewrite.or(method.map(|_| Rewrite::Constant)))
}

/// Number of edits that a fuzziness allows for a term.
pub(super) fn auto_edits(fuzziness: &str, text: &str) -> u8 {
    let length = text.chars().count();
    if fuzziness.eq_ignore_ascii_case("auto") {
        match length {
            0..=2 => 0,
            3..=5 => 1,
            _ => 2,
        }
    } else {
        crate::query::levenshtein::edits(typed_number(fuzziness).unwrap_or(2.0), length)
    }
}

/// Checks that there are nested objects at a path.
pub(crate) fn check_nested(context: &Context<'_>, path: &str) -> Result<()> {
    let reason = match context.mapping.nests(path, context.types) {
        Some(true) => return Ok(()),
        Some(false) => format!("[nested] nested object under path [{path}] is not of nested type"),
        None => format!("[nested] failed to find nested object under path [{path}]"),
    };
    Err(parsing_error(context, &reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("scoring_boolean", Some(Rewrite::Scoring))]
    #[case("top_terms_5", Some(Rewrite::Top(5)))]
    #[case("top_terms_boost_5", Some(Rewrite::TopBoost(5)))]
    #[case("constantScoreAuto", None)]
    fn a_rewrite_has_a_name_and_a_size(#[case] text: &str, #[case] expected: Option<Rewrite>) {
        assert_eq!(rewrite_of(Some(&text.into())).unwrap(), expected);
        assert!(rewrite_of(Some(&"nope".into())).is_err());
    }

    #[rstest]
    #[case(json!(2), 4, 2)]
    #[case(json!(-1), 4, 3)]
    #[case(json!("75%"), 4, 3)]
    #[case(json!("-25%"), 4, 3)]
    #[case(json!("3<90%"), 3, 3)]
    #[case(json!("3<50%"), 4, 2)]
    #[case(json!(9), 4, 4)]
    fn a_minimum_is_a_number_or_a_percentage(#[case] wanted: Value, #[case] optional: usize, #[case] expected: usize) {
        assert_eq!(minimum(&wanted, optional).unwrap(), expected);
    }
}

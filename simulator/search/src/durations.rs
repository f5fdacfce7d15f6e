//! Durations in settings, parameters and bodies.
//!
//! Source: Elasticsearch 1.5's `TimeValue`.

use std::time::Duration;

use crate::error::{Result, SearchError};

/// Units and their lengths in milliseconds, in the order in which suffixes are tried.
const UNITS: [(&str, f64); 7] = [
    ("ms", 1.0),
    ("s", 1_000.0),
    ("m", 60_000.0),
    ("h", 3_600_000.0),
    ("H", 3_600_000.0),
    ("d", 86_400_000.0),
    ("w", 604_800_000.0),
];

/// Parses the milliseconds of `5s`, `1.5m`, `-100ms` or a whole number of milliseconds.
///
/// # Errors
/// A text whose number cannot be parsed.
pub(crate) fn millis(text: &str) -> Result<i64> {
    let refuse = |cause| SearchError::parse(format!("Failed to parse [{text}]")).caused_by(cause);
    let whole = |number: &str| number.parse().map_err(|_| refuse(SearchError::number(number)));
    if let Some(number) = text.strip_suffix('S') {
        return whole(number);
    }
    let unit = UNITS
        .iter()
        .find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length)));
    match unit {
        None => whole(text),
        Some((number, length)) => match number.trim().parse::<f64>() {
            Ok(number) => Ok((number * length) as i64),
            Err(_) => Err(refuse(SearchError::float(number))),
        },
    }
}

/// Parses a duration. `None` for an invalid text.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    time(text).ok()
}

/// Parses a duration in a parameter or a body. A negative one counts as zero.
///
/// # Errors
/// An `ElasticsearchParseException`.
pub(crate) fn time(text: &str) -> Result<Duration> {
    millis(text).map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_signs_and_fractions() {
        assert_eq!(millis("1.5d").unwrap(), 129_600_000);
        assert_eq!(millis("-1h").unwrap(), -3_600_000);
        assert_eq!(millis("5S").unwrap(), 5);
        let error = |text: &str| millis(text).unwrap_err().to_string();
        let nested = "ElasticsearchParseException[Failed to parse [1.5]]; nested: \
                      NumberFormatException[For input string: \"1.5\"]; ";
        assert_eq!(error("1.5"), nested);
        assert!(error("d").contains("NumberFormatException[empty String]"));
    }
}

//! Durations in settings, parameters and bodies.
//!
//! Source: Elasticsearch 1.5's `TimeValue`.

use std::time::Duration;

use crate::error::{Result, SearchError};

/// Parses `5s`, `1m`, `100ms` or a number of milliseconds.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(at)?;
    let number: f64 = number.parse().ok()?;
    let seconds = match unit.trim() {
        "" | "ms" => number / 1000.0,
        "s" => number,
        "m" => number * 60.0,
        "h" | "H" => number * 3600.0,
        "d" => number * 86_400.0,
        "w" => number * 7.0 * 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// Parses a duration in a parameter or a body.
///
/// # Errors
/// An `ElasticsearchParseException`.
pub(crate) fn time(text: &str) -> Result<Duration> {
    duration(text).ok_or_else(|| {
        // The cause names the text before the unit, or all of a text without a unit.
        let units = ["ms", "s", "m", "h", "H", "d", "w"];
        let digits = units.iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text);
        SearchError::parse(format!("Failed to parse [{text}]")).caused_by(SearchError::number(digits))
    })
}

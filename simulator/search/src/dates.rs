//! Dates: from text to milliseconds since 1970 in UTC, and back.
//!
//! Promises: no text panics; a date without a zone is UTC.
//! Limits: the default format (`dateOptionalTime`), `epoch_millis`, and patterns of the letters `yMdHhmsSZaE`.
//! Source: Joda-Time's ISO 8601 formats as Elasticsearch 1.5 uses them.

mod iso;
mod math;
mod pattern;
mod zone;

pub(crate) use math::{Unit, add_units, floor_to, parse_math};
pub(crate) use zone::TimeZone;

use crate::error::SearchError;

/// One of the formats of a date field, or several in the order in which they are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DateFormat {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Iso,
    EpochMillis,
    Pattern(String),
}

/// How to fill what a date does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// With the beginning: midnight.
    Floor,
    /// With the last moment of the day; month and day are still the first.
    Ceiling,
}

impl Default for DateFormat {
    fn default() -> DateFormat {
        DateFormat {
            text: "dateOptionalTime".to_owned(),
            parts: vec![Part::Iso],
        }
    }
}

impl DateFormat {
    /// The format that `text` names: names and patterns, with `||` between alternatives.
    pub(crate) fn new(text: &str) -> DateFormat {
        let parts = text
            .split("||")
            .map(|part| match part.trim() {
                "dateOptionalTime"
                | "date_optional_time"
                | "date"
                | "dateTime"
                | "date_time"
                | "dateTimeNoMillis"
                | "date_time_no_millis"
                | "strict_date_optional_time" => Part::Iso,
                "epoch_millis" => Part::EpochMillis,
                "basic_date" | "basicDate" => Part::Pattern("yyyyMMdd".to_owned()),
                "year_month_day" | "yearMonthDay" => Part::Pattern("yyyy-MM-dd".to_owned()),
                "year_month" | "yearMonth" => Part::Pattern("yyyy-MM".to_owned()),
                "year" => Part::Pattern("yyyy".to_owned()),
                pattern => Part::Pattern(pattern.to_owned()),
            })
            .collect();
        DateFormat {
            text: text.to_owned(),
            parts,
        }
    }

    /// The format as it was given.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The milliseconds that `text` says in this format.
    pub(crate) fn parse(&self, text: &str, fill: Fill) -> Option<i64> {
        self.parts.iter().find_map(|part| match part {
            Part::Iso => iso::parse(text, fill),
            Part::EpochMillis => text.parse().ok(),
            Part::Pattern(pattern) => pattern::parse(pattern, text, fill),
        })
    }

    /// As [`DateFormat::parse`], and if that fails, as a number of milliseconds.
    pub(crate) fn parse_lenient(&self, text: &str, fill: Fill) -> Option<i64> {
        self.parse(text, fill).or_else(|| text.parse().ok())
    }

    /// The error of a text that is no date of this format.
    pub(crate) fn invalid(&self, text: &str) -> SearchError {
        let at = match self.parts.first() {
            Some(Part::Iso) => iso::malformed_at(text),
            _ => 0,
        };
        let sample = text
            .char_indices()
            .nth(at + 32)
            .filter(|(end, _)| text.len() > end + 3)
            .map_or_else(
                || text.to_owned(),
                |(end, _)| format!("{}...", text.get(..end).unwrap_or("")),
            );
        SearchError::argument(match sample.get(at..) {
            _ if at == 0 => format!("Invalid format: \"{sample}\""),
            Some(rest) if !rest.is_empty() => format!("Invalid format: \"{sample}\" is malformed at \"{rest}\""),
            _ => format!("Invalid format: \"{sample}\" is too short"),
        })
    }

    /// `millis` as text, in the first of the formats.
    pub(crate) fn print(&self, millis: i64) -> String {
        match self.parts.first() {
            Some(Part::Pattern(pattern)) => pattern::print(pattern, millis),
            Some(Part::EpochMillis) => millis.to_string(),
            _ => iso::print(millis),
        }
    }
}

/// What date detection takes for a date: the formats that an unmapped string is tried with.
pub(crate) fn detect(text: &str, formats: &[DateFormat]) -> Option<DateFormat> {
    let many = |c: char| text.matches(c).nth(1).is_some();
    if text.len() > 64 || !(many(':') || many('-') || many('/')) {
        return None;
    }
    formats
        .iter()
        .find(|format| format.parse(text, Fill::Floor).is_some())
        .cloned()
}

/// The formats of date detection when a mapping names none.
pub(crate) fn default_detection() -> Vec<DateFormat> {
    vec![
        DateFormat::default(),
        DateFormat::new("yyyy/MM/dd HH:mm:ss||yyyy/MM/dd"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("2015-06-22T08:00:00+00:00", true)]
    #[case("2015-06-22", true)]
    #[case("2015/06/22", true)]
    #[case("2015/06/22 10:11:12", true)]
    #[case("2015", false)]
    #[case("12:30", false)]
    #[case("a-b-c", false)]
    #[case("10:11:12", false)]
    #[case("1-2-3", true)]
    fn detection_takes_what_two_separators_and_a_format_make_a_date(#[case] text: &str, #[case] date: bool) {
        assert_eq!(detect(text, &default_detection()).is_some(), date);
    }
}

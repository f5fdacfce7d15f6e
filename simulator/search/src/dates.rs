//! Date formats: conversion between text and milliseconds since 1970 in UTC.
//!
//! - Guarantees: no text causes a panic; a date without a zone is UTC.
//! - Limits: names of months and days are English; two-digit years are from 1935 to 2034.
//!
//! Source: Joda-Time's formats as Elasticsearch 1.5 uses them.

mod fields;
mod layout;
mod math;
mod names;
mod printer;
mod reader;
mod timestamp;
mod zone;

use std::sync::{Arc, LazyLock};

pub(crate) use math::{Unit, add_units, floor_to, parse_math, parse_math_on};
pub(crate) use zone::TimeZone;

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use fields::{Fields, OutOfRange};
use layout::{Element, Layout};

/// One of the formats of a date field, or several in the order in which they are tried.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DateFormat {
    text: String,
    reader: Arc<[Element]>,
    printer: Arc<[Element]>,
    /// Whether the first alternative is `date_optional_time`.
    reads_timestamps: bool,
}

/// Values of the fields that the text of a date does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Midnight.
    Floor,
    /// The last millisecond of the day. Month and day are still the first.
    Ceiling,
}

/// Start of the last year before which a text may follow a date, in milliseconds since 1970: 5000.
const LAST_YEAR: i64 = 95_617_584_000_000;

/// Reason why a text is not a date.
enum Failure {
    /// The text does not match the format from this byte on.
    At(usize),
    OutOfRange(OutOfRange),
}

/// Format of date fields whose mapping has none.
static DEFAULT: LazyLock<DateFormat> =
    LazyLock::new(|| DateFormat::of("dateOptionalTime", vec![Layout::date_optional_time()]));

impl Default for DateFormat {
    fn default() -> DateFormat {
        DEFAULT.clone()
    }
}

impl DateFormat {
    /// Parses a format: names and patterns, with `||` between alternatives.
    ///
    /// # Errors
    /// A pattern with an unknown letter.
    pub(crate) fn new(text: &str) -> Result<DateFormat> {
        let text = text.trim();
        let layouts = text.split("||").map(|part| Layout::parse(part.trim()));
        Ok(DateFormat::of(text, layouts.collect::<Result<_>>()?))
    }

    fn of(text: &str, mut layouts: Vec<Layout>) -> DateFormat {
        let printer = layouts.first().map(|first| first.printer.clone()).unwrap_or_default();
        let reads_timestamps = layouts
            .first()
            .is_some_and(|first| first.reader == Layout::date_optional_time().reader);
        let reader = match layouts.len() {
            1 => layouts.pop().map(|only| only.reader).unwrap_or_default(),
            _ => vec![Element::Any {
                alternatives: layouts.into_iter().map(|layout| layout.reader).collect(),
                optional: false,
            }],
        };
        DateFormat {
            text: text.to_owned(),
            reader: reader.into(),
            printer: printer.into(),
            reads_timestamps,
        }
    }

    /// The text from which the format was parsed.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    fn read(&self, text: &str, fill: Fill) -> Result<i64, Failure> {
        if self.reads_timestamps
            && fill == Fill::Floor
            && let Some(millis) = timestamp::millis_of(text)
        {
            return Ok(millis);
        }
        let mut fields = Fields::default();
        match reader::read(&self.reader, text, 0, &mut fields) {
            Ok(end) if end >= text.len() => fields.millis(fill).map_err(Failure::OutOfRange),
            Ok(end) if fill == Fill::Ceiling && end > 0 => {
                let millis = fields.millis(fill).map_err(Failure::OutOfRange)?;
                // A high year is a number of milliseconds.
                match floor_to(millis, Unit::Year) > LAST_YEAR {
                    true => Err(Failure::At(end)),
                    false => Ok(millis),
                }
            }
            Ok(end) | Err(end) => Err(Failure::At(end)),
        }
    }

    /// Parses `text` to milliseconds since 1970. With [`Fill::Ceiling`], another text may follow the date.
    pub(crate) fn parse(&self, text: &str, fill: Fill) -> Option<i64> {
        self.read(text, fill).ok()
    }

    /// Parses as [`DateFormat::parse`] does, and if that fails, as a number of milliseconds.
    pub(crate) fn parse_lenient(&self, text: &str, fill: Fill) -> Option<i64> {
        self.parse(text, fill).or_else(|| text.parse().ok())
    }

    /// Returns the error for a text that is not a date of this format.
    pub(crate) fn invalid(&self, text: &str) -> SearchError {
        let at = match self.read(text, Fill::Floor) {
            Err(Failure::OutOfRange(value)) => {
                let reason = format!("Cannot parse \"{text}\": {value}");
                return SearchError::new(400, Exception::IllegalFieldValue, reason);
            }
            Err(Failure::At(at)) => at,
            Ok(_) => 0,
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

    /// Prints `millis` in the first of the alternatives.
    pub(crate) fn print(&self, millis: i64) -> String {
        printer::print(&self.printer, millis)
    }
}

/// Detects a date in the string of an unmapped field; returns the first of `formats` that parses it.
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

/// Formats of date detection for a mapping that names none.
pub(crate) fn default_detection() -> Vec<DateFormat> {
    let slashes = DateFormat::new("yyyy/MM/dd HH:mm:ss||yyyy/MM/dd");
    [Ok(DateFormat::default()), slashes].into_iter().flatten().collect()
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
    fn detection_needs_two_separators_and_a_matching_format(#[case] text: &str, #[case] date: bool) {
        assert_eq!(detect(text, &default_detection()).is_some(), date);
    }

    #[rstest]
    #[case("2015-06-22T08:00:00+00:00", Some(1434960000000))]
    #[case("2015-06-22T08:00:00.25Z", Some(1434960000250))]
    #[case("2015-06-22T10:00:00+02:00", Some(1434960000000))]
    #[case("2015-06-22T10:00:00+0200", Some(1434960000000))]
    #[case("2015-06-22T10:00:00+02", Some(1434960000000))]
    #[case("2015-06-22", Some(1434931200000))]
    #[case("2015-6-22", Some(1434931200000))]
    #[case("2015-06", Some(1433116800000))]
    #[case("2015", Some(1420070400000))]
    #[case("2015-173", Some(1434931200000))]
    #[case("2015-W26-1", Some(1434931200000))]
    #[case("2015-W26", Some(1434931200000))]
    #[case("2015-06-22T10", Some(1434967200000))]
    #[case("2015-06-22T10.5", Some(1434969000000))]
    #[case("2015-06-22T10:30,5", Some(1434969030000))]
    #[case("1969-12-31T23:59:59.999Z", Some(-1))]
    #[case("20150622", Some(635_830_044_019_200_000))]
    #[case("-0001-12-31", Some(-62167305600000))]
    #[case("2015-13-01", None)]
    #[case("2015-02-30", None)]
    #[case("2015-06-22T25:00", None)]
    #[case("2015-06-22 08:00:00", None)]
    #[case("notadate", None)]
    #[case("", None)]
    #[case("1-2-3", Some(-62132745600000))]
    fn the_default_format_parses_iso_8601(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(DateFormat::default().parse(text, Fill::Floor), expected);
    }

    #[rstest]
    #[case("2015-06-26", 1435363199999)]
    #[case("2015-06-23T12", 1435064399999)]
    #[case("2015-06-25T18:30:00", 1435257000999)]
    #[case("2015-06", 1433203199999)]
    #[case("2015-06-26 12:00", 1435363199999)]
    fn rounding_up_changes_the_time_of_day_only(#[case] text: &str, #[case] expected: i64) {
        assert_eq!(DateFormat::default().parse(text, Fill::Ceiling), Some(expected));
    }

    #[rstest]
    #[case("yyyy/MM/dd HH:mm:ss", "2015/06/22 08:00:00", Some(1434960000000))]
    #[case("yyyy/MM/dd", "2015/06/22", Some(1434931200000))]
    #[case("yyyyMMdd", "20150622", Some(1434931200000))]
    #[case("dd/MMM/yyyy:HH:mm:ss Z", "22/Jun/2015:10:00:00 +0200", Some(1434960000000))]
    #[case("yyyy-MM-dd'T'HH:mm", "2015-06-22T08:00", Some(1434960000000))]
    #[case(
        "EEEE, d MMMM yy h 'o''clock' a",
        "monday, 22 June 15 8 o'clock AM",
        Some(1434960000000)
    )]
    #[case("MM-dd", "06-22", Some(961632000000))]
    #[case("yyyy-MM-dd HH:mm ZZZ", "2015-06-22 10:00 Europe/Berlin", Some(1434960000000))]
    #[case("dd.MM.yy||yyyy", "2015", Some(1420070400000))]
    #[case("yyyy/MM/dd", "2015-06-22", None)]
    #[case("yyyy/MM/dd", "2015/06/22x", None)]
    fn a_pattern_parses_a_date(#[case] pattern: &str, #[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(DateFormat::new(pattern).unwrap().parse(text, Fill::Floor), expected);
    }

    #[rstest]
    #[case("dateOptionalTime", "2015-06-22T08:00:00.250Z")]
    #[case("EEE dd MMM yyyy HH:mm:ss.SSS", "Mon 22 Jun 2015 08:00:00.250")]
    #[case("yy-M-d K:mm a S||yyyy", "15-6-22 8:00 AM 2")]
    #[case("yyyy-MM-dd'T'HH:mmZZ", "2015-06-22T08:00+00:00")]
    #[case("basic_date", "20150622")]
    #[case("basic_date_time", "20150622T080000.250Z")]
    #[case("basicDateTimeNoMillis", "20150622T080000Z")]
    #[case("basic_ordinal_date", "2015173")]
    #[case("basic_ordinal_date_time", "2015173T080000.250Z")]
    #[case("basic_ordinal_date_time_no_millis", "2015173T080000Z")]
    #[case("basic_time", "080000.250Z")]
    #[case("basic_time_no_millis", "080000Z")]
    #[case("basic_t_time", "T080000.250Z")]
    #[case("basicTTimeNoMillis", "T080000Z")]
    #[case("basic_week_date", "2015W261")]
    #[case("basic_week_date_time", "2015W261T080000.250Z")]
    #[case("basic_week_date_time_no_millis", "2015W261T080000Z")]
    #[case("date", "2015-06-22")]
    #[case("date_hour", "2015-06-22T08")]
    #[case("date_hour_minute", "2015-06-22T08:00")]
    #[case("dateHourMinuteSecond", "2015-06-22T08:00:00")]
    #[case("date_hour_minute_second_fraction", "2015-06-22T08:00:00.250")]
    #[case("date_hour_minute_second_millis", "2015-06-22T08:00:00.250")]
    #[case("date_time", "2015-06-22T08:00:00.250Z")]
    #[case("date_time_no_millis", "2015-06-22T08:00:00Z")]
    #[case("hour", "08")]
    #[case("hour_minute", "08:00")]
    #[case("hour_minute_second", "08:00:00")]
    #[case("hour_minute_second_fraction", "08:00:00.250")]
    #[case("hour_minute_second_millis", "08:00:00.250")]
    #[case("ordinal_date", "2015-173")]
    #[case("ordinal_date_time", "2015-173T08:00:00.250Z")]
    #[case("ordinal_date_time_no_millis", "2015-173T08:00:00Z")]
    #[case("time", "08:00:00.250Z")]
    #[case("time_no_millis", "08:00:00Z")]
    #[case("t_time", "T08:00:00.250Z")]
    #[case("t_time_no_millis", "T08:00:00Z")]
    #[case("week_date", "2015-W26-1")]
    #[case("week_date_time", "2015-W26-1T08:00:00.250Z")]
    #[case("week_date_time_no_millis", "2015-W26-1T08:00:00Z")]
    #[case("weekyear", "2015")]
    #[case("weekyear_week", "2015-W26")]
    #[case("weekyearWeekDay", "2015-W26-1")]
    #[case("year", "2015")]
    #[case("year_month", "2015-06")]
    #[case("year_month_day", "2015-06-22")]
    fn a_format_parses_its_own_output(#[case] format: &str, #[case] text: &str) {
        let format = DateFormat::new(format).unwrap();
        assert_eq!(format.print(1434960000250), text);
        assert_eq!(
            format.parse(text, Fill::Floor).map(|millis| format.print(millis)),
            Some(text.to_owned())
        );
    }

    #[rstest]
    #[case(
        "yyyy-MM-dd'T'bb",
        "Invalid format: [yyyy-MM-dd'T'bb]: Illegal pattern component: bb"
    )]
    #[case("epoch_millis", "Invalid format: [epoch_millis]: Illegal pattern component: p")]
    #[case("yyyy||", "No date pattern provided")]
    fn invalid_formats_are_rejected(#[case] format: &str, #[case] reason: &str) {
        assert_eq!(DateFormat::new(format).unwrap_err().reason, reason);
    }

    #[rstest]
    #[case("dateOptionalTime", "notadate", "Invalid format: \"notadate\"")]
    #[case(
        "dateOptionalTime",
        "2015-06-22 08:00",
        "Invalid format: \"2015-06-22 08:00\" is malformed at \" 08:00\""
    )]
    #[case(
        "dateOptionalTime",
        "2015-06-22T08:00:xx",
        "Invalid format: \"2015-06-22T08:00:xx\" is malformed at \":xx\""
    )]
    #[case(
        "dateOptionalTime",
        "2015-02-30",
        "Cannot parse \"2015-02-30\": Value 30 for dayOfMonth must be in the range [1,28]"
    )]
    #[case(
        "dateOptionalTime",
        "2015-13",
        "Cannot parse \"2015-13\": Value 13 for monthOfYear must be in the range [1,12]"
    )]
    #[case("yyyy/MM/dd HH:mm", "2015/06/22", "Invalid format: \"2015/06/22\" is too short")]
    #[case(
        "yyyy/MM/dd HH:mm",
        "2015/06/22 24:00",
        "Cannot parse \"2015/06/22 24:00\": Value 24 for hourOfDay must be in the range [0,23]"
    )]
    #[case("basic_date", "2015062", "Invalid format: \"2015062\" is too short")]
    fn the_error_has_the_position_of_the_mismatch(#[case] format: &str, #[case] text: &str, #[case] reason: &str) {
        assert_eq!(DateFormat::new(format).unwrap().invalid(text).reason, reason);
    }
}

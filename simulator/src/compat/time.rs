//! Times on the wire: RFC 3339, in UTC, with seconds.
//!
//! Source of the semantics: Go's `time.Parse` and its errors.

use jiff::{SignedDuration, civil};

use super::go_time_quote;

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

const FORMAT: &str = "%Y-%m-%dT%H:%M:%SZ";

/// Zero time, which counts as absent.
pub(crate) const ZERO: &str = "0001-01-01T00:00:00Z";

/// Parser of the text of a time.
struct TimeParser<'a> {
    whole: &'a str,
    rest: &'a str,
}

impl TimeParser<'_> {
    fn mismatch<T>(&self, element: &str) -> Result<T, String> {
        Err(format!(
            "parsing time {} as \"{LAYOUT}\": cannot parse {} as \"{element}\"",
            go_time_quote(self.whole),
            go_time_quote(self.rest)
        ))
    }

    fn range<T>(&self, what: &str) -> Result<T, String> {
        Err(format!(
            "parsing time {}: {what} out of range",
            go_time_quote(self.whole)
        ))
    }

    /// Reads as many digits as there are, from `least` to `most`.
    fn digits(&mut self, least: usize, most: usize) -> Option<i16> {
        let count = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        digits.parse().ok()
    }

    fn number(&mut self, least: usize, most: usize, element: &str) -> Result<i16, String> {
        match self.digits(least, most) {
            Some(value) => Ok(value),
            None => self.mismatch(element),
        }
    }

    fn exactly(&mut self, separator: &str) -> Result<(), String> {
        match self.rest.strip_prefix(separator) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => self.mismatch(separator),
        }
    }
}

/// Returns a time in canonical form. The error is v1.2's text.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    let mut parser = TimeParser {
        whole: text,
        rest: text,
    };
    let year = parser.number(4, 4, "2006")?;
    parser.exactly("-")?;
    let month = parser.number(2, 2, "01")?;
    if !(1..=12).contains(&month) {
        return parser.range("month");
    }
    parser.exactly("-")?;
    let day = parser.number(2, 2, "02")?;
    parser.exactly("T")?;
    let hour = parser.number(1, 2, "15")?;
    if hour >= 24 {
        return parser.range("hour");
    }
    parser.exactly(":")?;
    let minute = parser.number(2, 2, "04")?;
    if minute >= 60 {
        return parser.range("minute");
    }
    parser.exactly(":")?;
    let second = parser.number(2, 2, "05")?;
    if second >= 60 {
        return parser.range("second");
    }
    if let Some(fraction) = parser
        .rest
        .strip_prefix(['.', ','])
        .filter(|f| f.starts_with(|c: char| c.is_ascii_digit()))
    {
        parser.rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let offset = offset(&mut parser)?;
    if !parser.rest.is_empty() {
        return Err(format!(
            "parsing time {}: extra text: {}",
            go_time_quote(text),
            go_time_quote(parser.rest)
        ));
    }
    let narrow = |n: i16| i8::try_from(n).unwrap_or(-1);
    let Ok(civil) = civil::DateTime::new(
        year,
        narrow(month),
        narrow(day),
        narrow(hour),
        narrow(minute),
        narrow(second),
        0,
    ) else {
        return parser.range("day");
    };
    match civil.checked_sub(SignedDuration::from_secs(offset.into())) {
        Ok(utc) => Ok(utc.strftime(FORMAT).to_string()),
        Err(_) => parser.mismatch("Z07:00"),
    }
}

/// Parses a zone offset, in seconds east of UTC.
fn offset(parser: &mut TimeParser<'_>) -> Result<i32, String> {
    if let Some(rest) = parser.rest.strip_prefix('Z') {
        parser.rest = rest;
        return Ok(0);
    }
    let at = parser.rest;
    let sign = match at.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return parser.mismatch("Z07:00"),
    };
    let digits = |range: std::ops::Range<usize>| {
        at.get(range)
            .filter(|t| t.bytes().all(|c| c.is_ascii_digit()))
            .and_then(|t| t.parse::<i32>().ok())
    };
    match (digits(1..3), at.get(3..4), digits(4..6)) {
        (Some(hours), Some(":"), Some(minutes)) => {
            parser.rest = at.get(6..).unwrap_or_default();
            if hours > 24 {
                return parser.range("time zone offset hour");
            }
            if minutes > 60 {
                return parser.range("time zone offset minute");
            }
            Ok(sign * (hours * 3600 + minutes * 60))
        }
        _ => parser.mismatch("Z07:00"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2015-06-26T12:00:00Z", "2015-06-26T12:00:00Z")]
    #[case("2015-06-26T12:00:00.123456Z", "2015-06-26T12:00:00Z")]
    #[case("2015-06-26T1:02:03Z", "2015-06-26T01:02:03Z")]
    #[case("2015-06-26T12:00:00+02:00", "2015-06-26T10:00:00Z")]
    #[case("2015-06-26T12:00:00,5Z", "2015-06-26T12:00:00Z")]
    #[case("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z")]
    #[case("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z")]
    #[case("2015-01-01T00:00:00+00:30", "2014-12-31T23:30:00Z")]
    fn a_time_is_kept_in_utc_to_the_second(#[case] given: &str, #[case] kept: &str) {
        assert_eq!(parse(given), Ok(kept.to_owned()));
    }

    #[rstest]
    #[case(
        "",
        "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\""
    )]
    #[case(
        "now",
        "parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"now\" as \"2006\""
    )]
    #[case(
        "2015-06-26 12:00:00Z",
        "parsing time \"2015-06-26 12:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \" 12:00:00Z\" as \"T\""
    )]
    #[case(
        "2015-xx-01T00:00:00Z",
        "parsing time \"2015-xx-01T00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"xx-01T00:00:00Z\" as \
            \"01\""
    )]
    #[case(
        "2015\"\u{fc}",
        "parsing time \"2015\\\"\\xc3\\xbc\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\\\"\\xc3\\xbc\" as \"-\""
    )]
    #[case(
        "2015-06-26T12:00:00",
        "parsing time \"2015-06-26T12:00:00\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"Z07:00\""
    )]
    #[case("2015-06-26T12:60:00Z", "parsing time \"2015-06-26T12:60:00Z\": minute out of range")]
    #[case(
        "2015-06-26T12:0:00Z",
        "parsing time \"2015-06-26T12:0:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"0:00Z\" as \"04\""
    )]
    #[case("2015-13-01T00:00:00Z", "parsing time \"2015-13-01T00:00:00Z\": month out of range")]
    #[case("2015-02-30T00:00:00Z", "parsing time \"2015-02-30T00:00:00Z\": day out of range")]
    #[case("2015-02-20T00:00:00Zx", "parsing time \"2015-02-20T00:00:00Zx\": extra text: \"x\"")]
    fn invalid_times_have_gos_errors(#[case] given: &str, #[case] problem: &str) {
        assert_eq!(parse(given), Err(problem.to_owned()));
    }
}

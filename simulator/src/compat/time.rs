//! Points in time on the wire: RFC 3339, in UTC, to the second.
//!
//! Source of semantics: Go's `time.Parse` and its errors.

use jiff::{SignedDuration, civil};

use super::go_time_quote;

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

const FORMAT: &str = "%Y-%m-%dT%H:%M:%SZ";

/// The time that counts as none.
pub(crate) const ZERO: &str = "0001-01-01T00:00:00Z";

/// A cursor over the text of a time.
struct Clock<'a> {
    whole: &'a str,
    rest: &'a str,
}

impl Clock<'_> {
    fn misfit<T>(&self, element: &str) -> Result<T, String> {
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

    /// As many digits as there are, at least `least` and at most `most`.
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
            None => self.misfit(element),
        }
    }

    fn exactly(&mut self, separator: &str) -> Result<(), String> {
        match self.rest.strip_prefix(separator) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => self.misfit(separator),
        }
    }
}

/// The canonical form of a time; the reference's words for what is wrong with it, where it is none.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    let mut clock = Clock {
        whole: text,
        rest: text,
    };
    let year = clock.number(4, 4, "2006")?;
    clock.exactly("-")?;
    let month = clock.number(2, 2, "01")?;
    if !(1..=12).contains(&month) {
        return clock.range("month");
    }
    clock.exactly("-")?;
    let day = clock.number(2, 2, "02")?;
    clock.exactly("T")?;
    let hour = clock.number(1, 2, "15")?;
    if hour >= 24 {
        return clock.range("hour");
    }
    clock.exactly(":")?;
    let minute = clock.number(2, 2, "04")?;
    if minute >= 60 {
        return clock.range("minute");
    }
    clock.exactly(":")?;
    let second = clock.number(2, 2, "05")?;
    if second >= 60 {
        return clock.range("second");
    }
    if let Some(fraction) = clock
        .rest
        .strip_prefix(['.', ','])
        .filter(|f| f.starts_with(|c: char| c.is_ascii_digit()))
    {
        clock.rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let offset = offset(&mut clock)?;
    if !clock.rest.is_empty() {
        return Err(format!(
            "parsing time {}: extra text: {}",
            go_time_quote(text),
            go_time_quote(clock.rest)
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
        return clock.range("day");
    };
    match civil.checked_sub(SignedDuration::from_secs(offset.into())) {
        Ok(utc) => Ok(utc.strftime(FORMAT).to_string()),
        Err(_) => clock.misfit("Z07:00"),
    }
}

/// Seconds east of Greenwich.
fn offset(clock: &mut Clock<'_>) -> Result<i32, String> {
    if let Some(rest) = clock.rest.strip_prefix('Z') {
        clock.rest = rest;
        return Ok(0);
    }
    let at = clock.rest;
    let sign = match at.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return clock.misfit("Z07:00"),
    };
    let digits = |range: std::ops::Range<usize>| {
        at.get(range)
            .filter(|t| t.bytes().all(|c| c.is_ascii_digit()))
            .and_then(|t| t.parse::<i32>().ok())
    };
    match (digits(1..3), at.get(3..4), digits(4..6)) {
        (Some(hours), Some(":"), Some(minutes)) => {
            clock.rest = at.get(6..).unwrap_or_default();
            if hours > 24 {
                return clock.range("time zone offset hour");
            }
            if minutes > 60 {
                return clock.range("time zone offset minute");
            }
            Ok(sign * (hours * 3600 + minutes * 60))
        }
        _ => clock.misfit("Z07:00"),
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
        "parsing time \"2015-xx-01T00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"xx-01T00:00:00Z\" as \"01\""
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
    fn what_is_no_time_is_refused_in_the_reference_words(#[case] given: &str, #[case] problem: &str) {
        assert_eq!(parse(given), Err(problem.to_owned()));
    }
}

//! ISO 8601 as `dateOptionalTime` reads it: a date (calendar, ordinal or week), then maybe a time, then maybe an offset.

use jiff::civil;

use super::Fill;

struct Cursor<'a> {
    rest: &'a str,
}

impl Cursor<'_> {
    fn take(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Between one and `most` digits.
    fn digits(&mut self, most: usize) -> Option<(i64, usize)> {
        let count = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some((digits.parse().ok()?, count))
    }

    fn peek(&self) -> Option<u8> {
        self.rest.bytes().next()
    }

    /// `.123` or `,123` as thousandths of one.
    fn fraction(&mut self) -> Option<Option<f64>> {
        if !(self.take('.') || self.take(',')) {
            return Some(None);
        }
        let count = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 || count > 18 {
            return None;
        }
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        format!("0.{digits}").parse().ok().map(Some)
    }
}

/// The milliseconds that `text` says, or none if it is no such date.
pub(super) fn parse(text: &str, fill: Fill) -> Option<i64> {
    let mut cursor = Cursor { rest: text };
    let date = date(&mut cursor)?;
    let ceiling = fill == Fill::Ceiling;
    let (mut hour, mut minute, mut second, mut milli) = if ceiling { (23, 59, 59, 999) } else { (0, 0, 0, 0) };
    let mut offset = 0;
    if cursor.take('T') {
        if cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            hour = cursor.digits(2)?.0;
            if let Some(fraction) = cursor.fraction()? {
                let millis = (fraction * 3_600_000.0) as i64;
                (minute, second, milli) = (millis / 60_000, millis / 1000 % 60, millis % 1000);
            } else if cursor.take(':') {
                minute = cursor.digits(2)?.0;
                if let Some(fraction) = cursor.fraction()? {
                    let millis = (fraction * 60_000.0) as i64;
                    (second, milli) = (millis / 1000, millis % 1000);
                } else if cursor.take(':') {
                    second = cursor.digits(2)?.0;
                    if let Some(fraction) = cursor.fraction()? {
                        milli = (fraction * 1000.0 + 1e-7) as i64;
                    }
                }
            }
        }
        offset = zone(&mut cursor)?;
    }
    if !cursor.rest.is_empty() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = i64::from(date.since(civil::date(1970, 1, 1)).ok()?.get_days());
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milli - offset * 1000)
}

/// The byte at which a text stops being a date.
pub(super) fn malformed_at(text: &str) -> usize {
    let digits = |at: usize, most: usize| {
        text.get(at..)
            .map_or(0, |rest| rest.bytes().take(most).take_while(u8::is_ascii_digit).count())
    };
    let mut at = usize::from(text.starts_with(['-', '+']));
    match digits(at, 9) {
        0 => return 0,
        count => at += count,
    }
    // Each part is optional together with the sign before it.
    for (signs, most) in [("-", 2), ("-", 2), ("T", 2), (":", 2), (":", 2), (".,", 9)] {
        if !text
            .get(at..)
            .is_some_and(|rest| rest.starts_with(|c| signs.contains(c)))
        {
            continue;
        }
        match digits(at + 1, most) {
            0 => break,
            count => at += 1 + count,
        }
    }
    at
}

fn date(cursor: &mut Cursor<'_>) -> Option<civil::Date> {
    let negative = cursor.take('-');
    if !negative {
        cursor.take('+');
    }
    let (year, _) = cursor.digits(9)?;
    let year = i16::try_from(if negative { -year } else { year }).ok()?;
    if cursor.rest.is_empty() || cursor.peek() == Some(b'T') {
        return civil::Date::new(year, 1, 1).ok();
    }
    if !cursor.take('-') {
        return None;
    }
    if cursor.take('W') {
        let (week, _) = cursor.digits(2)?;
        let day = if cursor.take('-') { cursor.digits(1)?.0 } else { 1 };
        let weekday = civil::Weekday::from_monday_one_offset(i8::try_from(day).ok()?).ok()?;
        return civil::ISOWeekDate::new(year, i8::try_from(week).ok()?, weekday)
            .ok()
            .map(|week| week.date());
    }
    let before = cursor.rest;
    let (number, digits) = cursor.digits(3)?;
    if digits == 3 {
        let first = civil::Date::new(year, 1, 1).ok()?;
        let day = i16::try_from(number).ok()?;
        return if (1..=first.days_in_year()).contains(&day) {
            first.checked_add(jiff::Span::new().days(day - 1)).ok()
        } else {
            None
        };
    }
    cursor.rest = before;
    let (month, _) = cursor.digits(2)?;
    let day = if cursor.take('-') { cursor.digits(2)?.0 } else { 1 };
    civil::Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// An offset from UTC in seconds; nothing is UTC.
fn zone(cursor: &mut Cursor<'_>) -> Option<i64> {
    if cursor.rest.is_empty() || cursor.take('Z') {
        return Some(0);
    }
    let sign = if cursor.take('-') {
        -1
    } else if cursor.take('+') {
        1
    } else {
        return None;
    };
    let (hours, _) = cursor.digits(2)?;
    let minutes = if cursor.take(':') || cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
        cursor.digits(2)?.0
    } else {
        0
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// `millis` as `2015-06-22T08:00:00.000Z`.
pub(super) fn print(millis: i64) -> String {
    match jiff::Timestamp::from_millisecond(millis) {
        Ok(time) => {
            let at = time.to_zoned(jiff::tz::TimeZone::UTC).datetime();
            format!(
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                at.year(),
                at.month(),
                at.day(),
                at.hour(),
                at.minute(),
                at.second(),
                at.millisecond()
            )
        }
        Err(_) => millis.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("2015-06-22T08:00:00+00:00", Some(1434960000000))]
    #[case("2015-06-22T08:00:00.25Z", Some(1434960000250))]
    #[case("2015-06-22T10:00:00+02:00", Some(1434960000000))]
    #[case("2015-06-22", Some(1434931200000))]
    #[case("2015-6-22", Some(1434931200000))]
    #[case("2015-06", Some(1433116800000))]
    #[case("2015", Some(1420070400000))]
    #[case("2015-173", Some(1434931200000))]
    #[case("2015-W26-1", Some(1434931200000))]
    #[case("2015-06-22T10", Some(1434967200000))]
    #[case("2015-06-22T10.5", Some(1434969000000))]
    #[case("1969-12-31T23:59:59.999Z", Some(-1))]
    #[case("2015-13-01", None)]
    #[case("2015-02-30", None)]
    #[case("2015-06-22T25:00", None)]
    #[case("2015-06-22 08:00:00", None)]
    #[case("notadate", None)]
    #[case("", None)]
    #[case("1-2-3", Some(-62132745600000))]
    fn a_date_is_read_as_the_standard_writes_it(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse(text, Fill::Floor), expected);
    }

    #[rstest]
    #[case("2015-06-26", 1435363199999)]
    #[case("2015-06-23T12", 1435064399999)]
    #[case("2015-06-25T18:30:00", 1435257000999)]
    #[case("2015-06", 1433203199999)]
    fn a_ceiling_fills_the_time_of_day_only(#[case] text: &str, #[case] expected: i64) {
        assert_eq!(parse(text, Fill::Ceiling), Some(expected));
    }

    #[test]
    fn a_date_is_printed_with_milliseconds_in_utc() {
        assert_eq!(print(1434960000250), "2015-06-22T08:00:00.250Z");
    }
}

//! Timestamps in their usual form, which `date_optional_time` reads too: `2015-06-22T08:00:00.250Z`.

use super::fields::days_of;

/// Maximum number of digits of a fraction.
const MAX_DIGITS: usize = 9;

/// Returns the milliseconds since 1970 of a timestamp with seconds: without a fraction or with up to nine digits;
/// without a zone, with `Z`, or with `+02:00`. Returns `None` for other texts, which may be dates as well.
pub(super) fn millis_of(text: &str) -> Option<i64> {
    let (date_time, rest) = text.as_bytes().split_first_chunk()?;
    let [
        y1,
        y2,
        y3,
        y4,
        b'-',
        o1,
        o2,
        b'-',
        d1,
        d2,
        b'T',
        h1,
        h2,
        b':',
        m1,
        m2,
        b':',
        s1,
        s2,
    ] = *date_time
    else {
        return None;
    };
    let year = two_digits(y1, y2, 99)? * 100 + two_digits(y3, y4, 99)?;
    let (month, day) = (two_digits(o1, o2, 12)?, two_digits(d1, d2, 31)?);
    let (hour, minute, second) = (
        two_digits(h1, h2, 23)?,
        two_digits(m1, m2, 59)?,
        two_digits(s1, s2, 59)?,
    );
    let (milli, zone) = match rest {
        [b'.', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (fraction, zone) = rest.split_at_checked(digits)?;
            let places = fraction.iter().zip([100, 10, 1]);
            let milli = places.map(|(digit, place)| i64::from(digit - b'0') * place).sum();
            ((1..=MAX_DIGITS).contains(&digits).then_some(milli)?, zone)
        }
        _ => (0, rest),
    };
    let offset = match *zone {
        [] | [b'Z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let minutes = two_digits(h1, h2, 23)? * 60 + two_digits(m1, m2, 59)?;
            if sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let days = days_of(year, month, day);
    // A month or day that does not exist is another day of the calendar.
    if super::fields::date_of(days) != (year, month, day) {
        return None;
    }
    Some((((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1_000 + milli)
}

/// Returns a number of two digits, if it is at most `max`.
fn two_digits(tens: u8, ones: u8, max: i64) -> Option<i64> {
    let is_number = tens.is_ascii_digit() && ones.is_ascii_digit();
    let number = i64::from(tens.wrapping_sub(b'0')) * 10 + i64::from(ones.wrapping_sub(b'0'));
    (is_number && number <= max).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::super::{DateFormat, Fill};
    use super::*;

    #[test]
    fn a_timestamp_has_the_time_that_its_elements_have() {
        // Two alternatives are always read element by element.
        let elements = DateFormat::new("yyyy||date_optional_time").unwrap();
        let dates = [
            "2015-06-22",
            "2016-02-29",
            "2015-02-29",
            "2015-00-10",
            "2015-12-31",
            "2015-13-01",
            "0000-01-01",
            "1969-12-31",
            "2100-02-29",
            "2015-04-31",
            "2015-6-22",
            "+015-06-22",
        ];
        let times = [
            "08:00:00", "23:59:59", "24:00:00", "08:60:00", "08:00:60", "8:00:00", "08:00:0x",
        ];
        let ends = [
            "",
            "Z",
            "z",
            ".2",
            ".25Z",
            ".123456789+02:00",
            ".1234567890Z",
            ".Z",
            "-11:30",
            "+0200",
            "+24:00",
            "-00:60",
            ",5Z",
            "Zx",
            "Europe/Berlin",
        ];
        let mut count = 0;
        for (date, time, end) in dates
            .iter()
            .flat_map(|date| times.iter().map(move |time| (date, time)))
            .flat_map(|(date, time)| ends.iter().map(move |end| (date, time, end)))
        {
            let text = format!("{date}T{time}{end}");
            if let Some(millis) = millis_of(&text) {
                assert_eq!(elements.parse(&text, Fill::Floor), Some(millis), "{text}");
                count += 1;
            }
        }
        // Five dates, two times and six ends.
        assert_eq!(count, 60);
    }
}

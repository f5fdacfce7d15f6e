//! Date math: `now-3d/d`, `2015-06-23||+6h`.
//!
//! Source: Elasticsearch 1.5's `DateMathParser`. [`Fill::Ceiling`] applies to a date without math and to rounding
//! with `/unit`, not to a date followed by math.

use jiff::civil;

use super::{DateFormat, Fill};
use crate::error::{Result, SearchError};

/// A calendar unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

impl Unit {
    /// Returns the unit of a date math letter.
    pub(crate) fn of_letter(letter: char) -> Option<Unit> {
        Some(match letter {
            'y' => Unit::Year,
            'M' => Unit::Month,
            'w' => Unit::Week,
            'd' => Unit::Day,
            'h' | 'H' => Unit::Hour,
            'm' => Unit::Minute,
            's' => Unit::Second,
            _ => return None,
        })
    }

    /// Returns the length in milliseconds, if it is constant.
    pub(crate) fn millis(self) -> Option<i64> {
        Some(match self {
            Unit::Week => 7 * 86_400_000,
            Unit::Day => 86_400_000,
            Unit::Hour => 3_600_000,
            Unit::Minute => 60_000,
            Unit::Second => 1_000,
            _ => return None,
        })
    }
}

/// 1970-01-05, the first Monday, in milliseconds since 1970.
const MONDAY: i64 = 4 * 86_400_000;

fn civil_of(millis: i64) -> Option<civil::DateTime> {
    Some(
        jiff::Timestamp::from_millisecond(millis)
            .ok()?
            .to_zoned(jiff::tz::TimeZone::UTC)
            .datetime(),
    )
}

fn millis_of(at: civil::DateTime) -> Option<i64> {
    Some(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

/// Adds `count` units to a time. Returns `millis` unchanged if the result is out of range.
pub(crate) fn add_units(millis: i64, count: i64, unit: Unit) -> i64 {
    if let Some(length) = unit.millis() {
        return count
            .checked_mul(length)
            .and_then(|delta| millis.checked_add(delta))
            .unwrap_or(millis);
    }
    let months = match unit {
        Unit::Year => count.saturating_mul(12),
        Unit::Quarter => count.saturating_mul(3),
        _ => count,
    };
    let moved = || {
        let span = jiff::Span::new().try_months(months).ok()?;
        millis_of(civil_of(millis)?.checked_add(span).ok()?)
    };
    moved().unwrap_or(millis)
}

/// Rounds a time down to the start of its unit.
pub(crate) fn floor_to(millis: i64, unit: Unit) -> i64 {
    match (unit, unit.millis()) {
        (Unit::Week, Some(length)) => millis
            .saturating_sub(MONDAY)
            .div_euclid(length)
            .saturating_mul(length)
            .saturating_add(MONDAY),
        (_, Some(length)) => millis.div_euclid(length).saturating_mul(length),
        _ => {
            let floor = || {
                let date = civil_of(millis)?.date();
                let month = match unit {
                    Unit::Year => 1,
                    Unit::Quarter => (date.month() - 1) / 3 * 3 + 1,
                    _ => date.month(),
                };
                millis_of(civil::Date::new(date.year(), month, 1).ok()?.at(0, 0, 0, 0))
            };
            floor().unwrap_or(millis)
        }
    }
}

/// Parses a date, optionally with math, to milliseconds since 1970.
///
/// `offset` is the offset, in milliseconds east of UTC, of dates without a zone.
pub(crate) fn parse_math(text: &str, format: &DateFormat, now: i64, fill: Fill, offset: i64) -> Result<i64> {
    parse_math_on(text, format, now, (fill, fill), offset)
}

/// As [`parse_math`]. `on`: how a date before `||` is filled.
pub(crate) fn parse_math_on(
    text: &str,
    format: &DateFormat,
    now: i64,
    (fill, on): (Fill, Fill),
    offset: i64,
) -> Result<i64> {
    let failed = |date: &str| {
        let error = SearchError::parse(format!(
            "failed to parse date field [{date}], tried both date format [{}], and timestamp number",
            format.as_str()
        ));
        match fill {
            Fill::Floor => error.caused_by(format.invalid(date)),
            Fill::Ceiling => error.clone().caused_by(error),
        }
    };
    let zoned = |millis: i64, source: &str| {
        let time = source.split_once('T').map_or("", |(_, time)| time);
        let explicit = time.contains(['Z', '+', '-']) || !source.contains(['-', '/', ':']);
        if explicit {
            millis
        } else {
            millis.saturating_sub(offset)
        }
    };
    let (base, math) = if let Some(math) = text.strip_prefix("now") {
        (now, math)
    } else if let Some((date, math)) = text.split_once("||") {
        (
            zoned(format.parse_lenient(date, on).ok_or_else(|| failed(date))?, date),
            math,
        )
    } else {
        return format
            .parse_lenient(text, fill)
            .map(|millis| zoned(millis, text))
            .ok_or_else(|| failed(text));
    };
    apply(base, math, fill, offset)
}

fn apply(mut at: i64, math: &str, fill: Fill, offset: i64) -> Result<i64> {
    let refuse = |why: String| SearchError::parse(format!("{why} [{math}]"));
    let truncated = || refuse("truncated date math".to_owned());
    let mut chars = math.chars().peekable();
    while let Some(operation) = chars.next() {
        if !matches!(operation, '/' | '+' | '-') {
            return Err(refuse("operator not supported for date math".to_owned()));
        }
        let mut digits = String::new();
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        let letter = chars.next().ok_or_else(truncated)?;
        let count = if digits.is_empty() {
            1
        } else {
            digits.parse::<i32>().map_err(|_| SearchError::number(&digits))?
        };
        if operation == '/' && count != 1 {
            return Err(refuse("rounding `/` can only be used on single unit types".to_owned()));
        }
        let unit =
            Unit::of_letter(letter).ok_or_else(|| refuse(format!("unit [{letter}] not supported for date math")))?;
        at = match operation {
            '+' => add_units(at, i64::from(count), unit),
            '-' => add_units(at, -i64::from(count), unit),
            _ => {
                let floor = floor_to(at.saturating_add(offset), unit);
                let local = match fill {
                    Fill::Ceiling => add_units(floor, 1, unit).saturating_sub(1),
                    Fill::Floor => floor,
                };
                local.saturating_sub(offset)
            }
        };
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const NOW: i64 = 1435320000000; // 2015-06-26T12:00:00Z

    #[rstest]
    #[case("now", Fill::Floor, 1435320000000)]
    #[case("now-3d", Fill::Floor, 1435060800000)]
    #[case("now-2d/d", Fill::Floor, 1435104000000)]
    #[case("now-1d/d", Fill::Ceiling, 1435276799999)]
    #[case("2015-06-23||+6h", Fill::Floor, 1435039200000)]
    #[case("2015-06-24||/d", Fill::Ceiling, 1435190399999)]
    #[case("2015-06-24||+2h", Fill::Ceiling, 1435197599999)]
    #[case("now/M", Fill::Floor, 1433116800000)]
    #[case("now/w", Fill::Floor, 1434931200000)]
    #[case("now/y", Fill::Ceiling, 1451606399999)]
    #[case("now+1M-1y", Fill::Floor, 1406376000000)]
    #[case("1435320000000", Fill::Ceiling, 1435320000000)]
    fn date_math_adds_and_rounds(#[case] text: &str, #[case] fill: Fill, #[case] expected: i64) {
        assert_eq!(
            parse_math(text, &DateFormat::default(), NOW, fill, 0).unwrap(),
            expected
        );
    }

    #[rstest]
    #[case(Fill::Floor, 1425160800000)]
    #[case(Fill::Ceiling, 1427839199999)]
    fn dates_are_rounded_in_their_zone(#[case] fill: Fill, #[case] expected: i64) {
        let format = DateFormat::default();
        let parsed = parse_math("2015-03-04||/M", &format, NOW, fill, 2 * 3_600_000);
        assert_eq!(parsed.unwrap(), expected);
    }

    #[rstest]
    #[case("nowish", "operator not supported for date math [ish]")]
    #[case("now-", "truncated date math [-]")]
    #[case("now-3", "truncated date math [-3]")]
    #[case("now-3x", "unit [x] not supported for date math [-3x]")]
    #[case("now/q", "unit [q] not supported for date math [/q]")]
    #[case("now/2d", "rounding `/` can only be used on single unit types [/2d]")]
    #[case("now+99999999999d", "For input string: \"99999999999\"")]
    #[case(
        "notadate",
        "failed to parse date field [notadate], tried both date format [dateOptionalTime], and timestamp number"
    )]
    fn invalid_date_math_is_an_error(#[case] text: &str, #[case] reason: &str) {
        let error = parse_math(text, &DateFormat::default(), NOW, Fill::Floor, 0).unwrap_err();
        assert_eq!(error.reason, reason);
    }
}

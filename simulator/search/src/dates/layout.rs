//! Layouts of date formats: Joda-Time patterns and the named formats of Elasticsearch 1.5.
//!
//! Source: Joda-Time's `DateTimeFormat` and `ISODateTimeFormat`; the list of formats in the documentation of
//! Elasticsearch 1.5.

use std::iter::Peekable;
use std::str::Chars;

use crate::error::{Result, SearchError};

/// A field of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateField {
    Century,
    Year,
    Weekyear,
    Month,
    Week,
    DayOfYear,
    Day,
    DayOfWeek,
    /// 0 for AM, 1 for PM.
    HalfDay,
    /// 0 to 23.
    Hour,
    /// 1 to 24.
    ClockHour,
    /// 0 to 11.
    HourOfHalfDay,
    /// 1 to 12.
    ClockHourOfHalfDay,
    Minute,
    Second,
    Milli,
}

/// An element of a layout.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Element {
    Literal(String),
    /// A number. `min_digits` digits are printed, up to `max_digits` are parsed, and exactly `max_digits` if `fixed`.
    Number {
        field: DateField,
        min_digits: usize,
        max_digits: usize,
        fixed: bool,
    },
    /// The last two digits of a year. If `lenient`, the parser accepts any number of digits.
    ShortYear {
        field: DateField,
        lenient: bool,
    },
    /// The decimal fraction of a unit. `unit` is in milliseconds.
    Fraction {
        unit: i64,
        min_digits: usize,
        max_digits: usize,
    },
    /// The name of a month, a day of the week, or AM and PM.
    Name {
        field: DateField,
        short: bool,
    },
    Era,
    /// An offset from UTC. `zero` is printed for an offset of 0.
    Offset {
        zero: Option<char>,
        colon: bool,
    },
    /// A time zone name.
    Zone,
    /// Alternatives. The parser takes the first that matches the rest of the text, else the longest match.
    Any {
        alternatives: Vec<Vec<Element>>,
        optional: bool,
    },
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// The named formats with their patterns. Additional letters: `f` is a fraction of a second of 3 to 9 digits; `O` and
/// `o` are an offset with and without a colon, printed as `Z` if it is 0.
const NAMED: [(&str, &str); 45] = [
    ("basic_date", "yyyyMMdd"),
    ("basic_date_time", "yyyyMMdd'T'HHmmss.fo"),
    ("basic_date_time_no_millis", "yyyyMMdd'T'HHmmsso"),
    ("basic_ordinal_date", "yyyyDDD"),
    ("basic_ordinal_date_time", "yyyyDDD'T'HHmmss.fo"),
    ("basic_ordinal_date_time_no_millis", "yyyyDDD'T'HHmmsso"),
    ("basic_time", "HHmmss.fo"),
    ("basic_time_no_millis", "HHmmsso"),
    ("basic_t_time", "'T'HHmmss.fo"),
    ("basic_t_Time", "'T'HHmmss.fo"),
    ("basic_t_time_no_millis", "'T'HHmmsso"),
    ("basic_t_Time_no_millis", "'T'HHmmsso"),
    ("basic_week_date", "xxxx'W'wwe"),
    ("basic_week_date_time", "xxxx'W'wwe'T'HHmmss.fo"),
    ("basic_week_date_time_no_millis", "xxxx'W'wwe'T'HHmmsso"),
    ("date", "yyyy-MM-dd"),
    ("date_hour", "yyyy-MM-dd'T'HH"),
    ("date_hour_minute", "yyyy-MM-dd'T'HH:mm"),
    ("date_hour_minute_second", "yyyy-MM-dd'T'HH:mm:ss"),
    ("date_hour_minute_second_fraction", "yyyy-MM-dd'T'HH:mm:ss.f"),
    ("date_hour_minute_second_millis", "yyyy-MM-dd'T'HH:mm:ss.SSS"),
    ("date_time", "yyyy-MM-dd'T'HH:mm:ss.fO"),
    ("date_time_no_millis", "yyyy-MM-dd'T'HH:mm:ssO"),
    ("hour", "HH"),
    ("hour_minute", "HH:mm"),
    ("hour_minute_second", "HH:mm:ss"),
    ("hour_minute_second_fraction", "HH:mm:ss.f"),
    ("hour_minute_second_millis", "HH:mm:ss.SSS"),
    ("ordinal_date", "yyyy-DDD"),
    ("ordinal_date_time", "yyyy-DDD'T'HH:mm:ss.fO"),
    ("ordinal_date_time_no_millis", "yyyy-DDD'T'HH:mm:ssO"),
    ("time", "HH:mm:ss.fO"),
    ("time_no_millis", "HH:mm:ssO"),
    ("t_time", "'T'HH:mm:ss.fO"),
    ("t_time_no_millis", "'T'HH:mm:ssO"),
    ("week_date", "xxxx-'W'ww-e"),
    ("week_date_time", "xxxx-'W'ww-e'T'HH:mm:ss.fO"),
    ("week_date_time_no_millis", "xxxx-'W'ww-e'T'HH:mm:ssO"),
    ("weekyear", "xxxx"),
    ("week_year", "xxxx"),
    ("weekyear_week", "xxxx-'W'ww"),
    ("weekyear_week_day", "xxxx-'W'ww-e"),
    ("year", "yyyy"),
    ("year_month", "yyyy-MM"),
    ("year_month_day", "yyyy-MM-dd"),
];

/// The elements of a format for parsing and for printing.
pub(super) struct Layout {
    pub(super) reader: Vec<Element>,
    pub(super) printer: Vec<Element>,
}

impl Layout {
    /// Parses a format name or a pattern.
    ///
    /// # Errors
    /// An unknown pattern letter.
    pub(super) fn parse(format: &str) -> Result<Layout> {
        if matches!(format, "date_optional_time" | "dateOptionalTime") {
            return Ok(Layout::date_optional_time());
        }
        let named = NAMED
            .iter()
            .find(|(name, _)| *name == format || crate::json::camel_case(name) == format);
        let elements = match named {
            Some((name, pattern)) => of_pattern(
                pattern,
                Letters::Named {
                    fixed: name.starts_with("basic"),
                },
            ),
            None => {
                check(format)?;
                of_pattern(format, Letters::Pattern)
            }
        };
        Ok(Layout {
            reader: elements.clone(),
            printer: elements,
        })
    }

    /// Returns the layout of `date_optional_time`: `2015-06-22T08:00:00.000Z`, prefixes of it, week dates and ordinal
    /// dates.
    pub(super) fn date_optional_time() -> Layout {
        Layout {
            reader: optional_time(),
            printer: part("yyyy-MM-dd'T'HH:mm:ss.fO"),
        }
    }
}

/// Parses a pattern with the additional letters of [`NAMED`].
fn part(pattern: &str) -> Vec<Element> {
    of_pattern(pattern, Letters::Named { fixed: false })
}

fn optional_time() -> Vec<Element> {
    let optional = |elements: Vec<Element>| Element::Any {
        alternatives: vec![elements],
        optional: true,
    };
    let then = |pattern: &str, rest: Element| {
        let mut elements = part(pattern);
        elements.push(rest);
        elements
    };
    let fraction = |unit: i64| {
        let point = |point: &str| vec![Element::Literal(point.to_owned())];
        let point = Element::Any {
            alternatives: vec![point("."), point(",")],
            optional: false,
        };
        vec![
            point,
            Element::Fraction {
                unit,
                min_digits: 1,
                max_digits: 9,
            },
        ]
    };
    let month = then("-MM", optional(part("-dd")));
    let date = Element::Any {
        alternatives: vec![
            then("yyyy", optional(month)),
            then("xxxx-'W'ww", optional(part("-e"))),
            part("yyyy-DDD"),
        ],
        optional: false,
    };
    let seconds = then(":ss", optional(fraction(SECOND)));
    let minutes = Element::Any {
        alternatives: vec![seconds, fraction(MINUTE)],
        optional: true,
    };
    let time = then(
        "HH",
        Element::Any {
            alternatives: vec![then(":mm", minutes), fraction(HOUR)],
            optional: true,
        },
    );
    let mut after = part("'T'");
    after.extend([optional(time), optional(part("O"))]);
    vec![date, optional(after)]
}

/// The letters of a pattern.
#[derive(Clone, Copy)]
enum Letters {
    Pattern,
    /// Also the additional letters of [`NAMED`]. If `fixed`, numbers have exactly as many digits as letters.
    Named {
        fixed: bool,
    },
}

/// A token of a pattern.
enum Token {
    Letters(char, usize),
    Literal(String),
}

impl Token {
    /// Returns whether the token is a number, which limits the digits of a number before it.
    fn is_number(&self) -> bool {
        match self {
            Token::Letters('M', count) => *count <= 2,
            Token::Letters(letter, _) => "cCxyYdhHmsSeDFwWkK".contains(*letter),
            Token::Literal(_) => false,
        }
    }
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut chars = pattern.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(c) = chars.peek().copied() {
        if c.is_ascii_alphabetic() {
            let mut count = 0;
            while chars.next_if_eq(&c).is_some() {
                count += 1;
            }
            tokens.push(Token::Letters(c, count));
        } else {
            tokens.push(Token::Literal(literal(&mut chars)));
        }
    }
    tokens
}

/// Consumes and returns the text up to the next unquoted letter.
fn literal(chars: &mut Peekable<Chars<'_>>) -> String {
    let (mut text, mut quoted) = (String::new(), false);
    while let Some(c) = chars.next_if(|c| quoted || !c.is_ascii_alphabetic()) {
        if c != '\'' {
            text.push(c);
        } else if chars.next_if_eq(&'\'').is_some() {
            text.push('\'');
        } else {
            quoted = !quoted;
        }
    }
    text
}

/// Fails for an empty pattern and for unknown letters.
fn check(pattern: &str) -> Result<()> {
    if pattern.is_empty() {
        return Err(SearchError::argument("No date pattern provided"));
    }
    for token in tokens(pattern) {
        if let Token::Letters(letter, count) = token
            && !"GCYxweEyDMdaKhHkmsSzZ".contains(letter)
        {
            let reason = format!("Illegal pattern component: {}", letter.to_string().repeat(count));
            let error = SearchError::argument(format!("Invalid format: [{pattern}]: {reason}"));
            return Err(error.caused_by(SearchError::argument(reason)));
        }
    }
    Ok(())
}

fn of_pattern(pattern: &str, letters: Letters) -> Vec<Element> {
    let tokens = tokens(pattern);
    let followed = tokens.iter().skip(1).map(Token::is_number).chain([false]);
    let elements = tokens.iter().zip(followed).map(|(token, is_tight)| match token {
        Token::Literal(text) => Element::Literal(text.clone()),
        Token::Letters(letter, count) => element(*letter, *count, is_tight, letters),
    });
    elements.collect()
}

/// Returns the element for a run of a letter. `is_tight`: a number follows.
fn element(letter: char, count: usize, is_tight: bool, letters: Letters) -> Element {
    let fixed = matches!(letters, Letters::Named { fixed: true });
    let number = |field, max_digits: usize| Element::Number {
        field,
        min_digits: count,
        max_digits: if fixed { count } else { max_digits.max(count) },
        fixed: fixed && !matches!(field, DateField::Year | DateField::Weekyear),
    };
    let year = |field| match count {
        2 => Element::ShortYear {
            field,
            lenient: !is_tight,
        },
        _ => number(field, if is_tight { count } else { 9 }),
    };
    match letter {
        'y' | 'Y' => year(DateField::Year),
        'x' => year(DateField::Weekyear),
        'C' => number(DateField::Century, count),
        'M' if count >= 3 => Element::Name {
            field: DateField::Month,
            short: count == 3,
        },
        'M' => number(DateField::Month, 2),
        'w' => number(DateField::Week, 2),
        'D' => number(DateField::DayOfYear, 3),
        'd' => number(DateField::Day, 2),
        'e' => number(DateField::DayOfWeek, 1),
        'E' => Element::Name {
            field: DateField::DayOfWeek,
            short: count < 4,
        },
        'a' => Element::Name {
            field: DateField::HalfDay,
            short: true,
        },
        'H' => number(DateField::Hour, 2),
        'k' => number(DateField::ClockHour, 2),
        'K' => number(DateField::HourOfHalfDay, 2),
        'h' => number(DateField::ClockHourOfHalfDay, 2),
        'm' => number(DateField::Minute, 2),
        's' => number(DateField::Second, 2),
        'S' => Element::Fraction {
            unit: SECOND,
            min_digits: count,
            max_digits: count,
        },
        'f' => Element::Fraction {
            unit: SECOND,
            min_digits: 3,
            max_digits: 9,
        },
        'G' => Element::Era,
        'O' | 'o' => Element::Offset {
            zero: Some('Z'),
            colon: letter == 'O',
        },
        'Z' if count <= 2 => Element::Offset {
            zero: None,
            colon: count == 2,
        },
        _ => Element::Zone,
    }
}

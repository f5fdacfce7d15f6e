//! Parsing of dates.
//!
//! Source: the parsers of Joda-Time's `DateTimeFormatterBuilder`, including the error offsets.

use super::TimeZone;
use super::fields::Fields;
use super::layout::{DateField, Element};
use super::names::{ERAS, names};

/// The byte offset at which an element ends, or at which parsing fails.
type Read = Result<usize, usize>;

/// Pivot of two-digit years: they are within 50 years of it.
const PIVOT: i64 = 1985;

/// Parses elements from a byte offset.
pub(super) fn read(elements: &[Element], text: &str, mut at: usize, fields: &mut Fields) -> Read {
    for element in elements {
        at = read_one(element, text, at, fields)?;
    }
    Ok(at)
}

fn read_one(element: &Element, text: &str, at: usize, fields: &mut Fields) -> Read {
    match element {
        Element::Literal(literal) => {
            let found = text.get(at..at + literal.len());
            let found = found.filter(|found| found.eq_ignore_ascii_case(literal));
            found.map(|_| at + literal.len()).ok_or(at)
        }
        Element::Number {
            field,
            max_digits,
            fixed,
            ..
        } => {
            let is_signed = matches!(field, DateField::Year | DateField::Weekyear);
            let (value, end) = number(text, at, *max_digits, is_signed)?;
            if *fixed && end != at + max_digits {
                return Err(end);
            }
            fields.set(*field, value);
            Ok(end)
        }
        Element::ShortYear { field, lenient } => {
            let (value, end) = number(text, at, if *lenient { 9 } else { 2 }, *lenient)?;
            let is_signed = text.as_bytes().get(at).is_some_and(|byte| matches!(byte, b'+' | b'-'));
            if !lenient && end != at + 2 {
                return Err(at);
            }
            let is_short = end == at + 2 && !is_signed;
            fields.set(*field, if is_short { full_year(value) } else { value });
            Ok(end)
        }
        Element::Fraction { unit, max_digits, .. } => {
            let digits = digits(text, at, *max_digits);
            let (mut value, mut place) = (0, unit * 10);
            for digit in digits.bytes() {
                place /= 10;
                value += i64::from(digit - b'0') * place;
            }
            if digits.is_empty() {
                return Err(at);
            }
            fields.set(DateField::Milli, value / 10);
            Ok(at + digits.len())
        }
        Element::Name { field, .. } => {
            let named = names(*field)
                .iter()
                .enumerate()
                .flat_map(|(i, both)| both.map(|name| (i, name)));
            let (found, length) = longest(text, at, named).ok_or(at)?;
            fields.set(
                *field,
                i64::try_from(found).unwrap_or_default() + i64::from(*field != DateField::HalfDay),
            );
            Ok(at + length)
        }
        Element::Era => longest(text, at, ERAS.into_iter().enumerate())
            .map(|(_, length)| at + length)
            .ok_or(at),
        Element::Offset { .. } => offset(text, at, fields),
        Element::Zone => zone(text, at, fields),
        Element::Any { alternatives, optional } => any(alternatives, *optional, text, at, fields),
    }
}

/// Returns the full year of a two-digit year.
fn full_year(value: i64) -> i64 {
    let low = PIVOT - 50;
    let turn = low % 100;
    value + low + if value < turn { 100 } else { 0 } - turn
}

fn digits(text: &str, at: usize, max: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let count = rest.bytes().take(max).take_while(u8::is_ascii_digit).count();
    rest.get(..count).unwrap_or_default()
}

/// Parses a number of up to `max` digits. Returns its value and its end.
fn number(text: &str, at: usize, max: usize, is_signed: bool) -> Result<(i64, usize), usize> {
    let sign = text
        .as_bytes()
        .get(at)
        .filter(|byte| is_signed && matches!(byte, b'+' | b'-'));
    let from = at + usize::from(sign.is_some());
    let digits = digits(text, from, max);
    let value: i64 = digits.parse().map_err(|_| at)?;
    Ok((if sign == Some(&b'-') { -value } else { value }, from + digits.len()))
}

/// Returns the longest name at an offset, in its own, lower or upper case: its index and its length.
fn longest<'n>(text: &str, at: usize, names: impl Iterator<Item = (usize, &'n str)>) -> Option<(usize, usize)> {
    let matches = |name: &str| {
        text.get(at..at + name.len()).is_some_and(|found| {
            found == name || found == name.to_ascii_lowercase() || found == name.to_ascii_uppercase()
        })
    };
    let found = names.filter(|(_, name)| matches(name)).map(|(i, name)| (i, name.len()));
    found.max_by_key(|(_, length)| *length)
}

/// Parses an offset: `Z`, `+02`, `+0200` or `+02:00`, optionally with seconds.
fn offset(text: &str, at: usize, fields: &mut Fields) -> Read {
    let byte = |at: usize| text.as_bytes().get(at).copied();
    if matches!(byte(at), Some(b'Z' | b'z')) {
        fields.set_zone(TimeZone::UTC);
        return Ok(at + 1);
    }
    let sign = match byte(at) {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err(at),
    };
    let part = |at: usize, limit: i64| match digits(text, at, 2) {
        found if found.len() == 2 => found.parse::<i64>().ok().filter(|part| *part < limit).ok_or(at),
        _ => Err(at),
    };
    let mut end = at + 1;
    let mut seconds = part(end, 24)? * 3_600;
    end += 2;
    let has_colons = byte(end) == Some(b':');
    for unit in [60, 1] {
        let continues = if has_colons {
            byte(end) == Some(b':')
        } else {
            !digits(text, end, 2).is_empty()
        };
        if !continues {
            break;
        }
        end += usize::from(has_colons);
        seconds += part(end, 60)? * unit;
        end += 2;
    }
    fields.set_zone(TimeZone::Fixed(sign * seconds * 1_000));
    Ok(end)
}

/// Parses a time zone name.
fn zone(text: &str, at: usize, fields: &mut Fields) -> Read {
    let rest = text.get(at..).unwrap_or_default();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '+' | '-' | ':');
    let name = rest
        .get(..rest.find(|c| !is_part(c)).unwrap_or(rest.len()))
        .unwrap_or_default();
    let named = TimeZone::parse(name).ok().filter(|_| !name.is_empty());
    fields.set_zone(named.ok_or(at)?);
    Ok(at + name.len())
}

/// Parses one of the alternatives, or nothing if `optional`.
fn any(alternatives: &[Vec<Element>], optional: bool, text: &str, at: usize, fields: &mut Fields) -> Read {
    let before = fields.len();
    let (mut best, mut failed) = (None, at);
    for (i, alternative) in alternatives.iter().enumerate() {
        match read(alternative, text, at, fields) {
            Ok(end) if end >= text.len() || i + 1 == alternatives.len() && best.is_none() => return Ok(end),
            Ok(end) => {
                let own = fields.split_off(before);
                if best.as_ref().is_none_or(|(longest, _)| end > *longest) {
                    best = Some((end, own));
                }
            }
            Err(end) => {
                failed = failed.max(end);
                fields.truncate(before);
            }
        }
    }
    match best {
        Some((end, own)) => {
            fields.extend(own);
            Ok(end)
        }
        None if optional => Ok(at),
        None => Err(failed),
    }
}

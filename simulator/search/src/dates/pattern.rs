//! Dates by a pattern of letters, such as `yyyy/MM/dd HH:mm:ss`.

use jiff::civil;

use super::Fill;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

enum Piece {
    Field(char, usize),
    Literal(String),
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' {
            let literal: String = chars.by_ref().take_while(|c| *c != '\'').collect();
            pieces.push(Piece::Literal(if literal.is_empty() {
                "'".to_owned()
            } else {
                literal
            }));
        } else if c.is_ascii_alphabetic() {
            let mut count = 1;
            while chars.next_if_eq(&c).is_some() {
                count += 1;
            }
            pieces.push(Piece::Field(c, count));
        } else {
            pieces.push(Piece::Literal(c.to_string()));
        }
    }
    pieces
}

pub(super) fn parse(pattern: &str, text: &str, fill: Fill) -> Option<i64> {
    let (mut year, mut month, mut day) = (1970i64, 1i64, 1i64);
    let (mut hour, mut minute, mut second, mut milli) = if fill == Fill::Ceiling {
        (23, 59, 59, 999)
    } else {
        (0, 0, 0, 0)
    };
    let mut offset = 0;
    let mut afternoon = None;
    let mut rest = text;
    let pieces = pieces(pattern);
    for (i, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
            Piece::Field('M', 3..) => {
                let name = rest.get(..3)?;
                month = i64::try_from(MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name))?).ok()? + 1;
                rest = rest.get(3..)?;
            }
            Piece::Field('E', _) => rest = rest.get(3..)?,
            Piece::Field('a', _) => {
                afternoon = Some(rest.get(..2)?.eq_ignore_ascii_case("pm"));
                rest = rest.get(2..)?;
            }
            Piece::Field('Z' | 'z', _) => {
                let (seconds, after) = zone(rest)?;
                (offset, rest) = (seconds, after);
            }
            Piece::Field(letter, count) => {
                // A number that another number follows directly has exactly the pattern's width.
                let tight =
                    matches!(pieces.get(i + 1), Some(Piece::Field(next, _)) if !matches!(next, 'Z' | 'z' | 'a' | 'E'));
                let most = if tight || *letter == 'S' {
                    *count
                } else {
                    (*count).max(if *letter == 'y' { 9 } else { 2 })
                };
                let width = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
                let (digits, after) = rest.split_at_checked(width)?;
                let value: i64 = digits.parse().ok()?;
                rest = after;
                match letter {
                    'y' | 'Y' | 'u' => year = if *count == 2 && width == 2 { 2000 + value } else { value },
                    'M' => month = value,
                    'd' => day = value,
                    'H' | 'h' | 'k' | 'K' => hour = value,
                    'm' => minute = value,
                    's' => second = value,
                    'S' => milli = (format!("0.{digits}").parse::<f64>().ok()? * 1000.0 + 1e-7) as i64,
                    _ => return None,
                }
            }
        }
    }
    if !rest.is_empty() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if let Some(afternoon) = afternoon {
        hour = hour % 12 + if afternoon { 12 } else { 0 };
    }
    let date = civil::Date::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
    )
    .ok()?;
    let days = i64::from(date.since(civil::date(1970, 1, 1)).ok()?.get_days());
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milli - offset * 1000)
}

fn zone(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text
        .strip_prefix('Z')
        .or_else(|| text.strip_prefix("UTC"))
        .or_else(|| text.strip_prefix("GMT"))
    {
        return Some((0, rest));
    }
    let sign = match text.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours: i64 = text.get(1..3)?.parse().ok()?;
    let rest = text.get(3..)?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let minutes: i64 = rest.get(..2)?.parse().ok()?;
    Some((sign * (hours * 3600 + minutes * 60), rest.get(2..)?))
}

pub(super) fn print(pattern: &str, millis: i64) -> String {
    let Ok(time) = jiff::Timestamp::from_millisecond(millis) else {
        return millis.to_string();
    };
    let at = time.to_zoned(jiff::tz::TimeZone::UTC).datetime();
    let mut text = String::new();
    for piece in pieces(pattern) {
        match piece {
            Piece::Literal(literal) => text.push_str(&literal),
            Piece::Field('M', 3..) => text.push_str(
                usize::try_from(at.month() - 1)
                    .ok()
                    .and_then(|i| MONTHS.get(i))
                    .unwrap_or(&""),
            ),
            Piece::Field('E', _) => text.push_str(
                usize::try_from(at.weekday().to_monday_zero_offset())
                    .ok()
                    .and_then(|i| DAYS.get(i))
                    .unwrap_or(&""),
            ),
            Piece::Field('a', _) => text.push_str(if at.hour() < 12 { "AM" } else { "PM" }),
            Piece::Field('Z', 1) => text.push_str("+0000"),
            Piece::Field('Z' | 'z', _) => text.push_str("+00:00"),
            Piece::Field('y' | 'Y' | 'u', 2) => text.push_str(&format!("{:02}", at.year() % 100)),
            Piece::Field('S', width) => text.push_str(
                &format!("{:03}", at.millisecond())
                    .chars()
                    .chain(std::iter::repeat('0'))
                    .take(width)
                    .collect::<String>(),
            ),
            Piece::Field(letter, width) => {
                let value = match letter {
                    'y' | 'Y' | 'u' => i64::from(at.year()),
                    'M' => i64::from(at.month()),
                    'd' => i64::from(at.day()),
                    'D' => i64::from(at.day_of_year()),
                    'H' | 'k' => i64::from(at.hour()),
                    'h' | 'K' => i64::from((at.hour() + 11) % 12 + 1),
                    'm' => i64::from(at.minute()),
                    's' => i64::from(at.second()),
                    _ => 0,
                };
                text.push_str(&format!("{value:0width$}"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("yyyy/MM/dd HH:mm:ss", "2015/06/22 08:00:00", Some(1434960000000))]
    #[case("yyyy/MM/dd", "2015/06/22", Some(1434931200000))]
    #[case("yyyyMMdd", "20150622", Some(1434931200000))]
    #[case("dd/MMM/yyyy:HH:mm:ss Z", "22/Jun/2015:10:00:00 +0200", Some(1434960000000))]
    #[case("yyyy-MM-dd'T'HH:mm", "2015-06-22T08:00", Some(1434960000000))]
    #[case("yyyy/MM/dd", "2015-06-22", None)]
    #[case("yyyy/MM/dd", "2015/06/22x", None)]
    fn a_date_is_read_by_its_pattern(#[case] pattern: &str, #[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse(pattern, text, Fill::Floor), expected);
    }

    #[test]
    fn a_date_is_printed_by_its_pattern() {
        assert_eq!(
            print("EEE dd MMM yyyy HH:mm:ss.SSS", 1434960000250),
            "Mon 22 Jun 2015 08:00:00.250"
        );
    }
}

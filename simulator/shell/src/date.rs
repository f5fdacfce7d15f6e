//! The program `date`.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Returns the output of `date ARGUMENT...`, or its error message.
pub(crate) fn format(arguments: &[String], now: Timestamp) -> Result<String, String> {
    let mut time = now;
    let mut text = "%a %b %e %H:%M:%S %Z %Y".to_owned();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-u" | "--utc" => {}
            "-R" | "--rfc-2822" => text = "%a, %d %b %Y %H:%M:%S %z".to_owned(),
            "-I" | "-Idate" | "--iso-8601" => text = "%Y-%m-%d".to_owned(),
            "-Iseconds" | "--iso-8601=seconds" => text = "%Y-%m-%dT%H:%M:%S%:z".to_owned(),
            "-d" | "--date" => time = parse(rest.next().map(String::as_str).unwrap_or_default(), now)?,
            other => match other.strip_prefix('+') {
                Some(format) => text = format.to_owned(),
                None if other.starts_with('-') => return Err(format!("date: invalid option -- '{}'", &other[1..])),
                None => return Err("date: can't set date: Operation not permitted".to_owned()),
            },
        }
    }
    let zoned = Zoned::new(time, TimeZone::UTC);
    let text = text.replace("%N", &format!("{:09}", time.subsec_nanosecond()));
    jiff::fmt::strtime::format(&text, &zoned).map_err(|_| format!("date: invalid format '{text}'"))
}

/// Parses a time: `@SECONDS`, RFC 3339, or `YYYY-MM-DD[ HH:MM[:SS]]`.
fn parse(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let invalid = || format!("date: invalid date '{text}'");
    if let Some(seconds) = text.strip_prefix('@') {
        let seconds = seconds.parse().map_err(|_| invalid())?;
        return Timestamp::from_second(seconds).map_err(|_| invalid());
    }
    if text == "now" {
        return Ok(now);
    }
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let civil: jiff::civil::DateTime = text.parse().map_err(|_| invalid())?;
    civil
        .to_zoned(TimeZone::UTC)
        .map(|zoned| zoned.timestamp())
        .map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[], "Tue Mar  1 10:02:03 UTC 2016")]
    #[case(&["+%Y-%m-%dT%H:%M:%S.%NZ"], "2016-03-01T10:02:03.500000000Z")]
    #[case(&["-u", "+%s"], "1456826523")]
    #[case(&["-Iseconds"], "2016-03-01T10:02:03+00:00")]
    #[case(&["-d", "@0", "+%F %T"], "1970-01-01 00:00:00")]
    fn a_date_is_formatted_in_utc(#[case] arguments: &[&str], #[case] expected: &str) {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let now = "2016-03-01T10:02:03.5Z".parse().unwrap();
        assert_eq!(format(&arguments, now).as_deref(), Ok(expected));
    }

    #[test]
    fn the_date_cannot_be_set() {
        assert!(format(&["2016".to_owned()], Timestamp::UNIX_EPOCH).is_err());
    }
}

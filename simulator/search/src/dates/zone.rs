//! Time zones by name or offset.
//!
//! Source: Joda-Time's zone identifiers; the IANA database.

use crate::error::{Result, SearchError};

/// A time zone.
#[derive(Clone, Debug)]
pub(crate) enum TimeZone {
    /// Milliseconds east of UTC.
    Fixed(i64),
    Named(jiff::tz::TimeZone),
}

impl TimeZone {
    pub(crate) const UTC: TimeZone = TimeZone::Fixed(0);

    /// Parses a zone such as `UTC`, `+02:00`, `-5` or `Europe/Berlin`.
    ///
    /// # Errors
    /// An unknown zone.
    pub(crate) fn parse(text: &str) -> Result<TimeZone> {
        if matches!(text, "Z" | "UTC" | "GMT") {
            return Ok(TimeZone::UTC);
        }
        let unknown = || SearchError::argument(format!("The datetime zone id '{text}' is not recognised"));
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest.starts_with(|c: char| c.is_ascii_digit()) && (rest.len() < text.len() || rest.contains(':')) {
            if rest.len() == 1 {
                let reason = format!("Invalid format: \"{text}\" is malformed at \"{rest}\"");
                return Err(SearchError::argument(reason));
            }
            let (hours, minutes) = match rest.split_once(':') {
                Some(parts) => parts,
                None if rest.len() == 4 => rest.split_at(2),
                None => (rest, "0"),
            };
            let part = |text: &str, limit: i64| text.parse::<i64>().ok().filter(|number| (0..limit).contains(number));
            let (hours, minutes) = (
                part(hours, 24).ok_or_else(unknown)?,
                part(minutes, 60).ok_or_else(unknown)?,
            );
            return Ok(TimeZone::Fixed(sign * (hours * 60 + minutes) * 60_000));
        }
        jiff::tz::TimeZone::get(text)
            .map(TimeZone::Named)
            .map_err(|_| unknown())
    }

    /// Returns the zone that is that many hours east of UTC.
    pub(crate) fn of_hours(hours: i32) -> TimeZone {
        TimeZone::Fixed(i64::from(hours) * 3_600_000)
    }

    /// Returns the offset at a time, in milliseconds east of UTC.
    pub(crate) fn offset_at(&self, millis: i64) -> i64 {
        match self {
            TimeZone::Fixed(offset) => *offset,
            TimeZone::Named(zone) => jiff::Timestamp::from_millisecond(millis)
                .map_or(0, |time| i64::from(zone.to_offset(time).seconds()) * 1_000),
        }
    }

    /// Converts local time to UTC.
    pub(crate) fn utc_of(&self, local: i64) -> i64 {
        let guess = local.saturating_sub(self.offset_at(local));
        local.saturating_sub(self.offset_at(guess))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("UTC", 0)]
    #[case("+02:00", 7_200_000)]
    #[case("-05:30", -19_800_000)]
    #[case("+0200", 7_200_000)]
    #[case("2:00", 7_200_000)]
    #[case("Europe/Berlin", 7_200_000)]
    #[case("America/New_York", -14_400_000)]
    fn zones_have_offsets(#[case] text: &str, #[case] offset: i64) {
        let zone = TimeZone::parse(text).unwrap();
        assert_eq!(zone.offset_at(1_434_960_000_000), offset);
        assert_eq!(zone.utc_of(1_434_960_000_000 + offset), 1_434_960_000_000);
    }

    #[rstest]
    #[case("Nowhere/At_All")]
    #[case("+25:00")]
    #[case("")]
    #[case("2")]
    #[case("-5")]
    fn unknown_zones_are_errors(#[case] text: &str) {
        assert!(TimeZone::parse(text).is_err());
    }
}

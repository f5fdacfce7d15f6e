//! Fields of a date, and their conversion to milliseconds.
//!
//! Source: Joda-Time's `DateTimeParserBucket`: fields are set from the largest to the smallest.

use super::layout::DateField;
use super::{Fill, TimeZone};

/// A day, in milliseconds.
const DAY: i64 = 86_400_000;

/// Number of parts of most dates: date, time, fraction and zone.
const USUAL_PARTS: usize = 8;

/// A part of a date.
#[derive(Debug)]
pub(super) enum Part {
    Value(DateField, i64),
    Zone(TimeZone),
}

/// The parts of a parsed date, in the order of the text. The last value of a field counts.
#[derive(Debug)]
pub(super) struct Fields(Vec<Part>);

/// The error of a value outside the range of its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutOfRange {
    field: DateField,
    value: i64,
    min: i64,
    max: i64,
}

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OutOfRange { field, value, min, max } = self;
        let name = field.name();
        write!(formatter, "Value {value} for {name} must be in the range [{min},{max}]")
    }
}

/// Joda-Time's names of fields, for errors.
impl DateField {
    fn name(self) -> &'static str {
        match self {
            DateField::Century => "centuryOfEra",
            DateField::Year => "year",
            DateField::Weekyear => "weekyear",
            DateField::Month => "monthOfYear",
            DateField::Week => "weekOfWeekyear",
            DateField::DayOfYear => "dayOfYear",
            DateField::Day => "dayOfMonth",
            DateField::DayOfWeek => "dayOfWeek",
            DateField::HalfDay => "halfdayOfDay",
            DateField::Hour => "hourOfDay",
            DateField::ClockHour => "clockhourOfDay",
            DateField::HourOfHalfDay => "hourOfHalfday",
            DateField::ClockHourOfHalfDay => "clockhourOfHalfday",
            DateField::Minute => "minuteOfHour",
            DateField::Second => "secondOfMinute",
            DateField::Milli => "millisOfSecond",
        }
    }
}

/// Returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar.
pub(super) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March, so that February 29 is the last day of a leap year.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Returns year, month and day of a number of days from 1970-01-01.
pub(super) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = (from_march + 2) % 12 + 1;
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, of_year - (153 * from_march + 2) / 5 + 1)
}

/// Returns the day of the week: 1 for Monday to 7 for Sunday.
pub(super) fn day_of_week(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// Returns the days from 1970-01-01 to the Monday of the first week of a year.
fn first_week(year: i64) -> i64 {
    let fourth = days_of(year, 1, 4);
    fourth - day_of_week(fourth) + 1
}

/// Returns the weekyear and the week of a day.
pub(super) fn week_of(days: i64) -> (i64, i64) {
    let (year, ..) = date_of(days + 4 - day_of_week(days));
    (year, (days - first_week(year)) / 7 + 1)
}

impl Default for Fields {
    fn default() -> Fields {
        Fields(Vec::with_capacity(USUAL_PARTS))
    }
}

impl Fields {
    pub(super) fn set(&mut self, field: DateField, value: i64) {
        self.0.push(Part::Value(field, value));
    }

    pub(super) fn set_zone(&mut self, zone: TimeZone) {
        self.0.push(Part::Zone(zone));
    }

    /// Number of parts.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes the parts after the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Removes and returns the parts after the first `len`.
    pub(super) fn split_off(&mut self, len: usize) -> Vec<Part> {
        self.0.drain(len.min(self.0.len())..).collect()
    }

    pub(super) fn extend(&mut self, parts: Vec<Part>) {
        self.0.extend(parts);
    }

    fn get(&self, field: DateField) -> Option<i64> {
        self.0.iter().rev().find_map(|part| match part {
            Part::Value(own, value) if *own == field => Some(*value),
            _ => None,
        })
    }

    /// Returns the value of a field and checks its range.
    fn in_range(&self, field: DateField, min: i64, max: i64) -> Result<Option<i64>, OutOfRange> {
        match self.get(field) {
            Some(value) if !(min..=max).contains(&value) => Err(OutOfRange { field, value, min, max }),
            value => Ok(value),
        }
    }

    /// Returns the days from 1970-01-01.
    fn days(&self, fill: Fill) -> Result<i64, OutOfRange> {
        use DateField::{Century, Day, DayOfWeek, DayOfYear, Month, Week, Weekyear, Year};
        const MAX_YEAR: i64 = 292_278_993;
        const MIN_YEAR: i64 = -292_275_054;
        let century = self.in_range(Century, 1, 2_922_789)?.map(|century| century * 100 + 70);
        let given = self.in_range(Year, MIN_YEAR, MAX_YEAR)?.or(century);
        let weekyear = self.in_range(Weekyear, MIN_YEAR, MAX_YEAR)?;
        let has_day = [Month, Week, DayOfYear, Day, DayOfWeek]
            .iter()
            .any(|field| self.get(*field).is_some());
        // Default year: 2000 for a month or day that is rounded down, else 1970.
        let default = if has_day && weekyear.is_none() && fill == Fill::Floor {
            2000
        } else {
            1970
        };
        let year = given.unwrap_or(default);
        let month = self.in_range(Month, 1, 12)?;
        let mut days = days_of(year, month.unwrap_or(1), 1);
        if weekyear.is_some() || self.get(Week).is_some() {
            let weekyear = weekyear.unwrap_or(year);
            let weeks = (first_week(weekyear + 1) - first_week(weekyear)) / 7;
            let week = self.in_range(Week, 1, weeks)?.unwrap_or(1);
            // Missing fields are those of 1970-01-01, a Thursday.
            let weekday = if fill == Fill::Floor { 0 } else { 3 };
            days = first_week(weekyear) + (week - 1) * 7 + weekday;
        }
        if let Some(day) = self.in_range(DayOfYear, 1, days_of(year + 1, 1, 1) - days_of(year, 1, 1))? {
            days = days_of(year, 1, day);
        }
        let after = if month == Some(12) {
            days_of(year + 1, 1, 1)
        } else {
            days_of(year, month.unwrap_or(1) + 1, 1)
        };
        if let Some(day) = self.in_range(Day, 1, after - days_of(year, month.unwrap_or(1), 1))? {
            days = days_of(year, month.unwrap_or(1), day);
        }
        if let Some(day) = self.in_range(DayOfWeek, 1, 7)? {
            days += day - day_of_week(days);
        }
        Ok(days)
    }

    /// Returns the milliseconds of the day.
    fn time(&self, fill: Fill) -> Result<i64, OutOfRange> {
        use DateField::{ClockHour, ClockHourOfHalfDay, HalfDay, Hour, HourOfHalfDay, Milli, Minute, Second};
        let unset = |max: i64| if fill == Fill::Ceiling { max } else { 0 };
        let half = self.in_range(HalfDay, 0, 1)?;
        let clock = self.in_range(ClockHour, 1, 24)?.map(|hour| hour % 24);
        let mut hour = self.in_range(Hour, 0, 23)?.or(clock).unwrap_or(unset(23));
        let clock_of_half = self.in_range(ClockHourOfHalfDay, 1, 12)?.map(|hour| hour % 12);
        let of_half = self.in_range(HourOfHalfDay, 0, 11)?.or(clock_of_half);
        if half.is_some() || of_half.is_some() {
            hour = of_half.unwrap_or(hour % 12) + 12 * half.unwrap_or(hour / 12);
        }
        let minute = self.in_range(Minute, 0, 59)?.unwrap_or(unset(59));
        let second = self.in_range(Second, 0, 59)?.unwrap_or(unset(59));
        let (minute, second, milli) = match self.get(Milli) {
            None => (minute, second, unset(999)),
            // A fraction of an hour or minute replaces the smaller fields.
            Some(milli) => (
                self.get(Minute).unwrap_or_default(),
                self.get(Second).unwrap_or_default(),
                milli,
            ),
        };
        Ok(((hour * 60 + minute) * 60 + second) * 1_000 + milli)
    }

    /// Returns the time in milliseconds since 1970.
    ///
    /// # Errors
    /// A value outside the range of its field.
    pub(super) fn millis(&self, fill: Fill) -> Result<i64, OutOfRange> {
        let local = self.days(fill)? * DAY + self.time(fill)?;
        let zone = self.0.iter().rev().find_map(|part| match part {
            Part::Zone(zone) => Some(zone),
            Part::Value(..) => None,
        });
        Ok(zone.unwrap_or(&TimeZone::UTC).utc_of(local))
    }
}

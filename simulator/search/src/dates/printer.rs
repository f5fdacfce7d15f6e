//! Printing of dates.

use super::fields::{date_of, day_of_week, days_of, week_of};
use super::layout::{DateField, Element};
use super::names::{ERAS, names};

/// Length of a day, in milliseconds.
const DAY: i64 = 86_400_000;

/// Returns the value of a field at a time in UTC.
fn value(field: DateField, millis: i64) -> i64 {
    let (days, time) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    let (year, month, day) = date_of(days);
    let hour = time / 3_600_000;
    let clock = |hour: i64, max: i64| if hour % max == 0 { max } else { hour % max };
    match field {
        DateField::Century => year.div_euclid(100),
        DateField::Year => year,
        DateField::Weekyear => week_of(days).0,
        DateField::Month => month,
        DateField::Week => week_of(days).1,
        DateField::DayOfYear => days - days_of(year, 1, 1) + 1,
        DateField::Day => day,
        DateField::DayOfWeek => day_of_week(days),
        DateField::HalfDay => hour / 12,
        DateField::Hour => hour,
        DateField::ClockHour => clock(hour, 24),
        DateField::HourOfHalfDay => hour % 12,
        DateField::ClockHourOfHalfDay => clock(hour, 12),
        DateField::Minute => time / 60_000 % 60,
        DateField::Second => time / 1_000 % 60,
        DateField::Milli => time % 1_000,
    }
}

/// Formats a time in UTC.
pub(super) fn print(elements: &[Element], millis: i64) -> String {
    elements.iter().map(|element| print_one(element, millis)).collect()
}

fn print_one(element: &Element, millis: i64) -> String {
    match element {
        Element::Literal(text) => text.clone(),
        Element::Number { field, min_digits, .. } => {
            let value = value(*field, millis);
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{:0min_digits$}", value.unsigned_abs())
        }
        Element::ShortYear { field, .. } => format!("{:02}", value(*field, millis).rem_euclid(100)),
        Element::Fraction {
            unit,
            min_digits,
            max_digits,
        } => {
            let mut text = String::new();
            let mut rest = millis.rem_euclid(*unit);
            while text.len() < *max_digits && (text.len() < *min_digits || rest != 0) {
                text.push_str(&(rest * 10 / unit).to_string());
                rest = rest * 10 % unit;
            }
            text
        }
        Element::Name { field, short } => {
            let from = i64::from(*field != DateField::HalfDay);
            let at = usize::try_from(value(*field, millis) - from).unwrap_or_default();
            let [brief, full] = names(*field).get(at).copied().unwrap_or_default();
            if *short { brief } else { full }.to_owned()
        }
        Element::Era => ERAS[usize::from(value(DateField::Year, millis) > 0)].to_owned(),
        Element::Offset { zero: Some(zero), .. } => zero.to_string(),
        Element::Offset { colon, .. } => if *colon { "+00:00" } else { "+0000" }.to_owned(),
        Element::Zone => "UTC".to_owned(),
        // A layout with alternatives has a separate layout for printing.
        Element::Any { .. } => String::new(),
    }
}

//! English names of eras, months, days of the week, AM and PM.

use super::layout::DateField;

/// Names of eras, BC first.
pub(super) const ERAS: [&str; 2] = ["BC", "AD"];

const MONTHS: [[&str; 2]; 12] = [
    ["Jan", "January"],
    ["Feb", "February"],
    ["Mar", "March"],
    ["Apr", "April"],
    ["May", "May"],
    ["Jun", "June"],
    ["Jul", "July"],
    ["Aug", "August"],
    ["Sep", "September"],
    ["Oct", "October"],
    ["Nov", "November"],
    ["Dec", "December"],
];
const DAYS: [[&str; 2]; 7] = [
    ["Mon", "Monday"],
    ["Tue", "Tuesday"],
    ["Wed", "Wednesday"],
    ["Thu", "Thursday"],
    ["Fri", "Friday"],
    ["Sat", "Saturday"],
    ["Sun", "Sunday"],
];
const HALVES: [[&str; 2]; 2] = [["AM", "AM"], ["PM", "PM"]];

/// Returns the short and long names of the values of a field. Empty for numeric fields.
pub(super) fn names(field: DateField) -> &'static [[&'static str; 2]] {
    match field {
        DateField::Month => &MONTHS,
        DateField::DayOfWeek => &DAYS,
        DateField::HalfDay => &HALVES,
        _ => &[],
    }
}

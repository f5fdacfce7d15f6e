//! Functions of scripts.
//!
//! Source: the functions of Lucene 4.10's JavaScript expressions.

use crate::query::GeoPoint;

/// A function: its name, its number of arguments, and what it computes.
pub(super) type Function = (&'static str, usize, fn(&[f64]) -> f64);

/// All functions.
const FUNCTIONS: [Function; 25] = [
    ("abs", 1, |n| at(n, 0).abs()),
    ("acos", 1, |n| at(n, 0).acos()),
    ("acosh", 1, |n| at(n, 0).acosh()),
    ("asin", 1, |n| at(n, 0).asin()),
    ("asinh", 1, |n| at(n, 0).asinh()),
    ("atan", 1, |n| at(n, 0).atan()),
    ("atan2", 2, |n| at(n, 0).atan2(at(n, 1))),
    ("atanh", 1, |n| at(n, 0).atanh()),
    ("ceil", 1, |n| at(n, 0).ceil()),
    ("cos", 1, |n| at(n, 0).cos()),
    ("cosh", 1, |n| at(n, 0).cosh()),
    ("exp", 1, |n| at(n, 0).exp()),
    ("floor", 1, |n| at(n, 0).floor()),
    ("haversin", 4, haversin),
    ("ln", 1, |n| at(n, 0).ln()),
    ("log10", 1, |n| at(n, 0).log10()),
    ("logn", 2, |n| at(n, 1).ln() / at(n, 0).ln()),
    ("max", 2, |n| nan_or(n, f64::max)),
    ("min", 2, |n| nan_or(n, f64::min)),
    ("pow", 2, |n| at(n, 0).powf(at(n, 1))),
    ("sin", 1, |n| at(n, 0).sin()),
    ("sinh", 1, |n| at(n, 0).sinh()),
    ("sqrt", 1, |n| at(n, 0).sqrt()),
    ("tan", 1, |n| at(n, 0).tan()),
    ("tanh", 1, |n| at(n, 0).tanh()),
];

/// Returns the function with this name.
pub(super) fn function(name: &str) -> Option<Function> {
    FUNCTIONS.iter().find(|(known, ..)| *known == name).copied()
}

fn at(numbers: &[f64], place: usize) -> f64 {
    numbers.get(place).copied().unwrap_or(0.0)
}

/// Returns NaN if one of two numbers is, as Java does.
fn nan_or(numbers: &[f64], of: fn(f64, f64) -> f64) -> f64 {
    let (a, b) = (at(numbers, 0), at(numbers, 1));
    if a.is_nan() || b.is_nan() { f64::NAN } else { of(a, b) }
}

/// Returns the distance of two points on the earth, in kilometres. Arguments are in degrees.
fn haversin(numbers: &[f64]) -> f64 {
    let point = |place: usize| GeoPoint {
        lat: at(numbers, place),
        lon: at(numbers, place + 1),
    };
    point(0).distance(point(2)) / 1_000.0
}

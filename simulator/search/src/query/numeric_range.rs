//! Ranges of encoded numbers.
//!
//! Source: Lucene 4.10's `NumericRangeQuery`.

use std::fmt;

use crate::json::java_number;
use crate::mapping::{Kind, sortable, unsortable};

/// An encoded number, and whether it is inclusive.
type Bound = Option<(i64, bool)>;

/// A range of encoded numbers, which prints the original bounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NumericRange {
    kind: Kind,
    lower: Bound,
    upper: Bound,
}

impl NumericRange {
    pub(super) fn new(kind: Kind, lower: Bound, upper: Bound) -> NumericRange {
        NumericRange { kind, lower, upper }
    }

    /// Creates the range of one number.
    pub(super) fn only(kind: Kind, value: i64) -> NumericRange {
        NumericRange::new(kind, Some((value, true)), Some((value, true)))
    }

    /// Returns the term of the first number of the range, as Lucene encodes it with all its bits.
    pub(super) fn term_text(&self) -> String {
        let (number, _) = self.lower.unwrap_or_default();
        let (start, bits, digits) = match self.kind {
            Kind::Float => ('`', int_bits(sortable_single(unsortable(number) as f32)), 5),
            Kind::Integer | Kind::Short | Kind::Byte | Kind::TokenCount => ('`', int_bits(number as i32), 5),
            _ => (' ', (number ^ i64::MIN).cast_unsigned(), 10),
        };
        let digit = |place: u32| char::from((bits >> (7 * place) & 0x7f) as u8);
        [start].into_iter().chain((0..digits).rev().map(digit)).collect()
    }

    /// Returns the inclusive minimum and maximum.
    pub(crate) fn ends(&self) -> (i64, i64) {
        let (min, max) = match self.kind.is_floating() {
            true => (sortable(f64::NEG_INFINITY), sortable(f64::INFINITY)),
            false => (i64::MIN, i64::MAX),
        };
        let end = |bound: Bound, step: i64| {
            bound.map(|(value, included)| if included { value } else { value.saturating_add(step) })
        };
        (
            end(self.lower, 1).map_or(min, |lower| lower.max(min)),
            end(self.upper, -1).map_or(max, |upper| upper.min(max)),
        )
    }
}

/// Converts an integer to bits in the order of the integers.
fn int_bits(number: i32) -> u64 {
    u64::from((number ^ i32::MIN).cast_unsigned())
}

/// Converts a float to an integer of the same order.
fn sortable_single(value: f32) -> i32 {
    let bits = value.to_bits().cast_signed();
    bits ^ ((bits >> 31) & i32::MAX)
}

impl fmt::Display for NumericRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bound: Bound| match bound {
            None => "*".to_owned(),
            Some((value, _)) if self.kind == Kind::Float => java_number(unsortable(value) as f32),
            Some((value, _)) if self.kind.is_floating() => java_number(unsortable(value)),
            Some((value, _)) => value.to_string(),
        };
        let is_open = |bound: Bound| bound.is_some_and(|(_, included)| !included);
        let open = if is_open(self.lower) { '{' } else { '[' };
        let close = if is_open(self.upper) { '}' } else { ']' };
        write!(formatter, "{open}{} TO {}{close}", text(self.lower), text(self.upper))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(Kind::Long, Some((1, true)), Some((5, false)), "[1 TO 5}", (1, 4))]
    #[case(Kind::Integer, Some((1, false)), None, "{1 TO *]", (2, i64::MAX))]
    #[case(
        Kind::Float,
        None,
        Some((sortable(f64::from(0.1f32)), true)),
        "[* TO 0.1]",
        (sortable(f64::NEG_INFINITY), sortable(f64::from(0.1f32)))
    )]
    #[case(Kind::Double, Some((sortable(1e7), true)), None, "[1.0E7 TO *]", (sortable(1e7), sortable(f64::INFINITY)))]
    fn a_range_prints_its_original_bounds(
        #[case] kind: Kind,
        #[case] lower: Bound,
        #[case] upper: Bound,
        #[case] text: &str,
        #[case] ends: (i64, i64),
    ) {
        let range = NumericRange::new(kind, lower, upper);
        assert_eq!(range.to_string(), text);
        assert_eq!(range.ends(), ends);
    }
}

//! Resource quantities, such as `500m`, `64Mi` or `1e3`.
//!
//! A [`Quantity`] is exact, never a float, and keeps the family of suffixes of its text, so that it is written in its
//! canonical form.
//!
//! - Guarantees: parsing takes linear time; nothing panics; equal amounts compare equal in any notation.
//! - Limits, as in v1.2: magnitudes are at most 2^63-1 (larger ones are capped) and multiples of a thousandth (finer
//!   ones are rounded away from zero); the number of thousandths wraps beyond 64 bits.
//! - Source: `api/resource` of Kubernetes v1.2, including error texts.

use std::{cmp::Ordering, fmt, str::FromStr};

/// Nanos in one unit.
const NANOS_PER_UNIT: i128 = 1_000_000_000;
/// Nanos in the smallest amount.
const NANOS_PER_MILLI: i128 = NANOS_PER_UNIT / 1000;
/// Maximum exponent that is parsed. v1.2 takes minutes for larger ones.
const MAX_EXPONENT: i64 = 1_000_000;
/// Maximum magnitude that parses, in nanos.
const MAX_NANOS: i128 = i64::MAX as i128 * NANOS_PER_UNIT;

/// Family of suffixes of a quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`: powers of 1024
    BinarySi,
    /// `12M`: powers of 1000
    #[default]
    DecimalSi,
}

/// Exact amount and its notation.
///
/// Comparison and equality only consider the amount.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quantity {
    nanos: i128,
    format: Format,
}

/// Error of parsing a quantity. Texts are those of the recorded server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuantityError {
    /// The text is not a number followed by a suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The number has no digit, or two decimal points.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// The exponent is out of bounds. This text is not v1.2's.
    #[error("the exponent of a quantity must be between -{MAX_EXPONENT} and {MAX_EXPONENT}")]
    Exponent,
}

impl Quantity {
    /// Returns a quantity of `value` units.
    pub(crate) fn new(value: i64, format: Format) -> Self {
        Self {
            nanos: i128::from(value) * NANOS_PER_UNIT,
            format,
        }
    }

    /// Returns a quantity of `value` thousandths.
    pub(crate) fn milli(value: i64, format: Format) -> Self {
        Self {
            nanos: i128::from(value) * (NANOS_PER_UNIT / 1000),
            format,
        }
    }

    /// Amount in units, rounded up and clamped to the range of `i64`.
    pub(crate) fn value(self) -> i64 {
        ceil(self.nanos, NANOS_PER_UNIT)
    }

    /// Amount in thousandths, rounded up. Truncated to 64 bits.
    pub(crate) fn milli_value(self) -> i64 {
        (self.nanos.div_euclid(NANOS_PER_MILLI) + i128::from(self.nanos.rem_euclid(NANOS_PER_MILLI) != 0)) as i64
    }

    /// Whether the amount is a whole number of units.
    pub(crate) fn is_integer(self) -> bool {
        self.nanos % NANOS_PER_UNIT == 0
    }

    /// Sign of the amount: -1, 0 or 1.
    pub(crate) fn sign(self) -> i32 {
        self.nanos.signum() as i32
    }

    /// Sum. Its notation is that of `self`, or of `other` if only `self` is zero.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            format: self.joined_format(other),
        }
    }

    /// Difference. Its notation is that of `self`, or of `other` if only `self` is zero.
    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            format: self.joined_format(other),
        }
    }

    fn joined_format(self, other: Self) -> Format {
        if self.nanos == 0 && other.nanos != 0 {
            other.format
        } else {
            self.format
        }
    }
}

/// Returns `nanos / unit`, rounded up and clamped.
fn ceil(nanos: i128, unit: i128) -> i64 {
    let units = nanos.div_euclid(unit) + i128::from(nanos.rem_euclid(unit) != 0);
    i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX })
}

/// Factor of a suffix.
#[derive(Clone, Copy)]
enum Multiplier {
    /// 10 to this power.
    Ten(i64),
    /// 2 to this power.
    Two(u32),
}

/// Decimal suffixes with their powers of ten, in ascending order.
const DECIMAL: [(&str, i64); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
/// Binary suffixes, in ascending powers of 1024.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn multiplier(suffix: &str) -> Option<(Multiplier, Format)> {
    if let Some((_, power)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        return Some((Multiplier::Ten(*power), Format::DecimalSi));
    }
    if let Some(index) = BINARY.iter().position(|s| *s == suffix) {
        return Some((Multiplier::Two(10 * (index as u32 + 1)), Format::BinarySi));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((Multiplier::Ten(exponent.parse().ok()?), Format::DecimalExponent))
}

/// Splits a text into sign, number and suffix.
fn split(text: &str) -> Option<(bool, &str, &str)> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = unsigned
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let digits = letters.strip_prefix(['-', '+']).unwrap_or(letters);
    (!number.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some((negative, number, suffix))
}

/// Returns `number`, a decimal fraction, times `by`, in nanos, capped and rounded up.
fn scaled(number: &str, by: Multiplier) -> Result<i128, QuantityError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || whole.len() + fraction.len() == 0 {
        return Err(QuantityError::Number);
    }
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
    let leading = digits.iter().take_while(|d| **d == 0).count();
    let digits = digits.get(leading..).unwrap_or_default();
    if digits.is_empty() {
        return Ok(0);
    }
    // The first non-zero digit is `point` places before the decimal point, or after it if negative.
    let (exponent, factor) = match by {
        Multiplier::Ten(power) => (power, NANOS_PER_UNIT),
        Multiplier::Two(power) => (0, NANOS_PER_UNIT << power),
    };
    let point = (whole.len() as i64 - leading as i64).saturating_add(exponent);
    if point > 19 {
        return Ok(MAX_NANOS);
    }
    if point < -40 {
        return Ok(1);
    }
    let before = usize::try_from(point).unwrap_or(0);
    let mut units: i128 = 0;
    for place in 0..before {
        units = units * 10 + i128::from(digits.get(place).copied().unwrap_or(0));
    }
    // Long multiplication of the fraction by the factor, from the last digit: the carry is whole, the remainder is
    // rounded up.
    let zeros = usize::try_from(-point).unwrap_or(0);
    let (mut carry, mut inexact) = (0, false);
    for digit in digits
        .get(before..)
        .unwrap_or_default()
        .iter()
        .rev()
        .chain(std::iter::repeat_n(&0, zeros))
    {
        let product = i128::from(*digit) * factor + carry;
        inexact |= product % 10 != 0;
        carry = product / 10;
    }
    let whole = units.checked_mul(factor).unwrap_or(MAX_NANOS);
    Ok(whole
        .saturating_add(carry)
        .saturating_add(i128::from(inexact))
        .min(MAX_NANOS))
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (negative, number, suffix) = split(text.trim()).ok_or(QuantityError::Format)?;
        // Errors of the number take precedence over those of the suffix.
        scaled(number, Multiplier::Ten(0))?;
        let (by, format) = multiplier(suffix).ok_or(QuantityError::Suffix)?;
        if let Multiplier::Ten(power) = by
            && power.abs() > MAX_EXPONENT
        {
            return Err(QuantityError::Exponent);
        }
        let nanos = scaled(number, by)?;
        // A positive amount is at least the smallest one.
        let nanos = (nanos + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI * NANOS_PER_MILLI;
        let format = if format == Format::BinarySi && nanos > 0 && nanos < NANOS_PER_UNIT {
            Format::DecimalSi
        } else {
            format
        };
        Ok(Self {
            nanos: if negative { -nanos } else { nanos },
            format,
        })
    }
}

impl fmt::Display for Quantity {
    /// Writes the canonical form: no fraction, the largest suffix that keeps it exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let binary = self.format == Format::BinarySi && self.is_integer() && self.nanos.abs() >= 1024 * NANOS_PER_UNIT;
        if binary {
            let (mut amount, mut suffix) = (self.nanos / NANOS_PER_UNIT, "");
            for larger in BINARY {
                if amount % 1024 != 0 {
                    break;
                }
                (amount, suffix) = (amount / 1024, larger);
            }
            return write!(f, "{amount}{suffix}");
        }
        let (mut amount, mut index) = (self.nanos, 0);
        while amount % 1000 == 0 && index + 1 < DECIMAL.len() {
            (amount, index) = (amount / 1000, index + 1);
        }
        let (suffix, power) = DECIMAL.get(index).copied().unwrap_or_default();
        match self.format {
            Format::DecimalExponent if power != 0 => write!(f, "{amount}e{power}"),
            Format::DecimalExponent => write!(f, "{amount}"),
            _ => write!(f, "{amount}{suffix}"),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn parse(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    #[rstest]
    #[case("0", "0")]
    #[case("0Ki", "0")]
    #[case("0.5", "500m")]
    #[case("1", "1")]
    #[case("1000m", "1")]
    #[case("1024Mi", "1Gi")]
    #[case("1.5Gi", "1536Mi")]
    #[case("1023", "1023")]
    #[case("1Ki", "1Ki")]
    #[case("0.5Ki", "512")]
    #[case("1000Ki", "1000Ki")]
    #[case("1.1Ki", "1126400m")]
    #[case("1e3", "1e3")]
    #[case("1E6", "1e6")]
    #[case("0.5e0", "500e-3")]
    #[case("12e0", "12")]
    #[case("1E", "1E")]
    #[case("8k", "8k")]
    #[case("100.035k", "100035")]
    #[case("10000T", "10P")]
    #[case("3.001n", "1m")]
    #[case("0.1m", "1m")]
    #[case("1.123456789123456789", "1124m")]
    #[case("0.9n", "1m")]
    #[case("-0.9n", "-1m")]
    #[case("0.000000000001Ki", "1m")]
    #[case("9223372036854775807Ki", "9223372036854775807")]
    #[case("9Ei", "9223372036854775807")]
    #[case("7Ei", "7Ei")]
    #[case("12E", "9223372036854775807")]
    #[case("1e999999", "9223372036854775807")]
    #[case("1e-999999", "1e-3")]
    #[case("0e999999", "0")]
    #[case(" 1. ", "1")]
    #[case(".001", "1m")]
    #[case("+5", "5")]
    #[case("-1.5Gi", "-1536Mi")]
    #[case("00.0100", "10m")]
    fn a_quantity_has_one_canonical_form(#[case] text: &str, #[case] canonical: &str) {
        assert_eq!(parse(text).to_string(), canonical);
    }

    #[rstest]
    #[case("", QuantityError::Format)]
    #[case("aoeu", QuantityError::Format)]
    #[case("1+1.0M", QuantityError::Format)]
    #[case("0.1am", QuantityError::Format)]
    #[case("-", QuantityError::Format)]
    #[case("1 Gi", QuantityError::Format)]
    #[case("1.1.M", QuantityError::Number)]
    #[case(".", QuantityError::Number)]
    #[case("1..", QuantityError::Number)]
    #[case("0.1mi", QuantityError::Suffix)]
    #[case("1i", QuantityError::Suffix)]
    #[case("1e", QuantityError::Suffix)]
    #[case("-3.01e-", QuantityError::Suffix)]
    #[case("1K", QuantityError::Suffix)]
    #[case("1e99999999999999999999", QuantityError::Suffix)]
    #[case("1e1000000000", QuantityError::Exponent)]
    #[case("1e-1000000000", QuantityError::Exponent)]
    fn invalid_quantities_are_rejected(#[case] text: &str, #[case] error: QuantityError) {
        assert_eq!(text.parse::<Quantity>(), Err(error));
    }

    #[rstest]
    #[case("9.01", 10, 9010)]
    #[case("-9.01", -9, -9010)]
    #[case("100m", 1, 100)]
    #[case("1u", 1, 1)]
    #[case("1Gi", 1 << 30, (1 << 30) * 1000)]
    #[case("8Ei", i64::MAX, -1000)]
    #[case("1Ei", 1 << 60, i64::MIN)]
    #[case("1E", 1_000_000_000_000_000_000, 3_875_820_019_684_212_736)]
    fn values_are_rounded_up_and_thousandths_wrap(#[case] text: &str, #[case] value: i64, #[case] milli: i64) {
        assert_eq!((parse(text).value(), parse(text).milli_value()), (value, milli));
    }

    #[test]
    fn a_sum_keeps_the_notation_of_the_nonzero_operand() {
        assert_eq!(parse("0").plus(parse("1Gi")).to_string(), "1Gi");
        assert_eq!(parse("512Mi").plus(parse("512M")).to_string(), "1024288Ki");
        assert_eq!(parse("1Gi").minus(parse("512Mi")).to_string(), "512Mi");
        assert_eq!(parse("0").minus(parse("100m")).to_string(), "-100m");
        assert!(parse("10000T") > parse("100Gi") && parse("1024") == parse("1Ki"));
        assert!(!parse("1500m").is_integer());
        assert_eq!(parse("-1n").sign(), -1);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<Quantity>();
        }

        #[test]
        fn the_canonical_form_is_a_fixed_point(text in "[+-]?[0-9]{1,22}(\\.[0-9]{0,12})?(|[numkMGTPE]|[KMGTPE]i|e-?[0-9]{1,2})") {
            let quantity = parse(&text);
            let canonical = quantity.to_string();
            let again = parse(&canonical);
            prop_assert_eq!(again, quantity);
            prop_assert_eq!(again.to_string(), canonical);
        }

        #[test]
        fn the_order_is_that_of_the_numbers(a in -1_000_000i64..1_000_000, b in -1_000_000i64..1_000_000) {
            prop_assert_eq!(parse(&format!("{a}m")).cmp(&parse(&format!("{b}m"))), a.cmp(&b));
            prop_assert_eq!(parse(&format!("{a}Ki")).cmp(&parse(&format!("{b}k"))), (a * 1024).cmp(&(b * 1000)));
        }
    }
}

//! Go's `strconv`: parsing of numbers with its errors, and formatting of floats.

use std::num::{IntErrorKind, ParseIntError};

use super::go_quote;

/// `strconv.Atoi`: a decimal integer with an optional sign.
pub(crate) fn atoi(text: &str) -> Result<i64, String> {
    text.parse().map_err(|e| error("Atoi", text, &e))
}

/// `strconv.ParseInt(text, 10, 64)`: a decimal integer with an optional sign.
pub(crate) fn parse_int(text: &str) -> Result<i64, String> {
    text.parse().map_err(|e| error("ParseInt", text, &e))
}

/// `strconv.ParseUint(text, 10, 64)`: decimal digits without a sign.
pub(crate) fn parse_uint(text: &str) -> Result<u64, String> {
    if text.starts_with('+') {
        return Err(format!("strconv.ParseUint: parsing {}: invalid syntax", go_quote(text)));
    }
    text.parse().map_err(|e| error("ParseUint", text, &e))
}

fn error(function: &str, text: &str, error: &ParseIntError) -> String {
    let problem = match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.{function}: parsing {}: {problem}", go_quote(text))
}

/// `strconv.FormatFloat(value, 'g', -1, 64)`: the shortest form, with an exponent from 1e6 and below 1e-4.
pub(crate) fn format_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    with_exponent(value, -4, 6)
}

/// Formats a float as `encoding/json` does: with an exponent from 1e21 and below 1e-6.
pub(crate) fn json_float(value: f64) -> String {
    let text = with_exponent(value, -6, 21);
    match text.split_once("e-0") {
        Some((mantissa, digit)) => format!("{mantissa}e-{digit}"),
        None => text,
    }
}

/// Formats `value`. Has an exponent of at least two digits if it is less than `least` or not less than `most`.
fn with_exponent(value: f64, least: i32, most: i32) -> String {
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if value != 0.0 && !(least..most).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(1.5, "1.5")]
    #[case(8.0, "8")]
    #[case(0.0, "0")]
    #[case(100_000.0, "100000")]
    #[case(1_000_000.0, "1e+06")]
    #[case(1_234_567.5, "1.2345675e+06")]
    #[case(123_456.75, "123456.75")]
    #[case(0.0001, "0.0001")]
    #[case(0.00001, "1e-05")]
    #[case(-2e100, "-2e+100")]
    #[case(f64::NEG_INFINITY, "-Inf")]
    fn floats_have_the_shortest_form(#[case] value: f64, #[case] text: &str) {
        assert_eq!(format_float(value), text);
    }

    #[rstest]
    #[case(1e20, "100000000000000000000")]
    #[case(1e21, "1e+21")]
    #[case(0.000_001, "0.000001")]
    #[case(0.000_000_1, "1e-7")]
    #[case(1e-10, "1e-10")]
    fn json_floats_have_few_exponents(#[case] value: f64, #[case] text: &str) {
        assert_eq!(json_float(value), text);
    }

    #[test]
    fn invalid_integers_have_gos_errors() {
        assert_eq!(atoi("+1"), Ok(1));
        assert_eq!(atoi("-").unwrap_err(), "strconv.Atoi: parsing \"-\": invalid syntax");
        assert_eq!(
            parse_uint("+1").unwrap_err(),
            "strconv.ParseUint: parsing \"+1\": invalid syntax"
        );
        assert_eq!(
            parse_uint("18446744073709551616").unwrap_err(),
            "strconv.ParseUint: parsing \"18446744073709551616\": value out of range"
        );
        assert_eq!(
            parse_int("\u{2028}").unwrap_err(),
            "strconv.ParseInt: parsing \"\\u2028\": invalid syntax"
        );
    }
}

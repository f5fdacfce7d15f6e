//! Floating-point numbers as Go writes them.

/// A number in its shortest form, with an exponent from a million on and below a ten-thousandth.
///
/// Source of semantics: Go's `strconv.FormatFloat(f, 'g', -1, 64)`, and go-yaml's words for what is no number.
pub(super) fn go_float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => format!(
            "{mantissa}e{}{:02}",
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        ),
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
    #[case(100_000.0, "100000")]
    #[case(1_000_000.0, "1e+06")]
    #[case(1_234_567.5, "1.2345675e+06")]
    #[case(0.0001, "0.0001")]
    #[case(0.00001, "1e-05")]
    #[case(-2e100, "-2e+100")]
    #[case(f64::NEG_INFINITY, "-.inf")]
    fn floats_are_written_as_go_writes_them(#[case] value: f64, #[case] written: &str) {
        assert_eq!(go_float(value), written);
    }
}

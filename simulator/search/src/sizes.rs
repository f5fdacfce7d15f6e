//! Sizes in bytes as texts: `7.3kb`, `512mb`.
//!
//! Source: `ByteSizeValue` of Elasticsearch 1.5, which truncates after the first decimal.

/// Formats a number with a unit. It is truncated after the first decimal.
pub(crate) fn with_decimal(value: f64, unit: &str) -> String {
    let tenths = (value * 10.0).floor() as u64;
    if tenths.is_multiple_of(10) {
        format!("{}{unit}", tenths / 10)
    } else {
        format!("{}.{}{unit}", tenths / 10, tenths % 10)
    }
}

/// Formats a size in bytes.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["kb", "mb", "gb", "tb"];
    let mut value = bytes as f64;
    let mut unit = "b";
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    with_decimal(value, unit)
}

/// Parses a size such as `512mb`, `1g`, `100k` or a number of bytes.
pub(crate) fn byte_size(text: &str) -> Option<u64> {
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(at)?;
    let number: f64 = number.parse().ok()?;
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1u64,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        _ => return None,
    };
    Some((number * unit as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("512mb", Some(512 << 20))]
    #[case("1.5k", Some(1536))]
    #[case("17", Some(17))]
    #[case("-1", None)]
    #[case("many", None)]
    fn sizes_have_units(#[case] text: &str, #[case] expected: Option<u64>) {
        assert_eq!(byte_size(text), expected);
    }

    #[rstest]
    #[case(7_566, "7.3kb")]
    #[case(828, "828b")]
    #[case(677_593, "661.7kb")]
    #[case(1_297_481_728, "1.2gb")]
    #[case(2_048, "2kb")]
    fn sizes_have_one_decimal(#[case] bytes: u64, #[case] expected: &str) {
        assert_eq!(size(bytes), expected);
    }
}

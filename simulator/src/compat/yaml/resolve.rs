//! Resolution of plain scalars.
//!
//! Source of the semantics: the resolution of go-yaml v2 of 2016.

/// Value of a plain scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text,
}

/// Resolves the plain scalar `text`.
pub(super) fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Scalar::Text;
    }
    if text.starts_with('.') {
        float(text)
    } else {
        number(&text.replace('_', ""))
    }
}

fn number(text: &str) -> Scalar {
    if let Some(value) = signed(text) {
        return Scalar::Int(value);
    }
    if let Some(value) = unsigned(text) {
        return Scalar::Uint(value);
    }
    float(text)
}

fn float(text: &str) -> Scalar {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let infinite = ["inf", "infinity"]
        .iter()
        .any(|word| unsigned.eq_ignore_ascii_case(word));
    let digits = text
        .bytes()
        .all(|c| c.is_ascii_digit() || matches!(c, b'+' | b'-' | b'.' | b'e' | b'E'));
    match text.parse::<f64>() {
        Ok(value) if infinite || (digits && value.is_finite()) => Scalar::Float(value),
        _ => Scalar::Text,
    }
}

fn digits(text: &str) -> (u32, &str) {
    let either = |prefix: [&str; 2]| prefix.iter().find_map(|p| text.strip_prefix(p));
    if let Some(rest) = either(["0x", "0X"]) {
        (16, rest)
    } else if let Some(rest) = either(["0b", "0B"]) {
        (2, rest)
    } else if let Some(rest) = either(["0o", "0O"]) {
        (8, rest)
    } else if text.len() > 1 && text.starts_with('0') {
        (8, text.get(1..).unwrap_or_default())
    } else {
        (10, text)
    }
}

fn unsigned(text: &str) -> Option<u64> {
    let (radix, digits) = digits(text);
    if digits.starts_with(['+', '-']) {
        None
    } else {
        u64::from_str_radix(digits, radix).ok()
    }
}

fn signed(text: &str) -> Option<i64> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let magnitude = unsigned(rest)?;
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", Scalar::Null)]
    #[case("~", Scalar::Null)]
    #[case("n", Scalar::Bool(false))]
    #[case("Yes", Scalar::Bool(true))]
    #[case("on", Scalar::Bool(true))]
    #[case("yEs", Scalar::Text)]
    #[case("12", Scalar::Int(12))]
    #[case("-1_000", Scalar::Int(-1000))]
    #[case("010", Scalar::Int(8))]
    #[case("0x1F", Scalar::Int(31))]
    #[case("0b101", Scalar::Int(5))]
    #[case("0o17", Scalar::Int(15))]
    #[case("09", Scalar::Float(9.0))]
    #[case("18446744073709551615", Scalar::Uint(u64::MAX))]
    #[case("1.5", Scalar::Float(1.5))]
    #[case("1e3", Scalar::Float(1000.0))]
    #[case(".5", Scalar::Float(0.5))]
    #[case("-inf", Scalar::Float(f64::NEG_INFINITY))]
    #[case("inf", Scalar::Text)]
    #[case("1e400", Scalar::Text)]
    #[case("-0b11", Scalar::Int(-3))]
    #[case("1.2.3.4", Scalar::Text)]
    #[case("2015-06-26", Scalar::Text)]
    #[case("100m", Scalar::Text)]
    #[case("-", Scalar::Text)]
    fn plain_scalars_resolve_as_in_yaml_1_1(#[case] text: &str, #[case] meaning: Scalar) {
        assert_eq!(resolve(text), meaning);
    }
}

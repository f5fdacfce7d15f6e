//! Number formats: patterns such as `#,##0.00`.
//!
//! Limits: one pattern for all numbers, without exponents and quotes.
//! Source: the patterns of Java's `DecimalFormat` with the symbols of the English locale.

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NumberFormat {
    prefix: String,
    suffix: String,
    /// Minimum number of integer digits.
    whole: usize,
    /// Minimum and maximum number of fraction digits.
    fraction: (usize, usize),
    /// Number of digits in a group.
    group: Option<usize>,
    percent: bool,
}

impl NumberFormat {
    /// Compiles a pattern.
    pub(super) fn new(pattern: &str) -> NumberFormat {
        let pattern = if pattern.is_empty() { "#,##0.###" } else { pattern };
        let positive = pattern.split(';').next().unwrap_or(pattern);
        let is_digit = |c: char| matches!(c, '0' | '#' | ',' | '.');
        let start = positive.find(is_digit).unwrap_or(positive.len());
        let end = positive.rfind(is_digit).map_or(start, |at| at + 1);
        let digits = positive.get(start..end).unwrap_or("");
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let count = |text: &str, wanted: char| text.chars().filter(|c| *c == wanted).count();
        NumberFormat {
            prefix: positive.get(..start).unwrap_or("").to_owned(),
            suffix: positive.get(end..).unwrap_or("").to_owned(),
            whole: count(whole, '0'),
            fraction: (count(fraction, '0'), fraction.len().min(20)),
            group: whole.rfind(',').map(|at| whole.len() - at - 1).filter(|size| *size > 0),
            percent: positive.contains('%'),
        }
    }

    /// Formats a number.
    pub(super) fn print(&self, number: f64) -> String {
        if number.is_nan() {
            return "NaN".to_owned();
        }
        let (min, max) = self.fraction;
        let number = if self.percent { number * 100.0 } else { number };
        let text = format!("{:.max$}", number.abs());
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let mut fraction = fraction.to_owned();
        while fraction.len() > min && fraction.ends_with('0') {
            fraction.pop();
        }
        let whole = whole.trim_start_matches('0');
        let mut digits = "0".repeat(self.whole.saturating_sub(whole.len())) + whole;
        if let Some(size) = self.group {
            let mut at = digits.len();
            while at > size {
                at -= size;
                digits.insert(at, ',');
            }
        }
        if digits.is_empty() && fraction.is_empty() {
            digits.push('0');
        }
        let sign = if number < 0.0 { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{}{digits}{point}{fraction}{}", self.prefix, self.suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("0.00", 3.0, "3.00")]
    #[case("0.0", 2.25, "2.2")]
    #[case("#.##", 0.5, ".5")]
    #[case("#", 0.0, "0")]
    #[case("#,##0.###", 1_234_567.5, "1,234,567.5")]
    #[case("000", 7.0, "007")]
    #[case("$0", -4.0, "-$4")]
    #[case("0%", 0.25, "25%")]
    fn numbers_are_formatted_by_the_pattern(#[case] pattern: &str, #[case] number: f64, #[case] expected: &str) {
        assert_eq!(NumberFormat::new(pattern).print(number), expected);
    }
}

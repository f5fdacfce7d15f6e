//! Reduction of the values of a field to one, for sorts and score functions.
//!
//! Source: Elasticsearch 1.5's `MultiValueMode`.

use crate::error::{Result, SearchError};

/// How several values make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MultiValueMode {
    Min,
    Max,
    Sum,
    Avg,
}

impl MultiValueMode {
    /// Parses a name in any letter case.
    ///
    /// # Errors
    /// An unknown name.
    pub(crate) fn parse(name: &str) -> Result<MultiValueMode> {
        let all = [Self::Min, Self::Max, Self::Sum, Self::Avg];
        let found = all.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| SearchError::illegal(format!("Illegal sort_mode {name}")))
    }

    /// Returns the mode of a sort without one.
    pub(crate) fn of_order(descending: bool) -> MultiValueMode {
        if descending { Self::Max } else { Self::Min }
    }

    /// Name in capital letters.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Min => "MIN",
            Self::Max => "MAX",
            Self::Sum => "SUM",
            Self::Avg => "AVG",
        }
    }

    /// Reduces values. `None` if there are none.
    pub(crate) fn select(self, values: impl Iterator<Item = f64>) -> Option<f64> {
        let mut count = 0.0;
        let reduced = values.inspect(|_| count += 1.0).reduce(match self {
            Self::Min => f64::min,
            Self::Max => f64::max,
            Self::Sum | Self::Avg => |sum, value| sum + value,
        })?;
        Some(if self == Self::Avg { reduced / count } else { reduced })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("min", 1.0)]
    #[case("MAX", 6.0)]
    #[case("Sum", 8.0)]
    #[case("avg", 8.0 / 3.0)]
    fn values_are_reduced(#[case] name: &str, #[case] expected: f64) {
        let mode = MultiValueMode::parse(name).unwrap();
        assert_eq!(mode.select([1.0, 6.0, 1.0].into_iter()), Some(expected));
        assert_eq!(mode.select(std::iter::empty()), None);
    }
}

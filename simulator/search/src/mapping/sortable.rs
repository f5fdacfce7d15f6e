//! Floating-point numbers as integers of the same order.

/// Encodes a floating-point number as an integer that compares as the number does.
pub(crate) fn sortable(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) & i64::MAX)
}

/// The inverse of [`sortable`].
pub(crate) fn unsortable(encoded: i64) -> f64 {
    f64::from_bits((encoded ^ ((encoded >> 63) & i64::MAX)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_numbers_sort_as_values_do() {
        let values = [f64::NEG_INFINITY, -1e300, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY];
        assert!(values.windows(2).all(|pair| sortable(pair[0]) <= sortable(pair[1])));
        assert!(
            values
                .iter()
                .all(|value| unsortable(sortable(*value)).to_bits() == value.to_bits())
        );
    }
}

//! Medians and percentiles.

/// Returns the median of the values; 0 without values.
pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// Returns a percentile of the values; 0 without values.
pub(crate) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((last as f64 * share).round() as usize)
        .copied()
        .unwrap_or(0.0)
}

//! The verdict as a badge: an SVG image, or JSON for a shields.io endpoint.

use serde_json::json;

use super::{Conformance, Provenance, Summary};
use crate::catalog::Level;
use crate::trial::Verdict;

const LABEL: &str = "conformance";
/// Average width of a letter at font size 11, in pixels.
const LETTER_WIDTH: f64 = 6.7;

/// Returns the text and the colour of the badge.
fn message(summary: &Summary) -> (String, &'static str) {
    let must = || {
        summary
            .outcomes
            .values()
            .filter(|outcome| outcome.level() == Level::Must)
    };
    let passed = must().filter(|outcome| outcome.verdict == Verdict::Passed).count();
    // Rounded down, so that 100 % means all of them.
    let percent = (passed * 1000 / must().count().max(1)) as f64 / 10.0;
    match summary.conformance(Level::Must) {
        Conformance::Conforms => (format!("conforms to {}", summary.profile), "#1f7a4d"),
        Conformance::Incomplete => (format!("incomplete, {percent} %"), "#96690a"),
        Conformance::DoesNotConform => (format!("{percent} % of must"), "#b3261e"),
    }
}

/// Renders the badge as SVG.
///
/// # Errors
/// Never fails.
pub fn badge_svg(summary: &Summary, _: &Provenance) -> Result<String, String> {
    let (message, colour) = message(summary);
    let width = |text: &str| (text.chars().count() as f64 * LETTER_WIDTH + 14.0).round();
    let (left, right) = (width(LABEL), width(&message));
    let (all, left_middle, right_middle) = (left + right, left / 2.0, left + right / 2.0);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\" \
         aria-label=\"{LABEL}: {message}\">\
         <title>{LABEL}: {message}</title><clipPath id=\"r\"><rect width=\"{all}\" height=\"20\" rx=\"3\"/></clipPath>\
         <g clip-path=\"url(#r)\"><rect width=\"{left}\" height=\"20\" fill=\"#3b4048\"/>\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/></g>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\
         <text x=\"{left_middle}\" y=\"14\">{LABEL}</text>\
         <text x=\"{right_middle}\" y=\"14\">{message}</text></g></svg>\n"
    ))
}

/// Renders the badge as JSON for a shields.io endpoint.
///
/// # Errors
/// Never fails.
pub fn badge_endpoint(summary: &Summary, _: &Provenance) -> Result<String, String> {
    let (message, color) = message(summary);
    let badge = json!({"schemaVersion": 1, "label": LABEL, "message": message, "color": color});
    Ok(format!("{badge}\n"))
}

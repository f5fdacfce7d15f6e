//! The text of a failure.

use super::Style;
use crate::trial::{Failure, Outcome};

/// Maximum number of lines shown of one mismatch.
const MAX_LINES: usize = 60;

/// Formats a failure: the operation, the requirement, its source, the requests and the differences.
pub fn explain(outcome: &Outcome, failure: &Failure, style: Style) -> String {
    let case = &outcome.trial.case;
    let level = outcome.level().as_str();
    let mut lines = vec![
        format!("  {} {}", style.faint("operation  "), case.operation.request()),
        format!("  {} {} ({level})", style.faint("requirement"), case.requirement),
        format!("  {} {}", style.faint("source     "), case.source),
    ];
    let requests = failure.steps.iter().chain(&failure.curl).flat_map(|text| text.lines());
    lines.extend(requests.map(|line| format!("  {} {line}", style.faint("$"))));
    if let Some(answered) = &failure.answered {
        lines.push(format!("  {} {answered}", style.faint("answered")));
    }
    for mismatch in &failure.mismatches {
        let marks = style.faint("(- expected, + actual)");
        lines.push(format!("  {} {marks}", style.strong(&mismatch.about)));
        let diff = mismatch.diff();
        for (mark, line) in diff.iter().take(MAX_LINES) {
            let line = format!("    {mark} {line}");
            lines.push(match mark {
                '-' => style.bad(&line),
                '+' => style.good(&line),
                _ => line,
            });
        }
        if diff.len() > MAX_LINES {
            lines.push(style.faint(&format!("    … and {} lines more", diff.len() - MAX_LINES)));
        }
    }
    lines.join("\n")
}

//! A failure in lines, for people.

use super::Style;
use crate::trial::{Failure, Outcome};

/// How many lines of one mismatch are shown.
const LINES: usize = 60;

/// Everything that helps with a failure: the requirement, its place, the request, what came and the differences.
pub fn explain(outcome: &Outcome, failure: &Failure, style: Style) -> String {
    let case = &outcome.trial.case;
    let mut lines = vec![
        format!("  {} {}", style.faint("operation  "), case.operation.request()),
        format!(
            "  {} {} ({})",
            style.faint("requirement"),
            case.requirement,
            case.level().as_str()
        ),
        format!("  {} {}", style.faint("source     "), case.source),
    ];
    if let Some(curl) = &failure.curl {
        lines.extend(curl.lines().map(|line| format!("  {} {line}", style.faint("$"))));
    }
    if let Some(answered) = &failure.answered {
        lines.push(format!("  {} {answered}", style.faint("answered")));
    }
    for mismatch in &failure.mismatches {
        lines.push(format!(
            "  {} {}",
            style.strong(&mismatch.about),
            style.faint("(- expected, + came)")
        ));
        let diff = mismatch.diff();
        for (mark, line) in diff.iter().take(LINES) {
            let line = format!("    {mark} {line}");
            lines.push(match mark {
                '-' => style.good(&line),
                '+' => style.bad(&line),
                _ => line,
            });
        }
        if diff.len() > LINES {
            lines.push(style.faint(&format!("    … and {} lines more", diff.len() - LINES)));
        }
    }
    lines.join("\n")
}

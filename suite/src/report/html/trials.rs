//! Trials and their failures.

use std::fmt::Write as _;

use super::super::summary::kind_of;
use super::{escaped, matrix};
use crate::trial::{Failure, Outcome};

/// Renders a trial of the list. The script filters by its data attributes.
pub(super) fn trial(outcome: &Outcome) -> String {
    let case = &outcome.trial.case;
    let word = outcome.verdict.as_str();
    let mut more = String::new();
    if let Some(reason) = outcome.verdict.reason() {
        let _ = write!(more, "<p class={word}>{}</p>", escaped(&reason));
    }
    match outcome.verdict.failure() {
        Some(failure) => more.push_str(&failed(outcome, failure)),
        None => more.push_str(&about(outcome)),
    }
    let flaky = if outcome.flaky {
        "<span class=count>flaky</span>"
    } else {
        ""
    };
    format!(
        "<details data-verdict={word} data-level={level} data-group='{group}' data-kind='{kind}' \
         data-column='{column}'>\
         <summary><span class='word {word}'>{word}</span><code>{id}</code>{flaky}</summary><div>{more}</div></details>",
        level = outcome.level().as_str(),
        group = escaped(&case.kind.group),
        kind = escaped(kind_of(outcome)),
        column = matrix::column(outcome),
        id = escaped(&case.id),
    )
}

/// Renders the requirement, the operation and the source of a trial.
fn about(outcome: &Outcome) -> String {
    let case = &outcome.trial.case;
    format!(
        "<p>{}</p><p class=faint><code>{}</code> · {} · {}</p>",
        escaped(&case.requirement),
        escaped(&case.operation.request()),
        outcome.level().as_str(),
        escaped(&case.source),
    )
}

/// Renders a failure: the trial, the requests, and expected and actual values.
pub(super) fn failed(outcome: &Outcome, failure: &Failure) -> String {
    let mut html = about(outcome);
    for mismatch in &failure.mismatches {
        let _ = writeln!(html, "<pre class=diff><b>{}</b>", escaped(&mismatch.about));
        for (mark, line) in mismatch.diff() {
            let line = escaped(&line);
            let _ = match mark {
                '-' => writeln!(html, "<del>- {line}</del>"),
                '+' => writeln!(html, "<ins>+ {line}</ins>"),
                _ => writeln!(html, "  {line}"),
            };
        }
        html.push_str("</pre>");
    }
    let requests: Vec<&str> = failure.steps.iter().chain(&failure.curl).map(String::as_str).collect();
    if !requests.is_empty() {
        let _ = write!(
            html,
            "<p class=faint>- expected, + actual. The requests, as shell commands:</p><pre>{}</pre>",
            escaped(&requests.join("\n"))
        );
    }
    html
}

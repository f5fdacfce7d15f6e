//! The matrix of kinds and operations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::Count;
use super::super::summary::{Summary, kind_of, scores_in_words};
use super::{escaped, state};
use crate::trial::Outcome;

/// Column names.
const COLUMNS: [&str; 9] = [
    "create",
    "read",
    "list",
    "replace",
    "patch",
    "delete",
    "delete all",
    "watch",
    "other",
];

/// Returns the column of the operation of a trial.
pub(super) fn column(outcome: &Outcome) -> &'static str {
    match outcome.trial.case.operation.id.as_str() {
        "create" => "create",
        "read" => "read",
        "list" | "list-all" => "list",
        "replace" => "replace",
        "patch" => "patch",
        "delete" => "delete",
        "delete-collection" => "delete all",
        id if id.starts_with("watch") => "watch",
        _ => "other",
    }
}

/// Renders the matrix as an HTML table.
pub(super) fn matrix(summary: &Summary) -> String {
    let mut cells: BTreeMap<(&str, &str, &str), Count> = BTreeMap::new();
    for outcome in summary.outcomes.values() {
        let key = (
            outcome.trial.case.kind.group.as_str(),
            kind_of(outcome),
            column(outcome),
        );
        cells.entry(key).or_default().add(outcome);
    }
    let head: String = COLUMNS
        .iter()
        .map(|name| format!("<th scope=col>{name}</th>"))
        .collect();
    let mut body = String::new();
    let scores = summary.scores();
    for (group, kinds) in summary.by_kind() {
        let columns = COLUMNS.len() + 2;
        let _ = write!(
            body,
            "<tr class=group><th colspan={columns} scope=rowgroup>{} <small>{}</small></th></tr>",
            escaped(&group),
            scores.get(&group).map(scores_in_words).unwrap_or_default()
        );
        for (kind, count) in &kinds {
            let of_kind: String = COLUMNS
                .iter()
                .map(|name| cell(&group, kind, name, cells.get(&(group.as_str(), kind.as_str(), *name))))
                .collect();
            let all = cell(&group, kind, "", Some(count));
            let _ = write!(body, "<tr><th scope=row>{}</th>{of_kind}{all}</tr>", escaped(kind));
        }
    }
    format!(
        "<table class=matrix><thead><tr><th></th>{head}<th scope=col>all</th></tr></thead><tbody>{body}</tbody></table>"
    )
}

fn cell(group: &str, kind: &str, column: &str, count: Option<&Count>) -> String {
    let Some(count) = count else {
        return "<td></td>".to_owned();
    };
    let text = if count.passed == count.trials {
        count.trials.to_string()
    } else {
        format!("{}/{}", count.passed, count.trials)
    };
    let (group, kind) = (escaped(group), escaped(kind));
    format!(
        "<td><button type=button class={state} data-group='{group}' data-kind='{kind}' data-column='{column}' \
         aria-label='{kind} {column}: {passed} of {trials} trials passed'>{text}</button></td>",
        state = state(count),
        passed = count.passed,
        trials = count.trials,
    )
}

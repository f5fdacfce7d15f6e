//! The summary of a run as Markdown, and failures as annotations of a GitHub workflow.

use std::fmt::Write as _;
use std::io::Write;

use super::summary::scores_in_words;
use super::{Conformance, Count, Provenance, Report, Style, Summary, explain};
use crate::catalog::Level;
use crate::trial::Event;

/// Maximum number of causes shown.
const MAX_CAUSES: usize = 20;
/// Maximum number of case ids shown per cause.
const MAX_IDS: usize = 10;
/// Maximum number of annotations: GitHub shows ten per step.
const MAX_ANNOTATIONS: usize = 10;

/// Renders the summary as Markdown.
///
/// # Errors
/// Never fails.
pub fn markdown(summary: &Summary, provenance: &Provenance) -> Result<String, String> {
    let verdict = summary.conformance(Level::Must);
    let mark = match verdict {
        Conformance::Conforms => "✅",
        Conformance::DoesNotConform => "❌",
        Conformance::Incomplete => "⚠️",
    };
    let interrupted = if summary.interrupted { ", interrupted" } else { "" };
    let mut text = format!(
        "## {mark} {}: {}{interrupted}\n\nProfile `{}`{} · {} · {:.1} s · stuntdouble {} · catalog `{}`\n\n",
        escape_markdown(&summary.target),
        verdict.as_str(),
        summary.profile,
        provenance
            .target_version
            .as_ref()
            .map_or_else(String::new, |version| format!(" · server {}", escape_markdown(version))),
        summary.total().in_operations(),
        summary.took.as_secs_f64(),
        Provenance::tool(),
        provenance.catalog_name(),
    );
    text.push_str("| level | verdict | trials | passed | failed | known to fail | absent | skipped | flaky |\n");
    text.push_str("|---|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (level, count) in summary.by_level() {
        text.push_str(&row(level.as_str(), &summary.conformance_in_words(level), &count));
    }
    text.push_str(&row("**all**", "", &summary.total()));
    text.push_str(&failures(summary));
    text.push_str(&notes(summary));
    text.push_str(&groups(summary));
    Ok(text)
}

fn row(name: &str, verdict: &str, count: &Count) -> String {
    let cells = [
        count.trials,
        count.passed,
        count.failed,
        count.known,
        count.absent,
        count.skipped + count.pending,
        count.flaky,
    ];
    let cells: Vec<String> = cells.iter().map(usize::to_string).collect();
    format!("| {name} | {verdict} | {} |\n", cells.join(" | "))
}

fn failures(summary: &Summary) -> String {
    let causes = summary.causes();
    if causes.is_empty() {
        return String::new();
    }
    let failed: usize = causes.iter().map(|(_, _, others)| others.len() + 1).sum();
    let mut text = format!("\n### {}\n\n", causes_in_words(failed, causes.len()));
    for (outcome, failure, others) in causes.iter().take(MAX_CAUSES) {
        let explained = explain(outcome, failure, Style::default());
        let more = if others.is_empty() {
            String::new()
        } else {
            format!(" and {} more", others.len())
        };
        let id = &outcome.trial.case.id;
        // A fence of four backticks, so that no text inside can end it.
        let _ = writeln!(
            text,
            "<details><summary><code>{id}</code>{more}</summary>\n\n````text\n{}\n````",
            explained.replace("````", "'''")
        );
        let ids = others
            .iter()
            .take(MAX_IDS)
            .map(|other| format!("`{}`", other.trial.case.id));
        let ids: Vec<String> = ids.collect();
        if !ids.is_empty() {
            let end = if others.len() > MAX_IDS { ", …" } else { "" };
            let _ = writeln!(text, "\nThe same in {}{end}", ids.join(", "));
        }
        text.push_str("\n</details>\n\n");
    }
    if causes.len() > MAX_CAUSES {
        let _ = writeln!(
            text,
            "… and {} causes more, in the other reports.",
            causes.len() - MAX_CAUSES
        );
    }
    text
}

/// Formats the heading of the failures.
pub(super) fn causes_in_words(failed: usize, causes: usize) -> String {
    let trials = if failed == 1 { "trial" } else { "trials" };
    let of = if causes == 1 { "cause" } else { "causes" };
    format!("{failed} failed {trials}, {causes} {of}")
}

/// Lists trials that were not run, stale expectations, and objects that could not be removed.
fn notes(summary: &Summary) -> String {
    let mut lines: Vec<String> = summary
        .set_aside()
        .iter()
        .map(|((verdict, reason), ids)| format!("- {verdict}, {} trials: {}", ids.len(), escape_markdown(reason)))
        .collect();
    lines.extend(
        summary
            .stale
            .iter()
            .map(|stale| format!("- stale expectation: {}", escape_markdown(stale))),
    );
    lines.extend(summary.left.iter().map(|path| format!("- not removed: `{path}`")));
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n{}\n", lines.join("\n"))
    }
}

fn groups(summary: &Summary) -> String {
    let mut text = "\n| group | score |\n|---|---|\n".to_owned();
    for (group, levels) in summary.scores() {
        text.push_str(&format!("| {group} | {} |\n", scores_in_words(&levels)));
    }
    text.push_str(
        "\n<details><summary>By group and kind</summary>\n\n\
                    | kind | operations | trials | passed | failed | known to fail | absent | skipped | flaky |\n\
                    |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (group, kinds) in summary.by_kind() {
        for (kind, count) in &kinds {
            let operations = format!("{}/{}", count.operations_passed(), count.operations());
            text.push_str(&row(&format!("{group} {kind}"), &operations, count));
        }
    }
    text + "\n</details>\n"
}

/// Escapes Markdown and HTML.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '\n' | '\r' => escaped.push(' '),
            '`' | '*' | '_' | '|' | '[' | ']' | '\\' => escaped.extend(['\\', character]),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Writes workflow commands that GitHub shows as annotations: an error for each cause, a warning for each stale
/// expectation.
#[derive(Debug)]
pub struct Annotations<W> {
    out: W,
    summary: Summary,
}

impl<W: Write> Annotations<W> {
    /// Creates annotations that are written to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            summary: Summary::default(),
        }
    }
}

impl<W: Write> Report for Annotations<W> {
    fn handle(&mut self, event: &Event) -> std::io::Result<()> {
        self.summary.handle(event);
        if !matches!(event, Event::Finished { .. }) {
            return Ok(());
        }
        for (outcome, failure, others) in self.summary.causes().iter().take(MAX_ANNOTATIONS) {
            let case = &outcome.trial.case;
            let about: Vec<&str> = failure.mismatches.iter().map(|m| m.about.as_str()).collect();
            let more = if others.is_empty() {
                String::new()
            } else {
                format!(" (and {} more)", others.len())
            };
            let message = format!("{} Failed: {}.{more}", case.requirement, about.join(", "));
            let (title, message) = (escape_property(&case.id), escape_message(&message));
            writeln!(self.out, "::error title={title}::{message}")?;
        }
        for stale in self.summary.stale.iter().take(MAX_ANNOTATIONS) {
            writeln!(self.out, "::warning title=stale expectation::{}", escape_message(stale))?;
        }
        self.out.flush()
    }
}

/// Escapes a message of a workflow command.
fn escape_message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_server_are_escaped() {
        assert_eq!(escape_markdown("<b>|*x*"), "&lt;b>\\|\\*x\\*");
        assert_eq!(escape_message("a\n::error::b"), "a%0A::error::b");
        assert_eq!(escape_property("a:b,c"), "a%3Ab%2Cc");
    }
}

//! Differences in text and JSON.

use super::{Diff, Finding, Grade, Row, Side};
use crate::interaction::terminal;
use serde_json::{Value, json};
use similar::TextDiff;
use std::time::Duration;

/// Number of lines shown around a difference.
const CONTEXT: usize = 3;

/// Maximum time of the line comparison of one response, after which it becomes coarser.
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// Two texts, line by line.
pub(super) fn lines<'t>(a: &'t str, b: &'t str) -> TextDiff<'t, 't, str> {
    TextDiff::configure().timeout(TIME_LIMIT).diff_lines(a, b)
}

impl Diff {
    /// Whether there are no differences except in headers and timing.
    pub fn is_same(&self) -> bool {
        self.rows.iter().all(Row::is_same)
    }

    /// Number of differences of each grade, most severe first.
    pub fn counts(&self) -> Vec<(Grade, usize)> {
        let count = |grade: &Grade| {
            self.rows
                .iter()
                .flat_map(|row| &row.findings)
                .filter(|finding| finding.grade == *grade)
                .count()
        };
        Grade::ALL.iter().map(|grade| (*grade, count(grade))).collect()
    }

    /// Formats each interaction with differences: grades, descriptions, and lines of the responses.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for row in self.rows.iter().filter(|row| !row.findings.is_empty()) {
            let marks = match (&row.a, &row.b) {
                (Some(a), Some(b)) => format!("[{} | {}] {}", a.id, b.id, b.request),
                (Some(a), None) => format!("[{} | -] {}", a.id, a.request),
                (None, Some(b)) => format!("[- | {}] {}", b.id, b.request),
                (None, None) => continue,
            };
            out.push_str(&format!("{}\n", terminal::line(&marks)));
            for finding in &row.findings {
                let text = terminal::line(&finding.text);
                out.push_str(&format!("    {}: {text}\n", finding.grade.name()));
            }
            if let (Some(a), Some(b)) = (&row.a, &row.b) {
                let changed = lines(&a.response, &b.response)
                    .unified_diff()
                    .context_radius(CONTEXT)
                    .to_string();
                for line in changed.lines() {
                    out.push_str(&format!("    {}\n", terminal::line(line)));
                }
            }
        }
        out.push_str(&self.summary());
        out.push('\n');
        out
    }

    /// Formats a summary in one line.
    pub fn summary(&self) -> String {
        let differing = self.rows.iter().filter(|row| !row.findings.is_empty()).count();
        let counts: Vec<String> = self
            .counts()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(grade, count)| format!("{} {count}", grade.name()))
            .collect();
        let counts = if counts.is_empty() {
            String::new()
        } else {
            format!(": {}", counts.join(", "))
        };
        format!("{differing} of {} interactions differ{counts}", self.rows.len())
    }

    /// The differences as JSON.
    pub fn to_json(&self) -> Value {
        let side = |side: &Option<Side>| {
            side.as_ref()
                .map(|side| json!({"id": side.id, "request": side.request}))
        };
        let finding = |finding: &Finding| json!({"grade": finding.grade.name(), "text": finding.text});
        let rows = self.rows.iter().filter(|row| !row.findings.is_empty());
        let rows: Vec<Value> = rows
            .map(|row| {
                let findings: Vec<Value> = row.findings.iter().map(finding).collect();
                json!({"a": side(&row.a), "b": side(&row.b), "findings": findings})
            })
            .collect();
        let counts: serde_json::Map<String, Value> = self
            .counts()
            .into_iter()
            .map(|(grade, count)| (grade.name().to_owned(), count.into()))
            .collect();
        json!({"interactions": self.rows.len(), "same": self.is_same(), "counts": counts, "differences": rows})
    }
}

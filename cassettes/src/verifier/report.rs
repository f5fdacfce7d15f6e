//! Reports of verdicts in text, JSON and JUnit.

use crate::differ::{Finding, Grade};
use crate::interaction::{Interaction, terminal};
use serde_json::{Value, json};

/// Maximum number of differences per interaction in the text.
const MAX_DIFFERENCES: usize = 8;

/// The verdict on one interaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Number of the interaction.
    pub id: u64,
    /// Method of the request.
    pub method: String,
    /// Path and query of the request.
    pub target: String,
    /// Description of the interaction.
    pub note: Option<String>,
    /// Whether status, media type and judged headers are as recorded.
    pub answer: bool,
    /// Whether the body is also as recorded, apart from messages.
    pub shape: bool,
    /// Whether the messages are also as recorded.
    pub exact: bool,
    /// Differences, including those that do not change a verdict.
    pub findings: Vec<Finding>,
}

impl Verdict {
    pub(super) fn new(interaction: &Interaction, findings: Vec<Finding>) -> Self {
        let has = |grades: &[Grade]| findings.iter().any(|finding| grades.contains(&finding.grade));
        let answer = !has(&[Grade::Status]);
        let shape = answer && !has(&[Grade::Shape, Grade::Value]);
        Self {
            id: interaction.id,
            method: interaction.request.method.clone(),
            target: interaction.request.target().to_owned(),
            note: interaction.note.clone(),
            answer,
            shape,
            exact: shape && !has(&[Grade::Text]),
            findings,
        }
    }
}

/// Numbers of interactions by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of interactions.
    pub interactions: usize,
    /// Number of interactions with the recorded answer.
    pub answer: usize,
    /// Number of interactions that also have the recorded shape.
    pub shape: usize,
    /// Number of exact interactions.
    pub exact: usize,
}

/// The verdicts on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// URL of the server.
    pub against: String,
    /// Verdicts in the order of the interactions.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// Numbers of interactions by verdict.
    pub fn tally(&self) -> Tally {
        let count = |which: fn(&Verdict) -> bool| self.verdicts.iter().filter(|verdict| which(verdict)).count();
        Tally {
            interactions: self.verdicts.len(),
            answer: count(|verdict| verdict.answer),
            shape: count(|verdict| verdict.shape),
            exact: count(|verdict| verdict.exact),
        }
    }

    /// Whether every interaction was exact.
    pub fn is_exact(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.exact)
    }

    /// Formats each interaction with differences, by grade, and the tally.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for verdict in self.verdicts.iter().filter(|verdict| !verdict.findings.is_empty()) {
            let note = verdict
                .note
                .as_deref()
                .map(|note| format!("   ({note})"))
                .unwrap_or_default();
            let title = format!("[{}] {} {}{note}", verdict.id, verdict.method, verdict.target);
            out.push_str(&format!("{}\n", terminal::line(&title)));
            for finding in verdict.findings.iter().take(MAX_DIFFERENCES) {
                let text = terminal::line(&finding.text);
                out.push_str(&format!("    {}: {text}\n", finding.grade.name()));
            }
            if verdict.findings.len() > MAX_DIFFERENCES {
                out.push_str(&format!(
                    "    ... and {} more\n",
                    verdict.findings.len() - MAX_DIFFERENCES
                ));
            }
        }
        let tally = self.tally();
        out.push_str(&format!(
            "{} interactions: answer {}, shape {}, exact {}\n",
            tally.interactions, tally.answer, tally.shape, tally.exact
        ));
        out
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let finding = |finding: &Finding| json!({"grade": finding.grade.name(), "text": finding.text});
        let verdict = |verdict: &Verdict| {
            json!({
                "id": verdict.id,
                "method": verdict.method,
                "target": verdict.target,
                "note": verdict.note,
                "answer": verdict.answer,
                "shape": verdict.shape,
                "exact": verdict.exact,
                "findings": verdict.findings.iter().map(finding).collect::<Vec<_>>(),
            })
        };
        let tally = self.tally();
        json!({
            "against": self.against,
            "interactions": tally.interactions,
            "answer": tally.answer,
            "shape": tally.shape,
            "exact": tally.exact,
            "verdicts": self.verdicts.iter().map(verdict).collect::<Vec<_>>(),
        })
    }

    /// The report as a JUnit test suite with this name. Each interaction is a test, which fails unless it is exact.
    pub fn to_junit(&self, name: &str) -> String {
        let tally = self.tally();
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n",
            xml(name),
            tally.interactions,
            tally.interactions - tally.exact
        );
        for verdict in &self.verdicts {
            let title = format!("[{}] {} {}", verdict.id, verdict.method, verdict.target);
            out.push_str(&format!(
                "<testcase classname=\"{}\" name=\"{}\"",
                xml(name),
                xml(&title)
            ));
            if verdict.exact {
                out.push_str("/>\n");
                continue;
            }
            let lost = match (verdict.answer, verdict.shape) {
                (false, _) => "answer",
                (true, false) => "shape",
                (true, true) => "exact",
            };
            let lines: Vec<String> = verdict
                .findings
                .iter()
                .map(|finding| format!("{}: {}", finding.grade.name(), finding.text))
                .collect();
            out.push_str(&format!(
                "><failure message=\"not {lost}\">{}</failure></testcase>\n",
                xml(&lines.join("\n"))
            ));
        }
        out.push_str("</testsuite>\n</testsuites>\n");
        out
    }
}

/// Escapes a text for XML. Characters that are not allowed are removed.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let verdict = Verdict {
            id: 1,
            method: "GET".into(),
            target: "/a?b=1&c=<d>".into(),
            note: None,
            answer: true,
            shape: false,
            exact: false,
            findings: vec![Finding::new(Grade::Value, "a.b: \"x\"\u{1}")],
        };
        Report {
            against: "http://127.0.0.1:1".into(),
            verdicts: vec![verdict],
        }
    }

    #[test]
    fn junit_is_well_formed() {
        let text = report().to_junit("a & b");
        assert!(text.contains("name=\"[1] GET /a?b=1&amp;c=&lt;d&gt;\""), "{text}");
        assert!(
            text.contains("<failure message=\"not shape\">value: a.b: &quot;x&quot;\u{fffd}</failure>"),
            "{text}"
        );
    }

    #[test]
    fn the_tally_counts_each_verdict() {
        let tally = report().tally();
        assert_eq!(
            (tally.interactions, tally.answer, tally.shape, tally.exact),
            (1, 1, 0, 0)
        );
        assert!(!report().is_exact());
    }
}

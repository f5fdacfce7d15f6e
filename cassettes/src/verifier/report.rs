//! Verdicts as text, JSON and JUnit.

use crate::differ::{Finding, Grade};
use crate::interaction::{Interaction, terminal};
use serde_json::{Value, json};

/// How many differences of an interaction are shown in text.
const SHOWN: usize = 8;

/// The verdict on one interaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The number of the interaction.
    pub id: u64,
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub target: String,
    /// What it shows.
    pub note: Option<String>,
    /// Status, media type and the headers that an answer hangs on are as recorded.
    pub answer: bool,
    /// So is the body, but for messages.
    pub shape: bool,
    /// So are the messages.
    pub exact: bool,
    /// What differs, and what is noted beyond the verdicts.
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

/// How many interactions got which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many were played.
    pub interactions: usize,
    /// How many were answered as recorded.
    pub answer: usize,
    /// How many had the shape too.
    pub shape: usize,
    /// How many were exact.
    pub exact: usize,
}

/// The verdicts on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The server's URL.
    pub against: String,
    /// The verdicts in the order of the interactions.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// How many interactions got which verdict.
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

    /// Each interaction that differs, with the differences by their grades, then the tally.
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
            for finding in verdict.findings.iter().take(SHOWN) {
                let text = terminal::line(&finding.text);
                out.push_str(&format!("    {}: {text}\n", finding.grade.name()));
            }
            if verdict.findings.len() > SHOWN {
                out.push_str(&format!("    ... and {} more\n", verdict.findings.len() - SHOWN));
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

    /// The report as a JUnit test suite of this name: a test for each interaction, failed unless it is exact.
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

/// Text as XML takes it: what it has no characters for is left out.
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

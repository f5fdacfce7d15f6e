//! The report for programs: one JSON object per line, written as events happen.

use std::io::Write;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Count, Provenance, Report, Summary};
use crate::catalog::Level;
use crate::trial::{Event, Outcome, Trial};

/// Returns a trial as `--list --format json` shows it.
pub fn listed(trial: &Trial) -> Value {
    let case = &trial.case;
    let statements: Vec<&str> = case.statements.iter().map(|statement| statement.id.as_str()).collect();
    json!({
        "id": case.id,
        "operation": case.operation.request(),
        "level": case.level().as_str(),
        "requirement": case.requirement,
        "source": case.source,
        "statements": statements,
    })
}

/// Writes one object for the start, one for each trial, and one for the end.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    summary: Summary,
    provenance: Arc<Provenance>,
}

impl<W: Write> JsonLines<W> {
    /// Creates a report that is written to `out`.
    pub fn new(out: W, provenance: Arc<Provenance>) -> Self {
        Self {
            out,
            summary: Summary::default(),
            provenance,
        }
    }
}

impl<W: Write> Report for JsonLines<W> {
    fn handle(&mut self, event: &Event) -> std::io::Result<()> {
        self.summary.handle(event);
        let line = match event {
            Event::Started {
                target,
                profile,
                trials,
                run,
            } => {
                let mut line = json!({
                    "event": "started", "version": 1, "target": target, "profile": profile.as_str(), "trials": trials,
                    "run": run,
                });
                if let (Value::Object(line), Value::Object(fields)) = (&mut line, self.provenance.fields()) {
                    line.extend(fields);
                }
                line
            }
            Event::Ended(outcome) => ended(outcome),
            Event::Finished { .. } => finished(&self.summary),
        };
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }
}

/// The counts of trials, by verdict.
pub(super) fn counts(count: &Count) -> Value {
    json!({
        "trials": count.trials, "passed": count.passed, "failed": count.failed, "known": count.known,
        "absent": count.absent, "pending": count.pending, "skipped": count.skipped, "flaky": count.flaky,
    })
}

/// The summary of a run.
fn finished(summary: &Summary) -> Value {
    let total = summary.total();
    let levels: serde_json::Map<String, Value> = summary
        .by_level()
        .into_iter()
        .map(|(level, count)| {
            let mut value = counts(&count);
            value["verdict"] = summary.conformance(level).as_str().into();
            (level.as_str().to_owned(), value)
        })
        .collect();
    let statements: serde_json::Map<String, Value> = summary
        .by_statement()
        .iter()
        .map(|(id, count)| (id.clone(), counts(count)))
        .collect();
    let mut line = json!({
        "event": "finished", "interrupted": summary.interrupted, "took_ms": summary.took.as_secs_f64() * 1000.0,
        "conforms": summary.succeeded(), "verdict": summary.conformance(Level::Must).as_str(),
        "operations": total.operations(), "operations_passed": total.operations_passed(),
        "operations_pending": total.operations_pending(), "levels": levels, "statements": statements,
        "left_behind": summary.left, "stale_expectations": summary.stale,
    });
    if let (Value::Object(line), Value::Object(counts)) = (&mut line, counts(&total)) {
        line.extend(counts);
    }
    line
}

fn ended(outcome: &Outcome) -> Value {
    let mut line = json!({
        "event": "trial", "verdict": outcome.verdict.as_str(), "took_ms": outcome.took.as_secs_f64() * 1000.0,
        "flaky": outcome.flaky,
    });
    let more = [
        outcome.verdict.reason().map(|reason| ("reason", json!(reason))),
        outcome.verdict.failure().map(|failure| {
            let mismatches: Vec<Value> = failure
                .mismatches
                .iter()
                .map(|m| {
                    let level = m.level.max(outcome.trial.case.level());
                    json!({"about": m.about, "expected": m.expected, "actual": m.actual, "level": level.as_str()})
                })
                .collect();
            let failure = json!({
                "level": outcome.level().as_str(), "broken": failure.broken, "steps": failure.steps,
                "curl": failure.curl, "answered": failure.answered, "mismatches": mismatches,
            });
            ("failure", failure)
        }),
    ];
    if let (Value::Object(line), Value::Object(trial)) = (&mut line, listed(&outcome.trial)) {
        line.extend(trial);
        line.extend(more.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)));
    }
    line
}

//! The report for programs: one JSON object a line, as objects happen.

use std::io::Write;

use serde_json::{Value, json};

use super::{Report, Summary};
use crate::trial::{Event, Outcome, Trial};

/// One trial, as `--list` shows it.
pub fn listed(trial: &Trial) -> Value {
    let case = &trial.case;
    json!({
        "id": case.id,
        "operation": case.operation.request(),
        "level": case.level().as_str(),
        "requirement": case.requirement,
        "source": case.source,
    })
}

/// Writes one object for the beginning, one for each trial that ends, and one for the end.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    summary: Summary,
}

impl<W: Write> JsonLines<W> {
    /// A report to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            summary: Summary::default(),
        }
    }
}

impl<W: Write> Report for JsonLines<W> {
    fn receive(&mut self, event: &Event) -> std::io::Result<()> {
        self.summary.receive(event);
        let line = match event {
            Event::Started {
                target,
                profile,
                trials,
            } => {
                json!({"event": "started", "version": 1, "target": target, "profile": profile.as_str(), "trials": trials})
            }
            Event::Ended(outcome) => ended(outcome),
            Event::Finished { took, interrupted } => {
                let total = self.summary.total();
                json!({
                    "event": "finished", "interrupted": interrupted, "took_ms": took.as_secs_f64() * 1000.0, "conforms": self.summary.conforms(),
                    "operations": total.operations(), "operations_passed": total.operations_passed(),
                    "operations_pending": total.operations_pending(),
                    "trials": total.trials, "passed": total.passed, "failed": total.failed, "known": total.known,
                    "pending": total.pending, "skipped": total.skipped,
                })
            }
        };
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }
}

fn ended(outcome: &Outcome) -> Value {
    let mut line =
        json!({"event": "trial", "verdict": outcome.verdict.as_str(), "took_ms": outcome.took.as_secs_f64() * 1000.0});
    let more = [
        outcome.verdict.reason().map(|reason| ("reason", json!(reason))),
        outcome.verdict.failure().map(|failure| {
            let mismatches: Vec<Value> = failure
                .mismatches
                .iter()
                .map(|m| json!({"about": m.about, "expected": m.expected, "actual": m.actual}))
                .collect();
            (
                "failure",
                json!({"curl": failure.curl, "answered": failure.answered, "mismatches": mismatches}),
            )
        }),
    ];
    if let (Value::Object(line), Value::Object(trial)) = (&mut line, listed(&outcome.trial)) {
        line.extend(trial);
        line.extend(more.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)));
    }
    line
}

//! Results of a run: reads, compares and merges the JSON lines of `conformance --json`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Conformance;
use crate::catalog::Level;

/// The error of reading results.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A line is not an event of a run.
    #[error("{}: line {line} is not an event of a run: {reason}", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line, starting at 1.
        line: usize,
        /// Reason.
        reason: String,
    },
}

/// Trials of one or several runs, by id. If a trial occurs twice, the one that was run counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    started: Value,
    trials: BTreeMap<String, Value>,
    /// Whether a part was interrupted or has no last line.
    interrupted: bool,
}

impl Results {
    /// Reads the JSON lines that `conformance --json` writes.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is not an event.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let text = std::fs::read_to_string(path).map_err(|source| ResultsError::File {
            path: path.to_owned(),
            source,
        })?;
        let mut results = Self {
            interrupted: true,
            ..Self::default()
        };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let malformed = |reason: String| ResultsError::Line {
                path: path.to_owned(),
                line: number + 1,
                reason,
            };
            let event: Value = serde_json::from_str(line).map_err(|error| malformed(error.to_string()))?;
            match event.get("event").and_then(Value::as_str) {
                Some("started") => results.started = event,
                Some("finished") => results.interrupted = event.get("interrupted") == Some(&true.into()),
                Some("trial") => results.add(event),
                _ => return Err(malformed("its field `event` is unknown".to_owned())),
            }
        }
        Ok(results)
    }

    fn add(&mut self, trial: Value) {
        let Some(id) = trial.get("id").and_then(Value::as_str).map(str::to_owned) else {
            return;
        };
        let was_run = |trial: &Value| !matches!(verdict(trial), "skipped" | "pending");
        match self.trials.get(&id) {
            Some(known) if was_run(known) => {}
            _ => {
                self.trials.insert(id, trial);
            }
        }
    }

    /// Adds the trials of another part of the same run.
    pub fn merge(&mut self, part: Self) {
        if self.started.is_null() {
            self.started = part.started;
        }
        self.interrupted |= part.interrupted;
        part.trials.into_values().for_each(|trial| self.add(trial));
    }

    /// Returns the ids of the trials that failed.
    pub fn failed(&self) -> Vec<String> {
        let failed = |(_, trial): &(&String, &Value)| verdict(trial) == "failed";
        self.trials.iter().filter(failed).map(|(id, _)| id.clone()).collect()
    }

    /// Formats the results as JSON lines.
    pub fn to_lines(&self) -> String {
        let mut started = self.started.clone();
        if let Some(fields) = started.as_object_mut() {
            fields.insert("trials".to_owned(), self.trials.len().into());
        }
        let levels: serde_json::Map<String, Value> = Level::ALL
            .into_iter()
            .map(|of| {
                let mut value = counts(self.trials.values().filter(|trial| level(trial) == of));
                value["verdict"] = self.conformance(of).as_str().into();
                (of.as_str().to_owned(), value)
            })
            .collect();
        let mut finished = serde_json::json!({
            "event": "finished", "interrupted": self.interrupted,
            "verdict": self.conformance(Level::Must).as_str(), "levels": levels,
        });
        if let (Value::Object(line), Value::Object(all)) = (&mut finished, counts(self.trials.values())) {
            line.extend(all);
        }
        let mut text = format!("{started}\n");
        for trial in self.trials.values() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{trial}");
        }
        let _ = writeln!(text, "{finished}");
        text
    }

    /// Returns whether the target conforms at a level, judged by these trials only.
    fn conformance(&self, at: Level) -> Conformance {
        let of_level = || self.trials.values().filter(|trial| level(trial) <= at).map(verdict);
        if of_level().any(|verdict| ["failed", "absent"].contains(&verdict)) {
            Conformance::DoesNotConform
        } else if self.interrupted || of_level().any(|verdict| ["skipped", "pending"].contains(&verdict)) {
            Conformance::Incomplete
        } else {
            Conformance::Conforms
        }
    }

    /// Returns the trials whose verdict differs from older results, one line each, and whether a trial got worse.
    pub fn diff(&self, older: &Self) -> (String, bool) {
        let mut text = String::new();
        let mut worse = false;
        let ids: std::collections::BTreeSet<&String> = self.trials.keys().chain(older.trials.keys()).collect();
        for id in ids {
            let word = |results: &Self| results.trials.get(id).map_or("missing", verdict).to_owned();
            let (before, after) = (word(older), word(self));
            if before != after {
                worse |= after == "failed" || before == "passed";
                let _ = writeln!(text, "{before:>13} -> {after:13} {id}");
            }
        }
        if text.is_empty() {
            text.push_str("no verdict changed\n");
        }
        (text, worse)
    }
}

/// Counts trials by verdict.
fn counts<'a>(trials: impl Iterator<Item = &'a Value> + Clone) -> Value {
    let count = |word: &str| trials.clone().filter(|trial| verdict(trial) == word).count();
    serde_json::json!({
        "trials": trials.clone().count(), "passed": count("passed"), "failed": count("failed"),
        "known": count("known-failure"), "absent": count("absent"), "pending": count("pending"),
        "skipped": count("skipped"),
    })
}

/// Returns the level of a trial: that of its failure, or its own.
fn level(trial: &Value) -> Level {
    let name = trial.pointer("/failure/level").or_else(|| trial.get("level"));
    let name = name.and_then(Value::as_str).unwrap_or_default();
    let level = Level::ALL.into_iter().find(|level| level.as_str() == name);
    level.unwrap_or(Level::Must)
}

fn verdict(trial: &Value) -> &str {
    trial.get("verdict").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn results(trials: &[(&str, &str)]) -> Results {
        let mut results = Results::default();
        for (id, verdict) in trials {
            results.add(json!({"event": "trial", "id": id, "verdict": verdict}));
        }
        results
    }

    #[test]
    fn a_difference_is_a_trial_with_another_verdict() {
        let older = results(&[("a", "passed"), ("b", "failed"), ("c", "passed")]);
        let newer = results(&[("a", "failed"), ("b", "passed"), ("c", "passed")]);
        let (text, worse) = newer.diff(&older);
        assert!(
            worse && text.contains("passed -> failed        a") && !text.contains(" c\n"),
            "{text}"
        );
        assert!(!older.diff(&older).1);
    }

    #[test]
    fn of_a_trial_in_two_parts_the_one_that_was_run_counts() {
        let mut merged = results(&[("a", "skipped"), ("b", "failed")]);
        merged.merge(results(&[("a", "passed"), ("b", "skipped")]));
        assert_eq!(merged, results(&[("a", "passed"), ("b", "failed")]));
        assert_eq!(merged.failed(), ["b"]);
    }

    #[test]
    fn the_last_line_has_the_verdict_by_level() {
        let mut whole = results(&[("a", "passed"), ("b", "skipped")]);
        whole.add(
            json!({"event": "trial", "id": "c", "verdict": "failed", "level": "must", "failure": {"level": "should"}}),
        );
        let text = whole.to_lines();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!((&last["verdict"], &last["trials"]), (&json!("incomplete"), &json!(3)));
        assert_eq!(last["levels"]["should"]["verdict"], "does not conform");
        assert_eq!(last["levels"]["should"]["failed"], 1);
    }

    #[test]
    fn merged_lines_are_read_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut whole = results(&[("a", "passed")]);
        whole.started = json!({"event": "started", "trials": 1});
        std::fs::write(file.path(), whole.to_lines()).unwrap();
        assert_eq!(Results::read(file.path()).unwrap(), whole);
        std::fs::write(file.path(), "{}\n").unwrap();
        assert!(Results::read(file.path()).is_err());
    }
}

//! The summary of a run as one JSON document, for publishing and comparing.
//!
//! Source: the ConformanceReport of the Gateway API. Field names differ where a run against one server differs from a
//! report on an implementation.

use serde_json::{Map, Value, json};

use super::json::counts;
use super::{Count, Provenance, Summary};
use crate::catalog::Level;
use crate::trial::{Outcome, Verdict};

/// Version of the document's format.
const VERSION: &str = "stuntdouble/v1";

/// Renders the document as indented JSON.
///
/// # Errors
/// The reason why it cannot be written as JSON.
pub fn document(summary: &Summary, provenance: &Provenance) -> Result<String, String> {
    let mut document = json!({"kind": "ConformanceReport", "apiVersion": VERSION});
    let about = json!({
        "run": summary.run,
        "target": {"address": summary.target, "version": provenance.target_version},
        "profile": summary.profile,
        "verdict": summary.conformance(Level::Must).as_str(),
        "succeeded": summary.succeeded(),
        "interrupted": summary.interrupted,
        "took_seconds": (summary.took.as_secs_f64() * 10.0).round() / 10.0,
        "total": counts(&summary.total()),
        "levels": levels(summary),
        "groups": groups(summary),
        "operations": by(summary.by_operation().iter()),
        "statements": by(summary.by_statement().iter()),
        "failed": ids(summary, |outcome| matches!(outcome.verdict, Verdict::Failed(_))),
        "known_failures": known_failures(summary),
        "flaky": ids(summary, |outcome| outcome.flaky),
        "not_played": not_played(summary),
        "stale_expectations": summary.stale,
        "left_behind": summary.left,
    });
    if let (Value::Object(document), Value::Object(mut fields), Value::Object(about)) =
        (&mut document, provenance.fields(), about)
    {
        fields.remove("target_version");
        document.extend(fields);
        document.extend(about);
    }
    serde_json::to_string_pretty(&document)
        .map(|text| text + "\n")
        .map_err(|error| error.to_string())
}

fn levels(summary: &Summary) -> Value {
    let level = |(level, count): (Level, Count)| {
        let mut value = counts(&count);
        value["verdict"] = summary.conformance(level).as_str().into();
        (level.as_str().to_owned(), value)
    };
    summary.by_level().into_iter().map(level).collect::<Map<_, _>>().into()
}

/// Counts by group, and within it by level and by kind.
fn groups(summary: &Summary) -> Value {
    let mut groups = Map::new();
    let scores = summary.scores();
    for (group, kinds) in summary.by_kind() {
        let of_group = |outcome: &Outcome| outcome.trial.case.kind.group == group;
        let mut value = counts(&summary.count(of_group));
        value["levels"] = Level::ALL
            .into_iter()
            .map(|level| {
                let of_level = |outcome: &Outcome| of_group(outcome) && outcome.level() == level;
                (level.as_str().to_owned(), counts(&summary.count(of_level)))
            })
            .collect::<Map<_, _>>()
            .into();
        let of_levels = scores.get(&group).into_iter().flatten();
        value["percent"] = of_levels
            .map(|(level, score)| (level.as_str().to_owned(), json!(score.percent())))
            .collect::<Map<_, _>>()
            .into();
        value["kinds"] = by(kinds.iter());
        groups.insert(group, value);
    }
    groups.into()
}

fn by<'a>(of: impl Iterator<Item = (&'a String, &'a Count)>) -> Value {
    of.map(|(name, count)| (name.clone(), counts(count)))
        .collect::<Map<_, _>>()
        .into()
}

fn ids(summary: &Summary, of: impl Fn(&Outcome) -> bool) -> Vec<&str> {
    let outcomes = summary.outcomes.values().filter(|outcome| of(outcome));
    outcomes.map(|outcome| outcome.trial.case.id.as_str()).collect()
}

fn known_failures(summary: &Summary) -> Vec<Value> {
    let known = summary.outcomes.values().filter_map(|outcome| match &outcome.verdict {
        Verdict::KnownFailure(reason, _) => Some(json!({"id": outcome.trial.case.id, "reason": reason})),
        _ => None,
    });
    known.collect()
}

/// Trials that were not run, by verdict and reason.
fn not_played(summary: &Summary) -> Vec<Value> {
    let aside = summary.set_aside().into_iter();
    aside
        .filter(|((verdict, _), _)| *verdict != "known-failure")
        .map(|((verdict, reason), ids)| json!({"verdict": verdict, "reason": reason, "trials": ids}))
        .collect()
}

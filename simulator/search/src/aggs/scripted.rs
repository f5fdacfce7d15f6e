//! The `scripted_metric` aggregation. Its scripts are programs, but expressions are none: what is left of it are its
//! errors, and the empty state of each shard.
//!
//! Source: Elasticsearch 1.5's `ScriptedMetricParser` and `ScriptedMetricAggregator`.

use serde_json::{Value, json};

use crate::aggs::{Aggregation, Matches, Scope, refuse, unreduced};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::token_of;
use crate::script::Script;

/// Stages with a script of their own.
const STAGES: [&str; 4] = ["init_script", "map_script", "combine_script", "reduce_script"];

/// Returns the stage of a setting, and how the setting ends: empty for the text of a script.
fn stage_of(key: &str) -> Option<(&'static str, &str)> {
    let mut stages = STAGES.iter();
    let (stage, end) = stages.find_map(|stage| Some((*stage, key.strip_prefix(stage)?)))?;
    matches!(end, "" | "_id" | "_file").then_some((stage, end))
}

/// Checks the settings.
///
/// # Errors
/// An unknown setting, and a missing script.
pub(super) fn check(name: &str, settings: &Value) -> Result<()> {
    for (key, value) in settings.as_object().into_iter().flatten() {
        let is_known = match value {
            Value::String(_) => key == "lang" || stage_of(key).is_some(),
            Value::Object(_) => matches!(key.as_str(), "params" | "reduce_params"),
            Value::Array(_) | Value::Null => {
                let reason = format!("Unexpected token {} in [{name}].", token_of(value));
                return Err(refuse(reason));
            }
            _ => false,
        };
        if !is_known {
            let reason = format!("Unknown key for a {} in [{name}]: [{key}].", token_of(value));
            return Err(refuse(reason));
        }
    }
    if script_of(settings, "map_script").is_none() {
        return Err(refuse(format!("map_script field is required in [{name}].")));
    }
    Ok(())
}

/// Returns the settings of the script of a stage.
fn script_of(settings: &Value, stage: &str) -> Option<Value> {
    let own = |(key, value): (&String, &Value)| match stage_of(key) {
        Some((own, end)) if own == stage => Some((format!("script{end}"), value.clone())),
        _ => matches!(key.as_str(), "lang" | "params").then(|| (key.clone(), value.clone())),
    };
    let script: serde_json::Map<String, Value> = settings.as_object()?.iter().filter_map(own).collect();
    let has_script = script.keys().any(|key| key.starts_with("script"));
    has_script.then(|| script.into())
}

/// Computes `scripted_metric`.
///
/// # Errors
/// A script that is invalid, or that is more than the one of each document.
pub(super) fn scripted_metric(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let compiled = |stage: &str| -> Result<Option<Script>> {
        let script = script_of(settings, stage).map(|script| Script::parse(&script));
        Ok(script.transpose()?.flatten())
    };
    let no_program = || {
        let reason = "Cannot use expressions for updates";
        SearchError::new(500, Exception::UnsupportedOperation, reason)
    };
    // Of the errors, only an illegal argument is the client's.
    let status = |error: SearchError| match error.kind {
        Exception::ElasticsearchIllegalArgument => error,
        _ => SearchError { status: 500, ..error },
    };
    for stage in ["init_script", "map_script", "combine_script"] {
        let script = compiled(stage).map_err(status)?;
        match script {
            Some(script) if stage == "map_script" => {
                let shards = scope.searched.iter();
                let mut mapped = shards.map(|searched| script.mapped(&searched.mapping)?.without_score());
                mapped.try_for_each(|script| script.map(drop)).map_err(status)?;
            }
            Some(_) => return Err(no_program()),
            None => {}
        }
    }
    if compiled("reduce_script").map_err(unreduced)?.is_some() {
        return Err(unreduced(no_program()));
    }
    // Each shard has a state, unless the parameters replace it.
    let state = settings.get("params").map_or_else(|| json!({}), |_| Value::Null);
    let shards = (0..scope.searched.len()).filter(|shard| scope.collects(matches, *shard));
    Ok(json!({"value": shards.map(|_| state.clone()).collect::<Vec<_>>()}))
}

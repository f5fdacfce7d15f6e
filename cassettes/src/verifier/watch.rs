//! Watches: recognition, and comparison of frames regardless of their order.

use crate::differ::place;
use crate::interaction::Interaction;
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

static WATCH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(^|&)watch=(true|1|maybe)(&|$)").ok());
static FROM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"resourceVersion=([1-9][0-9]*)").ok());

/// Whether a request is for a watch.
pub(super) fn watching(interaction: &Interaction) -> bool {
    let request = &interaction.request;
    request.method == "GET"
        && !request.path().contains("/proxy")
        && (request.path().contains("/watch/")
            || interaction.frames().is_some()
            || WATCH.as_ref().is_some_and(|watch| watch.is_match(request.query())))
}

/// The version that a watch starts from, if it has one.
pub(super) fn start(query: &str) -> Option<u128> {
    FROM.as_ref()?.captures(query)?.get(1)?.as_str().parse().ok()
}

/// Sorts the initial ADDED frames of a watch without a version, which have no defined order.
pub(super) fn sort_initial_frames(mut frames: Vec<Value>) -> Vec<Value> {
    let added = |frame: &Value| {
        frame.get("type").and_then(Value::as_str) == Some("ADDED") && frame.pointer("/object/metadata").is_some()
    };
    let run = frames.iter().take_while(|frame| added(frame)).count();
    if let Some(present) = frames.get_mut(..run) {
        present.sort_by_key(|frame| frame.get("object").map(place));
    }
    frames
}

/// The objects at the end of a watch.
pub(super) fn outcome(frames: &[Value]) -> Vec<Value> {
    let mut there: Vec<((String, String), Value)> = Vec::new();
    for frame in frames {
        let Some(object) = frame.get("object").filter(|object| object.get("metadata").is_some()) else {
            continue;
        };
        let field = |key: &str| {
            object
                .pointer(&format!("/metadata/{key}"))
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let key = (field("namespace"), field("name"));
        let known = there.iter().position(|(other, _)| *other == key);
        let deleted = frame.get("type").and_then(Value::as_str) == Some("DELETED");
        match (known.and_then(|at| there.get_mut(at)), deleted) {
            (Some(entry), false) => entry.1 = object.clone(),
            (None, false) => there.push((key, object.clone())),
            (_, true) => there.retain(|(other, _)| *other != key),
        }
    }
    let mut objects: Vec<Value> = there.into_iter().map(|(_, object)| object).collect();
    objects.sort_by_key(place);
    objects
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(kind: &str, name: &str) -> Value {
        json!({"type": kind, "object": {"metadata": {"name": name}}})
    }

    #[test]
    fn present_objects_come_in_any_order_and_changes_do_not() {
        let frames = vec![
            event("ADDED", "b"),
            event("ADDED", "a"),
            event("MODIFIED", "b"),
            event("ADDED", "a"),
        ];
        let names: Vec<String> = sort_initial_frames(frames)
            .iter()
            .map(|f| f["object"]["metadata"]["name"].to_string())
            .collect();
        assert_eq!(names, ["\"a\"", "\"b\"", "\"b\"", "\"a\""]);
    }

    #[test]
    fn an_outcome_has_what_was_not_deleted() {
        let frames = [event("ADDED", "b"), event("ADDED", "a"), event("DELETED", "b")];
        assert_eq!(outcome(&frames), [json!({"metadata": {"name": "a"}})]);
    }
}

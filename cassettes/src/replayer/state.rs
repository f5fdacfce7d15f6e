//! State of a server, derived from the responses of a session.

use crate::interaction::{Interaction, Payload};
use serde_json::Value;
use std::collections::BTreeMap;

/// The objects of a server after a series of interactions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The objects, by path.
    pub objects: Vec<Object>,
}

/// An object and its path.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Path, such as `/api/v1/namespaces/default/pods/web`.
    pub path: String,
    /// The last known object, with kind and group.
    pub value: Value,
}

impl State {
    /// The state after these interactions.
    pub fn of<'a>(interactions: impl Iterator<Item = &'a Interaction>) -> Self {
        let mut there: BTreeMap<String, Value> = BTreeMap::new();
        for interaction in interactions {
            let Some(response) = interaction
                .response()
                .filter(|response| (200..300).contains(&response.status))
            else {
                continue;
            };
            let path = interaction.request.path();
            match &response.payload {
                Payload::Stream(frames) => frames.iter().for_each(|frame| event(&mut there, path, &frame.data)),
                Payload::Body(body) => change(&mut there, &interaction.request.method, path, body),
                Payload::Messages(_) => {}
            }
        }
        Self {
            objects: there.into_iter().map(|(path, value)| Object { path, value }).collect(),
        }
    }
}

fn change(there: &mut BTreeMap<String, Value>, method: &str, path: &str, body: &[u8]) {
    if method == "DELETE" {
        let below = format!("{path}/");
        there.retain(|known, _| known != path && !known.starts_with(&below));
        return;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, version) = (text(&value, "kind"), text(&value, "apiVersion"));
    match (
        kind.strip_suffix("List"),
        value.get_mut("items").and_then(Value::as_array_mut),
    ) {
        (Some(kind), Some(items)) => {
            for mut item in std::mem::take(items) {
                if let Some(item) = item.as_object_mut() {
                    item.insert("kind".into(), kind.into());
                    item.insert("apiVersion".into(), version.clone().into());
                }
                put(there, path, item);
            }
        }
        _ => put(there, path, value),
    }
}

fn event(there: &mut BTreeMap<String, Value>, path: &str, frame: &[u8]) {
    let Ok(mut frame) = serde_json::from_slice::<Value>(frame) else {
        return;
    };
    let Some(object) = frame.get_mut("object").map(Value::take) else {
        return;
    };
    let path = path.replacen("/watch/", "/", 1);
    match frame.get("type").and_then(Value::as_str) {
        Some("DELETED") => drop(located(&path, &object).map(|at| there.remove(&at))),
        Some("ADDED" | "MODIFIED") => put(there, &path, object),
        _ => {}
    }
}

fn put(there: &mut BTreeMap<String, Value>, path: &str, object: Value) {
    if let Some(at) = located(path, &object) {
        there.insert(at, object);
    }
}

/// The path of an object: its self link, or its name below the path of its collection.
fn located(path: &str, object: &Value) -> Option<String> {
    let name = object.pointer("/metadata/name")?.as_str()?;
    // Only stored objects have a UID. Others, such as reviews and scales, have none of their own.
    object.pointer("/metadata/uid")?.as_str()?;
    let link = object
        .pointer("/metadata/selfLink")
        .and_then(Value::as_str)
        .filter(|link| !link.is_empty());
    let last = path.rsplit('/').next().unwrap_or_default();
    Some(match link {
        Some(link) if link.ends_with(name) => link.to_owned(),
        _ if last == name => path.to_owned(),
        _ => format!("{path}/{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str) -> String {
        format!(r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}","uid":"u-{name}"}}}}"#)
    }

    #[test]
    fn objects_that_were_created_and_not_deleted_are_in_the_state() {
        let mut there = BTreeMap::new();
        change(&mut there, "POST", "/api/v1/namespaces/a/pods", pod("one").as_bytes());
        change(&mut there, "POST", "/api/v1/namespaces/a/pods", pod("two").as_bytes());
        change(&mut there, "DELETE", "/api/v1/namespaces/a/pods/one", b"{}");
        assert_eq!(there.keys().collect::<Vec<_>>(), ["/api/v1/namespaces/a/pods/two"]);
        change(&mut there, "DELETE", "/api/v1/namespaces/a", b"{}");
        assert!(there.is_empty());
    }

    #[test]
    fn a_list_names_its_items_kind() {
        let mut there = BTreeMap::new();
        let list = br#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"x","uid":"1"}}]}"#;
        change(&mut there, "GET", "/api/v1/namespaces/a/pods", list);
        assert_eq!(
            there
                .get("/api/v1/namespaces/a/pods/x")
                .and_then(|pod| pod["kind"].as_str()),
            Some("Pod")
        );
    }
}

//! Checks the events of a watch against the expected ones.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Mismatch, WRITTEN_BY_OTHERS, contains, equal, is_later, without};
use crate::catalog::Level;

/// Objects returned by the writes of the trial, by name and resource version.
pub type WrittenObjects = BTreeMap<(String, String), Value>;

/// Types of the events of a watch.
const KNOWN: [&str; 3] = ["ADDED", "MODIFIED", "DELETED"];
/// Metadata that a deletion may set.
const SET_BY_REMOVAL: [&str; 3] = ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"];

/// One item of a watch stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// Type, such as `ADDED`.
    pub event: String,
    /// Object.
    pub object: Value,
}

impl Notification {
    /// Parses one item.
    ///
    /// # Errors
    /// If it lacks type or object, or has another field.
    pub fn read(item: &Value) -> Result<Self, Mismatch> {
        let fields = item.as_object().map_or(0, serde_json::Map::len);
        match (item.get("type").and_then(Value::as_str), item.get("object")) {
            (Some(event), Some(object)) if fields == 2 => Ok(Self {
                event: event.to_owned(),
                object: object.clone(),
            }),
            (Some(_), Some(_)) => Err(Mismatch::new(
                "stream item",
                "an object with only type and object",
                format!("{fields} fields"),
            )
            .at(Level::Should)),
            _ => Err(Mismatch::new(
                "stream item",
                "an object with type and object",
                super::confined(item).as_object().map_or_else(
                    || "another value".to_owned(),
                    |fields| format!("fields: {}", fields.keys().cloned().collect::<Vec<_>>().join(", ")),
                ),
            )),
        }
    }

    /// Whether the name of its object has the prefix, or its type is unknown.
    pub fn concerns(&self, prefix: &str) -> bool {
        self.name().starts_with(prefix) || !KNOWN.contains(&self.event.as_str())
    }

    fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    pub(crate) fn version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    fn key(&self) -> (String, String) {
        (self.name().to_owned(), self.version().to_owned())
    }
}

/// The event that a watch must stream next.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedEvent {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub event: &'static str,
    /// Name of the object.
    pub name: String,
    /// Object, if the server returned it to the trial.
    pub object: Option<Value>,
    /// Whether another client may have changed the object since.
    pub perhaps_later: bool,
    /// Whether the object was deleted, so that its version is later than that of the last write.
    pub deleted: bool,
}

/// Permitted deviations of a watch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamRules {
    /// Whether the trial is still writing: an unknown update may be its own.
    pub writing: bool,
    /// Whether the watch may start with older changes that the watch cache had not yet seen.
    pub lags: bool,
    /// Whether the first event of an object may be MODIFIED instead of ADDED.
    pub modified_first: bool,
}

/// Progress of a watch.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// All expected events came.
    Complete,
    /// Some events are missing.
    Unfinished(Mismatch),
    /// A wrong event came.
    Wrong(Vec<Mismatch>),
}

/// Compares the events of objects whose name has the prefix with the expected ones.
///
/// Updates that the trial did not write are those of controllers, and are skipped. `before` has the versions that were
/// written before the watch.
pub fn compare_events(
    prefix: &str,
    expected: &[ExpectedEvent],
    received: &[Notification],
    written: &WrittenObjects,
    before: &WrittenObjects,
    rules: StreamRules,
) -> Progress {
    let mut position = 0;
    let mut seen = Vec::new();
    let unlike = |seen: &[String], more: &str| {
        let wanted: String = expected
            .iter()
            .map(|next| format!("{} {}\n", next.event, next.name))
            .collect();
        let actual: String = seen.iter().map(String::as_str).collect();
        Mismatch::new("events of this trial", wanted, format!("{actual}{more}"))
    };
    let mut late = true;
    for notification in received {
        let (event, name) = (notification.event.as_str(), notification.name());
        if !KNOWN.contains(&event) {
            let more = format!("{event} {}\n", super::confined(&notification.object));
            return Progress::Wrong(vec![unlike(&seen, &more)]);
        }
        if !name.starts_with(prefix) {
            continue;
        }
        let ours = written.contains_key(&notification.key());
        if event == "MODIFIED" && !ours {
            if rules.writing {
                return Progress::Unfinished(unlike(&seen, "(and an update by a write that has not returned yet)\n"));
            }
            if let Some(mismatch) = foreign(notification, written) {
                return Progress::Wrong(vec![mismatch]);
            }
            continue;
        }
        let old = rules.lags && late && before.contains_key(&notification.key());
        match expected.get(position) {
            Some(next) if matches(next, notification, position == 0 && rules.modified_first) => {
                let mismatch = difference(next, notification, written);
                match mismatch {
                    // An older state: the cache had not yet caught up.
                    Some(_) if old && event != "DELETED" => {}
                    // The delete request may not have returned yet.
                    Some(_) if rules.writing && event == "DELETED" => {
                        return Progress::Unfinished(unlike(
                            &seen,
                            "(and a deletion by a request that has not returned yet)\n",
                        ));
                    }
                    Some(mismatch) => return Progress::Wrong(vec![mismatch]),
                    None => {
                        late = late && old;
                        seen.push(format!("{event} {name}\n"));
                        position += 1;
                    }
                }
            }
            _ if old => {
                // The cache caught up with the expected state by a later update of the object.
                if let Some(next) = expected.get(position)
                    && next.name == name
                    && next.event == "ADDED"
                    && difference(next, notification, written).is_none()
                {
                    seen.push(format!("{event} {name}\n"));
                    position += 1;
                }
            }
            _ => {
                seen.push(format!("{event} {name}\n"));
                return Progress::Wrong(vec![unlike(&seen, "")]);
            }
        }
    }
    if position == expected.len() {
        Progress::Complete
    } else {
        Progress::Unfinished(unlike(&seen, ""))
    }
}

fn matches(next: &ExpectedEvent, notification: &Notification, modified_first: bool) -> bool {
    let same = next.event == notification.event
        || (modified_first && next.event == "ADDED" && notification.event == "MODIFIED");
    same && next.name == notification.name()
}

/// Checks an update by another client: it must be later than the first version that the trial wrote.
fn foreign(notification: &Notification, written: &WrittenObjects) -> Option<Mismatch> {
    let versions: Vec<&str> = written
        .keys()
        .filter(|(name, _)| name == notification.name())
        .map(|(_, version)| version.as_str())
        .collect();
    let first = versions
        .iter()
        .copied()
        .reduce(|a, b| if is_later(a, b) { b } else { a })?;
    (!is_later(notification.version(), first)).then(|| {
        let expected = format!("a version later than {first}");
        Mismatch::new(
            format!("version of MODIFIED {}", notification.name()),
            expected,
            notification.version(),
        )
        .at(Level::Should)
    })
}

/// Compares the object of a notification with the expected one.
fn difference(next: &ExpectedEvent, notification: &Notification, written: &WrittenObjects) -> Option<Mismatch> {
    let about = format!("object of {} {}", next.event, next.name);
    let object = next.object.as_ref()?;
    if next.event == "DELETED" {
        let identity = serde_json::json!({
            "kind": object.get("kind"), "apiVersion": object.get("apiVersion"),
            "metadata": {"name": next.name, "uid": object.pointer("/metadata/uid")},
        });
        return contains(&about, &identity, &notification.object)
            .or_else(|| last_state(&about, object, &notification.object, next.deleted));
    }
    if next.perhaps_later && !written.contains_key(&notification.key()) {
        let ours = |object: &Value| without(object, &WRITTEN_BY_OTHERS);
        return equal(&about, &ours(object), &ours(&notification.object));
    }
    equal(&about, object, &notification.object)
}

/// Compares a deleted object with its last state, except for fields that deletions or controllers may set.
fn last_state(about: &str, object: &Value, removed: &Value, deleted: bool) -> Option<Mismatch> {
    let plain = |value: &Value| {
        let mut value = without(value, &["status"]);
        let metadata = without(value.get("metadata").unwrap_or(&Value::Null), &SET_BY_REMOVAL);
        if let Some(slot) = value.get_mut("metadata") {
            *slot = without(&metadata, &["annotations", "generation"]);
        }
        value
    };
    let mut expected = plain(object);
    let mut actual = plain(removed);
    // The namespace controller removes the finalizers of a namespace.
    for value in [&mut expected, &mut actual] {
        if value.get("kind").and_then(Value::as_str) == Some("Namespace") {
            *value = without(value, &["spec"]);
        }
    }
    let text = |value: &Value| {
        value
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (last, version) = (text(object), text(removed));
    if (deleted || version != last) && !is_later(&version, &last) {
        let expected = if deleted {
            "a version later than"
        } else {
            "not earlier than"
        };
        let mismatch = Mismatch::new(format!("version of the {about}"), format!("{expected} {last}"), version);
        return Some(mismatch.at(Level::Should));
    }
    let statusless = object.get("status").is_some() && removed.get("status").is_none();
    let lost = statusless.then(|| Mismatch::new(format!("status of the {about}"), "its last status", "none"));
    let different = lost.or_else(|| equal(about, &expected, &actual));
    different.map(|mismatch| mismatch.at(Level::Should))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: &str) -> Value {
        json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "uid": "u", "resourceVersion": version}})
    }

    fn event(event: &'static str, name: &str, version: &str) -> ExpectedEvent {
        ExpectedEvent {
            event,
            name: name.into(),
            object: Some(object(name, version)),
            perhaps_later: false,
            deleted: false,
        }
    }

    fn received(event: &str, name: &str, version: &str) -> Notification {
        Notification {
            event: event.into(),
            object: object(name, version),
        }
    }

    fn written(versions: &[(&str, &str)]) -> WrittenObjects {
        versions
            .iter()
            .map(|(n, v)| (((*n).to_owned(), (*v).to_owned()), object(n, v)))
            .collect()
    }

    fn run(expected: &[ExpectedEvent], received: &[Notification], written: &WrittenObjects, writing: bool) -> Progress {
        let rules = StreamRules {
            writing,
            ..StreamRules::default()
        };
        compare_events("t-", expected, received, written, &WrittenObjects::new(), rules)
    }

    #[test]
    fn a_lagging_cache_may_start_with_older_states() {
        let before = written(&[("t-a", "1"), ("t-a", "2"), ("t-b", "3")]);
        let expected = [event("ADDED", "t-b", "3"), event("DELETED", "t-a", "2")];
        let received = [
            received("ADDED", "t-a", "1"),
            received("MODIFIED", "t-a", "2"),
            received("ADDED", "t-b", "3"),
            received("DELETED", "t-a", "4"),
        ];
        let lags = StreamRules {
            lags: true,
            ..StreamRules::default()
        };
        assert_eq!(
            compare_events("t-", &expected, &received, &before, &before, lags),
            Progress::Complete
        );
        assert!(matches!(run(&expected, &received, &before, false), Progress::Wrong(_)));
    }

    #[test]
    fn a_deleted_object_has_its_last_state() {
        let known = written(&[("t-a", "1")]);
        let expected = [event("DELETED", "t-a", "1")];
        let mut removed = received("DELETED", "t-a", "2");
        assert_eq!(
            run(&expected, std::slice::from_ref(&removed), &known, false),
            Progress::Complete
        );
        let mut with_status = known.clone();
        with_status
            .values_mut()
            .for_each(|object| object["status"] = json!({"phase": "Pending"}));
        let had_status = [ExpectedEvent {
            object: with_status.values().next().cloned(),
            ..expected[0].clone()
        }];
        assert!(matches!(
            run(&had_status, std::slice::from_ref(&removed), &with_status, false),
            Progress::Wrong(_)
        ));
        removed.object["data"] = json!({"other": "1"});
        assert!(matches!(run(&expected, &[removed], &known, false), Progress::Wrong(_)));
    }

    #[test]
    fn a_deletion_has_a_version_of_its_own() {
        let known = written(&[("t-a", "5")]);
        let expected = [ExpectedEvent {
            deleted: true,
            ..event("DELETED", "t-a", "5")
        }];
        let of = |version| run(&expected, &[received("DELETED", "t-a", version)], &known, false);
        assert_eq!(of("6"), Progress::Complete);
        assert!(matches!(of("5"), Progress::Wrong(_)));
    }

    #[test]
    fn expected_events_are_complete_and_other_objects_are_skipped() {
        let written = written(&[("t-a", "1"), ("t-a", "2")]);
        let transcript = [
            event("ADDED", "t-a", "1"),
            event("MODIFIED", "t-a", "2"),
            event("DELETED", "t-a", "2"),
        ];
        let received = [
            received("ADDED", "t-a", "1"),
            received("ADDED", "x", "5"),
            received("MODIFIED", "t-a", "2"),
            received("DELETED", "t-a", "9"),
        ];
        assert_eq!(run(&transcript, &received, &written, false), Progress::Complete);
    }

    #[test]
    fn an_update_by_another_client_is_skipped_once_all_writes_are_known() {
        let written = written(&[("t-a", "1"), ("t-a", "3")]);
        let transcript = [event("ADDED", "t-a", "1"), event("MODIFIED", "t-a", "3")];
        let received = [
            received("ADDED", "t-a", "1"),
            received("MODIFIED", "t-a", "2"),
            received("MODIFIED", "t-a", "3"),
        ];
        assert!(matches!(
            run(&transcript, &received, &written, true),
            Progress::Unfinished(_)
        ));
        assert_eq!(run(&transcript, &received, &written, false), Progress::Complete);
    }

    #[rstest]
    #[case::left_out(vec![received("MODIFIED", "t-a", "2")])]
    #[case::twice(vec![received("ADDED", "t-a", "1"), received("ADDED", "t-a", "1")])]
    #[case::another_object(vec![received("ADDED", "t-b", "1")])]
    #[case::another_type(vec![received("DELETED", "t-a", "1")])]
    #[case::an_altered_object(vec![received("ADDED", "t-a", "7")])]
    #[case::an_error(vec![Notification { event: "ERROR".into(), object: json!({"kind": "Status"}) }])]
    fn another_event_is_wrong(#[case] received: Vec<Notification>) {
        let written = written(&[("t-a", "1"), ("t-a", "2")]);
        let transcript = [event("ADDED", "t-a", "1"), event("MODIFIED", "t-a", "2")];
        assert!(matches!(
            run(&transcript, &received, &written, false),
            Progress::Wrong(_)
        ));
    }

    #[test]
    fn an_incomplete_stream_is_unfinished() {
        let transcript = [event("ADDED", "t-a", "1")];
        let Progress::Unfinished(mismatch) = run(&transcript, &[], &WrittenObjects::new(), false) else {
            panic!("expected an unfinished stream")
        };
        assert_eq!(mismatch.expected, "ADDED t-a\n");
        assert_eq!(mismatch.actual, "");
    }

    #[test]
    fn an_item_without_type_or_object_is_an_error() {
        assert!(Notification::read(&json!({"type": "ADDED"})).is_err());
        assert!(Notification::read(&json!({"kind": "Pod"})).is_err());
        assert!(Notification::read(&json!({"type": "ADDED", "object": {}})).is_ok());
        assert!(Notification::read(&json!({"type": "ADDED", "object": {}, "metadata": {}})).is_err());
    }
}

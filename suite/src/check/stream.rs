//! What a watch tells, against what it was to tell.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Mismatch, contains, equal, without};

/// What was answered to the trial's writes, by name and resource version.
pub type WrittenObjects = BTreeMap<(String, String), Value>;

/// The types of what a watch tells.
const KNOWN: [&str; 3] = ["ADDED", "MODIFIED", "DELETED"];

/// One item of a watch stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// Its type, such as `ADDED`.
    pub event: String,
    /// Its object.
    pub object: Value,
}

impl Notification {
    /// Reads one item.
    ///
    /// # Errors
    /// If it is none, with what was expected and what came.
    pub fn read(item: &Value) -> Result<Self, Mismatch> {
        match (item.get("type").and_then(Value::as_str), item.get("object")) {
            (Some(event), Some(object)) => Ok(Self {
                event: event.to_owned(),
                object: object.clone(),
            }),
            _ => Err(Mismatch::new(
                "stream item",
                "an object with type and object",
                item.to_string(),
            )),
        }
    }

    /// Whether it tells of an object whose name begins with the prefix, or is no add, update or removal at all.
    pub fn concerns(&self, prefix: &str) -> bool {
        self.name().starts_with(prefix) || !KNOWN.contains(&self.event.as_str())
    }

    fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    fn version(&self) -> (String, String) {
        (
            self.name().to_owned(),
            self.text("/metadata/resourceVersion").to_owned(),
        )
    }
}

/// What a watch is to tell next.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedEvent {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub event: &'static str,
    /// Of which object.
    pub name: String,
    /// The object, if it is to be one that was answered to the trial.
    pub object: Option<Value>,
    /// Whether the object may have been changed by somebody else since.
    pub perhaps_later: bool,
}

/// How far a watch has come.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// Everything was told.
    Complete,
    /// More is to come: this is about what was told so far.
    Unfinished(Mismatch),
    /// Something else was told.
    Wrong(Vec<Mismatch>),
}

/// Judges what was received of the objects whose name begins with the prefix.
///
/// Updates of the trial's objects that the trial did not make (a controller's) are passed over; while `writing`, an
/// update that nobody answered for yet may still turn out to be the trial's.
pub fn judge(prefix: &str, expected: &[ExpectedEvent], received: &[Notification], written: &WrittenObjects, writing: bool) -> Progress {
    let mut rest = expected.iter();
    let mut next = rest.next();
    let mut said = Vec::new();
    let unlike = |said: &[String], more: &str| {
        let wanted: String = expected
            .iter()
            .map(|told| format!("{} {}\n", told.event, told.name))
            .collect();
        let told: String = said.iter().map(String::as_str).collect();
        Mismatch::new("events of this trial", wanted, format!("{told}{more}"))
    };
    for notification in received {
        if !KNOWN.contains(&notification.event.as_str()) {
            return Progress::Wrong(vec![unlike(
                &said,
                &format!("{} {}\n", notification.event, notification.object),
            )]);
        }
        if !notification.name().starts_with(prefix) {
            continue;
        }
        let update_by_nobody = notification.event == "MODIFIED" && !written.contains_key(&notification.version());
        if update_by_nobody && writing {
            return Progress::Unfinished(unlike(&said, "(and an update that is being waited for)\n"));
        }
        if update_by_nobody {
            continue;
        }
        said.push(format!("{} {}\n", notification.event, notification.name()));
        match next {
            Some(told) if told.event == notification.event && told.name == notification.name() => {
                if let Some(altered) = altered(told, notification, written) {
                    return Progress::Wrong(vec![altered]);
                }
                next = rest.next();
            }
            _ => return Progress::Wrong(vec![unlike(&said, "")]),
        }
    }
    match next {
        None => Progress::Complete,
        Some(_) => Progress::Unfinished(unlike(&said, "")),
    }
}

/// How the object of a notification differs from the one that was to be told of.
fn altered(told: &ExpectedEvent, notification: &Notification, written: &WrittenObjects) -> Option<Mismatch> {
    let about = format!("object of {} {}", told.event, told.name);
    let object = told.object.as_ref()?;
    if told.event == "DELETED" {
        // The last state of what is gone may bear the version of its removal.
        let type_and_name = serde_json::json!({
            "kind": object.get("kind"), "apiVersion": object.get("apiVersion"),
            "metadata": {"name": told.name, "uid": object.pointer("/metadata/uid")},
        });
        return contains(&about, &type_and_name, &notification.object);
    }
    if told.perhaps_later && !written.contains_key(&notification.version()) {
        let mutable = ["metadata", "status"];
        return equal(
            &about,
            &without(object, &mutable),
            &without(&notification.object, &mutable),
        );
    }
    equal(&about, object, &notification.object)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: &str) -> Value {
        json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "uid": "u", "resourceVersion": version}})
    }

    fn told(event: &'static str, name: &str, version: &str) -> ExpectedEvent {
        ExpectedEvent {
            event,
            name: name.into(),
            object: Some(object(name, version)),
            perhaps_later: false,
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

    #[test]
    fn what_was_to_be_told_is_complete_and_strangers_are_passed_over() {
        let written = written(&[("t-a", "1"), ("t-a", "2")]);
        let transcript = [
            told("ADDED", "t-a", "1"),
            told("MODIFIED", "t-a", "2"),
            told("DELETED", "t-a", "2"),
        ];
        let received = [
            received("ADDED", "t-a", "1"),
            received("ADDED", "x", "5"),
            received("MODIFIED", "t-a", "2"),
            received("DELETED", "t-a", "9"),
        ];
        assert_eq!(judge("t-", &transcript, &received, &written, false), Progress::Complete);
    }

    #[test]
    fn an_update_that_the_trial_did_not_make_is_passed_over_once_its_writes_are_known() {
        let written = written(&[("t-a", "1"), ("t-a", "3")]);
        let transcript = [told("ADDED", "t-a", "1"), told("MODIFIED", "t-a", "3")];
        let received = [
            received("ADDED", "t-a", "1"),
            received("MODIFIED", "t-a", "2"),
            received("MODIFIED", "t-a", "3"),
        ];
        assert!(matches!(
            judge("t-", &transcript, &received, &written, true),
            Progress::Unfinished(_)
        ));
        assert_eq!(judge("t-", &transcript, &received, &written, false), Progress::Complete);
    }

    #[rstest]
    #[case::left_out(vec![received("MODIFIED", "t-a", "2")])]
    #[case::twice(vec![received("ADDED", "t-a", "1"), received("ADDED", "t-a", "1")])]
    #[case::another_object(vec![received("ADDED", "t-b", "1")])]
    #[case::another_type(vec![received("DELETED", "t-a", "1")])]
    #[case::a_bent_object(vec![received("ADDED", "t-a", "7")])]
    #[case::an_error(vec![Notification { event: "ERROR".into(), object: json!({"kind": "Status"}) }])]
    fn what_was_not_to_be_told_is_wrong(#[case] received: Vec<Notification>) {
        let written = written(&[("t-a", "1"), ("t-a", "2")]);
        let transcript = [told("ADDED", "t-a", "1"), told("MODIFIED", "t-a", "2")];
        assert!(matches!(judge("t-", &transcript, &received, &written, false), Progress::Wrong(_)));
    }

    #[test]
    fn a_tale_that_stops_is_unfinished_and_says_so() {
        let transcript = [told("ADDED", "t-a", "1")];
        let Progress::Unfinished(mismatch) = judge("t-", &transcript, &[], &WrittenObjects::new(), false) else {
            panic!("it is unfinished")
        };
        assert_eq!(mismatch.expected, "ADDED t-a\n");
        assert_eq!(mismatch.actual, "");
    }

    #[test]
    fn an_item_without_type_or_object_is_none() {
        assert!(Notification::read(&json!({"type": "ADDED"})).is_err());
        assert!(Notification::read(&json!({"kind": "Pod"})).is_err());
    }
}

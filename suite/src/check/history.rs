//! Checks the events of a watch against a history of concurrent writes: no event is lost or repeated, in order, and as
//! a selector filters them.
//!
//! Limits: the version of a deletion is unknown, since its response need not have one.

use serde_json::Value;

use super::{Mismatch, Notification, equal, number};

/// An object as a write returned it.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Resource version.
    pub version: u64,
    /// Whether the selector matches it.
    pub selected: bool,
    /// The object.
    pub object: Value,
}

/// All states of an object, in the order of their writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObjectHistory {
    /// Name.
    pub name: String,
    /// States.
    pub states: Vec<State>,
    /// Whether the object was deleted at the end.
    pub deleted: bool,
}

/// How a watch was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchStart {
    /// Version after which it starts.
    pub from: u64,
    /// Whether it has the selector.
    pub selects: bool,
    /// Whether it may start with older events: those of its own version, and those that the watch cache had not yet
    /// seen.
    pub lags: bool,
}

/// Checks the events of a watch that has streamed every write.
pub fn streamed(history: &[ObjectHistory], start: WatchStart, events: &[Notification]) -> Option<Mismatch> {
    let per_object = history.iter().find_map(|object| of_object(object, start, events));
    per_object.or_else(|| in_order(history, start, events))
}

/// Checks the events of one object.
fn of_object(object: &ObjectHistory, start: WatchStart, events: &[Notification]) -> Option<Mismatch> {
    let expected = expected(object, start);
    let own = events.iter().filter(|event| event.name() == object.name);
    let received: Vec<&Notification> = own.filter(|event| counts(object, start, event)).collect();
    let lines =
        |received: &[&Notification]| -> Vec<String> { received.iter().map(|event| line(object, event)).collect() };
    let actual = lines(&received);
    let without_removals: Vec<&Notification> = received.iter().copied().skip_while(|e| e.event == "DELETED").collect();
    // If the start is later than the last version, it is unknown whether the deletion came before it.
    let perhaps_removed = |lines: &[String]| object.deleted && expected.is_empty() && lines.len() == 1;
    let fine = actual == expected
        || (start.lags && lines(&without_removals) == expected)
        || (perhaps_removed(&actual) && actual[0].starts_with("DELETED"));
    if !fine {
        let text = |lines: &[String]| -> String { lines.iter().map(|line| format!("{line}\n")).collect() };
        let about = format!("events of {}", object.name);
        return Some(Mismatch::new(about, text(&expected), text(&actual)));
    }
    received
        .iter()
        .filter(|event| event.event != "DELETED")
        .find_map(|event| {
            let state = object
                .states
                .iter()
                .find(|state| Some(state.version) == number(event.version()))?;
            equal(
                &format!("object of {} {}", event.event, object.name),
                &state.object,
                &event.object,
            )
        })
}

/// Returns the expected events of one object, as lines.
fn expected(object: &ObjectHistory, start: WatchStart) -> Vec<String> {
    let sees = |state: &State| state.selected || !start.selects;
    let (before, after): (Vec<&State>, Vec<&State>) =
        object.states.iter().partition(|state| state.version <= start.from);
    let mut seen = before.last().is_some_and(|state| sees(state));
    let known_to_be_there = !after.is_empty();
    let mut lines = Vec::new();
    for state in after {
        let now = sees(state);
        match (seen, now) {
            (false, true) => lines.push(format!("ADDED {}", state.version)),
            (true, true) => lines.push(format!("MODIFIED {}", state.version)),
            (true, false) => lines.push("DELETED".to_owned()),
            (false, false) => {}
        }
        seen = now;
    }
    if object.deleted && seen && known_to_be_there {
        lines.push("DELETED".to_owned());
    }
    lines
}

/// Whether an event counts: updates by other clients do not, nor older events at the start of a lagging watch.
fn counts(object: &ObjectHistory, start: WatchStart, event: &Notification) -> bool {
    if event.event == "DELETED" {
        return true;
    }
    let version = number(event.version());
    let old = version.is_some_and(|version| version <= start.from);
    let own = object.states.iter().any(|state| Some(state.version) == version);
    !(start.lags && old) && (own || event.event != "MODIFIED")
}

fn line(object: &ObjectHistory, event: &Notification) -> String {
    let known = event.event != "DELETED" || object.states.is_empty();
    if known {
        format!("{} {}", event.event, event.version())
    } else {
        event.event.clone()
    }
}

/// Checks that the versions of adds and updates increase over all objects.
fn in_order(history: &[ObjectHistory], start: WatchStart, events: &[Notification]) -> Option<Mismatch> {
    let mut last = 0;
    for event in events.iter().filter(|event| event.event != "DELETED") {
        let Some(object) = history.iter().find(|object| object.name == event.name()) else {
            continue;
        };
        let version = number(event.version()).unwrap_or_default();
        if !counts(object, start, event) {
            continue;
        }
        if version <= last {
            let about = format!("order of {} {}", event.event, object.name);
            return Some(Mismatch::new(
                about,
                format!("a version later than {last}"),
                version.to_string(),
            ));
        }
        last = version;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: u64) -> Value {
        json!({"metadata": {"name": name, "resourceVersion": version.to_string()}})
    }

    fn history(name: &str, states: &[(u64, bool)], deleted: bool) -> ObjectHistory {
        let state = |&(version, selected): &(u64, bool)| State {
            version,
            selected,
            object: object(name, version),
        };
        ObjectHistory {
            name: name.to_owned(),
            states: states.iter().map(state).collect(),
            deleted,
        }
    }

    fn event(event: &str, name: &str, version: u64) -> Notification {
        Notification {
            event: event.to_owned(),
            object: object(name, version),
        }
    }

    /// Returns the history of two objects, and all events of a watch of them.
    fn session() -> (Vec<ObjectHistory>, Vec<Notification>) {
        let history = vec![
            history("a", &[(1, true), (3, false), (5, true)], true),
            history("b", &[(2, false), (4, true)], false),
        ];
        let events = vec![
            event("ADDED", "a", 1),
            event("ADDED", "b", 2),
            event("MODIFIED", "a", 3),
            event("MODIFIED", "b", 4),
            event("MODIFIED", "a", 5),
            event("DELETED", "a", 6),
        ];
        (history, events)
    }

    #[test]
    fn events_in_order_pass_from_every_version() {
        let (history, events) = session();
        for from in 0..6 {
            let start = WatchStart {
                from,
                ..WatchStart::default()
            };
            let later: Vec<Notification> = events
                .iter()
                .filter(|e| number(e.version()).unwrap() > from)
                .cloned()
                .collect();
            assert_eq!(streamed(&history, start, &later), None, "from {from}");
        }
    }

    #[test]
    fn a_selector_adds_and_removes() {
        let (history, _) = session();
        let start = WatchStart {
            selects: true,
            ..WatchStart::default()
        };
        let events = [
            event("ADDED", "a", 1),
            event("DELETED", "a", 3),
            event("ADDED", "b", 4),
            event("ADDED", "a", 5),
            event("DELETED", "a", 6),
        ];
        assert_eq!(streamed(&history, start, &events), None);
        assert!(streamed(&history, start, &events[1..]).is_some());
    }

    #[test]
    fn only_a_lagging_watch_may_start_with_older_events() {
        let (history, events) = session();
        let lags = WatchStart {
            from: 3,
            lags: true,
            ..WatchStart::default()
        };
        assert_eq!(streamed(&history, lags, &events), None);
        assert!(streamed(&history, WatchStart { lags: false, ..lags }, &events).is_some());
    }

    proptest! {
        #[test]
        fn lost_repeated_and_swapped_events_are_found(at in 0usize..6, fault in 0u8..3) {
            let (history, mut events) = session();
            match fault {
                0 => drop(events.remove(at)),
                1 => events.insert(at, events[at].clone()),
                _ => events.swap(at.min(4), at.min(4) + 1),
            }
            // The position of a deletion among the events of other objects is unknown.
            prop_assert!(streamed(&history, WatchStart::default(), &events).is_some());
        }
    }
}

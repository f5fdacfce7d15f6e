//! The events that a watch must stream, derived from the writes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::environment::Environment;
use super::environment_error::EnvironmentError;
use crate::catalog::{Event, Profile};
use crate::check::ExpectedEvent;

/// Number of versions of each object when the watch began, by letter.
pub(super) type Before = BTreeMap<String, usize>;

/// Expected events of a watch.
pub(super) struct Transcript<'a> {
    pub(super) environment: &'a Environment<'a>,
    pub(super) before: &'a Before,
    pub(super) profile: Profile,
}

impl Transcript<'_> {
    /// Returns the events for the words of a case, with the objects as far as they are written.
    pub(super) fn events(&self, descriptions: &[Event]) -> Result<Vec<ExpectedEvent>, EnvironmentError> {
        let mut next = self.before.clone();
        let mut events = Vec::new();
        for (number, description) in descriptions.iter().enumerate() {
            match description {
                Event::History(letter) => events.extend(self.history(letter)?),
                Event::Since(letter) => events.extend(self.since(letter)?),
                Event::Own(letter) => events.extend(self.own(letter)?),
                Event::Added(letter) => events.push(self.written("ADDED", letter, &mut next)?),
                Event::Modified(letter) => events.push(self.written("MODIFIED", letter, &mut next)?),
                Event::Deleted(letter) => {
                    let versions = self.environment.versions(letter);
                    // An object that is created again had an earlier state when it was removed.
                    let again = descriptions[number..].contains(&Event::Added(letter.clone()));
                    let last = match next.get(letter).and_then(|next| next.checked_sub(1)) {
                        Some(last) if again => versions.get(last).cloned(),
                        _ => versions.last().cloned(),
                    };
                    events.push(ExpectedEvent {
                        deleted: self.deletes(letter),
                        ..self.event("DELETED", letter, last, false)?
                    });
                }
            }
        }
        Ok(events)
    }

    fn event(
        &self,
        event: &'static str,
        letter: &str,
        object: Option<Value>,
        perhaps_later: bool,
    ) -> Result<ExpectedEvent, EnvironmentError> {
        Ok(ExpectedEvent {
            event,
            name: self.environment.name_of(letter)?,
            object,
            perhaps_later,
            deleted: false,
        })
    }

    /// Returns whether the case deletes an object while the watch runs.
    fn deletes(&self, letter: &str) -> bool {
        let mut actions = self.environment.case().data.during.iter();
        actions.any(|action| action.deletes(letter))
    }

    /// Returns the versions of an object from before the watch.
    fn earlier(&self, letter: &str) -> Vec<Value> {
        let count = self.before.get(letter).copied().unwrap_or_default();
        self.environment.versions(letter).into_iter().take(count).collect()
    }

    /// Returns the event of the next version of an object that was written since the watch began.
    fn written(&self, event: &'static str, letter: &str, next: &mut Before) -> Result<ExpectedEvent, EnvironmentError> {
        let number = next.entry(letter.to_owned()).or_default();
        let object = self.environment.versions(letter).get(*number).cloned();
        *number += 1;
        self.event(event, letter, object, false)
    }

    /// Returns the events of every change of an object after its creation.
    fn since(&self, letter: &str) -> Result<Vec<ExpectedEvent>, EnvironmentError> {
        let changes = self.earlier(letter).into_iter().skip(1);
        changes
            .map(|object| self.event("MODIFIED", letter, Some(object), false))
            .collect()
    }

    /// Returns the events of an object in a watch from the beginning: its changes, or its present state as ADDED.
    fn history(&self, letter: &str) -> Result<Vec<ExpectedEvent>, EnvironmentError> {
        let versions = self.earlier(letter);
        if !self.profile.watch_replays_history() {
            let present = versions.into_iter().next_back();
            return present
                .map(|object| self.event("ADDED", letter, Some(object), true))
                .into_iter()
                .collect();
        }
        let event = |(number, object)| {
            let event = if number == 0 { "ADDED" } else { "MODIFIED" };
            self.event(event, letter, Some(object), false)
        };
        versions.into_iter().enumerate().map(event).collect()
    }

    /// Returns the event of the start version itself in a watch from an object's version, if the profile includes it.
    fn own(&self, letter: &str) -> Result<Option<ExpectedEvent>, EnvironmentError> {
        let mut versions = self.earlier(letter);
        if !self.profile.watch_includes_start_version(self.environment.kind()) || versions.is_empty() {
            return Ok(None);
        }
        let event = if versions.len() == 1 { "ADDED" } else { "MODIFIED" };
        self.event(event, letter, versions.pop(), false).map(Some)
    }
}

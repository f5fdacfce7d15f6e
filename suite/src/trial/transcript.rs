//! What a watch is to tell, in terms of what was written.

use std::collections::BTreeMap;

use serde_json::Value;

use super::environment::{Environment, EnvironmentError};
use crate::catalog::{Event, Profile};
use crate::check::ExpectedEvent;

/// How many versions of each object there were when the watch began, by letter.
pub(super) type Before = BTreeMap<String, usize>;

/// The notifications that the words stand for, with the objects as far as they are written by now.
pub(super) fn transcript(
    environment: &Environment<'_>,
    events: &[Event],
    before: &Before,
    profile: Profile,
) -> Result<Vec<ExpectedEvent>, EnvironmentError> {
    let mut next = before.clone();
    let mut told = Vec::new();
    for event in events {
        match event {
            Event::History(letter) => told.extend(history(environment, letter, before, profile)?),
            Event::Since(letter) => {
                let versions = environment
                    .versions(letter)
                    .into_iter()
                    .take(before.get(letter).copied().unwrap_or_default());
                let name = environment.name_of(letter)?;
                told.extend(versions.skip(1).map(|object| ExpectedEvent {
                    event: "MODIFIED",
                    name: name.clone(),
                    object: Some(object),
                    perhaps_later: false,
                }));
            }
            Event::Own(letter) => told.extend(own(environment, letter, before, profile)?),
            Event::Added(letter) => told.push(written(environment, "ADDED", letter, &mut next)?),
            Event::Modified(letter) => told.push(written(environment, "MODIFIED", letter, &mut next)?),
            Event::Deleted(letter) => {
                let object = environment.versions(letter).last().cloned();
                told.push(ExpectedEvent {
                    event: "DELETED",
                    name: environment.name_of(letter)?,
                    object,
                    perhaps_later: false,
                });
            }
        }
    }
    Ok(told)
}

/// The next version of an object that was written since.
fn written(environment: &Environment<'_>, event: &'static str, letter: &str, next: &mut Before) -> Result<ExpectedEvent, EnvironmentError> {
    let number = next.entry(letter.to_owned()).or_default();
    let object = environment.versions(letter).get(*number).cloned();
    *number += 1;
    Ok(ExpectedEvent {
        event,
        name: environment.name_of(letter)?,
        object,
        perhaps_later: false,
    })
}

/// What a watch from the beginning tells of an object: its changes, or its present state as an add.
fn history(environment: &Environment<'_>, letter: &str, before: &Before, profile: Profile) -> Result<Vec<ExpectedEvent>, EnvironmentError> {
    let name = environment.name_of(letter)?;
    let versions: Vec<Value> = environment
        .versions(letter)
        .into_iter()
        .take(before.get(letter).copied().unwrap_or_default())
        .collect();
    let tell = |number: usize, object: Value, perhaps_later| ExpectedEvent {
        event: if number == 0 { "ADDED" } else { "MODIFIED" },
        name: name.clone(),
        object: Some(object),
        perhaps_later,
    };
    Ok(if profile.watch_replays_history() {
        versions
            .into_iter()
            .enumerate()
            .map(|(number, object)| tell(number, object, false))
            .collect()
    } else {
        versions
            .into_iter()
            .next_back()
            .map(|object| tell(0, object, true))
            .into_iter()
            .collect()
    })
}

/// What a watch from an object's version tells of that version.
fn own(environment: &Environment<'_>, letter: &str, before: &Before, profile: Profile) -> Result<Option<ExpectedEvent>, EnvironmentError> {
    let versions = before.get(letter).copied().unwrap_or_default();
    if !profile.watch_includes_start_version(environment.kind()) || versions == 0 {
        return Ok(None);
    }
    let event = if versions == 1 { "ADDED" } else { "MODIFIED" };
    let object = environment.versions(letter).get(versions - 1).cloned();
    Ok(Some(ExpectedEvent {
        event,
        name: environment.name_of(letter)?,
        object,
        perhaps_later: false,
    }))
}

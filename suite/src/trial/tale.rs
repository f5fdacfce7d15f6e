//! What a watch is to tell, in terms of what was written.

use std::collections::BTreeMap;

use serde_json::Value;

use super::world::{World, WorldError};
use crate::catalog::{Event, Profile};
use crate::check::Told;

/// How many versions of each object there were when the watch began, by letter.
pub(super) type Before = BTreeMap<String, usize>;

/// The notifications that the words stand for, with the objects as far as they are written by now.
pub(super) fn tale(
    world: &World<'_>,
    events: &[Event],
    before: &Before,
    profile: Profile,
) -> Result<Vec<Told>, WorldError> {
    let mut next = before.clone();
    let mut told = Vec::new();
    for event in events {
        match event {
            Event::History(letter) => told.extend(history(world, letter, before, profile)?),
            Event::Since(letter) => {
                let versions = world
                    .versions(letter)
                    .into_iter()
                    .take(before.get(letter).copied().unwrap_or_default());
                let name = world.name_of(letter)?;
                told.extend(versions.skip(1).map(|object| Told {
                    event: "MODIFIED",
                    name: name.clone(),
                    object: Some(object),
                    perhaps_later: false,
                }));
            }
            Event::Own(letter) => told.extend(own(world, letter, before, profile)?),
            Event::Added(letter) => told.push(written(world, "ADDED", letter, &mut next)?),
            Event::Modified(letter) => told.push(written(world, "MODIFIED", letter, &mut next)?),
            Event::Deleted(letter) => {
                let object = world.versions(letter).last().cloned();
                told.push(Told {
                    event: "DELETED",
                    name: world.name_of(letter)?,
                    object,
                    perhaps_later: false,
                });
            }
        }
    }
    Ok(told)
}

/// The next version of an object that was written since.
fn written(world: &World<'_>, event: &'static str, letter: &str, next: &mut Before) -> Result<Told, WorldError> {
    let number = next.entry(letter.to_owned()).or_default();
    let object = world.versions(letter).get(*number).cloned();
    *number += 1;
    Ok(Told {
        event,
        name: world.name_of(letter)?,
        object,
        perhaps_later: false,
    })
}

/// What a watch from the beginning tells of an object: its changes, or its present state as an add.
fn history(world: &World<'_>, letter: &str, before: &Before, profile: Profile) -> Result<Vec<Told>, WorldError> {
    let name = world.name_of(letter)?;
    let versions: Vec<Value> = world
        .versions(letter)
        .into_iter()
        .take(before.get(letter).copied().unwrap_or_default())
        .collect();
    let tell = |number: usize, object: Value, perhaps_later| Told {
        event: if number == 0 { "ADDED" } else { "MODIFIED" },
        name: name.clone(),
        object: Some(object),
        perhaps_later,
    };
    Ok(if profile.watch_tells_history() {
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
fn own(world: &World<'_>, letter: &str, before: &Before, profile: Profile) -> Result<Option<Told>, WorldError> {
    let versions = before.get(letter).copied().unwrap_or_default();
    if !profile.watch_includes_its_version(world.kind()) || versions == 0 {
        return Ok(None);
    }
    let event = if versions == 1 { "ADDED" } else { "MODIFIED" };
    let object = world.versions(letter).get(versions - 1).cloned();
    Ok(Some(Told {
        event,
        name: world.name_of(letter)?,
        object,
        perhaps_later: false,
    }))
}

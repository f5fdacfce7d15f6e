//! Keys of objects, and what they say of their values.

use super::names::{self, NameClass};
use super::structure::Secret;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// How many keys are remembered.
const MOST: usize = 4096;

/// Keys of an object that refers to a secret.
const REFERENCE: [&str; 17] = [
    "name",
    "namespace",
    "secretName",
    "secretNamespace",
    "kind",
    "uid",
    "apiVersion",
    "apiGroup",
    "resourceVersion",
    "fieldPath",
    "defaultMode",
    "mode",
    "items",
    "optional",
    "path",
    "audience",
    "expirationSeconds",
];

/// Keys whose objects map names of fields or types to schemas.
const SCHEMAS: [&str; 7] = [
    "properties",
    "patternProperties",
    "definitions",
    "schemas",
    "models",
    "securityDefinitions",
    "securitySchemes",
];

/// Keys that the API gives a meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Key {
    Kind,
    Data(Secret),
    Items,
    Object,
    Name,
    Value,
    Path,
    #[default]
    Other,
}

/// What a key says of its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyFacts {
    pub(super) key: Key,
    pub(super) class: NameClass,
    /// Whether the value is kept in an object that refers to a secret.
    pub(super) kept: bool,
    /// Whether the keys of the value are names of fields or types.
    pub(super) opens_schema: bool,
    pub(super) plural: bool,
}

impl Default for KeyFacts {
    /// Those of no key.
    fn default() -> Self {
        Self {
            key: Key::Other,
            class: NameClass::Plain,
            kept: false,
            opens_schema: false,
            plural: false,
        }
    }
}

impl KeyFacts {
    fn new(name: &str) -> Self {
        // The API's own decoder takes keys without regard to case.
        let is = |key: &str| name.eq_ignore_ascii_case(key);
        let key = match () {
            () if is("kind") => Key::Kind,
            () if is("data") || is("binaryData") => Key::Data(Secret::Data),
            () if is("stringData") => Key::Data(Secret::Value),
            () if is("items") => Key::Items,
            () if is("object") => Key::Object,
            () if is("name") || is("key") => Key::Name,
            () if is("value") => Key::Value,
            () if is("path") => Key::Path,
            () => Key::Other,
        };
        Self {
            key,
            class: names::class(name),
            kept: REFERENCE.contains(&name),
            opens_schema: SCHEMAS.contains(&name),
            plural: name.ends_with(['s', 'S']),
        }
    }
}

#[derive(Debug)]
struct KnownKey {
    name: String,
    facts: KeyFacts,
    /// The place of the key that came after this one when it last came. Lists repeat them.
    next: usize,
}

/// The keys that came, so that what they say is found out once.
#[derive(Debug, Default)]
pub(super) struct KnownKeys {
    keys: Vec<KnownKey>,
    /// Places in `keys`.
    places: HashMap<String, usize, RandomState>,
    /// The place of the last key.
    last: usize,
    /// How often all were forgotten.
    clearings: usize,
}

impl KnownKeys {
    /// What the next key says.
    pub(super) fn get(&mut self, name: &str) -> KeyFacts {
        let expected = self.keys.get(self.last).map_or(0, |last| last.next);
        if let Some(known) = self.keys.get(expected).filter(|known| known.name == name) {
            self.last = expected;
            return known.facts;
        }
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => self.learn(name),
        };
        if let Some(last) = self.keys.get_mut(self.last) {
            last.next = place;
        }
        self.last = place;
        self.keys.get(place).map_or_else(KeyFacts::default, |known| known.facts)
    }

    /// The place of the key that came last.
    pub(super) fn last(&self) -> usize {
        self.last
    }

    /// Goes on as if the key at this place had come last.
    pub(super) fn go_on_after(&mut self, place: usize) {
        self.last = place;
    }

    /// How often places were given anew.
    pub(super) fn clearings(&self) -> usize {
        self.clearings
    }

    fn learn(&mut self, name: &str) -> usize {
        if self.keys.len() >= MOST {
            // They are keys of the data's own, of which most come once.
            self.keys.clear();
            self.places.clear();
            self.clearings += 1;
        }
        let place = self.keys.len();
        self.places.insert(name.to_owned(), place);
        self.keys.push(KnownKey {
            name: name.to_owned(),
            facts: KeyFacts::new(name),
            next: 0,
        });
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_the_same_whatever_came_before_it() {
        let names: Vec<String> = ["data", "password", "kind", "items"]
            .iter()
            .map(|name| (*name).to_owned())
            .chain((0..2 * MOST).map(|n| format!("token-{n}")))
            .collect();
        let mut keys = KnownKeys::default();
        for n in 0..4 * MOST {
            // Some come again in the same order, and some do not.
            let name = &names[n * (1 + n % 3) % names.len()];
            let (known, fresh) = (keys.get(name), KeyFacts::new(name));
            assert_eq!(
                (known.key, known.class, known.plural),
                (fresh.key, fresh.class, fresh.plural),
                "{name}"
            );
        }
        assert!(keys.keys.len() <= MOST && keys.places.len() <= MOST);
    }
}

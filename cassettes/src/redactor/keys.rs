//! Keys of objects and what they imply about their values.

use super::names::{self, NameClass};
use super::structure::Secret;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Maximum number of cached keys.
const MAX_KEYS: usize = 4096;

/// Keys of a reference to a secret whose values are kept.
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

/// Keys of objects that map names of fields or types to schemas.
const SCHEMAS: [&str; 7] = [
    "properties",
    "patternProperties",
    "definitions",
    "schemas",
    "models",
    "securityDefinitions",
    "securitySchemes",
];

/// Keys with a meaning in the API.
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

/// Facts about the value of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyFacts {
    pub(super) key: Key,
    pub(super) class: NameClass,
    /// Whether the value is kept in a reference to a secret.
    pub(super) kept: bool,
    /// Whether the value maps names of fields or types to schemas.
    pub(super) opens_schema: bool,
    pub(super) plural: bool,
}

impl Default for KeyFacts {
    /// The facts without a key.
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
        // The decoder of the API server compares keys case-insensitively.
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
    /// Index of the key that followed the last occurrence of this one. Lists repeat keys in the same order.
    next: usize,
}

/// Cache of keys and their facts.
#[derive(Debug, Default)]
pub(super) struct KnownKeys {
    keys: Vec<KnownKey>,
    /// Indices in `keys`.
    places: HashMap<String, usize, RandomState>,
    /// Index of the last key.
    last: usize,
    /// Number of times that the cache was cleared.
    resets: usize,
}

impl KnownKeys {
    /// Returns the facts about the next key.
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

    /// Index of the last key.
    pub(super) fn last(&self) -> usize {
        self.last
    }

    /// Continues as if the key with this index were the last.
    pub(super) fn continue_after(&mut self, place: usize) {
        self.last = place;
    }

    /// Number of times that the cache was cleared, and indices reset.
    pub(super) fn resets(&self) -> usize {
        self.resets
    }

    fn learn(&mut self, name: &str) -> usize {
        if self.keys.len() >= MAX_KEYS {
            // So many are keys of data, most of which occur once.
            self.keys.clear();
            self.places.clear();
            self.resets += 1;
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
    fn the_facts_about_a_key_do_not_depend_on_the_keys_before() {
        let names: Vec<String> = ["data", "password", "kind", "items"]
            .iter()
            .map(|name| (*name).to_owned())
            .chain((0..2 * MAX_KEYS).map(|n| format!("token-{n}")))
            .collect();
        let mut keys = KnownKeys::default();
        for n in 0..4 * MAX_KEYS {
            // Some are repeated in the same order, others are not.
            let name = &names[n * (1 + n % 3) % names.len()];
            let (known, fresh) = (keys.get(name), KeyFacts::new(name));
            assert_eq!(
                (known.key, known.class, known.plural),
                (fresh.key, fresh.class, fresh.plural),
                "{name}"
            );
        }
        assert!(keys.keys.len() <= MAX_KEYS && keys.places.len() <= MAX_KEYS);
    }
}

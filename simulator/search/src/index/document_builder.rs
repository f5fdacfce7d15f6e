//! Builder of the indexed form of a document.

use foldhash::{HashMap, HashSet};
use serde_json::{Value, json};

use crate::index::encoded::Encoded;
use crate::mapping::{FIELD_NAMES, Field, FieldOrdinal, TYPE};
use crate::score::norm_of_length;

/// State of a field: its length and its next position.
pub(super) struct FieldState {
    /// Number of its terms that count for its norm.
    pub(super) length: u32,
    pub(super) position: u32,
    pub(super) norms: bool,
    /// Product of the boosts of its values.
    pub(super) boost: f32,
    /// Whether its name is in `_field_names`.
    pub(super) named: bool,
    /// Terms so far, for a field without frequencies.
    pub(super) unique: HashSet<Box<str>>,
}

impl Default for FieldState {
    fn default() -> FieldState {
        FieldState {
            length: 0,
            position: 0,
            norms: false,
            boost: 1.0,
            named: false,
            unique: HashSet::default(),
        }
    }
}

/// Builder of a root document or of a nested object.
#[derive(Default)]
pub(super) struct DocumentBuilder {
    pub(super) encoded: Encoded,
    pub(super) states: HashMap<FieldOrdinal, FieldState>,
    /// Paths of the objects with values, which are in `_field_names`.
    pub(super) objects: HashSet<String>,
    /// Path of a nested object; empty for the root document.
    pub(super) path: String,
    /// Position of a nested object in the root document, as `_nested` shows it.
    pub(super) identity: Option<Value>,
    /// Fields whose equal numbers are kept.
    pub(super) repeating: Vec<FieldOrdinal>,
    /// Number of nested objects so far, by path.
    pub(super) offsets: HashMap<String, u32>,
}

impl DocumentBuilder {
    /// Creates a builder for a source of so many bytes.
    pub(super) fn with_capacity(source: usize) -> DocumentBuilder {
        DocumentBuilder {
            encoded: Encoded::with_capacity(source),
            ..DocumentBuilder::default()
        }
    }

    /// Returns the terms and columns, including the indexed type. `boost` is that of the document.
    pub(super) fn finish(self, type_name: &str, boost: f32) -> Encoded {
        let mut encoded = self.encoded;
        let with_norms = self.states.iter().filter(|(_, state)| state.norms && state.length > 0);
        let mut norms: Vec<(FieldOrdinal, u8)> = with_norms
            .map(|(field, state)| (*field, norm_of_length(state.length, state.boost * boost)))
            .collect();
        norms.sort_unstable();
        encoded.set_norms(&norms);
        encoded.dedup_numbers(&self.repeating);
        encoded.push_term(TYPE, type_name, 0);
        encoded
    }

    /// Adds the name of a field to `_field_names`, with the names of the objects that contain it.
    pub(super) fn add_field_name(&mut self, field: &Field) {
        let state = self.states.entry(field.ordinal).or_default();
        if std::mem::replace(&mut state.named, true) {
            return;
        }
        self.encoded.push_term(FIELD_NAMES, &field.name, 0);
        for (end, _) in field.name.match_indices('.') {
            let object = field.name.get(..end).unwrap_or_default();
            if !self.objects.contains(object) {
                self.encoded.push_term(FIELD_NAMES, object, 0);
                self.objects.insert(object.to_owned());
            }
        }
    }

    /// Returns the identity of the next nested object at `path` within this document.
    pub(super) fn next_identity(&mut self, path: &str) -> Value {
        let offset = self.offsets.entry(path.to_owned()).or_default();
        let field = path
            .strip_prefix(&self.path)
            .map_or(path, |rest| rest.trim_start_matches('.'));
        let own = json!({"field": field, "offset": offset});
        *offset += 1;
        match &self.identity {
            None => own,
            Some(outer) => {
                let mut identity = outer.clone();
                let mut innermost = &mut identity;
                while innermost.get("_nested").is_some() {
                    innermost = &mut innermost["_nested"];
                }
                innermost["_nested"] = own;
                identity
            }
        }
    }
}

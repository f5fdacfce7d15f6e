//! A document while its fields are read: the whole one, or one of its nested objects.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Value, json};

use crate::index::encoded::{ColumnKind, Encoded};
use crate::mapping::{FIELD_NAMES, FieldOrdinal, TYPE};
use crate::score::norm_of_length;

/// Length and position of a field so far.
#[derive(Default)]
pub(super) struct State {
    pub(super) length: u32,
    pub(super) position: u32,
    pub(super) norms: bool,
    pub(super) boost: f32,
    /// Its terms, where each of them counts once.
    pub(super) once: HashSet<Box<str>>,
}

/// A document on its way: the whole one, or a nested object.
#[derive(Default)]
pub(super) struct Building {
    pub(super) encoded: Encoded,
    pub(super) states: HashMap<FieldOrdinal, State>,
    pub(super) names: BTreeSet<String>,
    /// Path of a nested object, and where it is in the whole document.
    pub(super) path: String,
    pub(super) identity: Option<Value>,
    /// Number of nested objects so far, by their paths.
    pub(super) offsets: HashMap<String, u32>,
}

impl Building {
    /// Its terms and columns, with the type that it has in the index.
    pub(super) fn finish(self, type_name: &str) -> Encoded {
        let mut encoded = self.encoded;
        for (field, state) in self.states {
            if state.norms && state.length > 0 {
                let norm = norm_of_length(state.length, state.boost);
                encoded.push_column(ColumnKind::Norm, field, i64::from(norm));
            }
        }
        for name in &self.names {
            encoded.push_term(FIELD_NAMES, name, 0);
        }
        encoded.push_term(TYPE, type_name, 0);
        encoded
    }

    /// The identity of the nested object inside of this one that comes next at a path.
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

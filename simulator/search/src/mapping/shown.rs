//! The mapping of an index as JSON.

use serde_json::{Map, Value};

use super::{FieldType, Mapping, TypeMapping};
use crate::analysis::aliased;

impl Mapping {
    /// Returns the mappings as JSON, by type.
    pub(crate) fn describe(&self) -> Map<String, Value> {
        let shown = |name: &String, mapping: &TypeMapping| match self.hidden.get(name) {
            None => mapping.describe(FieldType::describe),
            Some(hidden) => {
                let mut mapping = mapping.clone();
                hidden.iter().for_each(|path| mapping.root.remove(path));
                mapping.describe(FieldType::describe)
            }
        };
        let types = self.types.iter();
        types
            .map(|(name, mapping)| {
                let mut definition = shown(name, mapping);
                self.describe_default_analyzers(&mut definition);
                (name.clone(), definition)
            })
            .collect()
    }

    /// Adds the default analyzers of the index with names of their own to the definition of a type that has no others.
    fn describe_default_analyzers(&self, definition: &mut Value) {
        let configured = self.analysis().and_then(|analysis| analysis.get("analyzer"));
        let Value::Object(definition) = definition else { return };
        let defaults = [
            ("index_analyzer", "default_index"),
            ("search_analyzer", "default_search"),
        ];
        if definition.contains_key("analyzer") {
            return;
        }
        for (key, name) in defaults {
            if configured.is_some_and(|own| own.get(name).is_some()) {
                definition.entry(key).or_insert_with(|| name.into());
            }
        }
        let has_own = defaults.iter().any(|(key, _)| definition.contains_key(*key));
        if let Some((name, _)) = aliased("default", self.analysis()).filter(|_| !has_own) {
            definition.insert("analyzer".to_owned(), name.as_str().into());
        }
    }
}

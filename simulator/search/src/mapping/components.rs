//! Components of an index that fields name.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{FieldType, Mapping};
use crate::similarity::{Similarities, Similarity};

/// The components of an index that fields name: analyzers and similarities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Components {
    /// The `analysis` section of the index settings.
    pub(crate) analysis: Option<Map<String, Value>>,
    pub(crate) similarities: Similarities,
}

impl Mapping {
    pub(crate) fn similarities(&self) -> &Similarities {
        &self.components.similarities
    }

    /// Returns the similarity that a setting names. Default: that of the index.
    pub(super) fn similarity_named(&self, name: Option<&Value>) -> Similarity {
        let similarities = self.similarities();
        let named = name.and_then(Value::as_str).and_then(|name| similarities.named(name));
        named.unwrap_or_else(|| similarities.unnamed())
    }

    pub(super) fn similarity_of(&self, field: &FieldType) -> Similarity {
        self.similarity_named(field.setting("similarity"))
    }

    /// Removes the similarities that do not exist from the fields of a definition.
    pub(super) fn with_known_similarities<'a>(&self, definition: &'a Value) -> Cow<'a, Value> {
        let mut known = Cow::Borrowed(definition);
        for part in ["properties", "_all"] {
            if definition
                .get(part)
                .is_some_and(|part| self.has_unknown_similarity(part))
            {
                self.remove_unknown_similarities(&mut known.to_mut()[part]);
            }
        }
        known
    }

    fn is_unknown_similarity(&self, value: &Value) -> bool {
        match value {
            Value::String(name) => self.similarities().named(name).is_none(),
            // A property can have this name.
            Value::Object(_) | Value::Null => false,
            _ => true,
        }
    }

    fn has_unknown_similarity(&self, part: &Value) -> bool {
        let mut members = part.as_object().into_iter().flatten();
        members.any(|(key, value)| {
            key == "similarity" && self.is_unknown_similarity(value) || self.has_unknown_similarity(value)
        })
    }

    fn remove_unknown_similarities(&self, part: &mut Value) {
        let Value::Object(members) = part else { return };
        members.retain(|key, value| key != "similarity" || !self.is_unknown_similarity(value));
        members
            .values_mut()
            .for_each(|value| self.remove_unknown_similarities(value));
    }
}

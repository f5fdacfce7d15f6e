//! What a mapping takes from the settings of its index.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{FieldType, Mapping};
use crate::analysis::aliased;
use crate::error::{Result, SearchError};
use crate::json::is_set;
use crate::similarity::{Similarities, Similarity};

/// Starts of the names of the settings.
const PREFIXES: [&str; 3] = ["index.mapping.", "index.query.", SIMILARITY];
const SIMILARITY: &str = "index.similarity.";

/// What a mapping takes from the settings of its index. Changes apply once a closed index is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configuration {
    /// The `analysis` section.
    pub(super) analysis: Option<Map<String, Value>>,
    similarities: Similarities,
    /// The other settings, by name.
    settings: BTreeMap<String, String>,
}

impl Configuration {
    /// Reads the settings of an index.
    ///
    /// # Errors
    /// An invalid similarity.
    pub(crate) fn new(
        analysis: Option<Map<String, Value>>,
        settings: &BTreeMap<String, String>,
    ) -> Result<Configuration> {
        let own = settings.iter();
        let own = own.filter(|(name, _)| PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
        let settings: BTreeMap<String, String> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        let similarities = settings.iter().filter_map(|(name, value)| {
            let name = name.strip_prefix(SIMILARITY)?;
            Some((name, value.as_str()))
        });
        Ok(Configuration {
            analysis,
            similarities: Similarities::parse(similarities)?,
            settings,
        })
    }

    /// Returns the state that [`Configuration::restore`] restores.
    pub(super) fn saved(&self) -> Value {
        json!({"analysis": self.analysis, "settings": self.settings})
    }

    /// Restores a saved configuration.
    ///
    /// # Errors
    /// An invalid state.
    pub(super) fn restore(saved: &Value) -> Result<Configuration> {
        let settings: BTreeMap<String, String> = serde_json::from_value(saved["settings"].clone())
            .map_err(|error| SearchError::parse(format!("invalid saved settings: {error}")))?;
        Configuration::new(saved["analysis"].as_object().cloned(), &settings)
    }

    fn is_set(&self, name: &str, default: bool) -> bool {
        self.settings.get(name).map_or(default, |text| is_set(text))
    }
}

impl Mapping {
    pub(crate) fn similarities(&self) -> &Similarities {
        &self.configuration.similarities
    }

    /// The field of queries that name none.
    pub(crate) fn default_field(&self) -> &str {
        let own = self.configuration.settings.get("index.query.default_field");
        own.map_or("_all", String::as_str)
    }

    /// Whether queries can name fields that are not mapped.
    pub(crate) fn allows_unmapped(&self) -> bool {
        self.configuration
            .is_set("index.query.parse.allow_unmapped_fields", true)
    }

    /// Whether an included upper end of a range of dates includes the rest of the day.
    pub(crate) fn rounds_up(&self) -> bool {
        let default = self
            .configuration
            .is_set("index.mapping.date.parse_upper_inclusive", true);
        self.configuration.is_set("index.mapping.date.round_ceil", default)
    }

    /// Returns the type of a field with the defaults of the index.
    pub(super) fn with_defaults_of_index(&self, field: &FieldType) -> FieldType {
        let mut field = field.clone();
        let is_set = |name: &str, default: bool| self.configuration.is_set(&format!("index.mapping.{name}"), default);
        if field.setting("coerce").is_none() {
            field.coerces = is_set("coerce", true);
        }
        if field.setting("ignore_malformed").is_none() {
            field.ignore_malformed = is_set("ignore_malformed", false);
        }
        field
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

    /// Returns a definition with the analyzers by their own names instead of aliases, and without similarities that do
    /// not exist.
    pub(super) fn with_known_components(&self, definition: &Value) -> Value {
        let mut known = definition.clone();
        if let Value::Object(members) = &mut known {
            self.replace_aliases(members);
            for part in ["properties", "_all"] {
                members.entry(part).and_modify(|part| self.replace_components(part));
            }
        }
        known
    }

    fn replace_components(&self, part: &mut Value) {
        let Value::Object(members) = part else { return };
        members.retain(|key, value| key != "similarity" || !self.is_unknown_similarity(value));
        self.replace_aliases(members);
        members.values_mut().for_each(|value| self.replace_components(value));
    }

    fn replace_aliases(&self, members: &mut Map<String, Value>) {
        for key in ["analyzer", "index_analyzer", "search_analyzer", "search_quote_analyzer"] {
            if let Some(Value::String(name)) = members.get_mut(key)
                && let Some((own, _)) = aliased(name, self.analysis())
            {
                name.clone_from(own);
            }
        }
    }

    fn is_unknown_similarity(&self, value: &Value) -> bool {
        match value {
            Value::String(name) => self.similarities().named(name).is_none(),
            // A property can have this name.
            Value::Object(_) | Value::Null => false,
            _ => true,
        }
    }
}

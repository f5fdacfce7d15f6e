//! Saving and restoring of a mapping: the definitions of its types, and its fields with their ordinals.
//!
//! A field is saved as its name, definition, ordinal and, unless it is the first with its name, type. Mappings saved
//! by older versions have no ordinals: their fields are in order of ordinals, and all are the first with their names.

use serde_json::{Map, Value, json};

use super::{Configuration, Field, FieldType, Mapping, TypeMapping};
use crate::error::{Result, SearchError};

impl Mapping {
    /// Returns the state that [`Mapping::restore`] restores.
    pub(crate) fn saved(&self) -> Value {
        let first = self.fields.values().map(|field| (field, None));
        let own = self.type_fields.iter();
        let own = own.flat_map(|(type_name, own)| own.values().map(move |field| (field, Some(type_name))));
        let mut fields: Vec<(&Field, Option<&String>)> = first.chain(own).collect();
        fields.sort_by_key(|(field, type_name)| (field.ordinal, *type_name));
        let fields = fields
            .into_iter()
            .map(|(field, type_name)| json!([field.name, field.field_type.definition(), field.ordinal, type_name]));
        let fields: Vec<Value> = fields.collect();
        let types: Map<String, Value> = self
            .types
            .iter()
            .map(|(name, own)| (name.clone(), own.describe(FieldType::definition)))
            .collect();
        json!({
            "types": types,
            "fields": fields,
            "places": self.ordinal_count,
            "nested": self.nested,
            "hidden": self.hidden,
            "all_norms": self.all.field_type.norms,
            "configuration": self.configuration.saved(),
        })
    }

    /// Returns the mapping with another configuration.
    ///
    /// # Errors
    /// An analyzer that is invalid, or that a field needs and that is missing.
    pub(crate) fn with_configuration(&self, configuration: Configuration) -> Result<Mapping> {
        Mapping::restored(&self.saved(), configuration, self.max_fields)
    }

    /// Restores a saved mapping. `settings` returns the configuration of a mapping that an older version saved.
    ///
    /// # Errors
    /// An invalid state.
    pub(crate) fn restore(
        saved: &Value,
        settings: impl FnOnce() -> Result<Configuration>,
        max_fields: usize,
    ) -> Result<Mapping> {
        let own = saved.get("configuration").map(Configuration::restore);
        Mapping::restored(saved, own.unwrap_or_else(settings)?, max_fields)
    }

    fn restored(saved: &Value, configuration: Configuration, max_fields: usize) -> Result<Mapping> {
        let mut mapping = Mapping::new(configuration, max_fields)?;
        for field in saved["fields"].as_array().ok_or_else(malformed)? {
            let name = field[0].as_str().ok_or_else(malformed)?;
            let short = name.rsplit('.').next().unwrap_or(name);
            let field_type = FieldType::parse(short, field[1].as_object().ok_or_else(malformed)?)?;
            let mut restored = mapping.new_field(name.to_owned(), &field_type)?;
            restored.ordinal = match field[2].as_u64() {
                Some(ordinal) => u32::try_from(ordinal).map_err(|_| malformed())?,
                None => mapping.next_ordinal(),
            };
            match field[3].as_str() {
                Some(type_name) => mapping.put_type_field(type_name, restored),
                None => mapping.add_field(restored),
            }
        }
        let ordinal_count = saved["places"].as_u64().and_then(|last| u32::try_from(last).ok());
        mapping.ordinal_count = ordinal_count.unwrap_or(mapping.ordinal_count);
        for (name, definition) in saved["types"].as_object().ok_or_else(malformed)? {
            let mut own = TypeMapping::default();
            own.merge(definition, false)?;
            let defaults = mapping.defaults_of_type(&own)?;
            mapping.add_names(&own.root);
            mapping.types.insert(name.clone(), own);
            mapping.set_type_defaults(name, defaults);
        }
        let nested = saved["nested"].as_array().ok_or_else(malformed)?;
        mapping.nested = nested.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let hidden = saved.get("hidden").map(|hidden| serde_json::from_value(hidden.clone()));
        mapping.hidden = hidden.transpose().map_err(|_| malformed())?.unwrap_or_default();
        mapping.all.field_type.norms = saved["all_norms"].as_bool().ok_or_else(malformed)?;
        Ok(mapping)
    }
}

fn malformed() -> SearchError {
    SearchError::parse("invalid saved mapping")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{FieldNode, Node};

    #[test]
    fn a_saved_mapping_is_restored_with_the_ordinals_of_its_fields() {
        let mut mapping = Mapping::new(Configuration::default(), 100).unwrap();
        let first = json!({
            "_all": {"norms": {"enabled": false}},
            "dynamic_templates": [
                {"text": {"match": "*_text", "mapping": {"type": "string", "index": "not_analyzed"}}},
            ],
            "properties": {
                "b": {
                    "type": "string",
                    "analyzer": "whitespace",
                    "search_analyzer": "simple",
                    "copy_to": "all",
                    "fields": {"raw": {"type": "string", "index": "not_analyzed"}},
                },
                "a": {
                    "type": "nested",
                    "include_in_parent": true,
                    "properties": {"n": {"type": "date", "format": "yyyy"}},
                },
            },
        });
        mapping.put("first", &first, false).unwrap();
        mapping
            .put("gone", &json!({"properties": {"lost": {"type": "ip"}}}), false)
            .unwrap();
        mapping
            .put(
                "second",
                &json!({"properties": {"b": {"type": "string", "index": "not_analyzed"}}}),
                false,
            )
            .unwrap();
        let number = FieldNode::of(FieldType::of(crate::mapping::Kind::Long));
        mapping
            .add_dynamic(
                "first",
                vec![(vec!["o".into(), "size".into()], Node::Field(Box::new(number)))],
            )
            .unwrap();
        mapping.remove_type("gone");
        let saved = mapping.saved();
        let restored = Mapping::restore(&saved, || Ok(Configuration::default()), 100).unwrap();
        assert_eq!(restored.saved(), saved);
        assert_eq!(restored.describe(), mapping.describe());
        for field in mapping.fields.values() {
            let same = restored.exact_field(&field.name).unwrap();
            assert_eq!(format!("{same:?}"), format!("{field:?}"));
        }
        let (own, same) = (mapping.field_of("second", "b"), restored.field_of("second", "b"));
        assert_eq!(format!("{same:?}"), format!("{own:?}"));
        assert_ne!(format!("{same:?}"), format!("{:?}", restored.field("b")));
        assert_eq!(restored.short_names, mapping.short_names);
        assert!(Mapping::restore(&json!({}), || Ok(Configuration::default()), 100).is_err());
    }
}

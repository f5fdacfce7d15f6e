//! The mapping of a type.
//!
//! Source: `RootObjectMapper` and `DocumentMapperParser` of Elasticsearch 1.5, and the merging of its metadata
//! mappers.

use serde_json::{Map, Value, json};

use super::conflicts::Conflicts;
use super::dynamic::DynamicTemplate;
use super::field::Indexing;
use super::flags::is_on;
use super::metadata::{self, all_field};
use super::times::{TIMESTAMP, TTL, TimeSettings};
use super::tree::{DescribeField, ObjectNode};
use crate::dates::{DateFormat, default_detection};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{java_text, not_a_map, number_of};

/// Settings with the name of an analyzer: for both uses, at index time, in searches.
pub(super) const TYPE_ANALYZERS: [&str; 3] = ["analyzer", "index_analyzer", "search_analyzer"];

/// The mapping of a type.
#[derive(Clone, Debug)]
pub(crate) struct TypeMapping {
    pub(crate) root: ObjectNode,
    pub(crate) all_enabled: bool,
    pub(crate) date_detection: bool,
    pub(crate) numeric_detection: bool,
    pub(crate) date_formats: Vec<DateFormat>,
    pub(crate) templates: Vec<DynamicTemplate>,
    pub(crate) times: TimeSettings,
    meta: Map<String, Value>,
}

impl Default for TypeMapping {
    fn default() -> TypeMapping {
        TypeMapping {
            root: ObjectNode::default(),
            all_enabled: true,
            date_detection: true,
            numeric_detection: false,
            date_formats: default_detection(),
            templates: vec![],
            times: TimeSettings::default(),
            meta: Map::new(),
        }
    }
}

/// Returns the error for a definition that conflicts with the mapping.
pub(super) fn merge_conflict(conflicts: &[String]) -> SearchError {
    let reason = format!("Merge failed with failures {{[{}]}}", conflicts.join(", "));
    SearchError::new(400, Exception::MergeMapping, reason)
}

/// Parses the formats of dynamic dates.
fn date_formats(value: &Value) -> Result<Vec<DateFormat>> {
    match value {
        Value::Array(formats) => formats
            .iter()
            .map(|format| DateFormat::new(&java_text(format)))
            .collect(),
        one => Ok(vec![DateFormat::new(&java_text(one))?]),
    }
}

impl TypeMapping {
    /// Merges a definition. Returns its conflicts with a mapping that `is_known`.
    pub(super) fn merge(&mut self, definition: &Value, is_known: bool) -> Result<Conflicts> {
        let Value::Object(definition) = definition else {
            return Err(not_a_map(definition));
        };
        let mut conflicts = Conflicts::of_root();
        self.root.merge(definition, "", 0, None, &mut conflicts)?;
        if is_known {
            self.add_conflicts(definition, &mut conflicts);
        }
        // A definition without it removes it.
        if definition.get("_meta").is_none() {
            self.meta.remove("_meta");
        }
        let mut unknown = Vec::new();
        for (key, value) in definition {
            match key.as_str() {
                "properties" | "dynamic" | "enabled" | "include_in_all" => continue,
                TIMESTAMP | TTL => {
                    metadata::check(key, value)?;
                    continue;
                }
                "dynamic_templates" => {
                    self.add_templates(value)?;
                    continue;
                }
                // These settings cannot be changed.
                "date_detection"
                | "numeric_detection"
                | "dynamic_date_formats"
                | "date_formats"
                | "analyzer"
                | "index_analyzer"
                | "search_analyzer"
                    if is_known =>
                {
                    if matches!(key.as_str(), "dynamic_date_formats" | "date_formats") {
                        date_formats(value)?;
                    }
                    continue;
                }
                "_all" if !is_known => self.all_enabled = value.get("enabled").is_none_or(is_on),
                "transform" if !value.is_object() && !value.is_array() => {
                    let reason = format!("Transform must be an object or an array but was:  {}", java_text(value));
                    return Err(SearchError::mapping(reason));
                }
                "date_detection" | "numeric_detection" if value.is_null() => return Err(SearchError::null_pointer()),
                "date_detection" => {
                    self.date_detection = is_on(value);
                    if !self.date_detection {
                        self.meta.insert(key.clone(), false.into());
                    }
                    continue;
                }
                "numeric_detection" => {
                    self.numeric_detection = is_on(value);
                    if self.numeric_detection {
                        self.meta.insert(key.clone(), true.into());
                    }
                    continue;
                }
                "dynamic_date_formats" | "date_formats" => {
                    self.date_formats = date_formats(value)?;
                    let formats = self.date_formats.iter().map(|format| json!(format.as_str()));
                    let formats: Vec<Value> = formats.collect();
                    if !formats.is_empty() {
                        self.meta.insert(key.clone(), formats.into());
                    }
                    continue;
                }
                "transform" if value.as_array().is_some_and(Vec::is_empty) => continue,
                "analyzer" | "index_analyzer" | "search_analyzer" | "transform" => {
                    self.meta.insert(key.clone(), value.clone());
                    continue;
                }
                key if metadata::is_metadata(key) => {}
                _ if value.is_null() => return Err(SearchError::null_pointer()),
                other => {
                    unknown.push(format!("[{other} : {}]", java_text(value)));
                    continue;
                }
            }
            metadata::check(key, value)?;
            let settings = match is_known {
                true => metadata::merged(key, self.meta.get(key), value),
                false => metadata::described(key, value),
            };
            match settings {
                Some(settings) => drop(self.meta.insert(key.clone(), settings)),
                None => drop(self.meta.remove(key)),
            }
        }
        if !unknown.is_empty() {
            let unknown = unknown.join(" ");
            let reason = format!("Root type mapping not empty after parsing! Remaining fields:   {unknown}");
            return Err(SearchError::mapping(reason));
        }
        if !is_known {
            self.normalize_analyzers();
        }
        if self.meta.contains_key("_parent") {
            let routing = self.meta.entry("_routing").or_insert_with(|| json!({}));
            if let Some(settings) = routing.as_object_mut() {
                settings.insert("required".to_owned(), true.into());
            }
        }
        // The member with the boost is a field of its own.
        let boost = self.boost_name().to_owned();
        self.root.remove(&[boost]);
        self.times.merge(definition, is_known)?;
        let described = self.times.describe().into_iter();
        self.meta
            .extend(described.filter_map(|(name, settings)| Some((name.to_owned(), settings?))));
        Ok(conflicts)
    }

    /// Names an analyzer for both uses once. `default` is not returned.
    fn normalize_analyzers(&mut self) {
        let [both, index, search] = TYPE_ANALYZERS.map(|key| self.meta.remove(key).map(|name| java_text(&name)));
        let names = match both.map_or((index, search), |both| (Some(both.clone()), Some(both))) {
            (index, search) if index == search => [index, None, None],
            (index, search) => [None, index, search],
        };
        for (key, name) in TYPE_ANALYZERS.into_iter().zip(names) {
            if let Some(name) = name.filter(|name| name != "default") {
                self.meta.insert(key.to_owned(), name.into());
            }
        }
    }

    /// Adds the conflicts of metadata fields.
    fn add_conflicts(&self, definition: &Map<String, Value>, found: &mut Conflicts) {
        let mut conflicts = Vec::new();
        let enables_all = definition.get("_all").and_then(|all| all.get("enabled")).map(is_on);
        if let Some(enabled) = enables_all.filter(|enabled| *enabled != self.all_enabled) {
            conflicts.push(format!(
                "mapper [_all] enabled is {} now encountering {enabled}",
                self.all_enabled
            ));
        }
        let empty = json!({});
        let all = [self.metadata("_all"), definition.get("_all")].map(|own| all_field(own.unwrap_or(&empty)));
        if let [Ok(own), Ok(given)] = all {
            conflicts.extend(own.conflicts(&given, "_all"));
        }
        found.add("_all", conflicts);
        let parent_type = |settings: Option<&Value>| settings.and_then(|own| own.get("type")).map(java_text);
        let (own, given) = (
            parent_type(self.metadata("_parent")),
            parent_type(definition.get("_parent")),
        );
        if own != given {
            let reason = "The _parent field's type option can't be changed";
            found.add("_parent", vec![reason.to_owned()]);
        }
    }

    /// Adds dynamic templates. A template replaces one with the same name.
    fn add_templates(&mut self, given: &Value) -> Result<()> {
        for template in DynamicTemplate::parse_all(given)? {
            match self.templates.iter_mut().find(|known| known.name == template.name) {
                Some(known) => *known = template,
                None => self.templates.push(template),
            }
        }
        if !self.templates.is_empty() {
            let templates = self.templates.iter().map(DynamicTemplate::describe).collect();
            self.meta.insert("dynamic_templates".to_owned(), templates);
        }
        Ok(())
    }

    /// Returns the settings of a metadata field, if it has any.
    pub(crate) fn metadata(&self, name: &str) -> Option<&Value> {
        self.meta.get(name)
    }

    /// Returns whether routing values are indexed.
    pub(crate) fn indexes_routing(&self) -> bool {
        let index = self.meta.get("_routing").and_then(|routing| routing.get("index"));
        index.and_then(Indexing::parse) != Some(Indexing::No)
    }

    /// Sets `_all.auto_boost`.
    pub(super) fn set_auto_boost(&mut self) {
        let all = self.meta.entry("_all").or_insert_with(|| json!({}));
        all["auto_boost"] = true.into();
    }

    /// Returns the name of the member with the boost of a document.
    pub(crate) fn boost_name(&self) -> &str {
        let own = self.metadata("_boost").and_then(|own| own.get("name")?.as_str());
        own.unwrap_or("_boost")
    }

    /// Returns the boost that a document has in the member for it.
    ///
    /// # Errors
    /// A text that is not a number.
    pub(crate) fn boost_of(&self, value: &Value) -> Result<f32> {
        let default = || number_of(self.meta.get("_boost")?.get("null_value")?);
        match value {
            Value::Null => Ok(default().unwrap_or(1.0) as f32),
            Value::String(text) => text.trim().parse().map_err(|_| {
                let cause = SearchError::number(text);
                SearchError::mapping("failed to parse").caused_by(cause)
            }),
            other => Ok(number_of(other).unwrap_or(1.0) as f32),
        }
    }

    /// Returns whether the length of `_all` affects scores.
    pub(crate) fn all_has_norms(&self) -> bool {
        let all = self.meta.get("_all");
        let omits = all.and_then(|all| all.get("omit_norms")).is_some_and(is_on);
        let norms = all
            .and_then(|all| all.get("norms"))
            .and_then(|norms| norms.get("enabled"));
        !omits && norms.is_none_or(is_on)
    }

    pub(crate) fn describe(&self, describe_field: DescribeField) -> Value {
        let mut definition = self.meta.clone();
        definition.extend(self.root.describe(describe_field));
        definition.entry("properties").or_insert_with(|| Map::new().into());
        Value::Object(definition)
    }
}

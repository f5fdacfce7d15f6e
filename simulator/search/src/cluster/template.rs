//! Index templates.

use serde_json::{Map, Value, json};

use super::Settings;
use super::alias::{self, Alias};
use crate::error::{Result, SearchError};
use crate::json::{java_text, not_a_map, text_of};
use crate::mapping::truth;

/// Settings, mappings, aliases and warmers for new indices whose names match a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) pattern: String,
    pub(crate) order: i64,
    pub(crate) settings: Settings,
    pub(crate) mappings: Map<String, Value>,
    pub(crate) aliases: Map<String, Value>,
    pub(crate) warmers: Option<Map<String, Value>>,
}

impl Template {
    /// Parses the body of a request.
    ///
    /// # Errors
    /// A part that is missing, or of another type.
    pub(crate) fn parse(body: &Value) -> Result<Template> {
        let template = Template::read(body)?;
        if let Some((name, _)) = template.mappings.iter().find(|(_, mapping)| !mapping.is_object()) {
            let reason = format!(
                "Malformed mappings section for type [{name}], should include an inner object describing the mapping"
            );
            return Err(SearchError::illegal(reason));
        }
        Ok(Template {
            aliases: alias::definitions(&template.aliases)?,
            ..template
        })
    }

    fn read(body: &Value) -> Result<Template> {
        let pattern = match body.get("template") {
            Some(Value::Null) => return Err(SearchError::null_pointer()),
            pattern => pattern.map(java_text),
        };
        if body.get("settings").is_some_and(|settings| !settings.is_object()) {
            let reason = "Malformed settings section, should include an inner object";
            return Err(SearchError::illegal(reason));
        }
        for key in ["mappings", "aliases"] {
            if let Some(other) = body.get(key).filter(|part| !part.is_object()) {
                return Err(not_a_map(other));
            }
        }
        let order = match body.get("order") {
            None | Some(Value::Null) => 0,
            Some(order) => {
                let text = text_of(order);
                let whole = order.as_f64().map(|number| number as i64);
                whole
                    .or_else(|| text.parse().ok())
                    .ok_or_else(|| SearchError::number(&text))?
            }
        };
        let section = |key: &str| body.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        // The mapping of a type may be nested under the type's name again.
        let mappings = section("mappings")
            .into_iter()
            .map(|(name, mapping)| {
                (
                    name.clone(),
                    mapping
                        .get(&name)
                        .filter(|inner| inner.is_object())
                        .cloned()
                        .unwrap_or(mapping),
                )
            })
            .collect();
        Ok(Template {
            pattern: pattern.ok_or_else(|| SearchError::validation("template is missing"))?,
            order,
            settings: body.get("settings").map(Settings::parse).unwrap_or_default(),
            mappings,
            aliases: section("aliases"),
            warmers: body.get("warmers").map(warmers).transpose()?,
        })
    }

    /// Returns the state that [`Template::restore`] restores.
    pub(crate) fn saved(&self) -> Value {
        self.with_warmers(json!({
            "order": self.order,
            "template": self.pattern,
            "settings": self.settings.saved(),
            "mappings": self.mappings,
            "aliases": self.aliases,
        }))
    }

    /// Restores a saved template.
    ///
    /// # Errors
    /// An invalid state.
    pub(crate) fn restore(saved: &Value) -> Result<Template> {
        let template = Template::read(saved)?;
        Ok(Template {
            settings: Settings::restore(&saved["settings"]),
            ..template
        })
    }

    /// Returns the template as JSON. Its settings are either flat (`index.number_of_shards`) or objects within objects.
    pub(crate) fn describe(&self, is_flat: bool) -> Value {
        let aliases = self.aliases.iter();
        let aliases: Map<String, Value> = aliases
            .map(|(name, definition)| (name.clone(), Alias::parse(definition).describe()))
            .collect();
        self.with_warmers(json!({
            "order": self.order,
            "template": self.pattern,
            "settings": if is_flat { self.settings.flat() } else { self.settings.nested() },
            "mappings": self.mappings,
            "aliases": aliases,
        }))
    }

    fn with_warmers(&self, mut described: Value) -> Value {
        if let Some(warmers) = &self.warmers {
            described["warmers"] = json!(warmers);
        }
        described
    }
}

/// The warmers of a section `warmers`.
///
/// # Errors
/// The section is no object.
pub(super) fn warmers(section: &Value) -> Result<Map<String, Value>> {
    let Value::Object(section) = section else {
        return Err(not_a_map(section));
    };
    let warmers = section.iter().map(|(name, given)| {
        let types = given.get("types").filter(|types| types.is_array()).cloned();
        let mut warmer = json!({"types": types.unwrap_or_else(|| json!([]))});
        if let Some(cached) = given.get("queryCache").or(given.get("query_cache")) {
            warmer["queryCache"] = truth(cached).into();
        }
        warmer["source"] = given.get("source").cloned().unwrap_or_else(|| json!({}));
        (name.clone(), warmer)
    });
    Ok(warmers.collect())
}

/// Merges `over` into `base`: objects recursively; all other values are replaced.
pub(crate) fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

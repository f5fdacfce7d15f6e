//! Dynamic mapping: derives a field from its first value.

use serde_json::{Map, Value};

use super::Kind;
use super::field::FieldType;
use super::tree::{FieldNode, Node, ObjectNode};
use super::type_mapping::TypeMapping;
use crate::dates::{DateFormat, detect};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::java_pattern::JavaPattern;
use crate::json::{java_class, java_text};
use crate::pattern;

/// Returns the dynamic field for a value at a path, or `None` for null and arrays.
pub(crate) fn guess(mapping: &TypeMapping, path: &[String], value: &Value) -> Result<Option<FieldNode>> {
    let (kind, format) = match value {
        Value::Bool(_) => (Kind::Boolean, None),
        Value::Number(number) if number.is_f64() => (Kind::Double, None),
        Value::Number(_) => (Kind::Long, None),
        Value::String(text) => of_text(mapping, text),
        Value::Null | Value::Array(_) | Value::Object(_) => return Ok(None),
    };
    let name = path.last().map_or("", String::as_str);
    if let Some(definition) = template(mapping, path, name, kind.name()) {
        return field_of_template(path, &definition).map(Some);
    }
    Ok(Some(FieldNode::of(match format {
        Some(format) => FieldType::detected_date(format),
        None => FieldType::of(kind),
    })))
}

/// Returns the field or object that a dynamic template defines for an object or array, if one matches.
pub(crate) fn object_of_template(mapping: &TypeMapping, path: &[String]) -> Result<Option<Node>> {
    let name = path.last().map_or("", String::as_str);
    let Some(definition) = template(mapping, path, name, "object") else {
        return Ok(None);
    };
    let is_object = matches!(
        definition.get("type").and_then(Value::as_str),
        Some("object" | "nested")
    );
    Ok(Some(if is_object {
        Node::Object(Box::new(ObjectNode::parse(&definition, &path.join("."))?))
    } else {
        Node::Field(Box::new(field_of_template(path, &definition)?))
    }))
}

fn of_text(mapping: &TypeMapping, text: &str) -> (Kind, Option<DateFormat>) {
    if mapping.date_detection
        && let Some(format) = detect(text, &mapping.date_formats)
    {
        return (Kind::Date, Some(format));
    }
    if mapping.numeric_detection {
        if text.parse::<i64>().is_ok() {
            return (Kind::Long, None);
        }
        if text.parse::<f64>().is_ok_and(f64::is_finite) {
            return (Kind::Double, None);
        }
    }
    (Kind::String, None)
}

/// Returns the definition of the first dynamic template that matches.
fn template(mapping: &TypeMapping, path: &[String], name: &str, kind: &str) -> Option<Map<String, Value>> {
    let full = path.join(".");
    let matches = |template: &&DynamicTemplate| template.matches(&full, name, kind);
    let found = mapping.templates.iter().find(matches)?;
    let mut definition = substitute(&found.mapping, name, kind);
    let Value::Object(definition) = &mut definition else {
        return None;
    };
    definition.entry("type").or_insert_with(|| kind.into());
    Some(std::mem::take(definition))
}

/// Parses the field of a template.
///
/// # Errors
/// An unknown type, or an invalid setting.
fn field_of_template(path: &[String], definition: &Map<String, Value>) -> Result<FieldNode> {
    let name = path.last().map_or("", String::as_str);
    match definition.get("type").and_then(Value::as_str) {
        Some(kind) if Kind::named(kind).is_none() => {
            let reason = format!("failed to find type parsed [{kind}] for [{name}]");
            Err(SearchError::mapping(reason))
        }
        _ => FieldNode::parse_at(name, &path.join("."), definition),
    }
}

/// A dynamic template: matching rules and a definition.
#[derive(Clone, Debug)]
pub(crate) struct DynamicTemplate {
    pub(super) name: String,
    definition: Map<String, Value>,
    mapping: Value,
    /// Patterns of the rules in [`RULES`] that the template has.
    patterns: [Option<Pattern>; RULES.len()],
}

/// The matching rules, in terms of name, name, path, path and type. The flag is the required result of the match.
const RULES: [(&str, bool); 5] = [
    ("match", true),
    ("unmatch", false),
    ("path_match", true),
    ("path_unmatch", false),
    ("match_mapping_type", true),
];

/// A pattern for names, paths or types.
#[derive(Clone, Debug)]
enum Pattern {
    Simple(String),
    /// `None` if the regular expression is invalid; it matches nothing.
    Regex(Option<JavaPattern>),
}

impl Pattern {
    fn new(text: String, is_regex: bool) -> Pattern {
        match is_regex {
            true => Pattern::Regex(JavaPattern::whole(&text, 0).ok()),
            false => Pattern::Simple(text),
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Pattern::Simple(pattern) => pattern::matches(pattern, text),
            Pattern::Regex(pattern) => pattern.as_ref().is_some_and(|pattern| pattern.is_match(text)),
        }
    }
}

impl DynamicTemplate {
    /// Parses a list of templates, each an object with one member: its name and its definition.
    ///
    /// # Errors
    /// An invalid list, or a template without rules or without a mapping.
    pub(super) fn parse_all(given: &Value) -> Result<Vec<DynamicTemplate>> {
        let cast = |value: &Value, class: &str| {
            let reason = format!("{} cannot be cast to {class}", java_class(value));
            SearchError::new(500, Exception::ClassCast, reason)
        };
        let named = |item: &Value| {
            let item = item.as_object().ok_or_else(|| cast(item, "java.util.Map"))?;
            let mut members = item.iter();
            match (members.next(), members.next()) {
                (Some((name, definition)), None) => {
                    let definition = definition
                        .as_object()
                        .ok_or_else(|| cast(definition, "java.util.Map"))?;
                    DynamicTemplate::parse(name, definition)
                }
                _ => Err(SearchError::mapping("A dynamic template must be defined with a name")),
            }
        };
        let items = given.as_array().ok_or_else(|| cast(given, "java.util.List"))?;
        items.iter().map(named).collect()
    }

    fn parse(name: &str, definition: &Map<String, Value>) -> Result<DynamicTemplate> {
        if !["match", "path_match", "match_mapping_type"]
            .iter()
            .any(|key| definition.contains_key(*key))
        {
            let reason = "template must have match, path_match or match_mapping_type set";
            return Err(SearchError::mapping(reason));
        }
        let with_value = RULES.into_iter().map(|(key, _)| key).chain(["match_pattern"]);
        let mut values = with_value.filter_map(|key| definition.get(key));
        if values.any(Value::is_null) {
            return Err(SearchError::null_pointer());
        }
        let mapping = definition.get("mapping").filter(|mapping| mapping.is_object());
        let mapping = mapping.ok_or_else(|| SearchError::mapping("template must have mapping set"))?;
        let is_regex = match definition.get("match_pattern").map(java_text).as_deref() {
            None | Some("simple") => false,
            Some("regex") => true,
            Some(other) => {
                let reason = format!("No matching pattern matched on [{other}]");
                return Err(SearchError::illegal(reason));
            }
        };
        Ok(DynamicTemplate {
            name: name.to_owned(),
            mapping: mapping.clone(),
            definition: definition.clone(),
            patterns: RULES.map(|(key, _)| Some(Pattern::new(java_text(definition.get(key)?), is_regex))),
        })
    }

    /// Returns the template as JSON.
    pub(super) fn describe(&self) -> Value {
        let mut definition = Map::new();
        definition.insert(self.name.clone(), self.definition.clone().into());
        definition.into()
    }

    /// Returns whether the template matches a field.
    fn matches(&self, path: &str, name: &str, kind: &str) -> bool {
        let mut rules = RULES.iter().zip(&self.patterns).zip([name, name, path, path, kind]);
        rules.all(|(((_, wanted), pattern), text)| pattern.as_ref().is_none_or(|own| own.matches(text) == *wanted))
    }
}

/// Replaces `{name}` and `{dynamic_type}` in a definition.
fn substitute(value: &Value, name: &str, kind: &str) -> Value {
    match value {
        Value::String(text) => Value::String(
            text.replace("{name}", name)
                .replace("{dynamic_type}", kind)
                .replace("{dynamicType}", kind),
        ),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.replace("{name}", name), substitute(value, name, kind)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(|item| substitute(item, name, kind)).collect()),
        other => other.clone(),
    }
}

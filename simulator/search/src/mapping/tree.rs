//! The tree of objects and fields that a type's mapping is.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::contexts::Contexts;
use super::field::{FieldType, Kind, truth};
use super::times::{TIMESTAMP, TTL, TimeSettings};
use crate::dates::{DateFormat, default_detection};
use crate::error::{Result, SearchError};

/// How a field is written: as the API shows it, or as it was defined.
pub(crate) type ShowField = fn(&FieldType) -> Map<String, Value>;

/// A leaf of the tree: a field, and the other ways in which its values are indexed.
#[derive(Clone, Debug)]
pub(crate) struct FieldNode {
    pub(crate) field_type: FieldType,
    pub(crate) fields: IndexMap<String, FieldNode>,
}

/// A branch of the tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectNode {
    pub(crate) properties: IndexMap<String, Node>,
    pub(crate) dynamic: Option<Dynamic>,
    pub(crate) enabled: Option<bool>,
    pub(crate) nested: bool,
    /// Whether fields of nested objects are indexed with what they are directly in, too.
    pub(crate) include_in_parent: bool,
    /// Whether fields of nested objects are indexed with the whole document, too.
    pub(crate) include_in_root: bool,
    /// Whether values go into `_all`, unless a field says otherwise.
    pub(crate) include_in_all: Option<bool>,
    /// How names of fields are made, if not of the whole path.
    path: Option<String>,
}

/// What happens to a field that the mapping does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dynamic {
    Yes,
    No,
    Strict,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Object(Box<ObjectNode>),
    Field(Box<FieldNode>),
}

/// The mapping of one type.
#[derive(Clone, Debug)]
pub(crate) struct TypeMapping {
    pub(crate) root: ObjectNode,
    pub(crate) all_enabled: bool,
    pub(crate) date_detection: bool,
    pub(crate) numeric_detection: bool,
    pub(crate) date_formats: Vec<DateFormat>,
    pub(crate) templates: Vec<Map<String, Value>>,
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

impl FieldNode {
    pub(crate) fn of(field_type: FieldType) -> FieldNode {
        FieldNode {
            field_type,
            fields: IndexMap::new(),
        }
    }

    pub(crate) fn parse(name: &str, definition: &Map<String, Value>) -> Result<FieldNode> {
        let mut fields = IndexMap::new();
        let mut own = definition.clone();
        if let Some(Value::Object(others)) = definition.get("fields") {
            for (other, definition) in others {
                let Value::Object(definition) = definition else {
                    return Err(SearchError::mapping(format!(
                        "field [{name}.{other}] must be an object"
                    )));
                };
                if definition.get("type").and_then(Value::as_str) != Some("multi_field")
                    && other == name
                    && own.get("type").and_then(Value::as_str) == Some("multi_field")
                {
                    // The old form, in which the field itself is one of the fields.
                    own = definition.clone();
                } else {
                    fields.insert(other.clone(), FieldNode::parse(other, definition)?);
                }
            }
        }
        let field_type = FieldType::parse(name, &own)?;
        if field_type.kind == Kind::Completion {
            Contexts::parse(field_type.setting("context"))?;
        }
        Ok(FieldNode { field_type, fields })
    }

    /// Takes the settings of another definition; what cannot be changed is noted in `conflicts`.
    fn merge(&mut self, fresh: FieldNode, path: &str, conflicts: &mut Vec<String>) {
        let (own, other) = (self.field_type.kind, fresh.field_type.kind);
        if own != other {
            conflicts.push(format!(
                "mapper [{path}] of different type, current_type [{}], merged_type [{}]",
                own.name(),
                other.name()
            ));
            return;
        }
        conflicts.extend(self.field_type.conflicts(&fresh.field_type, path));
        self.field_type = fresh.field_type;
        for (name, field) in fresh.fields {
            match self.fields.get_mut(&name) {
                Some(known) => known.merge(field, &format!("{path}.{name}"), conflicts),
                None => drop(self.fields.insert(name, field)),
            }
        }
    }

    pub(crate) fn describe(&self, show: ShowField) -> Value {
        let mut shown = show(&self.field_type);
        if !self.fields.is_empty() {
            shown.insert(
                "fields".to_owned(),
                Value::Object(
                    self.fields
                        .iter()
                        .map(|(name, field)| (name.clone(), field.describe(show)))
                        .collect(),
                ),
            );
        }
        Value::Object(shown)
    }
}

impl ObjectNode {
    /// Adds a definition; what cannot be changed is noted in `conflicts`.
    fn merge(
        &mut self,
        definition: &Map<String, Value>,
        path: &str,
        depth: usize,
        conflicts: &mut Vec<String>,
    ) -> Result<()> {
        if depth > 20 {
            return Err(SearchError::mapping("objects are nested too deeply"));
        }
        if let Some(dynamic) = definition.get("dynamic") {
            self.dynamic = Some(match dynamic.as_str() {
                Some("strict") => Dynamic::Strict,
                _ if truth(dynamic) => Dynamic::Yes,
                _ => Dynamic::No,
            });
        }
        if let Some(enabled) = definition.get("enabled") {
            self.enabled = Some(truth(enabled));
        }
        if let Some(included) = definition.get("include_in_all") {
            self.include_in_all = Some(truth(included));
        }
        if let Some(path) = definition
            .get("path")
            .and_then(Value::as_str)
            .filter(|path| *path != "full")
        {
            self.path = Some(path.to_owned());
        }
        self.nested |= definition.get("type").and_then(Value::as_str) == Some("nested");
        self.include_in_parent |= definition.get("include_in_parent").is_some_and(truth);
        self.include_in_root |= definition.get("include_in_root").is_some_and(truth);
        let Some(properties) = definition.get("properties") else {
            return Ok(());
        };
        let Value::Object(properties) = properties else {
            return Err(SearchError::mapping("properties must be an object"));
        };
        for (name, definition) in properties {
            let Value::Object(definition) = definition else {
                return Err(SearchError::mapping(format!(
                    "Expected map for property [fields] on field [{name}] but got a class {}",
                    crate::json::java_class(definition)
                )));
            };
            let kind = definition.get("type").and_then(Value::as_str);
            let is_object = matches!(kind, Some("object" | "nested"))
                || kind.is_none()
                    && (definition.contains_key("properties")
                        || definition.contains_key("dynamic")
                        || definition.contains_key("enabled")
                        || definition.is_empty());
            let derivable = definition.contains_key("properties") || definition.keys().eq(["enabled"]);
            if kind.is_none() && !derivable {
                return Err(SearchError::mapping(format!("No type specified for property [{name}]")));
            }
            let full = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            match (self.properties.get_mut(name), is_object) {
                (Some(Node::Object(known)), true) => {
                    let nested = kind == Some("nested");
                    if kind.is_some() && nested != known.nested {
                        let (from, to) = if nested {
                            ("non-nested", "nested")
                        } else {
                            ("nested", "non-nested")
                        };
                        conflicts.push(format!("object mapping [{full}] can't be changed from {from} to {to}"));
                    }
                    known.merge(definition, &full, depth + 1, conflicts)?;
                }
                (Some(Node::Field(known)), false) => {
                    known.merge(FieldNode::parse(name, definition)?, &full, conflicts);
                }
                (Some(Node::Field(known)), true) => conflicts.push(format!(
                    "mapper [{full}] of different type, current_type [{}], merged_type [ObjectMapper]",
                    known.field_type.kind.name()
                )),
                (Some(Node::Object(_)), false) => conflicts.push(format!(
                    "Can't merge a non object mapping [{name}] with an object mapping [{name}]"
                )),
                (None, true) => {
                    let mut node = ObjectNode::default();
                    node.merge(definition, &full, depth + 1, conflicts)?;
                    self.properties.insert(name.clone(), Node::Object(Box::new(node)));
                }
                (None, false) => {
                    self.properties
                        .insert(name.clone(), Node::Field(Box::new(FieldNode::parse(name, definition)?)));
                }
            }
        }
        Ok(())
    }

    /// Puts a field where `path` leads, with the objects on the way.
    pub(crate) fn insert(&mut self, path: &[String], node: FieldNode) -> Result<()> {
        match path {
            [] => Ok(()),
            [name] => {
                self.properties
                    .entry(name.clone())
                    .or_insert(Node::Field(Box::new(node)));
                Ok(())
            }
            [name, rest @ ..] => match self
                .properties
                .entry(name.clone())
                .or_insert_with(|| Node::Object(Box::default()))
            {
                Node::Object(object) => object.insert(rest, node),
                Node::Field(_) => Err(SearchError::mapping(format!(
                    "object mapping for [{name}] tried to parse as object, but found a concrete value"
                ))),
            },
        }
    }

    /// The field at a dotted path below this object.
    pub(crate) fn field(&self, path: &str) -> Option<&FieldNode> {
        if let Some(Node::Field(field)) = self.properties.get(path) {
            return Some(field);
        }
        path.match_indices('.').find_map(|(at, _)| {
            let (head, rest) = (path.get(..at)?, path.get(at + 1..)?);
            match self.properties.get(head)? {
                Node::Object(object) => object.field(rest),
                Node::Field(field) => field.fields.get(rest),
            }
        })
    }

    /// Puts an object where `path` leads.
    pub(crate) fn insert_object(&mut self, path: &[String]) {
        if let [name, rest @ ..] = path
            && let Node::Object(object) = self
                .properties
                .entry(name.clone())
                .or_insert_with(|| Node::Object(Box::default()))
        {
            object.insert_object(rest);
        }
    }

    /// Paths of the nested objects below this object.
    pub(crate) fn nested_paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for (name, node) in &self.properties {
            if let Node::Object(object) = node {
                paths.extend(object.nested.then(|| name.clone()));
                paths.extend(object.nested_paths().iter().map(|below| format!("{name}.{below}")));
            }
        }
        paths
    }

    /// Every field below this object with its name in full.
    pub(crate) fn leaves(&self) -> Vec<(String, &FieldNode)> {
        let mut leaves = Vec::new();
        for (name, node) in &self.properties {
            match node {
                Node::Object(object) => leaves.extend(
                    object
                        .leaves()
                        .into_iter()
                        .map(|(below, field)| (format!("{name}.{below}"), field)),
                ),
                Node::Field(field) => {
                    leaves.push((name.clone(), field));
                    leaves.extend(
                        field
                            .fields
                            .iter()
                            .map(|(other, field)| (format!("{name}.{other}"), field)),
                    );
                }
            }
        }
        leaves
    }

    fn describe(&self, show: ShowField) -> Map<String, Value> {
        let mut shown = Map::new();
        if self.nested {
            shown.insert("type".to_owned(), "nested".into());
            for (key, included) in [
                ("include_in_parent", self.include_in_parent),
                ("include_in_root", self.include_in_root),
            ] {
                if included {
                    shown.insert(key.to_owned(), true.into());
                }
            }
        }
        match self.dynamic {
            Some(Dynamic::Strict) => drop(shown.insert("dynamic".to_owned(), "strict".into())),
            Some(Dynamic::Yes) => drop(shown.insert("dynamic".to_owned(), "true".into())),
            Some(Dynamic::No) => drop(shown.insert("dynamic".to_owned(), "false".into())),
            None => {}
        }
        if self.enabled == Some(false) {
            shown.insert("enabled".to_owned(), false.into());
        }
        if let Some(path) = &self.path {
            shown.insert("path".to_owned(), path.clone().into());
        }
        if let Some(included) = self.include_in_all {
            shown.insert("include_in_all".to_owned(), included.into());
        }
        if !self.properties.is_empty() {
            let properties = self.properties.iter().map(|(name, node)| {
                let shown = match node {
                    Node::Object(object) => {
                        let mut shown = object.describe(show);
                        if object.properties.is_empty() && !object.nested {
                            shown.insert("type".to_owned(), "object".into());
                        }
                        Value::Object(shown)
                    }
                    Node::Field(field) => field.describe(show),
                };
                (name.clone(), shown)
            });
            shown.insert("properties".to_owned(), Value::Object(properties.collect()));
        }
        shown
    }
}

/// The error of a definition that conflicts with what is there.
pub(super) fn unmergeable(conflicts: &[String]) -> SearchError {
    let reason = format!("Merge failed with failures {{[{}]}}", conflicts.join(", "));
    SearchError::new(400, "MergeMappingException", reason)
}

impl TypeMapping {
    pub(crate) fn merge(&mut self, definition: &Value) -> Result<()> {
        let Value::Object(definition) = definition else {
            return Err(SearchError::mapping("a mapping must be an object"));
        };
        let mut conflicts = Vec::new();
        self.root.merge(definition, "", 0, &mut conflicts)?;
        if !conflicts.is_empty() {
            return Err(unmergeable(&conflicts));
        }
        for (key, value) in definition {
            match key.as_str() {
                "properties" | "dynamic" | "enabled" | "include_in_all" | "path" | TIMESTAMP | TTL => continue,
                "_all" => self.all_enabled = value.get("enabled").is_none_or(truth),
                "date_detection" => self.date_detection = truth(value),
                "numeric_detection" => self.numeric_detection = truth(value),
                "dynamic_date_formats" | "date_formats" => {
                    self.date_formats = value
                        .as_array()
                        .map(|formats| formats.iter().filter_map(Value::as_str).map(DateFormat::new).collect())
                        .unwrap_or_default()
                }
                "dynamic_templates" => {
                    let templates = value
                        .as_array()
                        .ok_or_else(|| SearchError::mapping("dynamic_templates must be an array"))?;
                    self.templates = templates
                        .iter()
                        .filter_map(Value::as_object)
                        .filter_map(|named| named.values().next())
                        .filter_map(Value::as_object)
                        .cloned()
                        .collect();
                }
                key if key.starts_with('_')
                    || matches!(key, "analyzer" | "index_analyzer" | "search_analyzer" | "transform") => {}
                other => {
                    return Err(SearchError::mapping(format!(
                        "Root type mapping not empty after parsing! Remaining fields:   [{other} : {value}]"
                    )));
                }
            }
            self.meta.insert(key.clone(), value.clone());
        }
        self.times.merge(definition)?;
        let described = self.times.describe().into_iter();
        self.meta
            .extend(described.filter_map(|(name, shown)| Some((name.to_owned(), shown?))));
        Ok(())
    }

    /// The settings of a field that every type has, if they were set.
    pub(crate) fn metadata(&self, name: &str) -> Option<&Value> {
        self.meta.get(name)
    }

    /// Whether the length of `_all` counts in scores.
    pub(crate) fn all_has_norms(&self) -> bool {
        let all = self.meta.get("_all");
        let omits = all.and_then(|all| all.get("omit_norms")).is_some_and(truth);
        let norms = all
            .and_then(|all| all.get("norms"))
            .and_then(|norms| norms.get("enabled"));
        !omits && norms.is_none_or(truth)
    }

    pub(crate) fn describe(&self, show: ShowField) -> Value {
        let mut shown = self.meta.clone();
        shown.extend(self.root.describe(show));
        Value::Object(shown)
    }
}

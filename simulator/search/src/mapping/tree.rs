//! The tree of objects and fields that a type's mapping is.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::contexts::Contexts;
use super::field::{FieldType, Kind, truth};
use super::point_fields;
use crate::error::{Result, SearchError};
use crate::json::{java_class, java_text};

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

/// PHP has no other empty object.
fn is_empty_list(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

/// How names of fields of an object are made, if not of the whole path.
pub(super) fn path_type(object: &str, given: &Value) -> Result<Option<String>> {
    match given.as_str() {
        Some("full") => Ok(None),
        Some("just_name") => Ok(Some("just_name".to_owned())),
        _ => Err(SearchError::mapping(format!(
            "Wrong value for pathType [{}] for object [{object}]",
            java_text(given)
        ))),
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
        let empty = Map::new();
        let others = match definition.get("fields") {
            None => &empty,
            Some(Value::Object(others)) => others,
            Some(other) if is_empty_list(other) => &empty,
            Some(other) => {
                return Err(SearchError::mapping(format!(
                    "Expected map for property [fields] on field [{}] or [fields] but got a class {}",
                    java_text(other),
                    java_class(other)
                )));
            }
        };
        for (other, definition) in others {
            let Value::Object(definition) = definition else {
                return Err(SearchError::mapping(format!(
                    "Illegal field [{other}], only fields can be specified inside fields"
                )));
            };
            if !definition.contains_key("type") {
                return Err(SearchError::mapping(format!(
                    "No type specified for property [{other}]"
                )));
            }
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
        let field_type = FieldType::parse(name, &own)?;
        if field_type.kind == Kind::Completion {
            Contexts::parse(field_type.setting("context"))?;
        }
        for (other, made) in point_fields::of(&field_type)? {
            fields.insert(other.to_owned(), FieldNode::of(made));
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
        let found = self.field_type.conflicts(&fresh.field_type, path);
        if found.is_empty() {
            self.field_type = fresh.field_type;
        }
        conflicts.extend(found);
        for (name, field) in fresh.fields {
            match self.fields.get_mut(&name) {
                Some(known) => known.merge(field, &format!("{path}.{name}"), conflicts),
                None => drop(self.fields.insert(name, field)),
            }
        }
    }

    pub(crate) fn describe(&self, show: ShowField) -> Value {
        let mut shown = show(&self.field_type);
        let own = self
            .fields
            .iter()
            .filter(|(name, _)| !point_fields::is_made(&self.field_type, name));
        let own: Map<String, Value> = own.map(|(name, field)| (name.clone(), field.describe(show))).collect();
        if !own.is_empty() {
            shown.insert("fields".to_owned(), own.into());
        }
        Value::Object(shown)
    }
}

impl ObjectNode {
    /// Adds a definition; what cannot be changed is noted in `conflicts`.
    pub(super) fn merge(
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
        if let Some(own) = definition.get("path") {
            let object = path.rsplit('.').next().unwrap_or(path);
            self.path = path_type(object, own)?;
        }
        self.nested |= definition.get("type").and_then(Value::as_str) == Some("nested");
        self.include_in_parent |= definition.get("include_in_parent").is_some_and(truth);
        self.include_in_root |= definition.get("include_in_root").is_some_and(truth);
        let Some(properties) = definition.get("properties") else {
            return Ok(());
        };
        let properties = match properties {
            Value::Object(properties) => properties,
            other if is_empty_list(other) => return Ok(()),
            _ => return Err(SearchError::parse("properties must be a map type")),
        };
        for (name, definition) in properties {
            let definition = match definition {
                Value::Object(definition) => definition,
                other if is_empty_list(other) => continue,
                // The class is that of the name.
                _ => {
                    return Err(SearchError::mapping(format!(
                        "Expected map for property [fields] on field [{name}] but got a class java.lang.String"
                    )));
                }
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

    /// The object that a definition makes.
    pub(super) fn parse(definition: &Map<String, Value>, path: &str) -> Result<ObjectNode> {
        let mut node = ObjectNode::default();
        node.merge(definition, path, 0, &mut Vec::new())?;
        Ok(node)
    }

    /// Puts a field or an object where `path` leads, with the objects on the way.
    pub(crate) fn insert(&mut self, path: &[String], node: Node) -> Result<()> {
        match path {
            [] => Ok(()),
            [name] => {
                self.properties.entry(name.clone()).or_insert(node);
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

    pub(super) fn describe(&self, show: ShowField) -> Map<String, Value> {
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

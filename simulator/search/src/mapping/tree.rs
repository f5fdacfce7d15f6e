//! The object tree of a type's mapping.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::Kind;
use super::conflicts::Conflicts;
use super::field::{FieldType, Indexing, type_of};
use super::flags::is_on;
use super::point_fields;
use crate::error::{Result, SearchError};
use crate::json::java_text;
use crate::ties::in_state_order;

/// Conversion of a field to JSON: normalized for the API, or as it was defined.
pub(crate) type DescribeField = fn(&FieldType) -> Map<String, Value>;

/// A field and its multi-fields.
#[derive(Clone, Debug)]
pub(crate) struct FieldNode {
    pub(crate) field_type: FieldType,
    pub(crate) fields: IndexMap<String, FieldNode, RandomState>,
}

/// An object.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectNode {
    pub(crate) properties: IndexMap<String, Node, RandomState>,
    pub(crate) dynamic: Option<Dynamic>,
    pub(crate) enabled: Option<bool>,
    pub(crate) nested: bool,
    /// Whether fields of nested objects are also indexed in the parent document.
    pub(crate) include_in_parent: bool,
    /// Whether fields of nested objects are also indexed in the root document.
    pub(crate) include_in_root: bool,
    /// Default of `include_in_all` for the fields of the object.
    pub(crate) include_in_all: Option<bool>,
    /// The setting `path`, if it is not `full`: how the names of fields are formed.
    pub(super) path: Option<String>,
    /// Whether a definition of the object was merged.
    is_defined: bool,
}

/// Handling of unmapped fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dynamic {
    Yes,
    No,
    Strict,
}

/// A node of the object tree.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Object(Box<ObjectNode>),
    Field(Box<FieldNode>),
}

/// Returns whether a value is `[]`, which PHP clients send for an empty object.
pub(super) fn is_empty_list(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

/// Parses the setting `path`. `full` is the default.
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
            fields: IndexMap::default(),
        }
    }

    /// Fails for an analyzed string with doc values.
    pub(super) fn check_doc_values(&self, path: &str) -> Result<()> {
        if self.field_type.kind == Kind::String
            && self.field_type.indexing == Indexing::Analyzed
            && self.field_type.setting("doc_values").is_some_and(is_on)
        {
            let reason = format!("Field [{path}] cannot be analyzed and have doc values");
            return Err(SearchError::mapping(reason));
        }
        let mut fields = self.fields.iter();
        fields.try_for_each(|(name, field)| field.check_doc_values(&format!("{path}.{name}")))
    }

    /// Merges another definition. Adds settings that cannot be changed to `conflicts`.
    fn merge(&mut self, fresh: FieldNode, path: &str, conflicts: &mut Vec<String>) -> Result<()> {
        let (own, other) = (self.field_type.kind, fresh.field_type.kind);
        if own != other {
            conflicts.push(format!(
                "mapper [{path}] of different type, current_type [{}], merged_type [{}]",
                own.name(),
                other.name()
            ));
            return Ok(());
        }
        conflicts.extend(self.field_type.conflicts(&fresh.field_type, path));
        let name = path.rsplit('.').next().unwrap_or(path);
        self.field_type = self.field_type.merged(name, &fresh.field_type)?;
        for (name, field) in in_state_order(fresh.fields.into_iter().collect(), |(name, _)| name.clone()) {
            match self.fields.get_mut(&name) {
                Some(known) => known.merge(field, &format!("{path}.{name}"), conflicts)?,
                None => drop(self.fields.insert(name, field)),
            }
        }
        Ok(())
    }

    /// Returns the multi-fields, without the fields of a point's parts.
    pub(super) fn own_fields(&self) -> impl Iterator<Item = (&String, &FieldNode)> {
        let is_own = |(name, _): &(&String, &FieldNode)| !point_fields::is_subfield(&self.field_type, name);
        self.fields.iter().filter(is_own)
    }

    pub(crate) fn describe(&self, describe_field: DescribeField) -> Value {
        let mut definition = describe_field(&self.field_type);
        let own: BTreeMap<_, _> = self.own_fields().collect();
        if !own.is_empty() {
            let own = own
                .into_iter()
                .map(|(name, field)| (name.clone(), field.describe(describe_field)));
            definition.insert("fields".to_owned(), Value::Object(own.collect()));
        }
        Value::Object(definition)
    }
}

impl ObjectNode {
    /// Merges a definition. `in_all` is the setting `include_in_all` of a definition around it. Adds its members to
    /// `members`, each with the settings that cannot be changed.
    pub(super) fn merge(
        &mut self,
        definition: &Map<String, Value>,
        path: &str,
        depth: usize,
        in_all: Option<bool>,
        members: &mut Conflicts,
    ) -> Result<()> {
        if depth > 20 {
            return Err(SearchError::mapping("objects are nested too deeply"));
        }
        let with_value = ["dynamic", "enabled", "include_in_all", "path"];
        if with_value
            .iter()
            .any(|key| definition.get(*key).is_some_and(Value::is_null))
        {
            return Err(SearchError::null_pointer());
        }
        if let Some(dynamic) = definition.get("dynamic") {
            self.dynamic = Some(match dynamic.as_str() {
                Some("strict") => Dynamic::Strict,
                _ if is_on(dynamic) => Dynamic::Yes,
                _ => Dynamic::No,
            });
        }
        if !std::mem::replace(&mut self.is_defined, true) {
            // Later definitions cannot change these settings.
            self.enabled = definition.get("enabled").map(is_on);
            self.include_in_all = definition.get("include_in_all").map(is_on);
        }
        if let Some(own) = definition.get("path").filter(|_| !path.is_empty()) {
            let object = path.rsplit('.').next().unwrap_or(path);
            self.path = path_type(object, own)?;
        }
        self.nested |= definition.get("type").and_then(Value::as_str) == Some("nested");
        self.include_in_parent |= definition.get("include_in_parent").is_some_and(is_on);
        self.include_in_root |= definition.get("include_in_root").is_some_and(is_on);
        let Some(properties) = definition.get("properties") else {
            return Ok(());
        };
        let properties = match properties {
            Value::Object(properties) => properties,
            other if is_empty_list(other) => return Ok(()),
            _ => return Err(SearchError::parse("properties must be a map type")),
        };
        let in_all = definition.get("include_in_all").map_or(in_all, |own| Some(is_on(own)));
        for (name, definition) in properties {
            let definition = match definition {
                Value::Object(definition) => definition,
                other if is_empty_list(other) => continue,
                // The class in the message is that of the name, as in Elasticsearch.
                _ => {
                    return Err(SearchError::mapping(format!(
                        "Expected map for property [fields] on field [{name}] but got a class java.lang.String"
                    )));
                }
            };
            let kind = type_of(definition);
            let kind = kind.as_deref();
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
            let mut conflicts = Vec::new();
            let mut inner = Conflicts::default();
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
                    known.merge(definition, &full, depth + 1, in_all, &mut inner)?;
                }
                (Some(Node::Field(known)), false) => {
                    let mut fresh = FieldNode::parse_at(name, &full, definition)?;
                    fresh.default_include_in_all(in_all);
                    known.merge(fresh, &full, &mut conflicts)?;
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
                    node.merge(definition, &full, depth + 1, None, &mut inner)?;
                    node.default_include_in_all(in_all);
                    self.put(name, Node::Object(Box::new(node)));
                }
                (None, false) => {
                    let mut fresh = FieldNode::parse_at(name, &full, definition)?;
                    fresh.default_include_in_all(in_all);
                    self.put(name, Node::Field(Box::new(fresh)));
                }
            }
            conflicts.extend(inner.in_order());
            members.add(name, conflicts);
        }
        Ok(())
    }

    /// Parses an object definition.
    pub(super) fn parse(definition: &Map<String, Value>, path: &str) -> Result<ObjectNode> {
        let mut node = ObjectNode::default();
        node.merge(definition, path, 0, None, &mut Conflicts::default())?;
        Ok(node)
    }

    /// Adds a member, unless it is known. Returns it.
    fn put(&mut self, name: &str, mut node: Node) -> &mut Node {
        node.default_include_in_all(self.include_in_all);
        self.properties.entry(name.to_owned()).or_insert(node)
    }

    /// Adds a field or object at a path, with the objects above it.
    pub(crate) fn insert(&mut self, path: &[String], node: Node) -> Result<()> {
        match path {
            [] => Ok(()),
            [name] => {
                self.put(name, node);
                Ok(())
            }
            [name, rest @ ..] => match self.put(name, Node::Object(Box::default())) {
                Node::Object(object) => object.insert(rest, node),
                Node::Field(_) => Err(SearchError::mapping(format!(
                    "object mapping for [{name}] tried to parse as object, but found a concrete value"
                ))),
            },
        }
    }

    /// Removes the field or object at a path.
    pub(super) fn remove(&mut self, path: &[String]) {
        match path {
            [] => {}
            [name] => drop(self.properties.shift_remove(name)),
            [name, rest @ ..] => {
                if let Some(Node::Object(object)) = self.properties.get_mut(name) {
                    object.remove(rest);
                }
            }
        }
    }

    /// Returns the field or object at a path.
    pub(super) fn node(&self, path: &[String]) -> Option<&Node> {
        let (name, rest) = path.split_first()?;
        match self.properties.get(name)? {
            node if rest.is_empty() => Some(node),
            Node::Object(object) => object.node(rest),
            Node::Field(_) => None,
        }
    }

    /// Returns whether there is a field or object at a path.
    pub(super) fn contains(&self, path: &[String]) -> bool {
        self.node(path).is_some()
    }

    /// Returns the object at a dotted path. Names may have dots.
    pub(super) fn object(&self, path: &str) -> Option<&ObjectNode> {
        let object = |name| match self.properties.get(name)? {
            Node::Object(object) => Some(&**object),
            Node::Field(_) => None,
        };
        let below = |(at, _)| object(path.get(..at)?)?.object(path.get(at + 1..)?);
        object(path).or_else(|| path.match_indices('.').find_map(below))
    }

    /// Returns the field at a dotted path.
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

    /// Returns the paths of nested objects.
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

    /// Returns all fields with their full names.
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

    pub(super) fn describe(&self, describe_field: DescribeField) -> Map<String, Value> {
        let mut definition = Map::new();
        if self.nested {
            definition.insert("type".to_owned(), "nested".into());
            for (key, included) in [
                ("include_in_parent", self.include_in_parent),
                ("include_in_root", self.include_in_root),
            ] {
                if included {
                    definition.insert(key.to_owned(), true.into());
                }
            }
        }
        match self.dynamic {
            Some(Dynamic::Strict) => drop(definition.insert("dynamic".to_owned(), "strict".into())),
            Some(Dynamic::Yes) => drop(definition.insert("dynamic".to_owned(), "true".into())),
            Some(Dynamic::No) => drop(definition.insert("dynamic".to_owned(), "false".into())),
            None => {}
        }
        if self.enabled == Some(false) {
            definition.insert("enabled".to_owned(), false.into());
        }
        if let Some(path) = &self.path {
            definition.insert("path".to_owned(), path.clone().into());
        }
        if let Some(included) = self.include_in_all {
            definition.insert("include_in_all".to_owned(), included.into());
        }
        if !self.properties.is_empty() {
            let properties: BTreeMap<_, _> = self.properties.iter().collect();
            let properties = properties.into_iter().map(|(name, node)| {
                let definition = match node {
                    Node::Object(object) => {
                        let mut definition = object.describe(describe_field);
                        if object.properties.is_empty() && !object.nested {
                            definition.insert("type".to_owned(), "object".into());
                        }
                        Value::Object(definition)
                    }
                    Node::Field(field) => field.describe(describe_field),
                };
                (name.clone(), definition)
            });
            definition.insert("properties".to_owned(), Value::Object(properties.collect()));
        }
        definition
    }
}

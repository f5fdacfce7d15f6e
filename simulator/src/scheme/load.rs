//! Reads the kinds from their files: `fixtures/kinds`, embedded in the program.
//!
//! Promises: every name in a file is resolved at load, and a file that does not make sense is an error that names it.
//! Limits: what is loaded is never freed, since it lives as long as the program; no type may contain itself.
//! Source of semantics: `fixtures/kinds/README.md`.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    default, internal,
    types::{Field, Shape, Struct},
};

/// A file of kinds that does not make sense.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct LoadError {
    /// The file, from the root of the kinds.
    pub file: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Which fields can be selected by.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Select {
    /// Label to path; a label that can be asked for but never matches anything but empty has an empty path.
    pub labels: Map<String, Value>,
    /// The text for any other label, `{label}` standing for it.
    pub unsupported: String,
}

/// What the storage rules of a kind are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Strategy {
    /// Whether a PUT creates what is not there.
    pub create_on_update: bool,
    /// The group that errors name the resource in, where that is not its own.
    pub error_group: Option<String>,
    /// Whether a list by a name that nothing has is of no version: v1.2 looks only for that one object then.
    pub lists_by_name: bool,
    /// Whether v1.2 has forgotten the name among the fields of this kind, so that a watch of one object sees nothing.
    pub name_is_no_field: bool,
    /// Whether a list of none has no `items`.
    pub omit_empty_items: bool,
    /// Whether a PUT of the status creates what is not there.
    pub create_on_status_update: bool,
    /// Whether a PUT without a resource version overwrites what is there.
    pub unconditional_update: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KindFile {
    pub kind: String,
    #[serde(default)]
    pub group: String,
    pub version: String,
    #[serde(default)]
    pub plural: String,
    #[serde(default)]
    pub namespaced: bool,
    #[serde(default)]
    pub verbs: Vec<String>,
    #[serde(default)]
    pub subresources: Map<String, Value>,
    #[serde(default)]
    pub select: Select,
    #[serde(default)]
    pub strategy: Strategy,
    #[serde(default)]
    pub also: Vec<String>,
    #[serde(default)]
    pub internal: Map<String, Value>,
    fields: Map<String, Value>,
    #[serde(default)]
    types: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypesFile {
    #[serde(default)]
    strings: Vec<String>,
    #[serde(default)]
    types: Map<String, Value>,
    #[serde(default)]
    registered: Registered,
}

/// Kinds of which only the names are known, by group and version.
pub(super) type Registered = HashMap<String, Vec<String>>;

/// A kind with its type resolved.
pub(super) struct Kind {
    pub file: KindFile,
    pub root: &'static Struct,
}

/// Text that lives as long as the program.
fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// The types known while loading: the shared ones, and those of one file.
struct Resolver {
    file: String,
    /// The kind, whose type is that of a whole object.
    top: String,
    strings: Vec<String>,
    raw: HashMap<String, Map<String, Value>>,
    done: HashMap<String, &'static Struct>,
    pending: Vec<String>,
}

/// Loads kinds from files, given as name and content; the files below `types/` are for all kinds.
pub(super) fn load<'a>(
    files: impl Iterator<Item = (&'a str, &'a [u8])> + Clone,
) -> Result<(Vec<Kind>, Registered), LoadError> {
    let mut registered = Registered::new();
    let mut shared = Resolver {
        file: String::new(),
        top: String::new(),
        strings: Vec::new(),
        raw: HashMap::new(),
        done: HashMap::new(),
        pending: Vec::new(),
    };
    for (name, content) in files.clone().filter(|(name, _)| name.starts_with("types/")) {
        let file: TypesFile = parse(name, content)?;
        shared.strings.extend(file.strings);
        registered.extend(file.registered);
        shared.add(name, file.types)?;
    }
    let mut names: Vec<String> = shared.raw.keys().cloned().collect();
    names.sort_unstable();
    for name in names {
        shared.structure(&name)?;
    }
    let mut kinds = Vec::new();
    for (name, content) in files.filter(|(name, _)| name.ends_with(".json") && !name.starts_with("types/")) {
        let mut file: KindFile = parse(name, content)?;
        let mut resolver = Resolver {
            file: name.to_owned(),
            top: file.kind.clone(),
            strings: shared.strings.clone(),
            raw: HashMap::new(),
            done: shared.done.clone(),
            pending: Vec::new(),
        };
        resolver.add(name, std::mem::take(&mut file.types))?;
        resolver.raw.insert(file.kind.clone(), std::mem::take(&mut file.fields));
        let root = resolver.structure(&file.kind.clone())?;
        kinds.push(Kind { file, root });
    }
    Ok((kinds, registered))
}

fn parse<T: for<'d> Deserialize<'d>>(name: &str, content: &[u8]) -> Result<T, LoadError> {
    serde_json::from_slice(content).map_err(|e| LoadError {
        file: name.to_owned(),
        problem: e.to_string(),
    })
}

impl Resolver {
    fn error(&self, problem: impl Into<String>) -> LoadError {
        LoadError {
            file: self.file.clone(),
            problem: problem.into(),
        }
    }

    fn add(&mut self, file: &str, types: Map<String, Value>) -> Result<(), LoadError> {
        file.clone_into(&mut self.file);
        for (name, fields) in types {
            let Value::Object(fields) = fields else {
                return Err(self.error(format!("{name} is no map of fields")));
            };
            self.done.remove(&name);
            if self.raw.insert(name.clone(), fields).is_some() {
                return Err(self.error(format!("{name} stands twice")));
            }
        }
        Ok(())
    }

    fn structure(&mut self, name: &str) -> Result<&'static Struct, LoadError> {
        if let Some(done) = self.done.get(name) {
            return Ok(done);
        }
        if self.pending.iter().any(|p| p == name) {
            return Err(self.error(format!("{name} contains itself")));
        }
        let Some(raw) = self.raw.get(name).cloned() else {
            return Err(self.error(format!("no type {name}")));
        };
        self.pending.push(name.to_owned());
        let (mut fields, mut default, mut internal) = (Vec::new(), None, None);
        for (key, notation) in &raw {
            let Some(notation) = notation.as_str() else {
                return Err(self.error(format!("{name}.{key} is no text")));
            };
            if key == "@default" {
                default = Some(default::rule(notation).ok_or_else(|| self.error(format!("no default {notation}")))?);
            } else if key == "@internal" {
                internal =
                    Some(internal::rule(notation).ok_or_else(|| self.error(format!("no internal rule {notation}")))?);
            } else if let Some(embedded) = key.strip_prefix('+') {
                fields.extend(self.structure(embedded)?.fields.iter().cloned());
            } else {
                fields.push(self.field(key, notation)?);
            }
        }
        self.pending.pop();
        let made: &'static Struct = Box::leak(Box::new(Struct::new(
            leak(name),
            self.top == name,
            fields,
            default,
            internal,
        )));
        self.done.insert(name.to_owned(), made);
        Ok(made)
    }

    fn field(&mut self, name: &str, notation: &str) -> Result<Field, LoadError> {
        let (rest, default) = match notation.split_once(" = ") {
            Some((rest, default)) => (rest, Some(default)),
            None => (notation, None),
        };
        let (rest, merge_key) = match rest.split_once(" by ") {
            Some((rest, key)) => (rest, Some(leak(key))),
            None => (rest, None),
        };
        let (kind, omit_empty) = match rest.strip_suffix('?') {
            Some(kind) => (kind, true),
            None => (rest, false),
        };
        let shape = self.shape(kind)?;
        let default = match (default, shape.pointee()) {
            (None, _) => None,
            (Some(text), Shape::Text { .. }) => Some(Value::from(text)),
            (Some(text), Shape::IntOrString) => Some(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
            (Some(text), _) => {
                Some(serde_json::from_str(text).map_err(|e| self.error(format!("{name} = {text}: {e}")))?)
            }
        };
        Ok(Field {
            name: leak(name),
            shape,
            omit_empty,
            merge_key,
            default,
        })
    }

    fn shape(&mut self, notation: &str) -> Result<Shape, LoadError> {
        let boxed = |shape: Shape| -> &'static Shape { Box::leak(Box::new(shape)) };
        if let Some(rest) = notation.strip_prefix('*') {
            return Ok(Shape::Pointer(boxed(self.shape(rest)?)));
        }
        if notation == "[]byte" {
            return Ok(Shape::Bytes);
        }
        if let Some(rest) = notation.strip_prefix("[]") {
            return Ok(Shape::List(boxed(self.shape(rest)?)));
        }
        if let Some((_, rest)) = notation.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
            return Ok(Shape::Map(boxed(self.shape(rest)?)));
        }
        Ok(match notation {
            "string" => Shape::Text { named: false },
            "int32" => Shape::Int(32),
            "int64" | "int" => Shape::Int(64),
            "bool" => Shape::Bool,
            "Time" => Shape::Time,
            "Quantity" => Shape::Quantity,
            "ResourceList" => Shape::Map(boxed(Shape::Quantity)),
            "IntOrString" => Shape::IntOrString,
            "RawExtension" => Shape::Raw,
            name if self.strings.iter().any(|s| s == name) => Shape::Text { named: true },
            name => Shape::Struct(self.structure(name)?),
        })
    }
}

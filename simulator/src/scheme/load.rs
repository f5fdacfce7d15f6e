//! Loader of kinds from their files.
//!
//! - Guarantee: every name in a file is resolved; an error names the file.
//! - Limit: a type may contain itself behind a pointer, in a list or in a map, but not by value.
//! - Source of the semantics: `fixtures/kinds/README.md`.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    default, internal,
    types::{Field, FieldType, StructId, StructType, Types},
};

/// Error of an invalid kind file.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct LoadError {
    /// Path of the file, relative to the root of the kinds.
    pub file: String,
    /// Description of the error.
    pub problem: String,
}

impl LoadError {
    pub(super) fn new(file: &str, problem: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            problem: problem.into(),
        }
    }
}

/// Field labels that selectors may use.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Select {
    /// Label to path of its field. An empty path is a field that is always empty.
    pub labels: Map<String, Value>,
    /// Error text for other labels. `{label}` is replaced by the label.
    pub unsupported: String,
}

/// Storage rules of a kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StorageRules {
    /// Name of the strategy. Default: the generic one.
    pub name: String,
    /// Number of changes that v1.2 keeps for watches. Default: 100.
    pub history: Option<usize>,
    /// Whether a watch from a version starts after its change, because v1.2 has no watch cache for the kind.
    pub watches_after: bool,
    /// Whether a PUT of an object that does not exist creates it.
    pub create_on_update: bool,
    /// Group in errors. Default: that of the resource.
    pub error_group: Option<String>,
    /// Group in validation errors. Default: that of the resource.
    pub invalid_group: Option<String>,
    /// Whether v1.2 lists the kind without its watch cache, and thus ignores the resource version.
    pub is_uncached: bool,
    /// Whether a list selected by name has no version if the object does not exist, because v1.2 reads only that
    /// object.
    pub lists_by_name: bool,
    /// Whether the name is missing among v1.2's selectable fields, so that a watch of one object gets no events.
    pub name_is_no_field: bool,
    /// Whether an empty list has no `items`.
    pub omit_empty_items: bool,
    /// Whether a PUT of the status of an object that does not exist creates it.
    pub create_on_status_update: bool,
    /// Whether a PUT without a resource version overwrites any version.
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
    pub short_names: Vec<String>,
    #[serde(default)]
    pub categories: Vec<String>,
    #[serde(default)]
    pub namespaced: bool,
    #[serde(default)]
    pub verbs: Vec<String>,
    #[serde(default)]
    pub subresources: Map<String, Value>,
    pub select: Option<Select>,
    #[serde(default)]
    pub strategy: StorageRules,
    #[serde(default)]
    pub also: Vec<String>,
    /// Group and version that the kind is stored in. Default: those of this file.
    #[serde(default)]
    pub storage: String,
    /// Name of the conversion to and from the storage version. Default: the fields are the same.
    #[serde(default)]
    pub conversion: Option<String>,
    #[serde(default)]
    pub internal: Map<String, Value>,
    fields: Map<String, Value>,
    #[serde(default)]
    types: Map<String, Value>,
}

impl KindFile {
    /// Group and version in the format of `apiVersion`.
    pub(super) fn group_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
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

/// Kinds of which only the name is known, by group and version.
type Registered = HashMap<String, Vec<String>>;

/// Kind with its type resolved.
pub(super) struct LoadedKind {
    /// File that the kind was loaded from.
    pub origin: String,
    pub file: KindFile,
    pub root: StructId,
}

/// Types and names that all kinds share, from the files below `types/`.
#[derive(Debug, Default)]
pub(super) struct SharedTypes {
    types: Types,
    ids: HashMap<String, StructId>,
    /// Names of string types.
    strings: HashSet<String>,
    /// Kinds of which only the name is known.
    registered: Registered,
}

impl SharedTypes {
    /// Whether v1.2 has the kind. Of some kinds only the name is known.
    pub(super) fn is_registered(&self, group_version: &str, kind: &str) -> bool {
        self.registered
            .get(group_version)
            .is_some_and(|kinds| kinds.iter().any(|k| k == kind))
    }
}

/// Path, relative to the root of the kinds, and content of a file.
pub(super) type File<'a> = (&'a str, &'a [u8]);

fn is_shared(file: &File<'_>) -> bool {
    file.0.starts_with("types/")
}

/// Loads the shared types.
pub(super) fn shared_types<'a>(files: impl Iterator<Item = File<'a>>) -> Result<SharedTypes, LoadError> {
    let mut shared = SharedTypes::default();
    let mut raw = HashMap::new();
    let mut last = "types/";
    for (name, content) in files.filter(is_shared) {
        let file: TypesFile = parse(name, content)?;
        shared.strings.extend(file.strings);
        shared.registered.extend(file.registered);
        add(&mut raw, name, file.types)?;
        last = name;
    }
    let mut names: Vec<String> = raw.keys().cloned().collect();
    names.sort_unstable();
    let none = SharedTypes::default();
    let mut resolver = Resolver {
        file: last,
        object: "",
        strings: &shared.strings,
        shared: &none,
        raw,
        ids: HashMap::new(),
        open: Vec::new(),
        types: &mut shared.types,
    };
    for name in names {
        resolver.struct_id(&name)?;
    }
    resolver.check_finite(0)?;
    shared.ids = resolver.ids;
    Ok(shared)
}

/// Loads the kinds of these files. Returns them with their types, including the shared ones.
pub(super) fn kinds<'a>(
    shared: &SharedTypes,
    files: impl Iterator<Item = File<'a>>,
) -> Result<(Vec<LoadedKind>, Types), LoadError> {
    let mut types = shared.types.clone();
    let mut kinds = Vec::new();
    for (name, content) in files.filter(|file| file.0.ends_with(".json") && !is_shared(file)) {
        let mut file: KindFile = parse(name, content)?;
        let mut raw = HashMap::new();
        add(&mut raw, name, std::mem::take(&mut file.types))?;
        raw.insert(file.kind.clone(), std::mem::take(&mut file.fields));
        let first = types.len();
        let mut resolver = Resolver {
            file: name,
            object: &file.kind,
            strings: &shared.strings,
            shared,
            raw,
            ids: HashMap::new(),
            open: Vec::new(),
            types: &mut types,
        };
        let root = resolver.struct_id(&file.kind)?;
        resolver.check_finite(first)?;
        kinds.push(LoadedKind {
            origin: name.to_owned(),
            file,
            root,
        });
    }
    Ok((kinds, types))
}

fn parse<T: for<'d> Deserialize<'d>>(name: &str, content: &[u8]) -> Result<T, LoadError> {
    serde_json::from_slice(content).map_err(|e| LoadError::new(name, e.to_string()))
}

/// Unresolved struct types: name to fields, field to notation.
type Raw = HashMap<String, Map<String, Value>>;

fn add(raw: &mut Raw, file: &str, types: Map<String, Value>) -> Result<(), LoadError> {
    for (name, fields) in types {
        let Value::Object(fields) = fields else {
            return Err(LoadError::new(file, format!("{name} is not a map of fields")));
        };
        if raw.insert(name.clone(), fields).is_some() {
            return Err(LoadError::new(file, format!("{name} is defined twice")));
        }
    }
    Ok(())
}

/// Resolver of type names. Types of the file hide shared types of the same name.
struct Resolver<'a> {
    file: &'a str,
    /// Name of the kind, whose type is that of the whole object.
    object: &'a str,
    strings: &'a HashSet<String>,
    shared: &'a SharedTypes,
    raw: Raw,
    ids: HashMap<String, StructId>,
    /// Names of the struct types whose fields are being resolved.
    open: Vec<String>,
    types: &'a mut Types,
}

impl Resolver<'_> {
    fn error(&self, problem: impl Into<String>) -> LoadError {
        LoadError::new(self.file, problem)
    }

    /// Returns the struct type with this name. Its fields may not be resolved yet.
    fn struct_id(&mut self, name: &str) -> Result<StructId, LoadError> {
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        let Some(raw) = self.raw.remove(name) else {
            let shared = self.shared.ids.get(name);
            return shared
                .copied()
                .ok_or_else(|| self.error(format!("unknown type {name}")));
        };
        let id = self.types.reserve();
        self.ids.insert(name.to_owned(), id);
        self.open.push(name.to_owned());
        let (mut fields, mut default, mut internal) = (Vec::with_capacity(raw.len()), None, None);
        for (key, notation) in &raw {
            let Some(notation) = notation.as_str() else {
                return Err(self.error(format!("{name}.{key} is not a string")));
            };
            if key == "@default" {
                default =
                    Some(default::rule(notation).ok_or_else(|| self.error(format!("unknown default {notation}")))?);
            } else if key == "@internal" {
                internal = Some(
                    internal::rule(notation).ok_or_else(|| self.error(format!("unknown internal rule {notation}")))?,
                );
            } else if let Some(embedded) = key.strip_prefix('+') {
                let embedded_id = self.struct_id(embedded)?;
                if self.open.iter().any(|open| open == embedded) {
                    return Err(self.error(format!("{embedded} embeds itself")));
                }
                let embedded = self.types.get(embedded_id).fields.iter().cloned();
                fields.extend(embedded.map(|field| Field {
                    is_embedded: true,
                    ..field
                }));
            } else {
                fields.push(self.field(key, notation)?);
            }
        }
        self.open.pop();
        let is_object = self.object == name;
        self.types
            .set(id, StructType::new(name, is_object, fields, default, internal));
        Ok(id)
    }

    fn check_finite(&self, first: usize) -> Result<(), LoadError> {
        match self.types.infinite(first) {
            Some(of) => Err(self.error(format!("{} contains itself by value", of.name))),
            None => Ok(()),
        }
    }

    fn field(&mut self, name: &str, notation: &str) -> Result<Field, LoadError> {
        let (rest, default) = match notation.split_once(" = ") {
            Some((rest, default)) => (rest, Some(default)),
            None => (notation, None),
        };
        let (rest, internal_name) = match rest.split_once(" as ") {
            Some((rest, "-")) => (rest, Some("".into())),
            Some((rest, name)) => (rest, Some(name.into())),
            None => (rest, None),
        };
        let (rest, merge_key) = match rest.split_once(" by ") {
            Some((rest, key)) => (rest, Some(key.into())),
            None => (rest, None),
        };
        let (kind, omit_empty) = match rest.strip_suffix('?') {
            Some(kind) => (kind, true),
            None => (rest, false),
        };
        let field_type = self.field_type(kind)?;
        let default = match (default, field_type.pointee()) {
            (None, _) => None,
            (Some(text), FieldType::String { .. }) => Some(Value::from(text)),
            (Some(text), FieldType::IntOrString) => Some(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
            (Some(text), _) => {
                Some(serde_json::from_str(text).map_err(|e| self.error(format!("{name} = {text}: {e}")))?)
            }
        };
        Ok(Field {
            name: name.into(),
            field_type,
            omit_empty,
            merge_key,
            default,
            is_embedded: false,
            internal_name,
        })
    }

    fn field_type(&mut self, notation: &str) -> Result<FieldType, LoadError> {
        if let Some(rest) = notation.strip_prefix('*') {
            return Ok(FieldType::Pointer(Box::new(self.field_type(rest)?)));
        }
        if notation == "[]byte" {
            return Ok(FieldType::Bytes);
        }
        if let Some(rest) = notation.strip_prefix("[]") {
            return Ok(FieldType::List(Box::new(self.field_type(rest)?)));
        }
        if let Some((_, rest)) = notation.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
            return Ok(FieldType::Map(Box::new(self.field_type(rest)?)));
        }
        Ok(match notation {
            "string" => FieldType::String { name: None },
            "int32" => FieldType::Int(32),
            "int64" | "int" => FieldType::Int(64),
            "bool" => FieldType::Bool,
            "Time" => FieldType::Time,
            "Quantity" => FieldType::Quantity,
            "ResourceList" => FieldType::Map(Box::new(FieldType::Quantity)),
            "IntOrString" => FieldType::IntOrString,
            "RawExtension" => FieldType::Raw,
            name if self.strings.contains(name) => FieldType::String {
                name: Some(name.into()),
            },
            name => FieldType::Struct(self.struct_id(name)?),
        })
    }
}

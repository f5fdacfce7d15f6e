//! The kinds that are served, in the order of discovery.
//!
//! Promises: loading is over in a millisecond, and what is loaded never changes.
//! Source of semantics: `fixtures/kinds`, which the program embeds.

use std::{collections::HashMap, sync::OnceLock};

use serde_json::{Map, Value};
use stuntdouble_fixtures::{Dir, DirEntry, KINDS};

use super::{
    load::{self, Kind, LoadError, Registered, Strategy},
    types::{Shape, Struct, TypeRef},
};

/// A kind with a path: what discovery names without a slash.
#[derive(Debug)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The name in paths.
    pub plural: String,
    /// The kind of its objects.
    pub kind: String,
    /// Whether its objects live in a namespace.
    pub namespaced: bool,
    /// What may be done with it: `create`, `get`, `list`, `watch`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<String>,
    /// The sub-resources, with the kind of each.
    pub subresources: Vec<(String, String)>,
    /// The rules of storing it.
    pub strategy: Strategy,
    selectable: Vec<(String, String)>,
    unsupported: String,
    internal: Vec<(String, Vec<String>)>,
    also: Vec<String>,
    head: String,
    root: Shape,
    structure: &'static Struct,
}

/// All kinds that are served.
#[derive(Debug)]
pub struct Scheme {
    resources: Vec<Resource>,
    index: HashMap<(String, String, String), usize>,
    kinds: HashMap<(String, String), usize>,
    registered: Registered,
    served: usize,
}

impl Scheme {
    /// The kinds that come with the program.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Scheme> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            #[expect(
                clippy::expect_used,
                reason = "the files are part of the program, and a test loads them"
            )]
            Self::load(files(&KINDS)).expect("the kinds that come with the program load")
        })
    }

    /// The kinds in these files, given as name and content.
    pub fn load<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])> + Clone) -> Result<Self, LoadError> {
        let (kinds, registered) = load::load(files)?;
        let mut resources: Vec<Resource> = kinds.into_iter().map(Resource::new).collect();
        resources.sort_by(|a, b| {
            (a.plural.is_empty(), &a.group, &a.plural).cmp(&(b.plural.is_empty(), &b.group, &b.plural))
        });
        let served = resources.iter().filter(|r| !r.plural.is_empty()).count();
        let index = resources
            .iter()
            .enumerate()
            .map(|(at, r)| ((r.group.clone(), r.version.clone(), r.plural.clone()), at))
            .collect();
        let mut kinds = HashMap::new();
        for (at, resource) in resources.iter().enumerate() {
            for group_version in resource.also.iter().cloned().chain([resource.group_version()]) {
                kinds.insert((group_version, resource.kind.clone()), at);
            }
        }
        Ok(Self {
            resources,
            index,
            kinds,
            registered,
            served,
        })
    }

    /// Every resource, ordered as discovery lists them.
    pub fn resources(&self) -> &[Resource] {
        self.resources.get(..self.served).unwrap_or_default()
    }

    /// The resource at a path.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Resource> {
        if plural.is_empty() {
            return None;
        }
        self.index
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
            .and_then(|&at| self.resources.get(at))
    }

    /// A kind by its name, also one that is only ever a body: `DeleteOptions`, `Scale`, `DeploymentRollback`.
    pub fn kind(&self, group_version: &str, kind: &str) -> Option<&Resource> {
        self.kinds
            .get(&(group_version.to_owned(), kind.to_owned()))
            .and_then(|&at| self.resources.get(at))
    }

    /// Whether the reference knows the kind, if only by name.
    pub(super) fn is_registered(&self, group_version: &str, kind: &str) -> bool {
        self.registered
            .get(group_version)
            .is_some_and(|kinds| kinds.iter().any(|k| k == kind))
    }
}

fn files<'a>(dir: &'a Dir<'a>) -> impl Iterator<Item = (&'a str, &'a [u8])> + Clone {
    let mut found = Vec::new();
    let mut open = vec![dir];
    while let Some(dir) = open.pop() {
        for entry in dir.entries() {
            match entry {
                DirEntry::Dir(dir) => open.push(dir),
                DirEntry::File(file) => found.extend(file.path().to_str().map(|path| (path, file.contents()))),
            }
        }
    }
    found.into_iter()
}

/// The texts in a list.
fn words(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

impl Resource {
    fn new(kind: Kind) -> Self {
        let file = kind.file;
        let texts = |map: &Map<String, Value>| {
            map.iter()
                .map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned()))
                .collect()
        };
        let subresources = texts(&file.subresources);
        let mut made = Self {
            group: file.group,
            version: file.version,
            plural: file.plural,
            kind: file.kind,
            namespaced: file.namespaced,
            verbs: file.verbs,
            subresources,
            strategy: file.strategy,
            selectable: texts(&file.select.labels),
            unsupported: file.select.unsupported,
            internal: file
                .internal
                .iter()
                .map(|(name, parts)| (name.clone(), words(parts)))
                .collect(),
            also: file.also,
            head: String::new(),
            root: Shape::Struct(kind.root),
            structure: kind.root,
        };
        made.head = format!(r#"{{"kind":"{}","apiVersion":"{}""#, made.kind, made.group_version());
        made
    }

    /// Group and version as `apiVersion` says them: `v1`, `batch/v1`.
    pub fn group_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether `verb` may be done with it.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }

    /// The kind of the sub-resource `name`.
    pub fn subresource(&self, name: &str) -> Option<&str> {
        self.subresources
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, kind)| kind.as_str())
    }

    /// The fields that can be selected by: the label in a selector, and the path of the field it stands for.
    pub fn selectable(&self) -> &[(String, String)] {
        &self.selectable
    }

    /// The refusal of a field selector's label that is none of [`Resource::selectable`].
    pub fn unsupported_label(&self, label: &str) -> String {
        self.unsupported.replace("{label}", label)
    }

    /// The type of the whole object, to walk down from.
    pub fn type_ref(&'static self) -> TypeRef {
        TypeRef::new(&self.root)
    }

    pub(super) fn structure(&self) -> &'static Struct {
        self.structure
    }

    /// The Go fields of the reference's internal type, in its order, with those of their parts that decide.
    pub(super) fn internal(&self) -> &[(String, Vec<String>)] {
        &self.internal
    }

    /// What an encoded object begins with, up to the comma.
    pub fn head(&self) -> &str {
        &self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_kinds_load_in_the_order_of_discovery() {
        let scheme = Scheme::load(files(&KINDS)).unwrap();
        let names: Vec<String> = scheme
            .resources()
            .iter()
            .map(|r| format!("{}/{}", r.group_version(), r.plural))
            .collect();
        assert_eq!(names.first().map(String::as_str), Some("v1/bindings"));
        assert_eq!(
            names.last().map(String::as_str),
            Some("extensions/v1beta1/replicationcontrollers")
        );
        assert!(names.contains(&"batch/v1/jobs".to_owned()));
        assert!(names.contains(&"v1/nodes".to_owned()));
    }

    #[test]
    fn a_type_can_be_walked_by_field_names() {
        let pods = Scheme::builtin().resource("", "v1", "pods").unwrap();
        let containers = pods
            .type_ref()
            .field("spec")
            .and_then(|f| f.type_ref.field("containers"))
            .unwrap();
        assert_eq!(
            (containers.merge_key, containers.patch_strategy),
            (Some("name"), Some("merge"))
        );
        let ports = containers.type_ref.element().and_then(|c| c.field("ports")).unwrap();
        assert_eq!(ports.merge_key, Some("containerPort"));
        assert!(pods.type_ref().field("nope").is_none());
        assert!(
            pods.type_ref().field("kind").is_some()
                && containers.type_ref.element().and_then(|c| c.field("kind")).is_none()
        );
    }

    #[test]
    fn a_file_that_makes_no_sense_is_named() {
        let file = (
            r#"core/x.json"#,
            br#"{"kind": "X", "version": "v1", "fields": {"a": "Nope"}}"#.as_slice(),
        );
        assert_eq!(
            Scheme::load([file].into_iter()).unwrap_err().to_string(),
            "core/x.json: no type Nope"
        );
    }
}

//! A resource: one version of a kind, and the path at which it is served.
//!
//! Guarantee: what is loaded does not change.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    conversion::Conversion,
    load::{KindFile, StorageRules},
    types::{FieldType, StructId, StructType, TypeRef, Types},
};
use crate::api::{GroupResource, Object, meta};

/// One version of a kind. One without a plural has no path: it is only ever a body.
#[derive(Debug)]
pub(crate) struct Resource {
    /// API group; empty for the core group.
    pub group: String,
    /// Version within the group.
    pub version: String,
    /// Name in paths.
    pub plural: String,
    /// Kind of its objects.
    pub kind: String,
    /// Short names that clients take for the plural: `po`.
    pub short_names: Vec<String>,
    /// Groups of resources that it is in: `all`.
    pub categories: Vec<String>,
    /// Whether its objects are in a namespace.
    pub namespaced: bool,
    /// Verbs: `create`, `get`, `list`, `watch`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<String>,
    /// Subresources, with the kind of each.
    pub subresources: Vec<(String, String)>,
    /// Storage rules.
    pub strategy: StorageRules,
    group_version: String,
    selectable: Vec<(String, String)>,
    unsupported: String,
    internal: Vec<(String, Vec<String>)>,
    also: Vec<String>,
    head: String,
    storage: Option<StorageVersion>,
    stored_as: GroupResource,
    types: Arc<Types>,
    root: FieldType,
}

/// The version that a kind is stored in, as one of its other versions refers to it.
#[derive(Debug)]
pub(super) struct StorageVersion {
    pub(super) resource: Arc<Resource>,
    pub(super) conversion: Conversion,
}

/// The strings of a list.
fn strings(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// The field labels of every kind.
fn own_labels(namespaced: bool) -> Vec<(String, String)> {
    let all = ["metadata.name", "metadata.namespace"];
    all.iter()
        .take(if namespaced { 2 } else { 1 })
        .map(|&label| (label.to_owned(), label.to_owned()))
        .collect()
}

impl Resource {
    pub(super) fn new(file: KindFile, root: StructId, types: Arc<Types>, storage: Option<StorageVersion>) -> Self {
        let pairs = |map: &Map<String, Value>| {
            map.iter()
                .map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned()))
                .collect()
        };
        let group_version = file.group_version();
        let (selectable, unsupported) = match (file.select, &storage) {
            (Some(select), _) => (pairs(&select.labels), select.unsupported),
            (None, Some(storage)) => (
                storage.resource.selectable.clone(),
                storage.resource.unsupported.clone(),
            ),
            (None, None) => (
                own_labels(file.namespaced),
                "field label not supported: {label}".to_owned(),
            ),
        };
        Self {
            head: format!(r#"{{"kind":"{}","apiVersion":"{group_version}""#, file.kind),
            stored_as: match &storage {
                Some(storage) => storage.resource.stored_as.clone(),
                None => GroupResource::new(&file.group, &file.plural),
            },
            group_version,
            subresources: pairs(&file.subresources),
            selectable,
            unsupported,
            internal: file
                .internal
                .iter()
                .map(|(name, parts)| (name.clone(), strings(parts)))
                .collect(),
            group: file.group,
            version: file.version,
            plural: file.plural,
            kind: file.kind,
            short_names: file.short_names,
            categories: file.categories,
            namespaced: file.namespaced,
            verbs: file.verbs,
            strategy: file.strategy,
            also: file.also,
            storage,
            types,
            root: FieldType::Struct(root),
        }
    }

    /// Group and version as `apiVersion` has them: `v1`, `batch/v1`.
    pub(crate) fn group_version(&self) -> &str {
        &self.group_version
    }

    /// Whether this is the kind of that name in that group and version.
    pub(super) fn is_kind(&self, group_version: &str, kind: &str) -> bool {
        self.kind == kind && (self.group_version == group_version || self.also.iter().any(|also| also == group_version))
    }

    /// The key of its objects in the store: group and plural of the version that the kind is stored in.
    pub(crate) fn stored_as(&self) -> &GroupResource {
        &self.stored_as
    }

    /// The version that the kind is stored in, which may be this one.
    pub(crate) fn storage_version(&self) -> &Self {
        self.storage.as_ref().map_or(self, |storage| &storage.resource)
    }

    /// Whether the kind is stored in this version.
    pub(crate) fn is_storage_version(&self) -> bool {
        self.storage.is_none()
    }

    pub(super) fn storage(&self) -> Option<&StorageVersion> {
        self.storage.as_ref()
    }

    /// Whether `verb` is one of its verbs.
    pub(crate) fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }

    /// The kind of the subresource `name`.
    pub(crate) fn subresource(&self, name: &str) -> Option<&str> {
        self.subresources
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, kind)| kind.as_str())
    }

    /// Field labels that a selector may have, each with the path of its field.
    pub(crate) fn selectable(&self) -> &[(String, String)] {
        &self.selectable
    }

    /// The error text for a field label that is none of [`Resource::selectable`].
    pub(crate) fn unsupported_label(&self, label: &str) -> String {
        self.unsupported.replace("{label}", label)
    }

    /// The type of the whole object.
    pub(crate) fn type_ref(&self) -> TypeRef<'_> {
        TypeRef::new(&self.types, &self.root)
    }

    pub(super) fn types(&self) -> &Types {
        &self.types
    }

    /// The struct type of the whole object.
    pub(super) fn struct_type(&self) -> &StructType {
        match &self.root {
            FieldType::Struct(id) => self.types.get(*id),
            _ => unreachable!("an object's type is a struct"),
        }
    }

    /// The Go fields of v1.2's internal type, in its order, with those of their fields that decide.
    pub(super) fn internal(&self) -> &[(String, Vec<String>)] {
        &self.internal
    }

    /// The beginning of an encoded object, up to the comma.
    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// The path of its group and version.
    pub(crate) fn root_path(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }

    /// The path of a collection, as a list's selfLink has it.
    pub(crate) fn collection_path(&self, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("{}/namespaces/{namespace}/{}", self.root_path(), self.plural),
            None => format!("{}/{}", self.root_path(), self.plural),
        }
    }

    /// Writes the object's own path into its metadata.
    ///
    /// An object without its namespace, such as an exported one, gets the path that v1.2 gives it: one with the namespace left out.
    pub(crate) fn set_self_link(&self, object: &mut Object) {
        let (namespace, name) = (
            meta::text(object, "metadata.namespace"),
            meta::text(object, "metadata.name"),
        );
        let (root, plural) = (self.root_path(), &self.plural);
        let path = match (self.namespaced, namespace) {
            (false, _) => format!("{root}/{plural}/{name}"),
            (true, "") => format!("{root}/namespaces/{plural}/{name}"),
            (true, namespace) => format!("{root}/namespaces/{namespace}/{plural}/{name}"),
        };
        meta::set(object, "selfLink", &path);
    }
}

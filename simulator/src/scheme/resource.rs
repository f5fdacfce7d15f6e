//! Resource: one version of a kind and the path at which it is served.
//!
//! Guarantee: a loaded resource does not change.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    conversion::Conversion,
    load::{KindFile, StorageRules},
    types::{FieldType, StructId, StructType, TypeRef, Types},
};
use crate::api::{GroupResource, Object, meta};

/// Version of a kind. Without a plural it has no path and is only used in bodies.
#[derive(Debug)]
pub(crate) struct Resource {
    /// API group. Empty for the core group.
    pub group: String,
    /// Version within the group.
    pub version: String,
    /// Name in paths.
    pub plural: String,
    /// Kind of the objects.
    pub kind: String,
    /// Short names that clients accept for the plural, such as `po`.
    pub short_names: Vec<String>,
    /// Categories of the resource, such as `all`.
    pub categories: Vec<String>,
    /// Whether the objects are in a namespace.
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

/// Storage version of a kind, as its other versions refer to it.
#[derive(Debug)]
pub(super) struct StorageVersion {
    pub(super) resource: Arc<Resource>,
    pub(super) conversion: Conversion,
}

/// Returns the strings of a list.
fn strings(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Field labels of every kind.
fn common_labels(namespaced: bool) -> Vec<(String, String)> {
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
                common_labels(file.namespaced),
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

    /// Group and version in the format of `apiVersion`: `v1`, `batch/v1`.
    pub(crate) fn group_version(&self) -> &str {
        &self.group_version
    }

    /// Whether this is the kind with that name, group and version.
    pub(super) fn is_kind(&self, group_version: &str, kind: &str) -> bool {
        self.kind == kind && (self.group_version == group_version || self.also.iter().any(|also| also == group_version))
    }

    /// Store key of the objects: group and plural of the storage version.
    pub(crate) fn stored_as(&self) -> &GroupResource {
        &self.stored_as
    }

    /// Storage version of the kind, which may be this one.
    pub(crate) fn storage_version(&self) -> &Self {
        self.storage.as_ref().map_or(self, |storage| &storage.resource)
    }

    /// Whether this is the storage version of the kind.
    pub(crate) fn is_storage_version(&self) -> bool {
        self.storage.is_none()
    }

    pub(super) fn storage(&self) -> Option<&StorageVersion> {
        self.storage.as_ref()
    }

    /// Whether the resource supports `verb`.
    pub(crate) fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }

    /// Kind of the subresource `name`.
    pub(crate) fn subresource(&self, name: &str) -> Option<&str> {
        self.subresources
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, kind)| kind.as_str())
    }

    /// Field labels that a selector may use, each with the path of its field.
    pub(crate) fn selectable(&self) -> &[(String, String)] {
        &self.selectable
    }

    /// Error text for a field label that is not in [`Resource::selectable`].
    pub(crate) fn unsupported_label(&self, label: &str) -> String {
        self.unsupported.replace("{label}", label)
    }

    /// Type of the whole object.
    pub(crate) fn type_ref(&self) -> TypeRef<'_> {
        TypeRef::new(&self.types, &self.root)
    }

    pub(super) fn types(&self) -> &Types {
        &self.types
    }

    /// Struct type of the whole object.
    pub(super) fn struct_type(&self) -> &StructType {
        match &self.root {
            FieldType::Struct(id) => self.types.get(*id),
            _ => unreachable!("an object's type is a struct"),
        }
    }

    /// Go fields of v1.2's internal type, in its order, each with the members that decide a conversion.
    pub(super) fn internal(&self) -> &[(String, Vec<String>)] {
        &self.internal
    }

    /// Beginning of an encoded object, up to the comma.
    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// Path of the group and version.
    pub(crate) fn root_path(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }

    /// Path of a collection, as in the selfLink of a list.
    pub(crate) fn collection_path(&self, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("{}/namespaces/{namespace}/{}", self.root_path(), self.plural),
            None => format!("{}/{}", self.root_path(), self.plural),
        }
    }

    /// Sets the selfLink of an object.
    ///
    /// An object without its namespace, such as an exported one, gets the path that v1.2 gives it: one without the
    /// namespace.
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

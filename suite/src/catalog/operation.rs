//! A documented operation, and the kind that it belongs to.

use http::Method;
use serde::Deserialize;
use serde_json::Value;

use super::Part;

/// Scope of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Objects are in a namespace.
    Namespaced,
    /// Objects are cluster-scoped.
    Cluster,
}

/// Sample object of a kind, from `fixtures/objects`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Object as it is created, without name and labels.
    pub sample: Value,
    /// Merge patch that changes it.
    pub change: Value,
    /// Merge patch of fields that a status replacement must not change.
    #[serde(default)]
    pub spec: Value,
    /// Merge patch of its status.
    #[serde(default)]
    pub status: Value,
    /// Merge patch of the other fields that it can be created with.
    #[serde(default)]
    pub full: Value,
    /// Pointer to its pod spec, where `full` has the fields of `pod-spec.yaml` that the file does not set.
    #[serde(default, rename = "pod-spec")]
    pub(super) pod_spec: Option<String>,
}

impl Sample {
    /// Returns a part of the file.
    pub fn part(&self, part: Part) -> &Value {
        match part {
            Part::Sample => &self.sample,
            Part::Change => &self.change,
            Part::Spec => &self.spec,
            Part::Status => &self.status,
            Part::Full => &self.full,
        }
    }
}

/// A kind of the catalog.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Name, such as `ConfigMap`.
    pub name: String,
    /// Heading in reports, such as `core/v1`.
    pub group: String,
    /// Name in paths.
    pub plural: String,
    /// apiVersion.
    pub api_version: String,
    /// Path of its collection; `None` if objects cannot be created.
    pub path: Option<String>,
    /// Path of its collection in another group with the same objects.
    pub other_group: Option<String>,
    /// Sample; `None` if objects cannot be created.
    pub sample: Option<Sample>,
    /// Whether the controllers of a cluster write to its objects.
    pub controlled: bool,
}

impl Kind {
    /// Returns the kind of the objects at its path. They are of another kind if its own cannot be read, such as
    /// `Binding`, whose creation changes a `Pod`.
    pub fn object_kind(&self) -> &str {
        let of_sample = self.sample.as_ref().and_then(|sample| sample.sample["kind"].as_str());
        of_sample.unwrap_or(&self.name)
    }

    /// Returns the scope of its objects.
    pub fn scope(&self) -> Scope {
        match &self.path {
            Some(path) if path.contains("{namespace}") => Scope::Namespaced,
            _ => Scope::Cluster,
        }
    }
}

/// Result type of an operation, from the documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultType {
    /// The kind, such as `ConfigMapList`.
    pub kind: String,
    /// The apiVersion, such as `v1`.
    pub api_version: String,
}

/// One documented operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Name within the kind, such as `create`.
    pub id: String,
    /// Method.
    pub method: Method,
    /// Path template, as in the documentation.
    pub path: String,
    /// Result type; `None` if the documentation gives none, or only "string".
    pub result: Option<ResultType>,
    /// Whether it always streams: the paths under /watch/.
    pub streams: bool,
    /// Place in the documentation.
    pub source: String,
    /// Reason why its trials do not count yet.
    pub pending: Option<String>,
    /// Whether it is one of the documented operations.
    pub documented: bool,
}

impl Operation {
    /// Returns method and path template, as in the documentation: `GET /api/v1/pods`.
    pub fn request(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

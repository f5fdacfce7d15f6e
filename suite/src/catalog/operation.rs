//! A documented operation, and the kind that it belongs to.

use http::Method;
use serde::Deserialize;
use serde_json::Value;

use super::{CaseData, Part};

/// Whether objects of a kind live in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In the cluster.
    Cluster,
}

/// A sample object of a kind and what is done to it, from `fixtures/objects`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The object as it is created; its name and labels are set by the environment.
    pub sample: Value,
    /// A merge patch of it.
    pub change: Value,
    /// A merge patch of what a status replacement leaves alone.
    #[serde(default)]
    pub spec: Value,
    /// A merge patch of its status.
    #[serde(default)]
    pub status: Value,
}

impl Sample {
    /// One part of the file.
    pub fn part(&self, part: Part) -> &Value {
        match part {
            Part::Sample => &self.sample,
            Part::Change => &self.change,
            Part::Spec => &self.spec,
            Part::Status => &self.status,
        }
    }
}

/// A kind, as the catalog needs to know it.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Its name, such as `ConfigMap`.
    pub name: String,
    /// The heading under which it is reported, such as `core/v1`.
    pub group: String,
    /// Its path name.
    pub plural: String,
    /// Its apiVersion.
    pub api_version: String,
    /// The path of its collection, where the environment makes and reads objects; none for what cannot be made.
    pub path: Option<String>,
    /// Its sample; none for what cannot be made.
    pub sample: Option<Sample>,
}

impl Kind {
    /// Whether its objects live in a namespace.
    pub fn scope(&self) -> Scope {
        match &self.path {
            Some(path) if path.contains("{namespace}") => Scope::Namespaced,
            _ => Scope::Cluster,
        }
    }
}

/// What an operation answers, as the texts name it.
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
    /// Its name within the kind, such as `create`.
    pub id: String,
    /// The method.
    pub method: Method,
    /// The path template, as in the texts.
    pub path: String,
    /// What it answers; none where the texts send_message nothing of it, or only "string".
    pub result: Option<ResultType>,
    /// Whether it streams without being asked to: the paths under /watch/.
    pub streams: bool,
    /// The place in the texts.
    pub source: String,
    /// Why its trials do not count yet.
    pub pending: Option<String>,
    /// Whether it is one of the documented operations. What is not is judged beside them.
    pub documented: bool,
    /// Its cases.
    pub cases: Vec<CaseData>,
}

impl Operation {
    /// Method and path template, as in the texts: `GET /api/v1/pods`.
    pub fn request(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

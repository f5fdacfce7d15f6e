//! The data of a case: one request to an operation, its preconditions, and the response that it expects.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::{Action, Body, Credential, Expect, Level, LogQuery, Need, ObjectState, Profile, Socket, Step};

/// An object that exists before the request, or that is created later.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Precondition {
    /// Labels of the object.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Merge patch of the sample.
    pub set: Option<Value>,
    /// Whether it is created with all fields of its sample file.
    #[serde(default)]
    pub full: bool,
    /// Whether it is only named, not created before the request.
    #[serde(default)]
    pub later: bool,
    /// Whether it is in the second namespace of the trial.
    #[serde(default)]
    pub elsewhere: bool,
}

/// A state or content to check after the response.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum After {
    /// State of an object.
    State(ObjectState),
    /// A method that must be refused.
    Refused(RefusedMethod),
    /// Content of an object.
    Contains(PartialState),
}

/// A method that a path must refuse.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedMethod {
    /// The path.
    pub at: String,
    /// The method.
    pub refused: String,
}

/// Content to check after the response.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PartialState {
    /// Letter of the object to read.
    #[serde(default)]
    pub read: String,
    /// Path to read instead.
    pub at: Option<String>,
    /// Path of a list. The check is made for each item, with its name as `${each}`. The list must not be empty.
    pub each: Option<String>,
    /// Values that the object contains. Without it, `present` and `absent` the path must return 404.
    pub contains: Option<Value>,
    /// Exact values by JSON pointer, as texts that a step has saved.
    #[serde(default)]
    pub equal: BTreeMap<String, String>,
    /// JSON pointers that must be present and not empty.
    #[serde(default)]
    pub present: Vec<String>,
    /// JSON pointers that must be missing, null or empty.
    #[serde(default)]
    pub absent: Vec<String>,
    /// Maximum seconds to wait for it. Default: 0.
    #[serde(default)]
    pub within: u64,
    /// Path of a collection, a template. Without this collection nothing is checked.
    #[serde(skip)]
    pub if_served: Option<String>,
}

/// One text or several: statements of a case, values of a header.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Texts {
    /// One text.
    One(String),
    /// Several texts.
    Several(Vec<String>),
}

impl Texts {
    /// Returns the texts.
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(id) => std::slice::from_ref(id),
            Self::Several(ids) => ids,
        }
    }
}

/// The data of a case in its file. Several operations can share it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CaseData {
    /// Name, unique within the operation.
    pub id: String,
    /// Level.
    pub level: Level,
    /// Requirement in one sentence. `{kind}` is the name of the kind.
    pub requirement: String,
    /// The statements that it checks.
    pub statement: Texts,
    /// The only profile that has the case. Default: both.
    pub profile: Option<Profile>,
    /// Whether the request can change objects of other clients.
    #[serde(default)]
    pub cluster_wide: bool,
    /// Objects of the trial, by letter.
    #[serde(default)]
    pub given: IndexMap<String, Precondition>,
    /// Whether the request is proxied to the suite's backend, as the file of the kind describes.
    #[serde(default)]
    pub reached: bool,
    /// Features that the target must have.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Service of the system namespace that must exist.
    pub add_on: Option<String>,
    /// Whether objects of other kinds with the name of the first object exist; the request must not change them.
    #[serde(default)]
    pub namesakes: bool,
    /// Requests to send after the objects are created.
    #[serde(default)]
    pub setup: Vec<Step>,
    /// Actions before the request.
    #[serde(default)]
    pub before: Vec<Action>,
    /// Name in the path: a letter, `absent`, or a template. Default: the first object's name.
    pub name: Option<String>,
    /// Namespace in the path: `absent`, a name, or a template of one that the set-up creates. Default: the trial's
    /// namespace.
    pub namespace: Option<String>,
    /// Rest of a proxied path.
    pub path: Option<String>,
    /// Whether the path ends in a slash.
    #[serde(default)]
    pub slash: bool,
    /// Method, if it is not that of the operation, for methods that a path must refuse.
    pub method: Option<String>,
    /// Query parameters.
    #[serde(default)]
    pub query: IndexMap<String, String>,
    /// Raw query, sent instead of `query`.
    pub raw_query: Option<String>,
    /// Accept header.
    pub accept: Option<String>,
    /// Content-Type header; `none` sends none. Default: application/json if there is a body.
    pub content_type: Option<String>,
    /// Additional headers. One with several values is sent several times.
    #[serde(default)]
    pub headers: IndexMap<String, Texts>,
    /// Credential to send.
    #[serde(rename = "as")]
    pub credential: Option<Credential>,
    /// Request body.
    pub body: Option<Body>,
    /// Conversation over the upgraded connection.
    pub socket: Option<Socket>,
    /// Log query to run instead of a request.
    #[serde(skip)]
    pub log_query: Option<LogQuery>,
    /// Number of equal concurrent requests. Exactly one must succeed, and the others conflict.
    pub race: Option<usize>,
    /// Number of clients that patch the object concurrently, each with a separate label. No label may be lost.
    pub patches: Option<usize>,
    /// Number of concurrent writers. List and watch must agree on their writes. Replaces the request.
    pub contract: Option<usize>,
    /// Whether the refusal depends on objects that the target may see with a delay: objects created in the meantime are
    /// deleted, and the request is repeated.
    #[serde(default)]
    pub eventually: bool,
    /// Actions while a watch runs.
    #[serde(default)]
    pub during: Vec<Action>,
    /// Expected response.
    #[serde(default)]
    pub expect: Expect,
    /// Checks after the response.
    #[serde(default)]
    pub after: Vec<After>,
}

impl CaseData {
    /// Returns whether the case needs a full cluster, whose components run pods and also write the objects.
    pub fn needs_full_cluster(&self) -> bool {
        [Need::LivingCluster, Need::Processes]
            .iter()
            .any(|need| self.needs.contains(need))
    }

    /// Creates a case that runs a log query.
    pub(super) fn of_log_query(id: String, requirement: String, needs: Vec<Need>, query: LogQuery) -> Self {
        Self {
            id,
            level: Level::Should,
            requirement,
            statement: Texts::One("search/query-language".to_owned()),
            needs,
            log_query: Some(query),
            profile: Default::default(),
            cluster_wide: Default::default(),
            given: Default::default(),
            reached: Default::default(),
            add_on: Default::default(),
            namesakes: Default::default(),
            setup: Default::default(),
            before: Default::default(),
            name: Default::default(),
            namespace: Default::default(),
            path: Default::default(),
            slash: Default::default(),
            method: Default::default(),
            query: Default::default(),
            raw_query: Default::default(),
            accept: Default::default(),
            content_type: Default::default(),
            headers: Default::default(),
            credential: Default::default(),
            body: Default::default(),
            socket: Default::default(),
            race: Default::default(),
            patches: Default::default(),
            contract: Default::default(),
            eventually: Default::default(),
            during: Default::default(),
            expect: Default::default(),
            after: Default::default(),
        }
    }
}

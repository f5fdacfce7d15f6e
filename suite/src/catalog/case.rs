//! A case: one request to an operation, what is there before it, and what is expected of the answer.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Action, Credential, Event, Headers, ObjectState, LogQuery, Need, Profile, Socket, Step};

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The texts send_message it.
    Must,
    /// The texts are silent; the system that they describe does it.
    Should,
    /// Either would do; the system that they describe does it.
    May,
}

impl Level {
    /// The word for it, as in the catalog.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        }
    }
}

/// An object that is there, or that is named and comes later.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Precondition {
    /// Labels that it carries.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// A merge patch of the sample.
    pub set: Option<Value>,
    /// Whether it only has a name and is not created before the request.
    #[serde(default)]
    pub later: bool,
    /// Whether it is in the second namespace of the environment.
    #[serde(default)]
    pub elsewhere: bool,
}

/// Which part of a sample file is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The object as it is created.
    Sample,
    /// The merge patch that a replacement or a patch makes.
    Change,
    /// A merge patch of the rest of the object, to be smuggled in with a status.
    Spec,
    /// The merge patch of the status.
    Status,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// As JSON.
    #[default]
    Json,
    /// As YAML.
    Yaml,
}

/// What is sent. Exactly one of `sample`, `current`, `resource`, `patch`, `json` and `text` is given; `apply` and
/// `set` are merged into what it is.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Body {
    /// The sample, as the object of this letter.
    pub sample: Option<String>,
    /// The object of this letter, as it is now.
    pub current: Option<String>,
    /// What a GET of the operation's own path answers.
    #[serde(default)]
    pub resource: bool,
    /// Parts of the sample file, merged into one patch.
    pub patch: Option<Vec<Part>>,
    /// This.
    pub json: Option<Value>,
    /// These bytes.
    pub text: Option<String>,
    /// Parts of the sample file that are merged into it.
    #[serde(default)]
    pub apply: Vec<Part>,
    /// A merge patch that is merged into it last.
    pub set: Option<Value>,
    /// How it is written.
    #[serde(default, rename = "as")]
    pub encoding: Encoding,
}

/// The media type that the answer is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Media {
    /// application/json.
    Json,
    /// application/yaml.
    Yaml,
    /// Whatever, and the body is read as text.
    Text,
    /// Whatever.
    Any,
}

/// What the answer's object is to be, where it is not what the operation's case says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedType {
    /// What a deletion of one object answers; it depends on the profile.
    Deleted,
    /// What a deletion of a collection answers; it depends on the profile.
    Collected,
    /// What a binding answers; it depends on the profile.
    Bound,
    /// Whatever.
    Any,
}

/// A type of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A list.
    Array,
}

/// What is expected of the answer. Without anything: success, of the type and the media type that the case says.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Expect {
    /// A status code, or a word that the profile turns into one.
    pub status: Option<StatusWord>,
    /// The answer's type, if it is not the operation's result.
    #[serde(rename = "type")]
    pub expected_type: Option<ExpectedType>,
    /// The reason of the Status that a refusal carries.
    pub reason: Option<String>,
    /// The media type; JSON unless said.
    pub media: Option<Media>,
    /// Whether it is laid out over indented lines.
    #[serde(default)]
    pub pretty: bool,
    /// Its headers, as far as they matter.
    #[serde(default)]
    pub headers: Headers,
    /// Texts that the body contains, as it was sent.
    #[serde(default)]
    pub texts: Vec<String>,
    /// The objects of the trial that the list holds, all of them and no other of the trial's.
    pub items: Option<Vec<String>>,
    /// Something that an item of the list contains.
    pub some_item: Option<Value>,
    /// What the answer contains.
    pub contains: Option<Value>,
    /// Resources that discovery lists, with their kinds.
    pub resources: Option<BTreeMap<String, String>>,
    /// Parts of the sample file that the answer contains.
    #[serde(default)]
    pub object: Vec<Part>,
    /// Parts of the sample file that the answer does not contain.
    #[serde(default)]
    pub unlike: Vec<Part>,
    /// The object that the answer is, as it was last written.
    pub same: Option<String>,
    /// The object of which the answer is a later version.
    pub newer: Option<String>,
    /// What the name in the answer begins with, and is longer than.
    pub generated: Option<String>,
    /// JSON pointers to what is there and not empty.
    #[serde(default)]
    pub present: Vec<String>,
    /// What is of which type, by JSON pointers.
    #[serde(default)]
    pub types: BTreeMap<String, JsonType>,
    /// JSON pointers to what is not there, or null.
    #[serde(default)]
    pub absent: Vec<String>,
    /// What the watch tells of the trial's objects, in this order.
    pub events: Option<Vec<Event>>,
    /// Whether the watch is to end by itself.
    #[serde(default)]
    pub ends: bool,
}

/// A status code or a word for one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum StatusWord {
    /// The code.
    Code(u16),
    /// A word that [`Profile::status`] knows.
    Word(String),
}

/// What is looked at after the answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum After {
    /// A state, in words.
    State(ObjectState),
    /// What an object contains.
    Contains(PartialState),
}

/// What something contains after the answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartialState {
    /// The letter of the object that is read.
    #[serde(default)]
    pub read: String,
    /// The path that is read instead, with names in it.
    pub at: Option<String>,
    /// What it contains.
    pub contains: Value,
}

/// One case of an operation: a case of the catalog.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CaseData {
    /// Its name, unique within the operation.
    pub id: String,
    /// How binding it is.
    pub level: Level,
    /// What is required, in our own words. `{kind}` is the kind's name.
    pub requirement: String,
    /// The place in the texts that states it.
    pub source: String,
    /// The one profile under which it is asked; without one, under both.
    pub profile: Option<Profile>,
    /// Whether it touches what is not the trial's own.
    #[serde(default)]
    pub cluster_wide: bool,
    /// The objects of the environment, by their letters.
    #[serde(default)]
    pub given: IndexMap<String, Precondition>,
    /// Whether what it asks leads to the suite's backend, as the kind's file says.
    #[serde(default)]
    pub reached: bool,
    /// What the target has to offer.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Requests that are made before, once the objects are there.
    #[serde(default)]
    pub setup: Vec<Step>,
    /// What is done before the request.
    #[serde(default)]
    pub before: Vec<Action>,
    /// The name in the path: a letter, `absent`, or the name itself, with names in it. Without one, the first object's.
    pub name: Option<String>,
    /// The namespace in the path, if it is not the environment's: `absent` for none that exists, or its name.
    pub namespace: Option<String>,
    /// The rest of a proxy's path.
    pub path: Option<String>,
    /// Whether the path ends in a slash.
    #[serde(default)]
    pub slash: bool,
    /// The query.
    #[serde(default)]
    pub query: IndexMap<String, String>,
    /// The Accept header.
    pub accept: Option<String>,
    /// The Content-Type header; `none` sends none. Without it, JSON for a body.
    pub content_type: Option<String>,
    /// Further headers.
    #[serde(default)]
    pub headers: IndexMap<String, String>,
    /// Who asks.
    #[serde(rename = "as")]
    pub credential: Option<Credential>,
    /// What is sent.
    pub body: Option<Body>,
    /// The talk over WebSocket that the request begins.
    pub socket: Option<Socket>,
    /// The log query that it is instead of a request of its own.
    #[serde(skip)]
    pub log_query: Option<LogQuery>,
    /// What is done while a watch runs.
    #[serde(default)]
    pub during: Vec<Action>,
    /// What is expected.
    #[serde(default)]
    pub expect: Expect,
    /// What is looked at afterwards.
    #[serde(default)]
    pub after: Vec<After>,
}

impl CaseData {
    /// The case that a log query is.
    pub(super) fn of_log_query(
        id: String,
        requirement: String,
        source: String,
        needs: Vec<Need>,
        query: LogQuery,
    ) -> Self {
        Self {
            id,
            level: Level::Should,
            requirement,
            source,
            needs,
            log_query: Some(query),
            profile: Default::default(),
            cluster_wide: Default::default(),
            given: Default::default(),
            reached: Default::default(),
            setup: Default::default(),
            before: Default::default(),
            name: Default::default(),
            namespace: Default::default(),
            path: Default::default(),
            slash: Default::default(),
            query: Default::default(),
            accept: Default::default(),
            content_type: Default::default(),
            headers: Default::default(),
            credential: Default::default(),
            body: Default::default(),
            socket: Default::default(),
            during: Default::default(),
            expect: Default::default(),
            after: Default::default(),
        }
    }
}

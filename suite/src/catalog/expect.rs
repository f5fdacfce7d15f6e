//! The body that a case sends and the response that it expects.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Event, Headers};

/// Part of a sample file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The object as it is created.
    Sample,
    /// Merge patch that a replacement or a patch makes.
    Change,
    /// Merge patch of fields that a status replacement must leave alone.
    Spec,
    /// Merge patch of the status.
    Status,
    /// Merge patch of further fields that an object can be created with.
    Full,
}

/// Encoding of a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// JSON.
    #[default]
    Json,
    /// YAML.
    Yaml,
}

/// Request body. Exactly one of `sample`, `current`, `resource`, `patch`, `operations`, `json`, `text` and `bytes` is set;
/// `apply` and `set` are merged into it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Body {
    /// The sample, named like the object of this letter.
    pub sample: Option<String>,
    /// The object of this letter, as it is now.
    pub current: Option<String>,
    /// The response to a GET of the operation's own path.
    #[serde(default)]
    pub resource: bool,
    /// Parts of the sample file, merged into one patch.
    pub patch: Option<Vec<Part>>,
    /// Parts of the sample file, as the operations of a JSON patch of the object as it is now.
    pub operations: Option<Vec<Part>>,
    /// Literal JSON.
    pub json: Option<Value>,
    /// Literal text.
    pub text: Option<String>,
    /// This many bytes of all values.
    pub bytes: Option<usize>,
    /// Parts of the sample file to merge into it.
    #[serde(default)]
    pub apply: Vec<Part>,
    /// Merge patch that is applied last.
    pub set: Option<Value>,
    /// Encoding.
    #[serde(default, rename = "as")]
    pub encoding: Encoding,
}

/// Expected media type of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Media {
    /// application/json.
    Json,
    /// application/yaml.
    Yaml,
    /// Any; the body is read as text.
    Text,
    /// Any.
    Any,
}

/// Expected type of the response, where it is not the operation's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedType {
    /// Result of deleting one object; depends on the profile.
    Deleted,
    /// Result of deleting a collection; depends on the profile.
    Collected,
    /// Result of a binding; depends on the profile.
    Bound,
    /// Any.
    Any,
}

/// A document of the server about itself, whose form is checked as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Document {
    /// The version of the server.
    Version,
    /// Addresses of the server by range of clients.
    Addresses,
    /// The description of a group and version: it has every documented operation.
    Description,
}

/// JSON type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonType {
    /// String.
    String,
    /// Integer.
    Integer,
    /// Any number.
    Number,
    /// Boolean.
    Boolean,
    /// Array.
    Array,
    /// Object.
    Object,
}

/// Expected response. Default: success, with the operation's type and media type.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Expect {
    /// Status code, or a word that the profile resolves.
    pub status: Option<StatusWord>,
    /// Type, if it is not the operation's result.
    #[serde(rename = "type")]
    pub expected_type: Option<ExpectedType>,
    /// Reason in the Status of an error.
    pub reason: Option<String>,
    /// Fields that the causes of an Invalid Status name.
    #[serde(default)]
    pub causes: Vec<String>,
    /// Media type. Default: JSON.
    pub media: Option<Media>,
    /// The body is indented over several lines.
    #[serde(default)]
    pub pretty: bool,
    /// The body is one line.
    #[serde(default)]
    pub compact: bool,
    /// Headers; `none` for one that must be missing, `any` for one that must be there.
    #[serde(default)]
    pub headers: Headers,
    /// Texts that the body contains, byte for byte.
    #[serde(default)]
    pub texts: Vec<String>,
    /// Regular expression that the whole body matches, a template. A dot is any character but a line's end.
    pub matches: Option<String>,
    /// What the body begins with while it goes on, a template: the answer is not over when it has come.
    pub begins: Option<String>,
    /// The body is the bytes that `Body::bytes` sends, this many.
    pub bytes: Option<usize>,
    /// Letters of the trial's objects in the list: all of them and no others.
    pub items: Option<Vec<String>>,
    /// Content of at least one item of the list.
    pub some_item: Option<Value>,
    /// What the name of at least one item of the list ends with.
    pub some_name_ends: Option<String>,
    /// What the response contains.
    pub contains: Option<Value>,
    /// Document that the response is.
    pub document: Option<Document>,
    /// Resources that discovery lists, with their kinds.
    pub resources: Option<BTreeMap<String, String>>,
    /// Whether discovery says that a resource is namespaced.
    pub namespaced: Option<BTreeMap<String, bool>>,
    /// Parts of the sample file that the response contains.
    #[serde(default)]
    pub object: Vec<Part>,
    /// Parts of the sample file that the response does not contain.
    #[serde(default)]
    pub unlike: Vec<Part>,
    /// Letter of the object that the response equals, as it was last written.
    pub same: Option<String>,
    /// Letter of the object that the response equals, as it was last written, but for metadata and status.
    pub like: Option<String>,
    /// Letter of the object of which the response is a later version.
    pub newer: Option<String>,
    /// Prefix of the generated name in the response.
    pub generated: Option<String>,
    /// JSON pointers that are present and not empty.
    #[serde(default)]
    pub present: Vec<String>,
    /// Types by JSON pointer.
    #[serde(default)]
    pub types: BTreeMap<String, JsonType>,
    /// JSON pointers that are missing, null, or an empty list or map.
    #[serde(default)]
    pub absent: Vec<String>,
    /// Values that the response must not have, by JSON pointer.
    #[serde(default)]
    pub differs: BTreeMap<String, Value>,
    /// Events of the trial's objects that the watch streams, in this order.
    pub events: Option<Vec<Event>>,
    /// The watch ends by itself.
    #[serde(default)]
    pub ends: bool,
}

/// A status code, or a word for one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum StatusWord {
    /// Status code.
    Code(u16),
    /// Word that [`Profile::status`](super::Profile::status) resolves.
    Word(String),
}

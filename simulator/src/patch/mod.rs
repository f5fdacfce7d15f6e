//! Patches: changes written down instead of made.
//!
//! [`apply`] turns an object's JSON and the body of a PATCH request into the changed JSON. Three languages: JSON patch (RFC 6902), merge patch (RFC 7386), strategic merge patch
//! (merging by the types of the fields).
//! Promises: the original is not touched; a patch takes effect whole or not at all; no body makes it panic, nest deeper than 512 or grow beyond the bounds of its
//! language. Limits: bodies are JSON, never YAML; what the patched JSON means is for the scheme to decode, and whether it may be stored for the registry to say.
//! Source of semantics: the two RFCs under the documented profile; what Kubernetes v1.2 made of them under the recorded one; the error texts are always the recorded ones.
//!
//! # What happens around it
//! Facts about v1.2's handler, for callers:
//! 1. The media type decides the language, its parameters are ignored (`application/merge-patch+json; charset=utf-8`); any other is 415. There is no size limit but the server's own.
//! 2. What is patched is the current object in the version of the request's path, as a GET would show it, defaults included. An object that is not there is 404
//!    before the body is looked at.
//! 3. What comes out is decoded like a body of that kind, defaulted, and has to keep its name: 400 `the name of the object (NEW) does not match the name on the URL (OLD)`,
//!    NEW being empty where the name was removed (`"metadata":null`). A namespace, if given, has to be the request's. What does not decode is refused with the decoder's words
//!    alone and no reason, code 500 (`no kind "ConfigMap" is registered for version "v9"`); [`PatchError::Inapplicable`] words it for either profile. A changed `kind` is
//!    decoded as that kind: the words are those of the other kind's fields, or of the failing conversion.
//! 4. Then it is an update like any PUT: admission, validation, immutable fields (a changed `metadata.uid` is 422 `field is immutable`), and no write where nothing changed
//!    (the resourceVersion stays).
//! 5. `metadata.resourceVersion` in the patched object is the condition of the update. A patch that does not name one carries the version that it was applied to.
//! 6. On a conflict the current object is read again; if it does not differ from the first one where the patch changes it, the patch (made strategic) is applied
//!    to it and the update is tried again, five times at most. A patch that names a version that is not the current one therefore ends, after its five tries,
//!    in 409 `RESOURCE "NAME" cannot be updated: the object has been modified; please apply your changes to the latest version and try again`.
//! 7. Sub-resources (`status`) are patched the same way, the update being that of the sub-resource.

mod json;
mod merge;
mod rebase;
pub(crate) mod strategic;

use bytes::Bytes;
use serde_json::Value;

pub(crate) use rebase::{missing_map, rebase};

use crate::{
    api::{Object, Status},
    compat::{
        json_patch::{self, MAX_DEPTH},
        json_write,
    },
    profile::Profile,
};
use strategic::Schema;

/// The three languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// Operations on the document: RFC 6902.
    Json,
    /// A document of what differs: RFC 7386.
    Merge,
    /// The same, for documents whose types are known.
    Strategic,
}

/// Why a patch has no effect; the texts are the recorded server's where it has one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// It is no patch.
    #[error("{0}")]
    Malformed(String),
    /// It is one, but cannot be applied to this object.
    #[error("{0}")]
    Inapplicable(String),
    /// Kubernetes v1.2 panics.
    #[error("an error on the server has prevented the request from succeeding")]
    Crash,
}

impl PatchError {
    /// The answer to the request.
    pub(crate) fn status(&self, profile: Profile) -> Status {
        match self {
            Self::Malformed(text) => profile.client_error(400, text),
            Self::Inapplicable(text) => profile.client_error(422, text),
            Self::Crash => profile.panic(422, "the patch cannot be applied to this object"),
        }
    }
}

impl From<json_patch::Failure> for PatchError {
    fn from(failure: json_patch::Failure) -> Self {
        match failure {
            json_patch::Failure::Malformed(text) => Self::Malformed(text),
            json_patch::Failure::Inapplicable(text) => Self::Inapplicable(text),
            json_patch::Failure::Panic => Self::Crash,
        }
    }
}

/// The JSON of `original` as changed by `patch`, a request's body in `language`; `schema` is the type of the object.
///
/// Under the documented profile the result is an object, with sorted names; under the recorded one it may be anything, as v1.2 writes it.
pub(crate) fn apply(
    language: Language,
    original: &Object,
    patch: &[u8],
    schema: impl Schema,
    profile: Profile,
) -> Result<Bytes, PatchError> {
    let original = Value::Object(original.clone());
    let mut patched = match language {
        Language::Json if !profile.full_json_patch() => {
            json::check(patch)?;
            return Ok(json_patch::apply(&json_write::compact(&original), patch)?.into());
        }
        Language::Merge if !profile.full_merge_patch() => {
            return Ok(json_patch::merge(&json_write::compact(&original), patch)?.into());
        }
        Language::Json => json::apply(original, patch)?,
        Language::Merge => merge::apply(original, patch)?,
        Language::Strategic => strategic::apply(original, patch, schema, profile)?,
    };
    if !patched.is_object() {
        let text = "the patched document is not an object";
        return Err(PatchError::Inapplicable(text.to_owned()));
    }
    patched.sort_all_objects();
    Ok(json_write::compact(&patched))
}

/// How deep `value` nests: 0 for what holds nothing.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| 1 + depth(item)).max().unwrap_or(0),
        Value::Object(map) => map.values().map(|item| 1 + depth(item)).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;

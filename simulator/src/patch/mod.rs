//! Patches of objects: JSON patch (RFC 6902), merge patch (RFC 7386) and strategic merge patch.
//!
//! [`apply`] computes the changed JSON from an object's JSON and the body of a PATCH request.
//!
//! Guarantees:
//! - The original is not modified. A patch takes effect as a whole or not at all.
//! - No body causes a panic, nesting deeper than 512 levels, or a size beyond the limits of its language.
//!
//! Limits:
//! - Bodies are JSON, never YAML.
//! - The patched JSON is decoded by the scheme and validated by the registry.
//!
//! Source of the semantics: the two RFCs under the documented profile; their implementation in Kubernetes v1.2 under
//! the recorded one. Error texts are always the recorded ones.
//!
//! # The PATCH handler of v1.2
//! Facts for callers:
//! 1. The media type decides the language; its parameters are ignored (`application/merge-patch+json;
//!    charset=utf-8`). Any other type is 415. The only size limit is that of the server.
//! 2. The patch is applied to the current object in the version of the request's path, as a GET returns it, defaults
//!    included. A missing object is 404 before the body is read.
//! 3. The result is decoded like a body of that kind and defaulted. It must keep its name, else 400 `the name of the
//!    object (NEW) does not match the name on the URL (OLD)`; NEW is empty if the name was removed
//!    (`"metadata":null`). A namespace, if set, must be that of the request. A decoding error has the decoder's text
//!    only, no reason, and code 500 (`no kind "ConfigMap" is registered for version "v9"`);
//!    [`PatchError::Inapplicable`] formats it for either profile. A changed `kind` is decoded as that kind: the text
//!    names the other kind's fields, or the failing conversion.
//! 4. Then the result is processed as an update by PUT: admission, validation, immutable fields (a changed
//!    `metadata.uid` is 422 `field is immutable`). If nothing changed, nothing is written and the resourceVersion
//!    stays the same.
//! 5. `metadata.resourceVersion` of the patched object is the precondition of the update. If the patch does not set
//!    it, it is the version that the patch was applied to.
//! 6. On a conflict the current object is read again. If it does not differ from the first one in the fields that the
//!    patch changes, the patch (as a strategic one) is applied to it and the update is retried, up to five times. A
//!    patch that sets a version other than the current one therefore fails after five attempts with 409 `RESOURCE
//!    "NAME" cannot be updated: the object has been modified; please apply your changes to the latest version and try
//!    again`.
//! 7. Subresources (`status`) are patched the same way, with an update of the subresource.

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

/// Patch language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// List of operations: RFC 6902.
    Json,
    /// Partial document: RFC 7386.
    Merge,
    /// Partial document, merged by the types of the fields.
    Strategic,
}

/// Error of a patch. Texts are those of the recorded server if it has one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// The body is not a patch.
    #[error("{0}")]
    Malformed(String),
    /// The patch cannot be applied to this object.
    #[error("{0}")]
    Inapplicable(String),
    /// Kubernetes v1.2 panics.
    #[error("an error on the server has prevented the request from succeeding")]
    Crash,
}

impl PatchError {
    /// Response to the request.
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

/// Applies `patch`, a request's body in `language`, to the JSON of `original`. `schema` is the type of the object.
///
/// Under the documented profile the result is an object with sorted names. Under the recorded one it may be any
/// value, as v1.2 writes it.
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

/// Nesting depth of `value`: 0 for a value without members.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| 1 + depth(item)).max().unwrap_or(0),
        Value::Object(map) => map.values().map(|item| 1 + depth(item)).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;

//! Decoding of request bodies.
//!
//! - Guarantees: kind and version are read and checked first; errors have v1.2's text.
//! - Source of the semantics: the recordings, and the serializer and codec of Kubernetes v1.2.

use serde_json::Value;

use super::{
    codec::{self, Names},
    internal,
    kinds::Scheme,
    mismatch,
    resource::Resource,
    type_meta::{self, TypeMeta},
};
use crate::{
    api::{Object, Reason, Status},
    compat::{go_quote, json_write, yaml},
};

/// Syntax of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// JSON.
    Json,
    /// YAML, of which JSON is a subset.
    Yaml,
}

/// Version that v1.2 converts all others to.
const INTERNAL_VERSION: &str = "__internal";

/// Error of decoding a body as the expected kind.
#[derive(Debug, PartialEq)]
struct Refusal {
    /// Kind and version of the body, if they could be read.
    of: Option<(String, String)>,
    problem: String,
    /// Whether Kubernetes v1.2 panics on this body.
    panics: bool,
}

impl Refusal {
    fn unrecognized(problem: impl Into<String>) -> Self {
        Self {
            of: None,
            problem: problem.into(),
            panics: false,
        }
    }

    /// Status with v1.2's text alone and code 500.
    fn plain(self) -> Status {
        Status::new(Reason::Unknown, self.problem)
    }

    fn of_yaml(error: yaml::YamlError) -> Self {
        Self {
            panics: matches!(error, yaml::YamlError::Panic(_)),
            ..Self::unrecognized(error.to_string())
        }
    }
}

/// Sorts the names in all objects of the tree, as v1.2 does with the result of a patch.
fn sorted(tree: Value) -> Value {
    match tree {
        Value::Object(entries) => {
            let mut entries: Vec<(String, Value)> =
                entries.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

impl Scheme {
    /// Decodes an object of the kind `wanted` from a request's body, in typed form. Where v1.2 panics, the error is
    /// an [`Reason::InternalError`].
    pub(crate) fn decode(&self, wanted: &Resource, body: &[u8], syntax: Syntax) -> Result<Object, Status> {
        let (given, object) = self.read(wanted, Some(wanted), body, syntax).map_err(|refusal| {
            if refusal.panics {
                return Status::internal(refusal.problem);
            }
            Status::bad_request(match refusal.of {
                Some((kind, version)) => format!(
                    "{kind} in version {} cannot be handled as a {}: {}",
                    go_quote(&version),
                    wanted.kind,
                    refusal.problem
                ),
                None => format!(
                    "the object provided is unrecognized (must be of type {}): {}",
                    wanted.kind, refusal.problem
                ),
            })
        })?;
        let expected = wanted.group_version();
        if given == expected {
            Ok(object)
        } else {
            Err(Status::bad_request(format!(
                "the API version in the data ({given}) does not match the expected API version ({expected})"
            )))
        }
    }

    /// Decodes an object of the kind `wanted`. Errors have v1.2's text alone and code 500.
    pub(crate) fn decode_plain(&self, wanted: &Resource, body: &[u8], syntax: Syntax) -> Result<Object, Status> {
        self.decode_versioned(wanted, wanted, body, syntax)
            .map(|(_, object)| object)
    }

    /// Decodes an object of the kind `wanted` in any of its versions. Also returns the version that the body names;
    /// default: that of `default`. Errors are those of [`Scheme::decode_plain`].
    pub(crate) fn decode_versioned(
        &self,
        wanted: &Resource,
        default: &Resource,
        body: &[u8],
        syntax: Syntax,
    ) -> Result<(String, Object), Status> {
        self.read(wanted, Some(default), body, syntax).map_err(Refusal::plain)
    }

    /// Decodes the result of a patch as an object of the kind `wanted`. Also returns whether v1.2 decodes it as its
    /// internal version, which it does if the patch removes the version. Errors are those of
    /// [`Scheme::decode_plain`].
    pub(crate) fn decode_internal(&self, wanted: &Resource, body: &[u8]) -> Result<(Object, bool), Status> {
        let (version, object) = self.read(wanted, None, body, Syntax::Json).map_err(Refusal::plain)?;
        Ok((object, version == INTERNAL_VERSION))
    }

    /// Decodes an object of the kind `wanted` from a tree. Errors are those of [`Scheme::decode_plain`].
    pub(crate) fn decode_value(&self, wanted: &Resource, tree: Value) -> Result<Object, Status> {
        self.decode_plain(wanted, &json_write::compact(&sorted(tree)), Syntax::Json)
    }

    /// Reads group and version of a body, and decodes it as an object of the kind `wanted`. The version of a body
    /// that names none is `default`, or v1.2's internal one.
    fn read(
        &self,
        wanted: &Resource,
        default: Option<&Resource>,
        original: &[u8],
        syntax: Syntax,
    ) -> Result<(String, Object), Refusal> {
        let json;
        let body = match syntax {
            Syntax::Json => original,
            Syntax::Yaml => {
                json = json_write::compact(&yaml::to_value(original).map_err(Refusal::of_yaml)?);
                &json
            }
        };
        let TypeMeta { api_version, kind } = type_meta::read(body)
            .map_err(|e| Refusal::unrecognized(format!("couldn't get version/kind; json parse error: {e}")))?;
        let is_unnamed = matches!(&*api_version, "" | "/");
        let (group, version) = match api_version.split_once('/') {
            _ if is_unnamed => {
                let default = default.unwrap_or(wanted);
                (default.group.clone(), default.version.clone())
            }
            None => (String::new(), api_version),
            Some((_, rest)) if rest.contains('/') => {
                return Err(Refusal::unrecognized(format!(
                    "Unexpected GroupVersion string: {api_version}"
                )));
            }
            Some((group, "")) if group == wanted.group => (wanted.group.clone(), wanted.version.clone()),
            Some((group, version)) => (group.to_owned(), version.to_owned()),
        };
        let kind = if kind.is_empty() { wanted.kind.clone() } else { kind };
        let refuse = |problem: String| Refusal {
            of: Some((kind.clone(), version.clone())),
            problem,
            panics: false,
        };
        if version.is_empty() {
            return Err(refuse(format!(
                "Object 'apiVersion' is missing in '{}'",
                String::from_utf8_lossy(original)
            )));
        }
        let group_version = if group.is_empty() {
            version.clone()
        } else {
            format!("{group}/{version}")
        };
        let of = if kind == wanted.kind && group_version == wanted.group_version() {
            Some(wanted)
        } else {
            self.kind(&group_version, &kind).map(|kind| &**kind)
        };
        let Some(of) = of else {
            return Err(refuse(if self.is_registered(&group_version, &kind) {
                mismatch::unknown_kind(&version, &kind, wanted)
            } else {
                format!(
                    "no kind {} is registered for version {}",
                    go_quote(&kind),
                    go_quote(&group_version)
                )
            }));
        };
        let is_internal = is_unnamed && default.is_none();
        let names = if is_internal { Names::Internal } else { Names::Version };
        let mut fields = codec::decode(body, of.types(), of.struct_type(), names).map_err(&refuse)?;
        internal::structure(of.types(), of.struct_type(), &mut fields).map_err(|problem| refuse(problem.to_owned()))?;
        let object = of.typed(fields);
        let object = if of.kind != wanted.kind {
            wanted.typed(mismatch::convert(of, wanted, &object).map_err(refuse)?)
        } else if std::ptr::eq(of, wanted) {
            object
        } else {
            of.convert(wanted, object)
        };
        let version = if is_internal {
            INTERNAL_VERSION.to_owned()
        } else {
            group_version
        };
        Ok((version, object))
    }
}

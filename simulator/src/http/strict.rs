//! Validation of unknown fields (`fieldValidation`).
//!
//! - `Strict` rejects a body with unknown fields, `Warn` adds a Warning header for each. By default they are dropped
//!   silently.
//! - Limits: at most [`MAX_REPORTED_FIELDS`] fields are reported; JSON patches are not checked.
//!
//! Source: `fieldValidation` of newer Kubernetes, on which newer kubectl versions rely for validation.

use http::{HeaderValue, Response};
use serde_json::Value;

use super::{body::Body, query::Query};
use crate::{
    api::Status,
    compat::yaml,
    registry,
    scheme::{FieldType, Resource, Syntax, TypeRef},
};

/// Maximum number of reported fields.
const MAX_REPORTED_FIELDS: usize = 32;

/// Handling of unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    Ignore,
    Warn,
    Strict,
}

impl Strictness {
    /// Parses the query parameter `fieldValidation`.
    pub(crate) fn from_query(query: Query<'_>) -> Result<Self, Status> {
        match query.get("fieldValidation").unwrap_or_default().as_ref() {
            "" | "Ignore" => Ok(Self::Ignore),
            "Warn" => Ok(Self::Warn),
            "Strict" => Ok(Self::Strict),
            other => Err(Status::bad_request(format!(
                "invalid value {other:?} of the query parameter fieldValidation: it is Ignore, Warn or Strict"
            ))),
        }
    }
}

/// Returns messages about the unknown fields of `object`. Error: 400 with strict validation.
pub(crate) fn check(
    strictness: Strictness,
    resource: &Resource,
    body: &registry::RequestBody,
) -> Result<Vec<String>, Status> {
    if strictness == Strictness::Ignore {
        return Ok(Vec::new());
    }
    let object = match body.syntax {
        Syntax::Json => serde_json::from_slice(&body.bytes).ok(),
        Syntax::Yaml => yaml::to_value(&body.bytes).ok(),
    };
    // A malformed body is reported when it is decoded.
    let Some(object) = object else { return Ok(Vec::new()) };
    let mut unknown = Vec::new();
    walk(resource.type_ref(), &object, &mut String::new(), &mut unknown);
    if strictness == Strictness::Warn || unknown.is_empty() {
        return Ok(unknown);
    }
    let (kind, version) = (&resource.kind, resource.group_version());
    let problems = unknown.join(", ");
    Err(Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {problems}"
    )))
}

/// Adds warnings about unknown fields.
pub(crate) fn warn(response: &mut Response<Body>, unknown: &[String]) {
    for problem in unknown {
        let text = problem.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::try_from(format!("299 - \"{text}\"")) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
}

fn walk(of: TypeRef<'_>, value: &Value, path: &mut String, unknown: &mut Vec<String>) {
    let length = path.len();
    match (of.field_type(), value) {
        (FieldType::Struct(_), Value::Object(fields)) => {
            for (name, value) in fields {
                path.push_str(if length == 0 { "" } else { "." });
                path.push_str(name);
                match of.field(name) {
                    Some(field) => walk(field.type_ref, value, path, unknown),
                    // A directive of a strategic merge patch is not a field.
                    None if name.starts_with('$') => {}
                    None if unknown.len() < MAX_REPORTED_FIELDS => unknown.push(format!("unknown field {path:?}")),
                    None => {}
                }
                path.truncate(length);
            }
        }
        (FieldType::Map(_), Value::Object(entries)) => {
            let Some(element) = of.element() else { return };
            for (name, value) in entries {
                path.push('.');
                path.push_str(name);
                walk(element, value, path, unknown);
                path.truncate(length);
            }
        }
        (FieldType::List(_), Value::Array(items)) => {
            let Some(element) = of.element() else { return };
            for (at, value) in items.iter().enumerate() {
                path.push_str(&format!("[{at}]"));
                walk(element, value, path, unknown);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scheme::Scheme;

    fn pods() -> std::sync::Arc<Resource> {
        Scheme::builtin().resource("", "v1", "pods").unwrap().clone()
    }

    #[test]
    fn unknown_fields_are_reported_with_their_paths() {
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "labels": {"any": "key"},
            "nmae": 1},
                         "spec": {"containers": [{"name": "x"}, {"name": "y", "imgae": "z"}], "$patch": "replace"}});
        let pod = registry::RequestBody {
            bytes: pod.to_string().into(),
            syntax: Syntax::Json,
        };
        let unknown = check(Strictness::Warn, &pods(), &pod).unwrap();
        assert_eq!(
            unknown,
            [
                "unknown field \"metadata.nmae\"",
                "unknown field \"spec.containers[1].imgae\""
            ]
        );
        let status = check(Strictness::Strict, &pods(), &pod).unwrap_err();
        assert_eq!(
            (status.code, status.message.as_str()),
            (
                400,
                "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \
                    \"metadata.nmae\", unknown field \
                 \"spec.containers[1].imgae\""
            )
        );
        assert_eq!(check(Strictness::Ignore, &pods(), &pod), Ok(Vec::new()));
    }

    #[test]
    fn a_warning_is_quoted() {
        let mut response = Response::new(Body::empty());
        warn(&mut response, &["unknown field \"a\"".to_owned()]);
        assert_eq!(response.headers()["warning"], "299 - \"unknown field \\\"a\\\"\"");
    }
}

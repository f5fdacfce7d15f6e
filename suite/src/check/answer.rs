//! Checks of a response as a whole: layout, type, and the Status of an error.

use serde_json::{Map, Value, json};

use super::{Mismatch, pretty};
use crate::catalog::Level;

/// Whether a JSON text is indented over several lines.
pub fn is_pretty(text: &str) -> bool {
    let indented = |line: &str| line.starts_with(' ') || line.starts_with('\t');
    text.starts_with("{\n") && text.lines().skip(1).any(indented)
}

/// Whether a JSON text is one line.
pub fn is_compact(text: &str) -> bool {
    !text.trim_end().contains('\n')
}

/// Checks kind and apiVersion of an object.
pub fn result_type(kind: &str, api_version: &str, body: &Value) -> Option<Mismatch> {
    let of = |field| body.get(field).and_then(Value::as_str).unwrap_or("(absent)");
    let expected = format!("{api_version} {kind}");
    let actual = format!("{} {}", of("apiVersion"), of("kind"));
    (expected != actual).then(|| Mismatch::new("type", expected, actual))
}

/// Returns the reasons that fit a status code, an empty list if all do. An empty text is a missing reason.
fn reasons(code: u16) -> &'static [&'static str] {
    match code {
        400 => &["BadRequest"],
        401 => &["Unauthorized"],
        403 => &["Forbidden"],
        404 => &["NotFound"],
        405 => &["MethodNotAllowed"],
        406 => &[""],
        409 => &["Conflict", "AlreadyExists"],
        410 => &["Gone"],
        415 => &["", "UnsupportedMediaType"],
        422 => &["Invalid"],
        500 => &["", "InternalError", "ServerTimeout"],
        503 => &["ServiceUnavailable"],
        _ => &[],
    }
}

/// Names that the details of an error may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Names of objects; empty if the error has no details.
    pub names: Vec<String>,
    /// Names of the kind.
    pub kinds: Vec<String>,
    /// Whether the details of an Invalid error must have the name, too.
    pub whole: bool,
}

/// Checks a Status of failure: code, reason, message and details. `causes` are fields that its causes must name.
pub fn error_status(code: u16, reason: Option<&str>, named: &Named, causes: &[String], body: &Value) -> Vec<Mismatch> {
    let expected = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code});
    let mut found = Vec::from_iter(super::contains("status object", &expected, body));
    if !found.is_empty() && body.get("kind").and_then(Value::as_str) != Some("Status") {
        return found;
    }
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let known = reasons(code);
    match reason {
        Some(reason) if text("/reason") != reason => found.push(Mismatch::new("reason", reason, text("/reason"))),
        None if !known.is_empty() && !known.contains(&text("/reason")) => {
            found.push(Mismatch::new("reason", known.join(" or "), text("/reason")));
        }
        _ => {}
    }
    found.extend(metadata(body));
    if text("/message").is_empty() {
        found.push(Mismatch::new(
            "message",
            "a non-empty message",
            shown(body.get("message")),
        ));
    }
    match text("/reason") {
        "NotFound" | "AlreadyExists" | "Conflict" if !named.names.is_empty() => found.extend(names(named, body)),
        "Invalid" if reason.is_some() => {
            found.extend(invalid(causes, body));
            if named.whole && !named.names.is_empty() {
                found.extend(names(named, body));
            }
        }
        _ => {}
    }
    found
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "absent".to_owned(), pretty)
}

/// Checks that the details and the message name the object.
fn names(named: &Named, body: &Value) -> Vec<Mismatch> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (name, kind, message) = (text("/details/name"), text("/details/kind"), text("/message"));
    let mut found = Vec::new();
    if !named.names.iter().any(|one| one == name) {
        found.push(Mismatch::new("/details/name", named.names.join(" or "), name));
    }
    let resource = kind.split('/').next().unwrap_or_default();
    if !named.kinds.iter().any(|one| one == resource) {
        found.push(Mismatch::new("/details/kind", named.kinds.join(" or "), kind));
    }
    // The message starts with the kind and its group.
    let group = text("/details/group");
    let of_message = message.split(' ').next().unwrap_or_default();
    let stated = of_message.strip_prefix(kind).and_then(|rest| rest.strip_prefix('.'));
    if stated.unwrap_or_default() != group {
        found.push(Mismatch::new(
            "/details/group",
            stated.unwrap_or("no group, as in the message"),
            group,
        ));
    }
    if !message.contains(name) || !message.contains(kind) {
        found.push(Mismatch::new(
            "message",
            format!("a message that names {kind} {name}"),
            message,
        ));
    }
    found.into_iter().map(|mismatch| mismatch.at(Level::Should)).collect()
}

/// Prefix of the message of a cause, by its reason.
const CAUSES: [(&str, &str); 8] = [
    ("FieldValueNotFound", "Not found"),
    ("FieldValueRequired", "Required value"),
    ("FieldValueDuplicate", "Duplicate value"),
    ("FieldValueInvalid", "Invalid value"),
    ("FieldValueNotSupported", "Unsupported value"),
    ("FieldValueForbidden", "Forbidden"),
    ("FieldValueTooLong", "Too long"),
    ("InternalError", "Internal error"),
];

/// Checks that the reason of a cause is known and fits its message.
fn reason_of_cause(cause: &Value) -> Option<Mismatch> {
    let text = |key: &str| cause.get(key).and_then(Value::as_str).unwrap_or_default();
    let (reason, message) = (text("reason"), text("message"));
    let matches = |(known, begin): &(&str, &str)| *known == reason && message.starts_with(begin);
    (!CAUSES.iter().any(matches)).then(|| {
        let expected = "a known reason, and a message with its prefix";
        Mismatch::new("reason of a cause", expected, format!("{reason}: {message}")).at(Level::Should)
    })
}

/// Checks the causes of an Invalid Status.
fn invalid(fields: &[String], body: &Value) -> Vec<Mismatch> {
    let causes = body.pointer("/details/causes").and_then(Value::as_array);
    let whole = |cause: &Value| {
        let has = |key: &str| {
            cause
                .get(key)
                .and_then(Value::as_str)
                .is_some_and(|text| !text.is_empty())
        };
        has("reason") && has("message")
    };
    let causes = match causes {
        Some(causes) if !causes.is_empty() && causes.iter().all(whole) => causes,
        _ => {
            let actual = shown(body.pointer("/details"));
            return vec![Mismatch::new("/details/causes", "causes with reason and message", actual).at(Level::Should)];
        }
    };
    let of = |cause: &Value| {
        cause
            .get("field")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let actual: Vec<String> = causes.iter().map(of).collect();
    let missing = fields.iter().find(|field| !actual.contains(field));
    missing
        .map(|field| Mismatch::new("fields of the causes", field.clone(), actual.join("\n")).at(Level::Should))
        .into_iter()
        .chain(causes.iter().find_map(reason_of_cause))
        .collect()
}

/// Checks a Status of success. `code` is the status code of the response.
pub fn status_of_success(code: u16, body: &Value) -> Vec<Mismatch> {
    let expected = json!({"kind": "Status", "apiVersion": "v1", "status": "Success"});
    let mut found = Vec::from_iter(super::contains("status object", &expected, body));
    if body.get("code") != Some(&Value::from(code)) {
        found.push(Mismatch::new("/code", code.to_string(), shown(body.get("code"))).at(Level::Should));
    }
    found.extend(metadata(body));
    found
}

/// Checks that the metadata of a Status is an empty object.
fn metadata(status: &Value) -> Option<Mismatch> {
    let metadata = status.get("metadata");
    let is_empty = metadata.and_then(Value::as_object).is_some_and(Map::is_empty);
    (!is_empty).then(|| Mismatch::new("/metadata", "an empty object", shown(metadata)).at(Level::Should))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn one_line_is_compact_and_indented_lines_are_pretty() {
        assert!(!is_pretty(r#"{"a":1}"#) && is_compact("{\"a\":1}\n"));
        assert!(!is_pretty("{\"a\":1}\n"));
        assert!(is_pretty("{\n  \"a\": 1\n}\n") && !is_compact("{\n  \"a\": 1\n}\n"));
    }

    fn named() -> Named {
        Named {
            names: vec!["x".to_owned()],
            kinds: vec!["pods".to_owned()],
            whole: false,
        }
    }

    fn not_found() -> Value {
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404,
               "message": "pods \"x\" not found", "reason": "NotFound", "details": {"name": "x", "kind": "pods"}})
    }

    #[test]
    fn a_complete_status_passes() {
        assert_eq!(error_status(404, Some("NotFound"), &named(), &[], &not_found()), []);
    }

    #[rstest]
    #[case::code("/code", json!(409))]
    #[case::reason("/reason", json!("Gone"))]
    #[case::message("/message", json!(""))]
    #[case::other_message("/message", json!("no"))]
    #[case::status("/status", json!("Success"))]
    #[case::kind("/kind", json!("Pod"))]
    #[case::version("/apiVersion", json!("v2"))]
    #[case::name("/details/name", json!("y"))]
    #[case::other_kind("/details/kind", json!("things"))]
    #[case::details("/details", json!(null))]
    #[case::group("/details/group", json!("extensions"))]
    #[case::metadata("/metadata", json!(null))]
    #[case::metadata_of_an_object("/metadata", json!({"name": "x"}))]
    fn a_status_with_another_value_fails(#[case] pointer: &str, #[case] value: Value) {
        let mut body = not_found();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[field] = value;
        assert_ne!(error_status(404, Some("NotFound"), &named(), &[], &body), []);
        assert_ne!(error_status(404, None, &named(), &[], &body), []);
    }

    #[test]
    fn message_and_details_must_have_the_same_group() {
        let mut body = not_found();
        body["message"] = "pods.extensions \"x\" not found".into();
        assert_ne!(error_status(404, None, &named(), &[], &body), []);
        body["details"]["group"] = "batch".into();
        assert_ne!(error_status(404, None, &named(), &[], &body), []);
        body["details"]["group"] = "extensions".into();
        assert_eq!(error_status(404, None, &named(), &[], &body), []);
    }

    #[test]
    fn an_invalid_status_has_causes() {
        let with = |causes: Value| {
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 422,
                   "message": "it is invalid", "reason": "Invalid", "details": {"causes": causes}})
        };
        let cause = |reason, message| with(json!([{"reason": reason, "message": message, "field": "a.b"}]));
        let good = cause("FieldValueInvalid", "Invalid value: 3: no");
        assert_eq!(
            error_status(422, Some("Invalid"), &Named::default(), &["a.b".to_owned()], &good),
            []
        );
        assert_ne!(
            error_status(422, Some("Invalid"), &Named::default(), &["c".to_owned()], &good),
            []
        );
        assert_ne!(
            error_status(422, Some("Invalid"), &Named::default(), &[], &with(json!([]))),
            []
        );
        for (reason, message) in [("FieldValueRequired", "Invalid value: 3"), ("Bad", "Invalid value: 3")] {
            let other = cause(reason, message);
            assert_ne!(error_status(422, Some("Invalid"), &Named::default(), &[], &other), []);
        }
    }

    #[test]
    fn a_status_of_success_has_the_code_of_the_response() {
        let good = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 200});
        assert_eq!(status_of_success(200, &good), []);
        let mut other = good.clone();
        for code in [201.into(), Value::Null] {
            other["code"] = code;
            assert_eq!(status_of_success(200, &other).len(), 1);
        }
    }

    #[test]
    fn a_wrong_type_is_a_mismatch() {
        let body = json!({"kind": "PodList", "apiVersion": "v1"});
        assert_eq!(result_type("PodList", "v1", &body), None);
        assert!(result_type("SecretList", "v1", &body).is_some());
        assert!(result_type("PodList", "v2", &body).is_some());
    }
}

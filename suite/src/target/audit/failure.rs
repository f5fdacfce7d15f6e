//! Form of a Status of failure: its details and its message by its reason.
//!
//! Source: the recorded server.

use serde_json::{Map, Value};

use super::resource::Resource;
use super::text_of;
use crate::check::Mismatch;

/// Messages of errors about no object, whose details are empty, by their codes.
const WITHOUT_OBJECT: [(u16, &str); 3] = [
    (404, "the server could not find the requested resource"),
    (405, "the server does not allow this method on the requested resource"),
    (500, "an error on the server has prevented the request from succeeding"),
];

/// Returns what the message of an error about no object must be.
fn message_without_object(code: u16) -> String {
    let known = WITHOUT_OBJECT.iter().find(|(known, _)| *known == code);
    known.map_or_else(
        || format!("the server responded with the status code {code} but did not return more information"),
        |(_, message)| (*message).to_owned(),
    )
}

/// Returns how messages about an object name it, unless its name has characters that are escaped there.
fn object(details: &Value) -> Option<String> {
    let of = |field: &str| text_of(details, field);
    let (kind, group, name) = (of("/kind"), of("/group"), of("/name"));
    let dot = if group.is_empty() { "" } else { "." };
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
    name.chars()
        .all(is_plain)
        .then(|| format!("{kind}{dot}{group} \"{name}\""))
}

/// Returns the causes as the message has them.
fn causes(details: &Value) -> String {
    let causes = details.get("causes").and_then(Value::as_array);
    let cause = |cause: &Value| format!("{}: {}", text_of(cause, "/field"), text_of(cause, "/message"));
    let causes: Vec<String> = causes.into_iter().flatten().map(cause).collect();
    match causes.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// Returns what a bad request's message must be, given how it starts. `None` for other messages.
fn bad_request(resource: &Resource, message: &str) -> Option<String> {
    const OTHER_NAME: &str = "the name of the object (";
    const OTHER_NAMESPACE: &str = "the namespace of the provided object ";
    if let Some(rest) = message.strip_prefix(OTHER_NAME) {
        let sent = rest.rsplit_once(") does").map_or("", |(sent, _)| sent);
        let name = resource.name.as_deref().unwrap_or_default();
        return Some(format!(
            "{OTHER_NAME}{sent}) does not match the name on the URL ({name})"
        ));
    }
    message
        .starts_with(OTHER_NAMESPACE)
        .then(|| format!("{OTHER_NAMESPACE}does not match the namespace sent on the request"))
}

/// Checks details and message of a Status of failure, which answered a request for `resource` with the status code
/// `code`.
pub(super) fn form(code: u16, resource: &Resource, status: &Value) -> Option<Mismatch> {
    let (reason, message) = (text_of(status, "/reason"), text_of(status, "/message"));
    let fields = status.get("details").and_then(Value::as_object);
    let (expected, is_whole) = match (reason.as_str(), status.get("details")) {
        ("BadRequest" | "Gone" | "ServiceUnavailable" | "UnsupportedMediaType", Some(details)) => {
            return Some(Mismatch::new("/details", "absent", details.to_string()));
        }
        ("AlreadyExists" | "Conflict" | "Forbidden", None) => {
            return Some(Mismatch::new("/details", "those of an object", "absent"));
        }
        ("MethodNotAllowed" | "InternalError", None) => {
            return Some(Mismatch::new("/details", "an empty object", "absent"));
        }
        ("", None) if code != 500 => return Some(Mismatch::new("/details", "an empty object", "absent")),
        (_, Some(_)) if fields.is_some_and(Map::is_empty) => (message_without_object(code), true),
        ("BadRequest", None) => (bad_request(resource, &message)?, true),
        ("ServerTimeout", Some(details)) => {
            let (operation, kind) = (message.split(' ').nth(1)?, text_of(details, "/kind"));
            let rest = "could not be completed at this time, please try again.";
            (format!("The {operation} operation against {kind} {rest}"), true)
        }
        ("NotFound", Some(details)) => (format!("{} not found", object(details)?), true),
        ("AlreadyExists", Some(details)) => (format!("{} already exists", object(details)?), true),
        ("Conflict", Some(details)) => (format!("{} cannot be updated: ", object(details)?), false),
        ("Forbidden", Some(details)) => (format!("{} is forbidden: ", object(details)?), false),
        ("Invalid", Some(details)) => (format!("{} is invalid: {}", object(details)?, causes(details)), true),
        _ => return None,
    };
    let is_fine = message == expected || !is_whole && message.starts_with(&expected);
    (!is_fine).then(|| Mismatch::new("/message", expected, message))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn fault(code: u16, reason: &str, message: &str, details: Value) -> Option<String> {
        let mut status = json!({"message": message, "reason": reason, "details": details});
        if let Value::Object(fields) = &mut status {
            fields.retain(|_, field| !field.is_null() && field != "");
        }
        let resource = Resource::of("/api/v1/namespaces/n/pods/a").unwrap();
        form(code, &resource, &status).map(|found| found.about)
    }

    #[rstest]
    #[case(400, "BadRequest", "the body is no object", Value::Null)]
    #[case(
        400,
        "BadRequest",
        "the name of the object (b) does not match the name on the URL (a)",
        Value::Null
    )]
    #[case(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
        Value::Null
    )]
    #[case(404, "NotFound", "pods \"a\" not found", json!({"kind": "pods", "name": "a"}))]
    #[case(404, "NotFound", "the server could not find the requested resource", json!({}))]
    #[case(409, "AlreadyExists", "jobs.batch \"a\" already exists", json!({"kind": "jobs", "group": "batch", "name": "a"}))]
    #[case(409, "Conflict", "pods \"a\" cannot be updated: late", json!({"kind": "pods", "name": "a"}))]
    #[case(415, "", "the server responded with the status code 415 but did not return more information", json!({}))]
    #[case(422, "Invalid", "Pod \"a\" is invalid: [b: c, d: e]",
        json!({"kind": "Pod", "name": "a", "causes": [{"field": "b", "message": "c"}, {"field": "d", "message": "e"}]}))]
    #[case(422, "Invalid", "Pod \"\\x00\" is invalid: b: c",
        json!({"kind": "Pod", "name": "\u{0}", "causes": [{"field": "b", "message": "c"}]}))]
    #[case(500, "", "a text", Value::Null)]
    #[case(500, "ServerTimeout", "The POST operation against Pod could not be completed at this time, please try again.",
        json!({"kind": "Pod"}))]
    fn errors_of_the_recorded_server_pass(
        #[case] code: u16,
        #[case] reason: &str,
        #[case] message: &str,
        #[case] details: Value,
    ) {
        assert_eq!(fault(code, reason, message, details), None);
    }

    #[rstest]
    #[case::details_of_a_bad_request(400, "BadRequest", "no", json!({"kind": "pods"}), "/details")]
    #[case::name_of_another_url(
        400,
        "BadRequest",
        "the name of the object (b) does not match the name on the URL (c)",
        Value::Null,
        "/message"
    )]
    #[case::cut(
        400,
        "BadRequest",
        "the namespace of the provided object does not match",
        Value::Null,
        "/message"
    )]
    #[case::other_timeout(500, "ServerTimeout",
        "The POST operation against Job could not be completed at this time, please try again.",
        json!({"kind": "Pod"}), "/message")]
    #[case::other_name(404, "NotFound", "pods \"b\" not found", json!({"kind": "pods", "name": "a"}), "/message")]
    #[case::no_group(409, "AlreadyExists", "jobs \"a\" already exists",
        json!({"kind": "jobs", "group": "batch", "name": "a"}), "/message")]
    #[case::no_details(405, "MethodNotAllowed", "no", Value::Null, "/details")]
    #[case::other_message(405, "MethodNotAllowed", "no", json!({}), "/message")]
    #[case::no_details_of_a_media_type(415, "", "no", Value::Null, "/details")]
    #[case::missing_cause(422, "Invalid", "Pod \"a\" is invalid: b: c", json!({"kind": "Pod", "name": "a"}), "/message")]
    #[case::other_cause(422, "Invalid", "Pod \"a\" is invalid: b: c",
        json!({"kind": "Pod", "name": "a", "causes": [{"field": "b", "message": "d"}]}), "/message")]
    fn faults_are_found(
        #[case] code: u16,
        #[case] reason: &str,
        #[case] message: &str,
        #[case] details: Value,
        #[case] about: &str,
    ) {
        assert_eq!(fault(code, reason, message, details).as_deref(), Some(about));
    }
}

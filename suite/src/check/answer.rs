//! The outside of an answer: status, type, layout, and the Status that a refusal carries.

use serde_json::Value;

use super::{Mismatch, pretty};

/// Whether a JSON text is laid out over indented lines.
pub fn is_pretty(text: &str) -> bool {
    text.starts_with("{\n")
        && text
            .lines()
            .skip(1)
            .any(|line| line.starts_with(' ') || line.starts_with('\t'))
}

/// Whether an object is of a kind and an apiVersion.
pub fn result_type(kind: &str, api_version: &str, body: &Value) -> Option<Mismatch> {
    let of = |field| body.get(field).and_then(Value::as_str).unwrap_or("nothing");
    let (expected, actual) = (
        format!("{api_version} {kind}"),
        format!("{} {}", of("apiVersion"), of("kind")),
    );
    (expected != actual).then(|| Mismatch::new("type", expected, actual))
}

/// Whether a body is a Status of failure with the code that the answer has, and the reason that it is to have.
pub fn refusal(code: u16, reason: Option<&str>, body: &Value) -> Vec<Mismatch> {
    let mut expected = serde_json::json!({"kind": "Status", "status": "Failure", "code": code});
    if let (Some(reason), Some(fields)) = (reason, expected.as_object_mut()) {
        fields.insert("reason".to_owned(), reason.into());
    }
    let mut found = Vec::from_iter(super::contains("status object", &expected, body));
    if body.get("message").and_then(Value::as_str).is_none_or(str::is_empty) {
        found.push(Mismatch::new(
            "message",
            "a sentence for people",
            body.get("message").map_or_else(|| "nothing".to_owned(), pretty),
        ));
    }
    found
}

/// Whether a body is a Status of success.
pub fn status_of_success(body: &Value) -> Option<Mismatch> {
    super::contains(
        "status object",
        &serde_json::json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
        body,
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_line_is_not_pretty_and_indented_lines_are() {
        assert!(!is_pretty(r#"{"a":1}"#));
        assert!(!is_pretty("{\"a\":1}\n"));
        assert!(is_pretty("{\n  \"a\": 1\n}\n"));
    }

    #[test]
    fn a_refusal_must_carry_code_reason_and_message() {
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": "NotFound", "code": 404});
        assert!(refusal(404, Some("NotFound"), &body).is_empty());
        assert_eq!(refusal(409, Some("NotFound"), &body).len(), 1);
        assert_eq!(refusal(404, Some("Conflict"), &body).len(), 1);
        assert_eq!(
            refusal(404, None, &json!({"kind": "Status", "status": "Failure", "code": 404})).len(),
            1
        );
        assert_eq!(refusal(404, None, &json!("not found")).len(), 2);
    }

    #[test]
    fn another_type_is_told() {
        let body = json!({"kind": "PodList", "apiVersion": "v1"});
        assert_eq!(result_type("PodList", "v1", &body), None);
        assert!(result_type("SecretList", "v1", &body).is_some());
        assert!(result_type("PodList", "v2", &body).is_some());
    }
}

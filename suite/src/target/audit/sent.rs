//! Comparison of the response to a write with the request body.
//!
//! Source of semantics: the recorded server. It drops unknown fields, omits empty ones, and returns quantities and
//! timestamps in a canonical form.

use http::Method;
use serde_json::Value;

use crate::check::{self, Mismatch};
use crate::request::Request;

/// Media type of a merge patch.
const MERGE_PATCH: &str = "application/merge-patch+json";
/// Fields that are not compared: the server sets or sorts them, a write of the object ignores them, or, for `nowhere`,
/// no kind has them.
const NOT_KEPT: [&str; 6] = ["kind", "apiVersion", "metadata", "status", "subsets", "nowhere"];
/// Field of a namespace's spec to which the server adds a value.
const FINALIZERS: &str = "finalizers";

/// Compares `object`, the response, with the body of a creation, a replacement or a merge patch.
///
/// A replacement of the status (`of_status`) compares only the status. Other requests have no mismatches.
pub(super) fn kept(request: &Request, of_status: bool, object: &Value) -> Vec<Mismatch> {
    let whole = [Method::POST, Method::PUT].contains(&request.method);
    let merges = request.method == Method::PATCH && request.content_type.as_deref() == Some(MERGE_PATCH);
    let sent = request.body.as_ref().and_then(|body| serde_json::from_slice(body).ok());
    let Some(sent) = sent.filter(|_| whole || merges) else {
        return Vec::new();
    };
    if of_status {
        return different("/status", &sent, object).into_iter().collect();
    }
    let of_map = |field: &&str| match whole {
        true => map(&format!("/metadata/{field}"), &sent, object),
        false => different(&format!("/metadata/{field}"), &sent, object),
    };
    let mut found: Vec<Mismatch> = ["labels", "annotations"].iter().filter_map(of_map).collect();
    found.extend(different("", &check::without(&sent, &NOT_KEPT), object));
    found
}

/// Compares a map of strings, which must have exactly the keys and values of the request.
fn map(pointer: &str, sent: &Value, object: &Value) -> Option<Mismatch> {
    let of = |object: &Value| object.pointer(pointer).cloned().unwrap_or_default();
    let sent = of(sent);
    let texts = |map: &serde_json::Map<String, Value>| !map.is_empty() && map.values().all(Value::is_string);
    let has_texts = sent.as_object().is_some_and(texts);
    check::equal(pointer, &sent, &of(object)).filter(|_| has_texts)
}

/// Returns a mismatch for the first missing or different value under a pointer.
fn different(pointer: &str, sent: &Value, object: &Value) -> Option<Mismatch> {
    let answered = object.pointer(pointer).unwrap_or(&Value::Null);
    let at = lost(pointer, sent.pointer(pointer)?, answered)?;
    let shown = |value: &Value| {
        value
            .pointer(&at)
            .map_or_else(|| "nothing".to_owned(), Value::to_string)
    };
    let (expected, actual) = (shown(sent), shown(object));
    Some(Mismatch::new(at, expected, actual))
}

/// Returns the pointer of the first missing or different value; `at` is the pointer of `sent` and `answered`.
fn lost(at: &str, sent: &Value, answered: &Value) -> Option<String> {
    match (sent, answered) {
        (Value::Object(sent), Value::Object(answered)) => sent.iter().find_map(|(key, value)| {
            let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            match answered.get(key) {
                _ if key == FINALIZERS => None,
                Some(answered) => lost(&at, value, answered),
                None => (!is_empty(value)).then_some(at),
            }
        }),
        // v1.2 drops elements that are null.
        (Value::Array(sent), Value::Array(_)) if sent.contains(&Value::Null) => None,
        (Value::Array(sent), Value::Array(answered)) if sent.len() == answered.len() => sent
            .iter()
            .zip(answered)
            .enumerate()
            .find_map(|(index, (sent, answered))| lost(&format!("{at}/{index}"), sent, answered)),
        (Value::Number(sent), Value::Number(answered)) if sent.as_f64() == answered.as_f64() => None,
        (sent, answered) => (sent != answered && !is_empty(sent)).then(|| at.to_owned()),
    }
}

/// Whether the server may omit a value.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// Returns the pointers of the mismatches in the response to a write.
    fn wrong_of(method: Method, media: &str, sent: &Value, answered: &Value) -> Vec<String> {
        let request = Request::new(method, "/").with_body(media, sent.to_string());
        let found = kept(&request, false, answered).into_iter();
        found.map(|mismatch| mismatch.about).collect()
    }

    /// Returns the pointers of the mismatches in the response to a replacement.
    fn wrong(sent: &Value, answered: &Value) -> Vec<String> {
        wrong_of(Method::PUT, "application/json", sent, answered)
    }

    #[test]
    fn a_merge_patch_comes_back_in_the_object() {
        let of = |sent: Value| {
            let answered = json!({"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": {"a": 1}});
            wrong_of(Method::PATCH, MERGE_PATCH, &sent, &answered)
        };
        assert_eq!(
            of(json!({"metadata": {"labels": {"a": "b", "x": null}}, "spec": {"b": null}})),
            Vec::<String>::new()
        );
        assert_eq!(of(json!({"metadata": {"labels": {"x": "y"}}})), ["/metadata/labels/x"]);
        assert_eq!(of(json!({"spec": {"a": 2}})), ["/spec/a"]);
    }

    #[test]
    fn what_is_filled_in_or_empty_is_no_difference() {
        let sent = json!({"metadata": {"labels": {}}, "spec": {"a": 1, "empty": [], "off": false, "list": [{"b": "c"}]},
                          "status": {"x": 1}});
        let answered =
            json!({"metadata": {"labels": {"x": "y"}}, "spec": {"a": 1, "default": 2, "list": [{"b": "c", "d": 1}]}});
        assert_eq!(wrong(&sent, &answered), Vec::<String>::new());
    }

    #[rstest]
    #[case::labels(json!({"metadata": {"labels": {"a": "b"}}}), "/metadata/labels")]
    #[case::annotations(json!({"metadata": {"annotations": {"a": "b"}}}), "/metadata/annotations")]
    #[case::whole(json!({"data": {"a": "b"}}), "/data")]
    #[case::scalar(json!({"spec": {"a": 2}}), "/spec/a")]
    #[case::field(json!({"spec": {"c": "d"}}), "/spec/c")]
    #[case::element(json!({"spec": {"list": [{"x/y": true}]}}), "/spec/list/0/x~1y")]
    #[case::length(json!({"spec": {"list": [1, 2]}}), "/spec/list")]
    fn what_is_missing_or_another_is_found(#[case] sent: Value, #[case] about: &str) {
        let answered = json!({"metadata": {}, "spec": {"a": 1, "list": [{}]}});
        assert_eq!(wrong(&sent, &answered), [about]);
    }
}

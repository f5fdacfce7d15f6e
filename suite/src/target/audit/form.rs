//! Form of lists and objects: apiVersion, name, namespace and selfLink, timestamps, and null fields.

use serde_json::Value;

use super::resource::Resource;
use super::text_of;
use crate::check::Mismatch;

/// Suffixes of the names of fields that v1.2 returns as null if they have no value: timestamps and required lists.
const NULLABLE: [&str; 5] = ["Timestamp", "Time", "At", "images", "limits"];

/// Compares a list's `apiVersion` and `selfLink` with the path of the request.
pub(super) fn of_collection(resource: &Resource, list: &Value) -> Vec<Mismatch> {
    let link = resource.collection(&resource.namespace);
    differing(
        list,
        &[("/apiVersion", &resource.group_version), ("/metadata/selfLink", &link)],
    )
}

/// Compares an object's `apiVersion`, name, namespace and `selfLink` with the path of the request.
pub(super) fn of_path(resource: &Resource, object: &Value) -> Vec<Mismatch> {
    let name = resource
        .name
        .clone()
        .unwrap_or_else(|| text_of(object, "/metadata/name"));
    let mut link = resource.path_of(&resource.namespace, &name);
    if let Some(subresource) = &resource.subresource {
        link = format!("{link}/{subresource}");
    }
    let wanted = [
        ("/apiVersion", &resource.group_version),
        ("/metadata/name", &name),
        ("/metadata/namespace", &resource.namespace),
        ("/metadata/selfLink", &link),
    ];
    differing(object, &wanted)
}

/// Returns a mismatch for each pointer whose text differs from the expected one.
pub(super) fn differing(value: &Value, wanted: &[(&str, &String)]) -> Vec<Mismatch> {
    let differs = |(pointer, expected): &(&str, &String)| {
        let actual = text_of(value, pointer);
        (actual != **expected).then(|| Mismatch::new(*pointer, *expected, actual))
    };
    wanted.iter().filter_map(differs).collect()
}

/// Checks that the details of a 404 that name the object also name its resource.
pub(super) fn not_found(resource: &Resource, status: &Value) -> Option<Mismatch> {
    let name = resource.name.as_ref().filter(|_| resource.is_of_objects())?;
    let kind = text_of(status, "/details/kind");
    (text_of(status, "/details/name") == *name && kind != resource.plural)
        .then(|| Mismatch::new("/details/kind", &resource.plural, kind))
}

/// Checks an object's timestamps, which v1.2 returns in UTC and in whole seconds, and that the phase of an object with
/// a `deletionTimestamp` is not `Active`.
pub(super) fn times(object: &Value) -> Vec<Mismatch> {
    let malformed = |field: &&str| {
        let time = object.pointer(&format!("/metadata/{field}"))?;
        let valid = time.as_str().is_some_and(|text| {
            text.len() == "2016-01-01T00:00:00Z".len() && text.ends_with('Z') && text.parse::<jiff::Timestamp>().is_ok()
        });
        let about = format!("/metadata/{field}");
        (!valid).then(|| Mismatch::new(about, "a time in UTC, in whole seconds", time.to_string()))
    };
    let fields = ["creationTimestamp", "deletionTimestamp"];
    let mut found: Vec<Mismatch> = fields.iter().filter_map(malformed).collect();
    if object.pointer("/metadata/deletionTimestamp").is_some() && text_of(object, "/status/phase") == "Active" {
        found.push(Mismatch::new(
            "/status/phase",
            "Terminating (deletionTimestamp is set)",
            "Active",
        ));
    }
    found
}

/// Returns a mismatch for the first null field, which v1.2 would omit.
pub(super) fn null(object: &Value) -> Option<Mismatch> {
    let at = null_at("", object)?;
    Some(Mismatch::new(at, "a value or no field", "null"))
}

/// Returns the pointer of the first null field; `at` is the pointer of the value.
fn null_at(at: &str, value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            let at = format!("{at}/{name}");
            match field {
                Value::Null if NULLABLE.iter().any(|end| name.ends_with(end)) => None,
                Value::Null => Some(at),
                field => null_at(&at, field),
            }
        }),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .find_map(|(index, element)| null_at(&format!("{at}/{index}"), element)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_field_is_null_but_a_time() {
        let fine = json!({"spec": {"template": {"metadata": {"creationTimestamp": null}}, "list": [{"a": 1}, null]}});
        assert_eq!(null(&fine), None);
        let wrong = json!({"spec": {"list": [{"a": 1}, {"b": null}]}});
        assert_eq!(null(&wrong).map(|found| found.about).as_deref(), Some("/spec/list/1/b"));
    }
}

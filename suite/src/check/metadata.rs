//! Checks of system fields, which every object has.
//!
//! Source: the recorded server. The documentation says nothing about them, so every mismatch is a `should`.

use jiff::Timestamp;
use serde_json::Value;

use super::{Mismatch, pretty, shown::shown_name};
use crate::catalog::Level;

/// Identity of an object, known before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// Namespace; `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// Path of the object.
    pub path: String,
}

/// Checks name, namespace, uid, resource version, creation time and self link of an object.
pub fn system_fields(identity: &Identity, object: &Value) -> Vec<Mismatch> {
    let field = |name: &str| object.pointer(&format!("/metadata/{name}"));
    let text = |name: &str| field(name).and_then(Value::as_str).unwrap_or_default();
    let shown = |name: &str| field(name).map_or_else(|| "absent".to_owned(), pretty);
    let mut found = Vec::new();
    let mut check = |name: &str, fine: bool, expected: &str| {
        if !fine {
            found.push(Mismatch::new(format!("/metadata/{name}"), expected, shown(name)).at(Level::Should));
        }
    };
    check("name", text("name") == identity.name, &identity.name);
    match &identity.namespace {
        Some(namespace) => check("namespace", text("namespace") == namespace, namespace),
        None => check("namespace", text("namespace").is_empty(), "absent"),
    }
    check("uid", !text("uid").is_empty(), "a uid");
    check(
        "resourceVersion",
        number(text("resourceVersion")).is_some(),
        "a number as a string",
    );
    check("selfLink", text("selfLink") == identity.path, &identity.path);
    let created = text("creationTimestamp").parse::<Timestamp>();
    check("creationTimestamp", created.is_ok(), "a time in RFC 3339");
    found
}

/// Checks that uid and creation time have not changed.
pub fn same_identity(earlier: &Value, object: &Value) -> Vec<Mismatch> {
    let unlike = |field: &&str| earlier.pointer(field) != object.pointer(field);
    let mismatch = |field: &str| {
        let shown = |object: &Value| object.pointer(field).map_or_else(|| "absent".to_owned(), pretty);
        Mismatch::new(field, shown(earlier), shown(object)).at(Level::Should)
    };
    let fields = ["/metadata/uid", "/metadata/creationTimestamp"];
    fields
        .iter()
        .filter(|field| unlike(field))
        .map(|field| mismatch(field))
        .collect()
}

/// Parses a resource version as a number.
pub fn number(version: &str) -> Option<u64> {
    version.parse().ok()
}

/// Whether a resource version is later than another. Versions that are not numbers are only compared for equality.
pub fn is_later(version: &str, than: &str) -> bool {
    match (number(version), number(than)) {
        (Some(version), Some(than)) => version > than,
        _ => !version.is_empty() && version != than,
    }
}

/// Checks the metadata of a list: version and path. No item may be later than the list or occur twice. The list must
/// not be older than `latest`, the version of a completed write.
pub fn list_metadata(path: &str, namespace: Option<&str>, latest: &str, list: &Value) -> Vec<Mismatch> {
    let text = |value: &Value, pointer: &str| {
        value
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let version = text(list, "/metadata/resourceVersion");
    let mut found = Vec::new();
    if number(&version).is_none() {
        found.push(Mismatch::new(
            "/metadata/resourceVersion",
            "a number as a string",
            &version,
        ));
    }
    if is_later(latest, &version) && number(latest).is_some() {
        let expected = format!("{latest} or later: that version was written before the list");
        found.push(Mismatch::new("/metadata/resourceVersion", expected, &version));
    }
    let link = text(list, "/metadata/selfLink");
    if link != path {
        found.push(Mismatch::new("/metadata/selfLink", path, link));
    }
    let mut uids = std::collections::BTreeSet::new();
    for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
        let name = shown_name(
            item.pointer("/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        );
        let of_item = text(item, "/metadata/resourceVersion");
        if number(&of_item).is_some() && is_later(&of_item, &version) {
            let expected = format!("at most the version of the list, {version}");
            found.push(Mismatch::new(format!("version of item {name}"), expected, of_item));
        }
        let uid = text(item, "/metadata/uid");
        if !uid.is_empty() && !uids.insert(uid.clone()) {
            found.push(Mismatch::new(format!("uid of item {name}"), "a unique uid", uid));
        }
        if let Some(namespace) = namespace
            && text(item, "/metadata/namespace") != namespace
        {
            let about = "namespace of an item";
            found.push(Mismatch::new(about, namespace, text(item, "/metadata/namespace")));
        }
    }
    found.into_iter().map(|mismatch| mismatch.at(Level::Should)).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn identity() -> Identity {
        Identity {
            name: "a".to_owned(),
            namespace: Some("n".to_owned()),
            path: "/api/v1/namespaces/n/pods/a".to_owned(),
        }
    }

    fn object() -> Value {
        json!({"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7",
               "selfLink": "/api/v1/namespaces/n/pods/a", "creationTimestamp": "2016-03-01T10:00:00Z"}})
    }

    #[test]
    fn an_object_with_all_system_fields_passes() {
        assert_eq!(system_fields(&identity(), &object()), []);
    }

    #[rstest]
    #[case("name", json!("b"))]
    #[case("namespace", json!("m"))]
    #[case("uid", json!(""))]
    #[case("resourceVersion", json!(7))]
    #[case("resourceVersion", json!("v7"))]
    #[case("selfLink", json!("/api/v1/pods/a"))]
    #[case("creationTimestamp", json!("yesterday"))]
    fn an_object_with_another_system_field_fails(#[case] field: &str, #[case] value: Value) {
        let mut object = object();
        object["metadata"][field] = value;
        assert_eq!(system_fields(&identity(), &object).len(), 1);
    }

    #[test]
    fn an_object_keeps_its_uid_and_creation_time() {
        let (earlier, mut later) = (object(), object());
        later["metadata"]["resourceVersion"] = "8".into();
        assert_eq!(same_identity(&earlier, &later), []);
        later["metadata"]["creationTimestamp"] = "2016-03-01T10:00:01Z".into();
        assert_eq!(same_identity(&earlier, &later).len(), 1);
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_later("10", "9") && !is_later("9", "10") && !is_later("9", "9"));
        assert!(is_later("b", "a") && !is_later("", "a"));
    }

    #[rstest]
    #[case::no_version("/metadata/resourceVersion", json!("x"))]
    #[case::older_than_an_item("/metadata/resourceVersion", json!("3"))]
    #[case::path("/metadata/selfLink", json!("/api/v1/pods"))]
    #[case::twice("/items/1/metadata/uid", json!("u"))]
    #[case::other_namespace("/items/1/metadata/namespace", json!("m"))]
    fn a_list_with_other_metadata_fails(#[case] pointer: &str, #[case] value: Value) {
        let path = "/api/v1/namespaces/n/pods";
        let item = |uid: &str, version: &str| {
            json!({"metadata": {"name": uid, "namespace": "n", "uid": uid,
                                "resourceVersion": version}})
        };
        let mut list =
            json!({"metadata": {"resourceVersion": "9", "selfLink": path}, "items": [item("u", "7"), item("v", "8")]});
        assert_eq!(list_metadata(path, Some("n"), "9", &list), []);
        assert_ne!(list_metadata(path, Some("n"), "10", &list), []);
        *list.pointer_mut(pointer).unwrap() = value;
        assert_ne!(list_metadata(path, Some("n"), "", &list), []);
    }
}

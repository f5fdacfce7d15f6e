//! Checks of list items that belong to the trial, and of resources in discovery.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Mismatch, WRITTEN_BY_OTHERS, changed, confined, contains, equal, is_later, without};
use crate::catalog::Level;

/// Checks that a list contains exactly these objects among those whose name has the prefix, each in its last written
/// version.
///
/// An item with a version that the trial did not write was changed by another client: it must be later than the
/// versions of the trial, and only its metadata and status may differ.
pub fn items(
    prefix: &str,
    expected: &[&str],
    written: &BTreeMap<(String, String), Value>,
    list: &Value,
) -> Vec<Mismatch> {
    let nothing = Vec::new();
    let items = match list.get("items") {
        None | Some(Value::Null) => &nothing,
        Some(Value::Array(items)) => items,
        Some(other) => return vec![Mismatch::new("items", "a list", confined(other).to_string())],
    };
    let text = |item: &Value, pointer| {
        item.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let ours: Vec<&Value> = items
        .iter()
        .filter(|item| text(item, "/metadata/name").starts_with(prefix))
        .collect();
    let mut actual: Vec<String> = ours.iter().map(|item| text(item, "/metadata/name")).collect();
    actual.sort();
    let mut expected: Vec<String> = expected.iter().map(|name| (*name).to_owned()).collect();
    expected.sort();
    let mut found = Vec::new();
    if actual != expected {
        found.push(Mismatch::new("items of this trial", lines(&expected), lines(&actual)));
    }
    found.extend(order(&ours));
    for item in ours {
        let (name, version) = (text(item, "/metadata/name"), text(item, "/metadata/resourceVersion"));
        found.extend(as_written(&name, &version, written, item));
    }
    found
}

/// Checks that items are ordered by namespace and name, as in v1.2.
fn order(items: &[&Value]) -> Option<Mismatch> {
    let place = |item: &&Value| {
        let text = |pointer| {
            item.pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        (text("/metadata/namespace"), text("/metadata/name"))
    };
    let actual: Vec<(String, String)> = items.iter().map(place).collect();
    let mut expected = actual.clone();
    expected.sort();
    let shown =
        |places: &[(String, String)]| -> String { places.iter().map(|(_, name)| format!("{name}\n")).collect() };
    (actual != expected)
        .then(|| Mismatch::new("order of the items", shown(&expected), shown(&actual)).at(Level::Should))
}

/// Checks an item against the last written version.
fn as_written(
    name: &str,
    version: &str,
    written: &BTreeMap<(String, String), Value>,
    item: &Value,
) -> Option<Mismatch> {
    const TYPE: [&str; 2] = ["kind", "apiVersion"];
    let about = format!("item {name}");
    let of_object = written.iter().filter(|((one, _), _)| one == name);
    let (last, object) = of_object.fold(
        None,
        |last: Option<(&str, &Value)>, ((_, version), object)| match last {
            Some((known, _)) if !is_later(version, known) => last,
            _ => Some((version, object)),
        },
    )?;
    for field in TYPE {
        if item.get(field).is_some() && item.get(field) != object.get(field) {
            let shown = |value: &Value| value.get(field).map_or_else(|| "absent".to_owned(), Value::to_string);
            return Some(Mismatch::new(format!("{field} of {about}"), shown(object), shown(item)));
        }
    }
    if version == last {
        return equal(&about, &without(object, &TYPE), &without(item, &TYPE));
    }
    if !is_later(version, last) {
        return Some(Mismatch::new(
            format!("version of {about}"),
            format!("{last} or later"),
            version,
        ));
    }
    if !changed(object, item) {
        let mismatch = Mismatch::new(format!("version of {about}"), last, version);
        return Some(mismatch.at(Level::Should));
    }
    let ours = |value: &Value| without(&without(value, &TYPE), &WRITTEN_BY_OTHERS);
    equal(&about, &ours(object), &ours(item)).or_else(|| labels(&about, object, item))
}

/// Checks that an item changed by another client still has exactly its labels: controllers do not change labels.
/// Annotations may be added.
fn labels(about: &str, object: &Value, item: &Value) -> Option<Mismatch> {
    let of = |object: &Value, field: &str| {
        object
            .pointer(&format!("/metadata/{field}"))
            .cloned()
            .unwrap_or_default()
    };
    let labels = equal(
        &format!("labels of {about}"),
        &of(object, "labels"),
        &of(item, "labels"),
    );
    let annotations = || {
        let about = format!("annotations of {about}");
        contains(&about, &of(object, "annotations"), &of(item, "annotations"))
    };
    labels.or_else(annotations).map(|mismatch| mismatch.at(Level::Should))
}

/// Formats names, one per line, for a diff.
fn lines(names: &[String]) -> String {
    if names.is_empty() {
        "none\n".to_owned()
    } else {
        names.iter().map(|name| format!("{name}\n")).collect()
    }
}

/// Checks that discovery lists these resources with these kinds.
pub fn resources(expected: &BTreeMap<String, String>, body: &Value) -> Option<Mismatch> {
    let listed: BTreeMap<&str, &str> = body
        .get("resources")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|resource| Some((resource.get("name")?.as_str()?, resource.get("kind")?.as_str()?)))
        .collect();
    let show = |name: &str, kind: Option<&str>| format!("{name}: {}\n", kind.unwrap_or("not listed"));
    let wanted: String = expected.iter().map(|(name, kind)| show(name, Some(kind))).collect();
    let found: String = expected
        .keys()
        .map(|name| show(name, listed.get(name.as_str()).copied()))
        .collect();
    (wanted != found).then(|| Mismatch::new("resources", wanted, found))
}

/// Checks the field `namespaced` of resources in discovery.
pub fn namespaced(expected: &BTreeMap<String, bool>, body: &Value) -> Option<Mismatch> {
    let resources = body.get("resources").and_then(Value::as_array);
    let listed: BTreeMap<&str, bool> = resources
        .into_iter()
        .flatten()
        .filter_map(|resource| Some((resource.get("name")?.as_str()?, resource.get("namespaced")?.as_bool()?)))
        .collect();
    let show = |name: &str, namespaced: Option<bool>| match namespaced {
        Some(namespaced) => format!("{name}: {namespaced}\n"),
        None => format!("{name}: absent\n"),
    };
    let wanted: String = expected
        .iter()
        .map(|(name, namespaced)| show(name, Some(*namespaced)))
        .collect();
    let found: String = expected
        .keys()
        .map(|name| show(name, listed.get(name.as_str()).copied()))
        .collect();
    (wanted != found).then(|| Mismatch::new("namespaced", wanted, found).at(Level::Should))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(items: Value) -> Value {
        json!({"kind": "ConfigMapList", "items": items})
    }

    fn item(name: &str, version: &str, data: &str) -> Value {
        json!({"metadata": {"name": name, "resourceVersion": version}, "data": {"x": data}})
    }

    fn written() -> BTreeMap<(String, String), Value> {
        let mut object = item("t-a", "5", "1");
        object["kind"] = "ConfigMap".into();
        BTreeMap::from([(("t-a".to_owned(), "5".to_owned()), object)])
    }

    #[test]
    fn only_items_of_the_trial_count() {
        let list = list(json!([item("t-a", "5", "1"), item("stranger", "6", "1")]));
        assert_eq!(items("t-", &["t-a"], &written(), &list), []);
    }

    #[test]
    fn missing_additional_and_altered_items_are_found() {
        assert_eq!(items("t-", &["t-a"], &written(), &list(json!([]))).len(), 1);
        assert_eq!(
            items("t-", &[], &written(), &list(json!([item("t-a", "5", "1")]))).len(),
            1
        );
        assert_eq!(
            items("t-", &["t-a"], &written(), &list(json!([item("t-a", "5", "2")]))).len(),
            1
        );
        assert_eq!(
            items("t-", &["t-a"], &written(), &list(json!([item("t-a", "", "1")]))).len(),
            1
        );
        assert_eq!(
            items(
                "t-",
                &["t-a"],
                &written(),
                &list(json!([item("t-a", "5", "1"), item("t-a", "5", "1")]))
            )
            .len(),
            1
        );
    }

    #[test]
    fn items_are_ordered_by_name() {
        let of = |names: [&str; 2]| {
            let list = list(names.map(|name| item(name, "5", "1")).into_iter().collect());
            items("t-", &["t-a", "t-b"], &BTreeMap::new(), &list).len()
        };
        assert_eq!((of(["t-a", "t-b"]), of(["t-b", "t-a"])), (0, 1));
    }

    #[test]
    fn a_change_by_another_client_is_later_and_changes_only_status_and_metadata() {
        let of = |version: &str, data: &str, status: &str| {
            let mut item = item("t-a", version, data);
            item["status"] = status.into();
            items("t-", &["t-a"], &written(), &list(json!([item])))
        };
        assert_eq!(of("9", "1", "new"), []);
        assert_eq!(of("4", "1", "new").len(), 1);
        assert_eq!(of("9", "other", "new").len(), 1);
    }

    #[test]
    fn a_later_version_without_a_change_and_a_wrong_kind_are_mismatches() {
        let of = |item: Value| items("t-", &["t-a"], &written(), &list(json!([item]))).len();
        assert_eq!(of(item("t-a", "9", "1")), 1);
        let mut other = item("t-a", "5", "1");
        other["kind"] = "Secret".into();
        assert_eq!(of(other), 1);
    }

    #[test]
    fn the_scope_of_a_resource_is_compared() {
        let body = json!({"resources": [{"name": "pods", "kind": "Pod", "namespaced": true}]});
        assert_eq!(namespaced(&BTreeMap::from([("pods".to_owned(), true)]), &body), None);
        assert!(namespaced(&BTreeMap::from([("pods".to_owned(), false)]), &body).is_some());
    }

    #[test]
    fn an_unlisted_resource_is_found() {
        let body = json!({"resources": [{"name": "pods", "kind": "Pod"}]});
        let expected = |name: &str| BTreeMap::from([(name.to_owned(), "Pod".to_owned())]);
        assert_eq!(resources(&expected("pods"), &body), None);
        assert!(resources(&expected("nodes"), &body).is_some());
    }
}

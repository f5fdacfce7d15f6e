//! What a list holds of the trial's own objects, and what discovery lists.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Mismatch, equal, without};

/// Whether a list holds exactly these objects among those whose name begins with the prefix, each as it was written.
///
/// An item whose version nobody answered to the trial is somebody else's change and is not compared.
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
        Some(other) => return vec![Mismatch::new("items", "a list", other.to_string())],
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
    for item in ours {
        let key = (text(item, "/metadata/name"), text(item, "/metadata/resourceVersion"));
        if let Some(object) = written.get(&key) {
            let typeless = ["kind", "apiVersion"];
            found.extend(equal(
                &format!("item {}", key.0),
                &without(object, &typeless),
                &without(item, &typeless),
            ));
        } else if key.1.is_empty() {
            found.push(Mismatch::new(format!("item {}", key.0), "a resource version", "none"));
        }
    }
    found
}

/// Names one a line, for a diff.
fn lines(names: &[String]) -> String {
    if names.is_empty() {
        "none\n".to_owned()
    } else {
        names.iter().map(|name| format!("{name}\n")).collect()
    }
}

/// Whether discovery lists these resources with these kinds.
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
    fn only_the_trial_s_own_items_count() {
        let list = list(json!([item("t-a", "5", "1"), item("stranger", "6", "1")]));
        assert_eq!(items("t-", &["t-a"], &written(), &list), []);
    }

    #[test]
    fn a_missing_an_additional_and_a_bent_item_are_told() {
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
    fn an_item_of_somebody_else_s_version_is_not_compared() {
        assert_eq!(
            items("t-", &["t-a"], &written(), &list(json!([item("t-a", "9", "other")]))),
            []
        );
    }

    #[test]
    fn a_resource_that_is_not_listed_is_told() {
        let body = json!({"resources": [{"name": "pods", "kind": "Pod"}]});
        let expected = |name: &str| BTreeMap::from([(name.to_owned(), "Pod".to_owned())]);
        assert_eq!(resources(&expected("pods"), &body), None);
        assert!(resources(&expected("nodes"), &body).is_some());
    }
}

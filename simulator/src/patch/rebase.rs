//! Rebase of a patch on a concurrent change.
//!
//! Source: v1.2's `patchResource`. It computes a strategic merge patch of each change and compares the two. A field
//! that both change to different values is a conflict. Lists with a merge key are merged by it; other lists are one
//! value.

use serde_json::{Map, Value};

use crate::scheme::TypeRef;

/// Applies the changes from `original` to `patched` to `current`. `None` if they conflict with the changes from
/// `original` to `current`.
pub(crate) fn rebase(
    original: &Map<String, Value>,
    patched: &Map<String, Value>,
    current: &Map<String, Value>,
    of: TypeRef<'_>,
) -> Option<Map<String, Value>> {
    let mut merged = current.clone();
    for name in original.keys().chain(patched.keys()) {
        let field = of.field(name);
        let merge_key = field.as_ref().and_then(|field| field.merge_key).map(|key| &**key);
        let of = field.map(|field| field.type_ref).or_else(|| of.element());
        let versions = [original, patched, current].map(|object| object.get(name));
        match member(versions, of, merge_key)? {
            Some(value) => drop(merged.insert(name.clone(), value)),
            None => drop(merged.shift_remove(name)),
        }
    }
    Some(merged)
}

/// Error of v1.2 when it compares an object as the type `of`: a map for which the type has no field.
pub(crate) fn missing_map(object: &Map<String, Value>, of: TypeRef<'_>) -> Option<String> {
    let maps = object
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_object()?)));
    for (name, map) in maps {
        match (of.field(name), of.struct_type()) {
            (Some(field), _) => {
                if let Some(missing) = missing_map(map, field.type_ref) {
                    return Some(missing);
                }
            }
            (None, Some(of)) => {
                return Some(format!(
                    "unable to find api field in struct {} for the json field {name:?}",
                    of.name
                ));
            }
            (None, None) => {}
        }
    }
    None
}

/// Merges one field. `None` for a conflict.
fn member(
    [original, patched, current]: [Option<&Value>; 3],
    of: Option<TypeRef<'_>>,
    merge_key: Option<&str>,
) -> Option<Option<Value>> {
    if patched == original || patched == current {
        return Some(current.cloned());
    }
    if current == original {
        return Some(patched.cloned());
    }
    let none = Value::Null;
    match (original.unwrap_or(&none), patched?, current?) {
        (original, Value::Object(patched), Value::Object(current)) => {
            let nothing = Map::new();
            let original = original.as_object().unwrap_or(&nothing);
            rebase(original, patched, current, of?).map(|object| Some(object.into()))
        }
        (original, Value::Array(patched), Value::Array(current)) => {
            let original = original.as_array().map(Vec::as_slice).unwrap_or_default();
            items(original, patched, current, of?.element()?, merge_key?).map(|list| Some(list.into()))
        }
        _ => None,
    }
}

/// Merges lists by `key`: the items of `current` in their order, then those that the patch adds.
fn items(original: &[Value], patched: &[Value], current: &[Value], of: TypeRef<'_>, key: &str) -> Option<Vec<Value>> {
    let find = |list: &'_ [Value], wanted: &Value| list.iter().find(|item| item.get(key) == Some(wanted)).cloned();
    let mut merged = Vec::new();
    for item in current
        .iter()
        .chain(patched.iter().filter(|p| find(current, &p[key]).is_none()))
    {
        let wanted = item.get(key)?;
        let versions = [original, patched, current].map(|list| find(list, wanted));
        let [original, patched, current] = &versions;
        merged.extend(member(
            [original.as_ref(), patched.as_ref(), current.as_ref()],
            Some(of),
            None,
        )?);
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::{
        patch::{Language, apply},
        profile::Profile,
        scheme::Scheme,
    };

    fn rebased(patched: Value, current: Value) -> Option<Value> {
        let original = json!({"metadata": {"labels": {"a": "1", "b": "1"}}, "spec": {"nodeName": "n",
            "containers": [{"name": "x", "image": "1"}, {"name": "y", "image": "1"}]}});
        let scheme = Scheme::builtin();
        let pods = scheme.resource("", "v1", "pods").unwrap();
        let change = |change: Value| {
            let (object, change) = (original.as_object().unwrap(), change.to_string());
            let (language, profile) = (Language::Merge, Profile::Documented);
            let patched = apply(language, object, change.as_bytes(), pods.type_ref(), profile);
            serde_json::from_slice::<Map<String, Value>>(&patched.unwrap()).unwrap()
        };
        rebase(
            original.as_object().unwrap(),
            &change(patched),
            &change(current),
            pods.type_ref(),
        )
        .map(Value::Object)
    }

    #[rstest]
    #[case::another_field(json!({"metadata": {"labels": {"a": "2"}}}), json!({"metadata": {"labels": {"b": "2"}}}),
        "/metadata/labels", json!({"a": "2", "b": "2"}))]
    #[case::the_same_value(json!({"metadata": {"labels": {"a": "2"}}}), json!({"metadata": {"labels": {"a": "2"}}}),
        "/metadata/labels", json!({"a": "2", "b": "1"}))]
    #[case::removal(json!({"metadata": {"labels": {"a": null}}}), json!({"metadata": {"labels": {"b": "2"}}}),
        "/metadata/labels", json!({"b": "2"}))]
    #[case::another_item(
        json!({"spec": {"containers": [{"name": "x", "image": "2"}, {"name": "y", "image": "1"}]}}),
        json!({"spec": {"containers": [{"name": "x", "image": "1"}, {"name": "y", "image": "2"},
            {"name": "z", "image": "2"}]}}),
        "/spec/containers",
        json!([{"name": "x", "image": "2"}, {"name": "y", "image": "2"}, {"name": "z", "image": "2"}]),
    )]
    fn changes_that_do_not_overlap_are_both_applied(
        #[case] patched: Value,
        #[case] current: Value,
        #[case] path: &str,
        #[case] want: Value,
    ) {
        assert_eq!(rebased(patched, current).unwrap().pointer(path), Some(&want));
    }

    #[rstest]
    #[case::two_values(json!({"spec": {"nodeName": "a"}}), json!({"spec": {"nodeName": "b"}}))]
    #[case::removal_and_change(json!({"metadata": {"labels": null}}), json!({"metadata": {"labels": {"a": "2"}}}))]
    #[case::one_item(json!({"spec": {"containers": [{"name": "x", "image": "2"}]}}),
        json!({"spec": {"containers": [{"name": "x", "image": "3"}]}}))]
    fn a_field_with_two_values_is_a_conflict(#[case] patched: Value, #[case] current: Value) {
        assert_eq!(rebased(patched, current), None);
    }
}

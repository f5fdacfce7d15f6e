//! Access to metadata and other fields of an object's tree.

use serde_json::Value;

use super::Object;

/// String at a dotted `path` below `object`. Empty if it is absent: the wire format omits empty strings.
pub(crate) fn text<'a>(object: &'a Object, path: &str) -> &'a str {
    lookup(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// Value at a dotted `path` below `object`.
pub(crate) fn lookup<'a>(object: &'a Object, path: &str) -> Option<&'a Value> {
    match path.bytes().position(|c| c == b'.') {
        None => member(object, path),
        Some(dot) => lookup(member(object, path.get(..dot)?)?.as_object()?, path.get(dot + 1..)?),
    }
}

/// Number of members up to which they are compared one after another. A map would hash the name.
const FEW: usize = 16;

/// Value of the member `name`.
pub(crate) fn member<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    if object.len() > FEW {
        return object.get(name);
    }
    object.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Value of the member `name`, to be changed.
pub(crate) fn member_mut<'a>(object: &'a mut Object, name: &str) -> Option<&'a mut Value> {
    if object.len() > FEW {
        return object.get_mut(name);
    }
    object.iter_mut().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Metadata of the object. Created if it is missing.
pub(crate) fn metadata(object: &mut Object) -> &mut Object {
    child(object, "metadata")
}

/// Map under `key`. Created if it is missing.
pub(crate) fn child<'a>(object: &'a mut Object, key: &str) -> &'a mut Object {
    if !member(object, key).is_some_and(Value::is_object) {
        object.insert(key.to_owned(), Value::Object(Object::new()));
    }
    match member_mut(object, key) {
        Some(Value::Object(map)) => map,
        _ => unreachable!("made an object above"),
    }
}

/// Sets a string in the object's metadata. An empty value removes the field.
pub(crate) fn set(object: &mut Object, field: &str, value: &str) {
    let meta = metadata(object);
    if value.is_empty() {
        meta.shift_remove(field);
    } else {
        meta.insert(field.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::few(FEW - 1)]
    #[case::many(2 * FEW)]
    fn members_are_found_among_few_and_many(#[case] others: usize) {
        let mut object: Object = (0..others).map(|n| (format!("m{n}"), json!(n))).collect();
        object.insert("spec".into(), json!({"a": {"b": "c"}}));
        assert_eq!(text(&object, "spec.a.b"), "c");
        assert_eq!(lookup(&object, "m0"), Some(&json!(0)));
        for absent in ["m", "spec.b", "spec.a.b.c", "spec.", ""] {
            assert_eq!(lookup(&object, absent), None, "{absent}");
        }
        child(&mut object, "m0").insert("x".into(), json!(1));
        child(&mut object, "new");
        *member_mut(&mut object, "m1").unwrap() = json!(null);
        let changed = ["m0", "m1", "new"].map(|name| member(&object, name).unwrap().clone());
        assert_eq!(changed, [json!({"x": 1}), json!(null), json!({})]);
    }
}

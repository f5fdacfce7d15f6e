//! JSON patch as v1.2 has it: what differs from RFC 6902 stands in the module above.

use std::{cmp::Ordering, collections::BTreeSet};

use serde_json::{Map, Value};

use super::{DepthBound, PatchError, json_kind};

/// An operation, read as leniently as v1.2 reads it.
struct Operation<'a>(&'a Map<String, Value>);

impl<'a> Operation<'a> {
    fn text(&self, member: &str) -> Result<&'a str, PatchError> {
        match self.0.get(member) {
            Some(Value::String(text)) => Ok(text),
            Some(Value::Null) => Err(PatchError::Crash),
            _ => Ok("unknown"),
        }
    }

    /// The names on the way, and the last one.
    fn path(&self, member: &str) -> Result<Path<'a>, PatchError> {
        let text = self.text(member)?;
        let tokens: Vec<&str> = text.split('/').skip(1).collect();
        if tokens.is_empty() {
            Err(PatchError::Crash)
        } else {
            Ok(Path { text, tokens })
        }
    }

    fn value(&self) -> Value {
        self.0.get("value").cloned().unwrap_or_default()
    }
}

struct Path<'a> {
    text: &'a str,
    tokens: Vec<&'a str>,
}

impl<'a> Path<'a> {
    /// What holds the value, and the last name.
    fn container<'v>(&self, document: &'v mut Value) -> Result<(&'v mut Value, &'a str), PatchError> {
        let missing = || PatchError::Inapplicable(format!("Missing container: {}", self.text));
        let (last, before) = self.tokens.split_last().ok_or(PatchError::Crash)?;
        let mut container = document;
        for token in before {
            container = match container {
                Value::Object(map) => map.get_mut(*token).ok_or_else(missing)?,
                Value::Array(items) => {
                    let at: i64 = token.parse().map_err(|_| missing())?;
                    usize::try_from(at)
                        .ok()
                        .and_then(|at| items.get_mut(at))
                        .ok_or(PatchError::Crash)?
                }
                _ => return Err(missing()),
            };
        }
        if container.is_object() || container.is_array() {
            Ok((container, last))
        } else {
            Err(missing())
        }
    }
}

/// An index of list of `len` items; `Err` as v1.2's conversion of numbers fails.
fn index(token: &str, len: usize) -> Result<usize, PatchError> {
    let at: i64 = token
        .parse()
        .map_err(|_| PatchError::Inapplicable(format!("strconv.ParseInt: parsing {token:?}: invalid syntax")))?;
    usize::try_from(at).ok().filter(|at| *at < len).ok_or(PatchError::Crash)
}

pub(super) fn apply(mut document: Value, operations: &[Value]) -> Result<Value, PatchError> {
    if let Some(other) = operations.iter().find(|o| !o.is_object() && !o.is_null()) {
        let kind = json_kind(other);
        return Err(PatchError::Malformed(format!(
            "json: cannot unmarshal {kind} into Go value of type jsonpatch.operation"
        )));
    }
    let empty = Map::new();
    let mut depth = DepthBound::of(&document);
    let mut opened: BTreeSet<Vec<&str>> = BTreeSet::from([Vec::new()]);
    for operation in operations {
        let operation = Operation(operation.as_object().unwrap_or(&empty));
        let kind = operation.text("op")?;
        if !matches!(kind, "add" | "remove" | "replace" | "move" | "test") {
            return Err(PatchError::Malformed(format!("Unexpected kind: {kind}")));
        }
        let path = operation.path("path")?;
        match kind {
            "add" | "replace" => {
                let value = operation.value();
                depth.put(path.tokens.len(), &value)?;
                let (container, name) = path.container(&mut document)?;
                set(container, name, value)?;
            }
            "remove" => {
                let (container, name) = path.container(&mut document)?;
                remove(container, name)?;
            }
            "move" => {
                let from = operation.path("from")?;
                depth.moved(from.tokens.len(), path.tokens.len())?;
                let (container, name) = from.container(&mut document)?;
                let value = get(container, name)?.cloned().unwrap_or_default();
                remove(container, name)?;
                let (container, name) = path.container(&mut document)?;
                set(container, name, value)?;
            }
            _ => {
                let (container, name) = path.container(&mut document)?;
                let found = get(container, name)?
                    .filter(|v| !v.is_null())
                    .ok_or(PatchError::Crash)?;
                if !equal(found, operation.0.get("value"))? {
                    return Err(PatchError::Inapplicable(format!("Testing value {} failed", path.text)));
                }
            }
        }
        for length in 1..path.tokens.len() {
            opened.insert(path.tokens.get(..length).unwrap_or_default().to_vec());
        }
    }
    opened.iter().for_each(|path| sort(&mut document, path));
    Ok(document)
}

/// What v1.2 has gone through it writes anew, with sorted names; errors of the decoder that tell a position depend on it.
fn sort(document: &mut Value, path: &[&str]) {
    let found = path.iter().try_fold(document, |value, token| match value {
        Value::Object(map) => map.get_mut(*token),
        Value::Array(items) => items.get_mut(token.parse::<usize>().ok()?),
        _ => None,
    });
    if let Some(Value::Object(map)) = found
        && !map.keys().is_sorted_by(|a, b| a.cmp(b) != Ordering::Greater)
    {
        map.sort_keys();
    }
}

fn get<'v>(container: &'v Value, name: &str) -> Result<Option<&'v Value>, PatchError> {
    match container {
        Value::Array(items) => Ok(items.get(index(name, items.len())?)),
        other => Ok(other.get(name)),
    }
}

/// Removes what is there, and is content with what is not.
fn remove(container: &mut Value, name: &str) -> Result<(), PatchError> {
    match container {
        Value::Array(items) => {
            let at = index(name, items.len())?;
            items.remove(at);
        }
        Value::Object(map) => {
            map.shift_remove(name);
        }
        _ => {}
    }
    Ok(())
}

/// Puts a value under a name, or before an item.
fn set(container: &mut Value, name: &str, value: Value) -> Result<(), PatchError> {
    match container {
        Value::Object(map) => {
            map.insert(name.to_owned(), value);
        }
        Value::Array(items) if name == "-" => items.push(value),
        Value::Array(items) if name.parse::<i64>().is_ok() => {
            let at = index(name, items.len() + 1)?;
            items.insert(at, value);
        }
        _ => {}
    }
    Ok(())
}

/// Whether the document's value `is` what is `wanted`; v1.2 crashes over a null that does not meet another one in an object.
fn equal(is: &Value, wanted: Option<&Value>) -> Result<bool, PatchError> {
    let wanted = wanted.filter(|v| !v.is_null()).ok_or(PatchError::Crash)?;
    match (is, wanted) {
        (Value::Object(is), Value::Object(wanted)) => {
            for (name, value) in is {
                match (value, wanted.get(name)) {
                    (_, None) => return Ok(false),
                    (Value::Null, Some(Value::Null)) => {}
                    (Value::Null, Some(_)) => return Err(PatchError::Crash),
                    (value, other) if equal(value, other)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Value::Array(is), Value::Array(wanted)) if is.len() == wanted.len() => {
            for (value, other) in is.iter().zip(wanted) {
                if value.is_null() {
                    return Err(PatchError::Crash);
                }
                if !equal(value, Some(other))? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (is, wanted) => Ok(is == wanted),
    }
}

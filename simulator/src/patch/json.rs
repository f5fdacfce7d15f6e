//! JSON patch: a list of operations on a document.
//!
//! - Guarantees: all operations take effect or none; names keep their order.
//! - Limits: [`MAX_OPERATIONS`] operations, [`MAX_COPIED_BYTES`] bytes of copies.
//! - Source of the semantics: RFC 6902 and RFC 6901. For v1.2's behaviour see [`crate::compat::json_patch`].

use serde_json::Value;

use super::{MAX_DEPTH, PatchError, depth};
use crate::compat::{json_kind, json_patch::MAX_OPERATIONS, json_scan};

/// Maximum total size of the values that the `copy` operations of a patch copy, in bytes of JSON.
const MAX_COPIED_BYTES: usize = 4 << 20;

/// Applies the operations of `patch` to `document`.
pub(super) fn apply(document: Value, patch: &[u8]) -> Result<Value, PatchError> {
    check(patch)?;
    let operations = match serde_json::from_slice(patch).map_err(|e| PatchError::Malformed(e.to_string()))? {
        Value::Array(operations) => operations,
        other => {
            return Err(PatchError::Malformed(format!(
                "json: cannot unmarshal {} into Go value of type jsonpatch.Patch",
                json_kind(&other)
            )));
        }
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::Malformed(format!(
            "the patch has more than {MAX_OPERATIONS} operations"
        )));
    }
    Patcher::new(document).run(&operations)
}

/// Checks that `patch` is JSON. The error has v1.2's text.
pub(super) fn check(patch: &[u8]) -> Result<(), PatchError> {
    json_scan::check(patch).map_err(PatchError::Malformed)
}

/// JSON pointer.
struct Pointer<'a> {
    text: &'a str,
    tokens: Vec<String>,
}

impl<'a> Pointer<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let tokens = match text.strip_prefix('/') {
            Some(rest) => rest.split('/').map(unescape).collect::<Option<_>>()?,
            None if text.is_empty() => Vec::new(),
            None => return None,
        };
        Some(Self { text, tokens })
    }

    fn get<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        self.tokens.iter().try_fold(document, |value, token| match value {
            Value::Object(map) => map.get(token),
            Value::Array(items) => items.get(index(token)?),
            _ => None,
        })
    }

    /// Returns the container of the value and the last token. `None` for the whole document, and if there is no
    /// container.
    fn parent<'v>(&self, document: &'v mut Value) -> Option<(&'v mut Value, &str)> {
        let (last, before) = self.tokens.split_last()?;
        let parent = before.iter().try_fold(document, |value, token| match value {
            Value::Object(map) => map.get_mut(token),
            Value::Array(items) => items.get_mut(index(token)?),
            _ => None,
        })?;
        Some((parent, last))
    }
}

/// Decodes `~0` and `~1`. `None` if another character follows a tilde.
fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (decoded, rest) = part
            .strip_prefix('0')
            .map(|rest| ('~', rest))
            .or_else(|| part.strip_prefix('1').map(|rest| ('/', rest)))?;
        text.push(decoded);
        text.push_str(rest);
    }
    Some(text)
}

/// Parses an index as in RFC 6901: digits without a leading zero.
fn index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|b| b.is_ascii_digit()) && (token.len() == 1 || !token.starts_with('0'));
    if plain { token.parse().ok() } else { None }
}

/// Compares two values as in RFC 6902: numbers by value, objects regardless of the order of names.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64()),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| equal(v, w)))
        }
        _ => a == b,
    }
}

/// Upper bound of a document's depth, to enforce [`MAX_DEPTH`] without measuring it after every operation.
struct DepthLimit(usize);

impl DepthLimit {
    fn of(document: &Value) -> Self {
        Self(depth(document))
    }

    /// Accounts for `value` being stored at the depth `place`.
    fn put(&mut self, place: usize, value: &Value) -> Result<(), PatchError> {
        self.0 = self.0.max(place + depth(value));
        self.check()
    }

    /// Accounts for a value being moved from one depth to another.
    fn moved(&mut self, from: usize, to: usize) -> Result<(), PatchError> {
        self.0 += to.saturating_sub(from);
        self.check()
    }

    fn check(&self) -> Result<(), PatchError> {
        if self.0 <= MAX_DEPTH {
            Ok(())
        } else {
            Err(PatchError::Inapplicable(format!(
                "the patched document nests deeper than {MAX_DEPTH}"
            )))
        }
    }
}

/// Document and the limits while operations are applied.
struct Patcher {
    document: Value,
    depth: DepthLimit,
    copied: usize,
}

/// Returns a member of an operation that must be a string.
fn text<'a>(operation: &'a Value, member: &str) -> Result<&'a str, PatchError> {
    operation
        .get(member)
        .and_then(Value::as_str)
        .ok_or_else(|| PatchError::Malformed(format!("the operation has no text as its {member:?}: {operation}")))
}

fn pointer<'a>(operation: &'a Value, member: &str) -> Result<Pointer<'a>, PatchError> {
    let text = text(operation, member)?;
    Pointer::parse(text).ok_or_else(|| PatchError::Malformed(format!("{text:?} is no JSON pointer")))
}

fn missing(kind: &str, pointer: &Pointer<'_>) -> PatchError {
    PatchError::Inapplicable(format!("{kind}: there is no value at {:?}", pointer.text))
}

impl Patcher {
    fn new(document: Value) -> Self {
        let depth = DepthLimit::of(&document);
        Self {
            document,
            depth,
            copied: 0,
        }
    }

    fn run(mut self, operations: &[Value]) -> Result<Value, PatchError> {
        operations
            .iter()
            .try_for_each(|operation| self.apply_operation(operation))?;
        Ok(self.document)
    }

    fn apply_operation(&mut self, operation: &Value) -> Result<(), PatchError> {
        if !operation.is_object() {
            return Err(PatchError::Malformed(format!(
                "json: cannot unmarshal {} into Go value of type jsonpatch.operation",
                json_kind(operation)
            )));
        }
        let kind = text(operation, "op")?;
        if !matches!(kind, "add" | "remove" | "replace" | "move" | "copy" | "test") {
            return Err(PatchError::Malformed(format!("Unexpected kind: {kind}")));
        }
        let path = pointer(operation, "path")?;
        let value = || {
            operation
                .get("value")
                .ok_or_else(|| PatchError::Malformed(format!("the operation has no \"value\": {operation}")))
        };
        match kind {
            "add" => self.put(&path, value()?.clone()),
            "remove" => self.take(kind, &path).map(drop),
            "replace" => self.replace(&path, value()?),
            "move" => self.relocate(&pointer(operation, "from")?, &path),
            "copy" => self.copy(&pointer(operation, "from")?, &path),
            _ => match path.get(&self.document) {
                Some(found) if equal(found, value()?) => Ok(()),
                _ => Err(PatchError::Inapplicable(format!("Testing value {} failed", path.text))),
            },
        }
    }

    fn put(&mut self, path: &Pointer<'_>, value: Value) -> Result<(), PatchError> {
        self.depth.put(path.tokens.len(), &value)?;
        self.insert(path, value)
    }

    fn insert(&mut self, path: &Pointer<'_>, value: Value) -> Result<(), PatchError> {
        if path.tokens.is_empty() {
            self.document = value;
            return Ok(());
        }
        match path.parent(&mut self.document) {
            Some((Value::Object(map), name)) => {
                map.insert(name.to_owned(), value);
                Ok(())
            }
            Some((Value::Array(items), "-")) => {
                items.push(value);
                Ok(())
            }
            Some((Value::Array(items), token)) => match index(token).filter(|at| *at <= items.len()) {
                Some(at) => {
                    items.insert(at, value);
                    Ok(())
                }
                None => Err(PatchError::Inapplicable(format!(
                    "add: a list of {} has no place {token:?}: {}",
                    items.len(),
                    path.text
                ))),
            },
            _ => Err(PatchError::Inapplicable(format!("Missing container: {}", path.text))),
        }
    }

    fn take(&mut self, kind: &str, path: &Pointer<'_>) -> Result<Value, PatchError> {
        if path.tokens.is_empty() {
            return Ok(std::mem::take(&mut self.document));
        }
        let taken = match path.parent(&mut self.document) {
            Some((Value::Object(map), name)) => map.shift_remove(name),
            Some((Value::Array(items), token)) => {
                index(token).filter(|at| *at < items.len()).map(|at| items.remove(at))
            }
            _ => None,
        };
        taken.ok_or_else(|| missing(kind, path))
    }

    fn replace(&mut self, path: &Pointer<'_>, value: &Value) -> Result<(), PatchError> {
        self.depth.put(path.tokens.len(), value)?;
        let place = match path.parent(&mut self.document) {
            Some((Value::Object(map), name)) => map.get_mut(name),
            Some((Value::Array(items), token)) => index(token).and_then(|at| items.get_mut(at)),
            _ if path.tokens.is_empty() => Some(&mut self.document),
            _ => None,
        };
        *place.ok_or_else(|| missing("replace", path))? = value.clone();
        Ok(())
    }

    fn relocate(&mut self, from: &Pointer<'_>, path: &Pointer<'_>) -> Result<(), PatchError> {
        if path.tokens.len() > from.tokens.len() && path.tokens.starts_with(&from.tokens) {
            return Err(PatchError::Inapplicable(format!(
                "move: {:?} is inside of {:?}",
                path.text, from.text
            )));
        }
        self.depth.moved(from.tokens.len(), path.tokens.len())?;
        let value = self.take("move", from)?;
        self.insert(path, value)
    }

    fn copy(&mut self, from: &Pointer<'_>, path: &Pointer<'_>) -> Result<(), PatchError> {
        self.depth.moved(from.tokens.len(), path.tokens.len())?;
        let value = from.get(&self.document).ok_or_else(|| missing("copy", from))?.clone();
        self.copied += value.to_string().len();
        if self.copied > MAX_COPIED_BYTES {
            return Err(PatchError::Inapplicable(format!(
                "the patch copies more than {MAX_COPIED_BYTES} bytes"
            )));
        }
        self.insert(path, value)
    }
}

#[cfg(test)]
mod tests;

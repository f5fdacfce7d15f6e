//! JSON patch and merge patch as implemented by v1.2's library.
//!
//! - The library keeps a document as text and only parses the objects and lists on a path. A null in the document is
//!   a nil node, a null set by an operation is a node without text: the library panics when it parses, compares or
//!   writes such a node.
//! - Parsed objects are written with sorted names. Everything else, including numbers, keeps its text.
//! - Source of the semantics: `evanphx/json-patch` of early 2016, `encoding/json` of Go; `patches.har` of the
//!   recordings.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

use super::{escape_html, json_kind, json_string, strconv::atoi};

/// Maximum nesting of a patched document.
pub(crate) const MAX_DEPTH: usize = 512;
/// Maximum number of operations in a patch.
pub(crate) const MAX_OPERATIONS: usize = 10_000;

/// Error of applying a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The patch is malformed.
    Malformed(String),
    /// The patch does not apply to the document.
    Inapplicable(String),
    /// The library panics.
    Panic,
}

type Outcome<T> = Result<T, Failure>;

/// Node of a document: the library's `lazyNode`.
#[derive(Clone, Debug)]
enum Node {
    /// Nil pointer: a null in the document, or a missing value of an operation.
    Nil,
    /// Node without text: a null set by an operation.
    Unset,
    /// Text that is not parsed.
    Raw(String),
    /// Parsed object.
    Doc(BTreeMap<String, Node>),
    /// Parsed list.
    Array(Vec<Node>),
}

/// Applies the operations of `patch` to `document`, the text of a JSON object.
pub(crate) fn apply(document: &[u8], patch: &[u8]) -> Outcome<Vec<u8>> {
    let patch = String::from_utf8_lossy(patch);
    let operations = match serde_json::from_str::<Option<Vec<&RawValue>>>(&patch) {
        Ok(operations) => operations.unwrap_or_default(),
        Err(_) => {
            let kind = serde_json::from_str::<Value>(&patch).map_or("value", |other| json_kind(&other));
            return Err(Failure::Malformed(format!(
                "json: cannot unmarshal {kind} into Go value of type jsonpatch.Patch"
            )));
        }
    };
    if operations.len() > MAX_OPERATIONS {
        let text = format!("the patch has more than {MAX_OPERATIONS} operations");
        return Err(Failure::Malformed(text));
    }
    let operations: Vec<Operation> = operations
        .iter()
        .map(|o| Operation::parse(o.get()))
        .collect::<Outcome<_>>()?;
    let mut document = Document {
        root: Node::Raw(String::from_utf8_lossy(document).into_owned()),
        depth: DepthLimit::of(document),
    };
    document.root.open()?;
    operations.iter().try_for_each(|operation| document.run(operation))?;
    document.root.text()
}

/// Merges `patch` into `document`, the text of a JSON object. A patch that is a list replaces the document.
pub(crate) fn merge(document: &[u8], patch: &[u8]) -> Outcome<Vec<u8>> {
    let malformed = || Failure::Malformed("Invalid JSON Patch".to_owned());
    serde_json::from_slice::<&RawValue>(patch).map_err(|_| malformed())?;
    DepthLimit::of(patch).check()?;
    let mut patch = Node::from_text(String::from_utf8_lossy(patch).trim_matches([' ', '\t', '\r', '\n']));
    if patch.open()?.is_none() {
        return Err(malformed());
    }
    let mut document = Node::Raw(String::from_utf8_lossy(document).into_owned());
    document.open()?;
    match (&mut document, patch) {
        (Node::Doc(document), Node::Doc(patch)) => merge_docs(document, patch)?,
        (document, patch) => *document = patch.pruned()?,
    }
    document.text()
}

fn merge_docs(document: &mut BTreeMap<String, Node>, patch: BTreeMap<String, Node>) -> Outcome<()> {
    for (name, mut value) in patch {
        if matches!(value, Node::Nil) {
            document.remove(&name);
            continue;
        }
        match document.get_mut(&name) {
            None | Some(Node::Nil) => {
                document.insert(name, value.pruned()?);
            }
            Some(place) => {
                place.open()?;
                match place {
                    Node::Doc(inner) => {
                        value.open()?;
                        match value {
                            Node::Doc(value) => merge_docs(inner, value)?,
                            other => *place = other,
                        }
                    }
                    _ => *place = value.pruned()?,
                }
            }
        }
    }
    Ok(())
}

impl Node {
    fn from_text(text: &str) -> Self {
        if text == "null" {
            Self::Nil
        } else {
            Self::Raw(text.to_owned())
        }
    }

    /// Parses an object or a list. `None` for any other value, which is left unchanged.
    fn open(&mut self) -> Outcome<Option<&mut Self>> {
        let malformed = |e: serde_json::Error| Failure::Malformed(e.to_string());
        match self {
            Self::Nil => return Ok(None),
            Self::Unset => return Err(Failure::Panic),
            Self::Raw(text) if text.starts_with('{') => {
                let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(malformed)?;
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (name, Self::from_text(value.get())));
                *self = Self::Doc(fields.collect());
            }
            Self::Raw(text) if text.starts_with('[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(malformed)?;
                *self = Self::Array(items.into_iter().map(|item| Self::from_text(item.get())).collect());
            }
            Self::Raw(_) => return Ok(None),
            Self::Doc(_) | Self::Array(_) => {}
        }
        Ok(Some(self))
    }

    /// Removes nulls, in lists too. A list that is empty afterwards becomes null.
    fn pruned(mut self) -> Outcome<Self> {
        self.open()?;
        Ok(match self {
            Self::Doc(fields) => {
                let kept = fields.into_iter().filter(|(_, value)| !matches!(value, Self::Nil));
                Self::Doc(
                    kept.map(|(name, value)| Ok((name, value.pruned()?)))
                        .collect::<Outcome<_>>()?,
                )
            }
            Self::Array(items) => {
                let kept = items.into_iter().filter(|item| !matches!(item, Self::Nil));
                match kept.map(Self::pruned).collect::<Outcome<Vec<_>>>()? {
                    items if items.is_empty() => Self::Nil,
                    items => Self::Array(items),
                }
            }
            other => other,
        })
    }

    /// Member `key` of a parsed object or list. `None` if an object has none.
    fn get(&mut self, key: &str) -> Outcome<Option<&mut Self>> {
        match self {
            Self::Doc(fields) => Ok(fields.get_mut(key)),
            Self::Array(items) => {
                let at = index(key, items.len())?;
                items.get_mut(at).map(Some).ok_or(Failure::Panic)
            }
            _ => Err(Failure::Panic),
        }
    }

    /// Sets the member `key` of an object, or inserts before an item of a list. A list ignores keys that are not an
    /// index.
    fn set(&mut self, key: &str, value: Self) -> Outcome<()> {
        match self {
            Self::Doc(fields) => drop(fields.insert(key.to_owned(), value)),
            Self::Array(items) if key == "-" => items.push(value),
            Self::Array(items) if atoi(key).is_ok() => {
                let at = index(key, items.len() + 1)?;
                items.insert(at, value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes a member. An object need not have it.
    fn remove(&mut self, key: &str) -> Outcome<()> {
        match self {
            Self::Doc(fields) => drop(fields.remove(key)),
            Self::Array(items) => {
                let at = index(key, items.len())?;
                items.remove(at);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the node equals `other`. Texts are compared as written, and an object may lack members that `other`
    /// has.
    fn equals(&mut self, other: &mut Self) -> Outcome<bool> {
        for node in [&*self, &*other] {
            if matches!(node, Self::Nil | Self::Unset) {
                return Err(Failure::Panic);
            }
        }
        let (opened, other_opened) = (self.open()?.is_some(), other.open()?.is_some());
        match (&mut *self, &mut *other) {
            (Self::Doc(fields), Self::Doc(others)) => {
                for (name, value) in fields {
                    let Some(other) = others.get_mut(name) else {
                        return Ok(false);
                    };
                    let both_nil = matches!((&*value, &*other), (Self::Nil, Self::Nil));
                    if !both_nil && !value.equals(other)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Self::Array(items), Self::Array(others)) if items.len() == others.len() => {
                for (item, other) in items.iter_mut().zip(others) {
                    if !item.equals(other)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Self::Raw(text), Self::Raw(other)) => Ok(!opened && !other_opened && text == other),
            _ => Ok(false),
        }
    }

    fn text(&self) -> Outcome<Vec<u8>> {
        let mut out = Vec::new();
        self.write(&mut out)?;
        Ok(out)
    }

    fn write(&self, out: &mut Vec<u8>) -> Outcome<()> {
        match self {
            Self::Nil => out.extend_from_slice(b"null"),
            Self::Unset => return Err(Failure::Panic),
            Self::Raw(text) => out.extend_from_slice(escape_html(&compact(text)).as_bytes()),
            Self::Doc(fields) => {
                out.push(b'{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    out.extend_from_slice(if at == 0 { b"" } else { b"," });
                    out.extend_from_slice(json_string(name).as_bytes());
                    out.push(b':');
                    value.write(out)?;
                }
                out.push(b'}');
            }
            Self::Array(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    out.extend_from_slice(if at == 0 { b"" } else { b"," });
                    item.write(out)?;
                }
                out.push(b']');
            }
        }
        Ok(())
    }
}

/// Removes blanks between the tokens of JSON.
fn compact(text: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let keep = |c: &char| {
        let kept = quoted || !matches!(c, ' ' | '\t' | '\r' | '\n');
        if escaped {
            escaped = false;
        } else if quoted && *c == '\\' {
            escaped = true;
        } else if *c == '"' {
            quoted = !quoted;
        }
        kept
    };
    text.chars().filter(keep).collect()
}

/// Parses an index of a list of `len` items.
fn index(token: &str, len: usize) -> Outcome<usize> {
    let at = atoi(token).map_err(Failure::Inapplicable)?;
    usize::try_from(at).ok().filter(|at| *at < len).ok_or(Failure::Panic)
}

/// Operation of a patch: its members as text.
struct Operation(BTreeMap<String, Node>);

impl Operation {
    fn parse(text: &str) -> Outcome<Self> {
        match serde_json::from_str::<Option<BTreeMap<String, Box<RawValue>>>>(text) {
            Ok(members) => Ok(Self(
                members
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(name, value)| (name, Node::from_text(value.get())))
                    .collect(),
            )),
            Err(_) => {
                let kind = serde_json::from_str::<Value>(text).map_or("value", |other| json_kind(&other));
                Err(Failure::Malformed(format!(
                    "json: cannot unmarshal {kind} into Go value of type jsonpatch.operation"
                )))
            }
        }
    }

    fn member(&self, name: &str) -> Outcome<String> {
        match self.0.get(name) {
            Some(Node::Raw(text)) => Ok(serde_json::from_str(text).unwrap_or_else(|_| "unknown".to_owned())),
            Some(_) => Err(Failure::Panic),
            None => Ok("unknown".to_owned()),
        }
    }

    fn value(&self) -> Node {
        match self.0.get("value") {
            None => Node::Nil,
            Some(Node::Nil) => Node::Unset,
            Some(value) => value.clone(),
        }
    }
}

/// Path as split by the library: `~` is not an escape, and text before the first slash is ignored.
struct Pointer {
    text: String,
    tokens: Vec<String>,
}

impl Pointer {
    fn new(text: String) -> Outcome<Self> {
        let tokens: Vec<String> = text.split('/').skip(1).map(str::to_owned).collect();
        if tokens.is_empty() {
            return Err(Failure::Panic);
        }
        Ok(Self { text, tokens })
    }

    fn key(&self) -> &str {
        self.tokens.last().map_or("", String::as_str)
    }
}

/// Document and the limits while operations are applied.
struct Document {
    root: Node,
    depth: DepthLimit,
}

impl Document {
    /// Object or list that contains the target of `path`. `None` if there is none.
    fn container(&mut self, path: &Pointer) -> Outcome<Option<&mut Node>> {
        let before = path.tokens.len().saturating_sub(1);
        let mut node = &mut self.root;
        for token in path.tokens.iter().take(before) {
            let next = match node.get(token) {
                Ok(next) => next,
                Err(Failure::Panic) => return Err(Failure::Panic),
                Err(_) => None,
            };
            let Some(next) = next else { return Ok(None) };
            let Some(opened) = next.open()? else { return Ok(None) };
            node = opened;
        }
        Ok(Some(node))
    }

    fn run(&mut self, operation: &Operation) -> Outcome<()> {
        let kind = operation.member("op")?;
        match kind.as_str() {
            "add" | "replace" => {
                let path = Pointer::new(operation.member("path")?)?;
                let value = operation.value();
                self.depth.put(path.tokens.len(), &value)?;
                match self.container(&path)? {
                    Some(container) => container.set(path.key(), value),
                    None if kind == "add" => Err(Failure::Inapplicable(format!("Missing container: {}", path.text))),
                    None => Err(Failure::Panic),
                }
            }
            "remove" => {
                let path = Pointer::new(operation.member("path")?)?;
                self.container(&path)?.ok_or(Failure::Panic)?.remove(path.key())
            }
            "move" => {
                let from = Pointer::new(operation.member("from")?)?;
                let container = self.container(&from)?.ok_or(Failure::Panic)?;
                let value = container.get(from.key())?.cloned().unwrap_or(Node::Nil);
                container.remove(from.key())?;
                let path = Pointer::new(operation.member("path")?)?;
                self.depth.moved(from.tokens.len(), path.tokens.len())?;
                self.container(&path)?.ok_or(Failure::Panic)?.set(path.key(), value)
            }
            "test" => {
                let path = Pointer::new(operation.member("path")?)?;
                let container = self.container(&path)?.ok_or(Failure::Panic)?;
                let found = container.get(path.key())?.ok_or(Failure::Panic)?;
                match found.equals(&mut operation.value())? {
                    true => Ok(()),
                    false => Err(Failure::Inapplicable(format!("Testing value {} failed", path.text))),
                }
            }
            kind => Err(Failure::Malformed(format!("Unexpected kind: {kind}"))),
        }
    }
}

/// Upper bound of a document's depth, to enforce [`MAX_DEPTH`] without measuring it after every operation.
struct DepthLimit(usize);

impl DepthLimit {
    fn of(text: &[u8]) -> Self {
        let (mut open, mut most) = (0usize, 0);
        let (mut quoted, mut escaped) = (false, false);
        for byte in text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = quoted,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => {
                    open += 1;
                    most = most.max(open);
                }
                b'}' | b']' if !quoted => open = open.saturating_sub(1),
                _ => {}
            }
        }
        Self(most)
    }

    /// Accounts for `value` being stored at the depth `place`.
    fn put(&mut self, place: usize, value: &Node) -> Outcome<()> {
        let inner = match value {
            Node::Raw(text) => Self::of(text.as_bytes()).0,
            _ => 0,
        };
        self.0 = self.0.max(place + inner);
        self.check()
    }

    /// Accounts for a value being moved from one depth to another.
    fn moved(&mut self, from: usize, to: usize) -> Outcome<()> {
        self.0 += to.saturating_sub(from);
        self.check()
    }

    fn check(&self) -> Outcome<()> {
        if self.0 <= MAX_DEPTH {
            return Ok(());
        }
        let text = format!("the patched document nests deeper than {MAX_DEPTH}");
        Err(Failure::Inapplicable(text))
    }
}

#[cfg(test)]
mod tests;

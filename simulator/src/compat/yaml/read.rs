//! YAML reader.
//!
//! Source of the semantics: go-yaml v2 of 2016 for plain scalars, tags, anchors and merge keys; ghodss/yaml for keys
//! that are not strings.

use std::{
    collections::{BTreeMap, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
};

use base64::Engine;
use libyaml_safer::{Event, EventData, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use super::{
    resolve::{Scalar, resolve},
    utf8,
    write::go_float,
};
use crate::compat::{go_quote, strconv::format_float};

/// Maximum nesting of lists and maps.
const MAX_DEPTH: usize = 200;
/// Maximum memory of anchors and expanded aliases together, in bytes.
const MAX_EXPANDED_BYTES: usize = 32 << 20;
/// Size in bytes of a node without its text or children.
const NODE_BYTES: usize = size_of::<Node>();
/// Size in bytes of a map entry without the text of its key and its value.
const ENTRY_BYTES: usize = size_of::<Key>() + 16;

const TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// Error of reading YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum YamlError {
    /// The text is malformed. The error is the library's text.
    #[error("{0}")]
    Malformed(String),
    /// The library panics.
    #[error("yaml: {0}")]
    Panic(&'static str),
}

type Outcome<T> = Result<T, YamlError>;

fn error<T>(text: impl std::fmt::Display) -> Outcome<T> {
    Err(YamlError::Malformed(format!("yaml: {text}")))
}

/// Reads the first document of `bytes`, with sorted keys. Without a document the result is null.
pub(crate) fn to_value(bytes: &[u8]) -> Outcome<Value> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return error("line 1: did not find expected node content");
    }
    utf8::check(bytes).or_else(error)?;
    // The parser panics if the input ends right after a block scalar or a backslash in a quoted scalar.
    let unended = !bytes.ends_with(b"\n") && (bytes.ends_with(b"\\") || has_block(bytes));
    let closed;
    let mut input = if unended {
        closed = [bytes, b"\n"].concat();
        closed.as_slice()
    } else {
        bytes
    };
    let mut parser = Parser::new();
    parser.set_input_string(&mut input);
    let end = unended.then(|| String::from_utf8_lossy(bytes).chars().count() as u64);
    let mut reader = Reader {
        parser,
        anchors: HashMap::new(),
        expanded: 0,
        end,
    };
    loop {
        match reader.event()? {
            EventData::StreamEnd => return Ok(Value::Null),
            EventData::DocumentStart { tag_directives, .. } if !tag_directives.is_empty() => {
                return Err(YamlError::Panic("the directive %TAG is not supported"));
            }
            EventData::DocumentStart { .. } => break,
            _ => {}
        }
    }
    let event = reader.event()?;
    let node = reader.node(event, 0)?;
    // The library reads one event after the end of the document: further text must start with `---`.
    if !matches!(reader.event()?, EventData::StreamEnd) {
        reader.event()?;
    }
    node.into_json()
}

/// YAML value. Keys may be any scalar.
#[derive(Clone, Debug)]
enum Node {
    Word(Scalar),
    Text(String),
    List(Vec<Node>),
    Map(BTreeMap<Key, Node>),
}

/// Key with its YAML type: `5` and `"5"` are different keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Word(String),
    Text(String),
    Null,
    Uint(u64),
}

impl Key {
    fn size(&self) -> usize {
        match self {
            Self::Word(key) | Self::Text(key) => ENTRY_BYTES + key.len(),
            Self::Null | Self::Uint(_) => ENTRY_BYTES,
        }
    }

    /// Text of the key of `value`.
    fn into_json(self, value: &Node) -> Outcome<String> {
        let (kind, shown) = match self {
            Self::Word(key) | Self::Text(key) => return Ok(key),
            Self::Null => ("%!s(<nil>)", "<nil>".to_owned()),
            Self::Uint(key) => ("uint64", format!("{key:#x}")),
        };
        Err(YamlError::Malformed(format!(
            "Unsupported map key of type: {kind}, key: {shown}, value: {}",
            value.go_syntax()
        )))
    }

    fn go_syntax(&self) -> String {
        match self {
            Self::Word(key) => key.clone(),
            Self::Text(key) => go_quote(key),
            Self::Null => "interface {}(nil)".to_owned(),
            Self::Uint(key) => format!("{key:#x}"),
        }
    }
}

impl Node {
    /// Approximate size in memory, in bytes.
    fn size(&self) -> usize {
        match self {
            Self::Word(_) => NODE_BYTES,
            Self::Text(text) => NODE_BYTES + text.len(),
            Self::List(items) => items.iter().map(Self::size).fold(NODE_BYTES, usize::saturating_add),
            Self::Map(entries) => entries
                .iter()
                .map(|(key, value)| value.size().saturating_add(key.size()))
                .fold(NODE_BYTES, usize::saturating_add),
        }
    }

    fn into_key(self) -> Outcome<Key> {
        match self {
            Self::Text(text) => Ok(Key::Text(text)),
            Self::Word(Scalar::Bool(value)) => Ok(Key::Word(value.to_string())),
            Self::Word(Scalar::Int(value)) => Ok(Key::Word(value.to_string())),
            Self::Word(Scalar::Float(value)) => Ok(Key::Word(go_float(value))),
            Self::Word(Scalar::Uint(value)) => Ok(Key::Uint(value)),
            Self::Word(Scalar::Null | Scalar::Text) => Ok(Key::Null),
            Self::List(_) | Self::Map(_) => error(format_args!("invalid map key: {}", self.go_syntax())),
        }
    }

    /// `%#v`.
    fn go_syntax(&self) -> String {
        match self {
            Self::Text(text) => go_quote(text),
            Self::Word(Scalar::Null | Scalar::Text) => "interface {}(nil)".to_owned(),
            Self::Word(Scalar::Bool(value)) => value.to_string(),
            Self::Word(Scalar::Int(value)) => value.to_string(),
            Self::Word(Scalar::Uint(value)) => format!("{value:#x}"),
            Self::Word(Scalar::Float(value)) => format_float(*value),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::go_syntax).collect();
                format!("[]interface {{}}{{{}}}", items.join(", "))
            }
            Self::Map(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{}:{}", key.go_syntax(), value.go_syntax()))
                    .collect();
                format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", "))
            }
        }
    }

    fn into_json(self) -> Outcome<Value> {
        Ok(match self {
            Self::Text(text) => text.into(),
            Self::Word(Scalar::Null | Scalar::Text) => Value::Null,
            Self::Word(Scalar::Bool(value)) => value.into(),
            Self::Word(Scalar::Int(value)) => value.into(),
            Self::Word(Scalar::Uint(value)) => value.into(),
            Self::Word(Scalar::Float(value)) => json_float(value)?,
            Self::List(items) => Value::Array(items.into_iter().map(Self::into_json).collect::<Outcome<_>>()?),
            Self::Map(entries) => {
                let mut sorted = BTreeMap::new();
                for (key, value) in entries {
                    sorted.insert(key.into_json(&value)?, value.into_json()?);
                }
                Value::Object(sorted.into_iter().collect::<Map<_, _>>())
            }
        })
    }
}

/// Converts a float to JSON. Without a fraction it is written without a decimal point.
fn json_float(value: f64) -> Outcome<Value> {
    let whole = format_float(value).parse::<i64>().ok();
    match whole.map(Number::from).or_else(|| Number::from_f64(value)) {
        Some(number) => Ok(Value::Number(number)),
        None => Err(YamlError::Malformed(format!(
            "json: unsupported value: {}",
            if value.is_nan() { "NaN" } else { signed_infinity(value) }
        ))),
    }
}

fn signed_infinity(value: f64) -> &'static str {
    if value > 0.0 { "+Inf" } else { "-Inf" }
}

struct Reader<'a> {
    parser: Parser<&'a mut &'a [u8]>,
    /// Value of each anchor. `None` while it is being read.
    anchors: HashMap<String, Option<Node>>,
    expanded: usize,
    /// Position of the line break that was added at the end.
    end: Option<u64>,
}

/// Whether any line may start a block scalar.
fn has_block(bytes: &[u8]) -> bool {
    bytes.iter().any(|b| matches!(b, b'|' | b'>'))
}

impl Reader<'_> {
    fn event(&mut self) -> Outcome<EventData> {
        // The parser panics on some unexpected input. v1.2 has an error text for failures without a message.
        match catch_unwind(AssertUnwindSafe(|| self.parser.parse())) {
            Err(_) => error("unknown problem parsing YAML content"),
            Ok(Ok(Event {
                data:
                    EventData::Scalar {
                        mut value,
                        anchor,
                        tag,
                        plain_implicit,
                        quoted_implicit,
                        style,
                    },
                end_mark,
                ..
            })) => {
                // A scalar that ends with the document only has the line break that was added.
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                if block && self.end.is_some_and(|end| end_mark.index > end) && value.ends_with('\n') {
                    value.pop();
                }
                Ok(EventData::Scalar {
                    value,
                    anchor,
                    tag,
                    plain_implicit,
                    quoted_implicit,
                    style,
                })
            }
            Ok(Ok(event)) => Ok(event.data),
            Ok(Err(e)) => {
                // v1.2 counts lines from 0, and omits line 0.
                let line = [e.problem_mark(), e.context_mark()]
                    .into_iter()
                    .flatten()
                    .map(|mark| mark.line)
                    .find(|line| *line != 0);
                match line {
                    Some(line) => error(format_args!("line {line}: {}", e.problem())),
                    None => error(e.problem()),
                }
            }
        }
    }

    fn alias(&mut self, anchor: &str) -> Outcome<Node> {
        match self.anchors.get(anchor) {
            None => error(format_args!("unknown anchor '{anchor}' referenced")),
            Some(None) => error(format_args!("anchor '{anchor}' value contains itself")),
            Some(Some(node)) => copy(node, &mut self.expanded),
        }
    }

    /// Reads the node that starts with `event`.
    fn node(&mut self, event: EventData, depth: usize) -> Outcome<Node> {
        if depth > MAX_DEPTH {
            return error("exceeded max depth");
        }
        let anchor = match &event {
            EventData::Alias { anchor } => return self.alias(&anchor.clone()),
            EventData::Scalar { anchor, .. }
            | EventData::SequenceStart { anchor, .. }
            | EventData::MappingStart { anchor, .. } => anchor.clone(),
            _ => return error("did not find expected node content"),
        };
        if let Some(anchor) = &anchor {
            self.anchors.insert(anchor.clone(), None);
        }
        let node = match event {
            EventData::Scalar {
                tag,
                value,
                plain_implicit,
                ..
            } => scalar(tag.as_deref(), value, plain_implicit)?,
            EventData::SequenceStart { .. } => {
                let mut items = Vec::new();
                loop {
                    match self.event()? {
                        EventData::SequenceEnd => break Node::List(items),
                        event => items.push(self.node(event, depth + 1)?),
                    }
                }
            }
            _ => self.mapping(depth)?,
        };
        if let Some(anchor) = anchor {
            let kept = copy(&node, &mut self.expanded)?;
            self.anchors.insert(anchor, Some(kept));
        }
        Ok(node)
    }

    fn mapping(&mut self, depth: usize) -> Outcome<Node> {
        let mut entries = BTreeMap::new();
        loop {
            let event = self.event()?;
            let merges = match &event {
                EventData::MappingEnd => return Ok(Node::Map(entries)),
                EventData::Scalar {
                    tag,
                    value,
                    plain_implicit,
                    ..
                } => {
                    value == "<<"
                        && (*plain_implicit || tag.as_deref().and_then(|t| t.strip_prefix(TAG_PREFIX)) == Some("merge"))
                }
                _ => false,
            };
            let key = self.node(event, depth + 1)?;
            let event = self.event()?;
            let value = self.node(event, depth + 1)?;
            if merges {
                merge(value, &mut entries)?;
            } else {
                entries.insert(key.into_key()?, value);
            }
        }
    }
}

/// Copies a node. Its size is counted before the copy is made.
fn copy(node: &Node, expanded: &mut usize) -> Outcome<Node> {
    *expanded = expanded.saturating_add(node.size());
    if *expanded > MAX_EXPANDED_BYTES {
        return error("document contains excessive aliasing");
    }
    Ok(node.clone())
}

/// Merges the entries of another map, or of several, of which earlier ones take precedence.
fn merge(from: Node, entries: &mut BTreeMap<Key, Node>) -> Outcome<()> {
    const WANTED: &str = "map merge requires map or sequence of maps as the value";
    match from {
        Node::Map(others) => entries.extend(others),
        Node::List(maps) => {
            for map in maps.into_iter().rev() {
                match map {
                    Node::Map(others) => entries.extend(others),
                    _ => return error(WANTED),
                }
            }
        }
        _ => return error(WANTED),
    }
    Ok(())
}

fn scalar(tag: Option<&str>, text: String, plain: bool) -> Outcome<Node> {
    let tag = match tag {
        None if !plain => return Ok(Node::Text(text)),
        None => "",
        Some(tag) => match tag.strip_prefix(TAG_PREFIX) {
            Some(tag @ ("bool" | "int" | "float" | "null")) => tag,
            Some("binary") => {
                return match base64::engine::general_purpose::STANDARD.decode(&text) {
                    Ok(bytes) => Ok(Node::Text(String::from_utf8_lossy(&bytes).into_owned())),
                    Err(_) => error("!!binary value contains invalid base64 data"),
                };
            }
            _ => return Ok(Node::Text(text)),
        },
    };
    let word = resolve(&text);
    let found = match word {
        Scalar::Null => "null",
        Scalar::Bool(_) => "bool",
        Scalar::Int(_) | Scalar::Uint(_) => "int",
        Scalar::Float(_) => "float",
        Scalar::Text => "str",
    };
    if !tag.is_empty() && tag != found {
        return error(format_args!("cannot decode !!{found} `{text}` as a !!{tag}"));
    }
    Ok(if word == Scalar::Text {
        Node::Text(text)
    } else {
        Node::Word(word)
    })
}

#[cfg(test)]
mod tests;

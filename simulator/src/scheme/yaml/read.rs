//! From YAML to a tree.

use std::collections::HashMap;

use libyaml_safer::{EventData, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::resolve::{Scalar, resolve};

/// How deep lists and maps may be nested.
const MAX_DEPTH: usize = 200;
/// How many values anchors may unfold to in all.
const MAX_VALUES: usize = 1_000_000;

/// What is wrong with YAML, in the reference's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("yaml: {0}")]
pub struct YamlError(String);

type Outcome<T> = Result<T, YamlError>;

fn error<T>(text: impl Into<String>) -> Outcome<T> {
    Err(YamlError(text.into()))
}

/// Reads the first document of `bytes`; no document at all is null.
pub fn to_value(bytes: &[u8]) -> Outcome<Value> {
    let mut input = bytes;
    let mut parser = Parser::new();
    parser.set_input_string(&mut input);
    let mut reader = Reader { parser, anchors: HashMap::new(), values: 0 };
    loop {
        match reader.event()? {
            EventData::StreamEnd => return Ok(Value::Null),
            EventData::DocumentStart { .. } => break,
            _ => {}
        }
    }
    let event = reader.event()?;
    let value = reader.value(event, 0)?;
    Ok(value)
}

/// A key as the reference turns it into text.
fn key_text(key: &Value) -> Outcome<String> {
    match key {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        other => error(format!("Unsupported map key of type: {other}")),
    }
}

struct Reader<'a> {
    parser: Parser<&'a mut &'a [u8]>,
    anchors: HashMap<String, (Value, usize)>,
    values: usize,
}

impl Reader<'_> {
    fn event(&mut self) -> Outcome<EventData> {
        match self.parser.parse() {
            Ok(event) => Ok(event.data),
            Err(e) => {
                // The reference counts lines from 0, and leaves out line 0.
                let line = [e.problem_mark(), e.context_mark()].into_iter().flatten().map(|mark| mark.line).find(|line| *line != 0);
                error(line.map_or_else(|| e.problem().to_owned(), |line| format!("line {line}: {}", e.problem())))
            }
        }
    }

    fn count(&mut self, values: usize) -> Outcome<()> {
        self.values = self.values.saturating_add(values);
        if self.values > MAX_VALUES { error("document contains excessive aliasing") } else { Ok(()) }
    }

    fn value(&mut self, event: EventData, depth: usize) -> Outcome<Value> {
        if depth > MAX_DEPTH {
            return error("exceeded max depth");
        }
        self.count(1)?;
        let before = self.values;
        let (anchor, value) = match event {
            EventData::Alias { anchor } => {
                let Some((value, size)) = self.anchors.get(&anchor).cloned() else { return error(format!("unknown anchor '{anchor}' referenced")) };
                self.count(size)?;
                return Ok(value);
            }
            EventData::Scalar { anchor, tag, value, style, .. } => (anchor, scalar(tag.as_deref(), value, style)?),
            EventData::SequenceStart { anchor, .. } => {
                let mut items = Vec::new();
                loop {
                    match self.event()? {
                        EventData::SequenceEnd => break,
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
                (anchor, Value::Array(items))
            }
            EventData::MappingStart { anchor, .. } => {
                let mut entries = Map::new();
                loop {
                    let key = match self.event()? {
                        EventData::MappingEnd => break,
                        event => self.value(event, depth + 1)?,
                    };
                    let event = self.event()?;
                    let value = self.value(event, depth + 1)?;
                    entries.insert(key_text(&key)?, value);
                }
                (anchor, Value::Object(entries))
            }
            _ => return error("unexpected end of document"),
        };
        if let Some(anchor) = anchor {
            let size = self.values - before + 1;
            self.anchors.insert(anchor, (value.clone(), size));
        }
        Ok(value)
    }
}

fn scalar(tag: Option<&str>, text: String, style: ScalarStyle) -> Outcome<Value> {
    if style != ScalarStyle::Plain && tag.is_none() || tag == Some("!") || tag == Some("tag:yaml.org,2002:str") {
        return Ok(Value::String(text));
    }
    Ok(match resolve(&text) {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => value.into(),
        Scalar::Int(value) => value.into(),
        Scalar::Uint(value) => value.into(),
        Scalar::Float(value) => value.into(),
        Scalar::Text => Value::String(text),
    })
}

//! JSON and YAML texts as trees whose scalars say where they stand.

use granit_parser::{Event, Parser, ScalarStyle};
use std::ops::Range;

/// A value and, for a text, where it stands.
#[derive(Debug)]
pub(super) enum Tree {
    Map(Vec<(String, Tree)>),
    List(Vec<Tree>),
    Text(Scalar),
    Other,
}

/// A text, where it stands with its quotes, and how it is written.
#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) at: Range<usize>,
    pub(super) text: String,
    pub(super) written: Written,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Json,
    Yaml { quote: Option<char> },
    YamlBlock,
}

impl Tree {
    pub(super) fn get(&self, key: &str) -> Option<&Tree> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(scalar) => Some(&scalar.text),
            _ => None,
        }
    }

    /// The tree of a JSON text.
    pub(super) fn json(text: &str) -> Option<Self> {
        let value: Raw = serde_json::from_str(text).ok()?;
        spans(&value, text, &mut 0)
    }

    /// The trees of the documents of a YAML text.
    pub(super) fn yaml(text: &str) -> Option<Vec<Self>> {
        let mut stack: Vec<(Tree, Option<String>)> = Vec::new();
        let mut documents = Vec::new();
        for next in Parser::new_from_str(text) {
            let (event, span) = next.ok()?;
            let node = match event {
                Event::Scalar(value, style, ..) => {
                    let written = match style {
                        ScalarStyle::Literal | ScalarStyle::Folded => Written::YamlBlock,
                        ScalarStyle::SingleQuoted => Written::Yaml { quote: Some('\'') },
                        ScalarStyle::DoubleQuoted => Written::Yaml { quote: Some('"') },
                        ScalarStyle::Plain => Written::Yaml { quote: None },
                    };
                    // The last line break of a block is the block's, not the secret's.
                    let text = match written {
                        Written::YamlBlock => value.trim_end_matches('\n').to_owned(),
                        _ => value.into_owned(),
                    };
                    Tree::Text(Scalar {
                        at: span.byte_range()?,
                        text,
                        written,
                    })
                }
                Event::SequenceStart(..) => {
                    stack.push((Tree::List(Vec::new()), None));
                    continue;
                }
                Event::MappingStart(..) => {
                    stack.push((Tree::Map(Vec::new()), None));
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => stack.pop()?.0,
                Event::Alias(_) | Event::UnresolvedAlias(_) => Tree::Other,
                _ => continue,
            };
            match stack.last_mut() {
                None => documents.push(node),
                Some((Tree::List(items), _)) => items.push(node),
                Some((Tree::Map(entries), key)) => match key.take() {
                    Some(key) => entries.push((key, node)),
                    None => *key = Some(node.text().unwrap_or_default().to_owned()),
                },
                Some(_) => return None,
            }
        }
        Some(documents)
    }
}

/// Walks a value and its text together.
fn spans(value: &Raw, text: &str, at: &mut usize) -> Option<Tree> {
    skip(text, at);
    match value {
        Raw::Map(entries) => {
            *at += 1;
            let mut out = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                skip(text, at);
                *at = string_end(text, *at)?;
                skip(text, at);
                out.push((key.clone(), spans(value, text, at)?));
                skip(text, at);
            }
            skip(text, at);
            *at += 1;
            Some(Tree::Map(out))
        }
        Raw::List(items) => {
            *at += 1;
            let mut out = Vec::with_capacity(items.len());
            for value in items {
                out.push(spans(value, text, at)?);
                skip(text, at);
            }
            skip(text, at);
            *at += 1;
            Some(Tree::List(out))
        }
        Raw::Text(content) => {
            let start = *at;
            *at = string_end(text, start)?;
            Some(Tree::Text(Scalar {
                at: start..*at,
                text: content.clone(),
                written: Written::Json,
            }))
        }
        Raw::Other => {
            let rest = text.get(*at..)?;
            *at += rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
            Some(Tree::Other)
        }
    }
}

/// Skips space and the marks between values.
fn skip(text: &str, at: &mut usize) {
    let rest = text.as_bytes().get(*at..).unwrap_or_default();
    *at += rest.iter().take_while(|byte| b" \n\r\t,:".contains(byte)).count();
}

/// The end of the string that begins at a quote.
fn string_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A JSON value with every entry of its maps, those of one key too.
enum Raw {
    Map(Vec<(String, Raw)>),
    List(Vec<Raw>),
    Text(String),
    Other,
}

impl<'de> serde::Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl<'de> serde::de::Visitor<'de> for Visitor {
    type Value = Raw;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Other)
    }
}

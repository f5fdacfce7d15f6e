//! OpenAPI 2 as protobuf, with which older kubectl versions validate objects.
//!
//! - It contains only what they read: the title and the definitions.
//!
//! Source: the field numbers of the `openapi.v2` messages (`OpenAPIv2.proto` of gnostic).

use bytes::Bytes;
use serde_json::{Map, Value};

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value as u8 & 0x7f) | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        if !text.is_empty() {
            self.bytes(field, text.as_bytes());
        }
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }
}

/// Encodes the document as protobuf.
pub(super) fn encode(document: &Value) -> Bytes {
    let mut out = Message::default();
    out.text(1, text(&document["swagger"]));
    out.message(2, |info| {
        info.text(1, text(&document["info"]["title"]));
        info.text(2, text(&document["info"]["version"]));
    });
    out.message(8, |_| {});
    out.message(9, |definitions| named(definitions, &document["definitions"]));
    out.0.into()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Writes schemas by name.
fn named(out: &mut Message, schemas: &Value) {
    for (name, value) in schemas.as_object().into_iter().flatten() {
        out.message(1, |entry| {
            entry.text(1, name);
            entry.message(2, |out| schema(out, value));
        });
    }
}

fn schema(out: &mut Message, value: &Value) {
    let empty = Map::new();
    for (key, value) in value.as_object().unwrap_or(&empty) {
        match key.as_str() {
            "$ref" => out.text(1, text(value)),
            "format" => out.text(2, text(value)),
            "description" => out.text(4, text(value)),
            "required" => value
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|name| out.text(19, text(name))),
            "additionalProperties" => out.message(21, |item| item.message(1, |out| schema(out, value))),
            "type" => out.message(22, |item| item.text(1, text(value))),
            "items" => out.message(23, |item| item.message(1, |out| schema(out, value))),
            "properties" => out.message(25, |properties| named(properties, value)),
            extension if extension.starts_with("x-") => out.message(31, |entry| {
                entry.text(1, extension);
                // JSON is YAML.
                entry.message(2, |any| any.text(2, &value.to_string()));
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_written_field_by_field() {
        let document = json!({"swagger": "2.0", "info": {"title": "T", "version": "V"},
            "definitions": {"A": {"type": "object", "required": ["b"]}}});
        let expected = [
            &b"\x0a\x032.0"[..],
            b"\x12\x06\x0a\x01T\x12\x01V",
            b"\x42\x00",
            b"\x4a\x16\x0a\x14\x0a\x01A\x12\x0f\xb2\x01\x08\x0a\x06object\x9a\x01\x01b",
        ];
        assert_eq!(encode(&document), expected.concat());
    }
}

//! Protobuf request bodies, decoded to JSON.
//!
//! - Field numbers are data (`fixtures/protobuf`), types come from the scheme. Fields unknown to either are skipped,
//!   like unknown JSON fields.
//! - Limits: [`MAX_DEPTH`] nested messages, [`MAX_VALUES`] values. Responses are never protobuf, because clients that
//!   send it also accept JSON.
//!
//! Source: the protobuf encoding; the messages of newer Kubernetes (`k8s.io.api`), in the envelope `runtime.Unknown`.

mod wire;

use std::{collections::HashMap, sync::OnceLock};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use stuntdouble_fixtures::PROTOBUF;

use self::wire::{Fields, Malformed, Scalar};
use crate::{
    api::Status,
    scheme::{FieldType, Scheme, TypeRef},
};

/// Magic prefix of a protobuf body.
const MAGIC: &[u8] = b"k8s\0";

/// Maximum depth of nested messages.
const MAX_DEPTH: usize = 32;

/// Maximum number of values in a body.
const MAX_VALUES: usize = 1 << 18;

/// Whether a body is protobuf.
pub(super) fn is_protobuf(body: &[u8]) -> bool {
    body.starts_with(MAGIC)
}

/// Decodes a protobuf body to JSON. An object of a kind unknown to `scheme` has only its kind and version.
///
/// # Errors
/// 400 if the body is malformed or exceeds the limits.
pub(super) fn to_json(body: &[u8], scheme: &Scheme) -> Result<Bytes, Status> {
    let envelope = body.strip_prefix(MAGIC).unwrap_or(body);
    decode(envelope, scheme)
        .map_err(|error| Status::bad_request(format!("the protobuf body cannot be decoded: {error}")))
}

fn decode(envelope: &[u8], scheme: &Scheme) -> Result<Bytes, Malformed> {
    let (mut api_version, mut kind, mut raw, mut encoding, mut media_type) = ("", "", &[][..], "", "");
    for field in Fields::new(envelope) {
        match field? {
            (1, meta) => {
                for field in Fields::new(meta.bytes()?) {
                    match field? {
                        (1, text) => api_version = text.text()?,
                        (2, text) => kind = text.text()?,
                        _ => {}
                    }
                }
            }
            (2, value) => raw = value.bytes()?,
            (3, value) => encoding = value.text()?,
            (4, value) => media_type = value.text()?,
            _ => {}
        }
    }
    if !encoding.is_empty() {
        return Err(Malformed("its content is encoded"));
    }
    if media_type == super::negotiation::JSON {
        return Ok(Bytes::copy_from_slice(raw));
    }
    let mut object = Map::from_iter([
        ("kind".to_owned(), kind.into()),
        ("apiVersion".to_owned(), api_version.into()),
    ]);
    if let Some(resource) = scheme.kind(api_version, kind) {
        let mut decoder = Decoder { nodes: 0 };
        decoder.message(resource.type_ref(), &[], raw, &mut object, 0)?;
    }
    Ok(Value::Object(object).to_string().into())
}

/// A field number, preceded by the numbers of enclosing messages that have no JSON object.
type Number = Vec<u32>;

/// Field names of a type, by number.
type Numbered = Vec<(Number, &'static str)>;

/// Returns the field numbers of a type, or `None` for a type without a protobuf message.
fn numbers(name: &str) -> Option<&'static Numbered> {
    static TYPES: OnceLock<HashMap<String, Numbered>> = OnceLock::new();
    let types = TYPES.get_or_init(|| {
        let text = stuntdouble_fixtures::text(&PROTOBUF, "fields.json").unwrap_or_default();
        let types: HashMap<String, &'static str> = serde_json::from_str(text).unwrap_or_default();
        types.into_iter().map(|(name, fields)| (name, parse(fields))).collect()
    });
    types.get(name)
}

fn parse(fields: &'static str) -> Numbered {
    fields
        .split(' ')
        .filter_map(|field| {
            let (name, number) = field.split_once('=')?;
            let number: Result<Number, _> = number.split('.').map(str::parse).collect();
            Some((number.ok()?, name))
        })
        .collect()
}

/// Decodes messages and counts their values.
struct Decoder {
    nodes: usize,
}

impl Decoder {
    /// Decodes the fields of a message of object type `of` into `out`. `outer` are the numbers of the enclosing
    /// messages without a JSON object.
    fn message(
        &mut self,
        of: TypeRef<'_>,
        outer: &[u32],
        bytes: &[u8],
        out: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Malformed> {
        if depth > MAX_DEPTH {
            return Err(Malformed("its messages are nested too deep"));
        }
        let Some((known, numbered)) = of.struct_type().and_then(|known| Some((known, numbers(&known.name)?))) else {
            return Ok(());
        };
        for field in Fields::new(bytes) {
            let (number, scalar) = field?;
            let path = [outer, &[number]].concat();
            if let Some((_, name)) = numbered.iter().find(|(number, _)| *number == path) {
                if let Some(field) = known.field(name) {
                    self.put(of, &field.field_type, scalar, name, out, depth)?;
                }
            } else if numbered.iter().any(|(number, _)| number.starts_with(&path)) {
                self.message(of, &path, scalar.bytes()?, out, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Adds one occurrence of the field `name` to `out`: the value, or one item of a list or map.
    fn put(
        &mut self,
        within: TypeRef<'_>,
        field_type: &FieldType,
        scalar: Scalar<'_>,
        name: &str,
        out: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Malformed> {
        match (field_type.pointee(), scalar) {
            (FieldType::List(inner), Scalar::Bytes(packed))
                if matches!(**inner, FieldType::Int(_) | FieldType::Bool) =>
            {
                for number in wire::packed(packed) {
                    let item = self.value(within, inner, Scalar::Varint(number?), depth)?;
                    push(out, name, item);
                }
            }
            (FieldType::List(inner), scalar) => {
                let item = self.value(within, inner, scalar, depth)?;
                push(out, name, item);
            }
            (FieldType::Map(inner), scalar) => {
                let (mut key, mut value) = ("", Scalar::Bytes(&[]));
                for field in Fields::new(scalar.bytes()?) {
                    match field? {
                        (1, text) => key = text.text()?,
                        (2, of) => value = of,
                        _ => {}
                    }
                }
                let value = self.value(within, inner, value, depth)?;
                let entries = out.entry(name).or_insert_with(|| json!({}));
                entries[key] = value;
            }
            (single, scalar) => {
                let value = self.value(within, single, scalar, depth)?;
                // A zero time is null in JSON, and is omitted.
                if !value.is_null() {
                    out.insert(name.to_owned(), value);
                }
            }
        }
        Ok(())
    }

    fn value(
        &mut self,
        within: TypeRef<'_>,
        field_type: &FieldType,
        scalar: Scalar<'_>,
        depth: usize,
    ) -> Result<Value, Malformed> {
        self.nodes += 1;
        if self.nodes > MAX_VALUES {
            return Err(Malformed("it has too many values"));
        }
        Ok(match field_type.pointee() {
            FieldType::String { .. } => scalar.text()?.into(),
            // Negative numbers are ten bytes long.
            FieldType::Int(_) => scalar.varint()?.cast_signed().into(),
            FieldType::Bool => (scalar.varint()? != 0).into(),
            FieldType::Bytes => BASE64_STANDARD.encode(scalar.bytes()?).into(),
            FieldType::Time => time(scalar.bytes()?)?,
            FieldType::Quantity => member(scalar.bytes()?, 1)?
                .map(Scalar::text)
                .transpose()?
                .unwrap_or_default()
                .into(),
            FieldType::IntOrString => int_or_string(scalar.bytes()?)?,
            FieldType::Raw => {
                let raw = member(scalar.bytes()?, 1)?.map(Scalar::bytes).transpose()?;
                serde_json::from_slice(raw.unwrap_or_default()).unwrap_or_default()
            }
            nested @ FieldType::Struct(_) => {
                let mut object = Map::new();
                self.message(within.inner(nested), &[], scalar.bytes()?, &mut object, depth + 1)?;
                object.into()
            }
            // Protobuf has no list of lists.
            FieldType::List(_) | FieldType::Map(_) | FieldType::Pointer(_) => Value::Null,
        })
    }
}

fn push(out: &mut Map<String, Value>, name: &str, item: Value) {
    if let Value::Array(items) = out.entry(name).or_insert_with(|| json!([])) {
        items.push(item);
    }
}

/// Returns the last occurrence of a field in a message.
fn member(message: &[u8], wanted: u32) -> Result<Option<Scalar<'_>>, Malformed> {
    let mut found = None;
    for field in Fields::new(message) {
        let (number, scalar) = field?;
        if number == wanted {
            found = Some(scalar);
        }
    }
    Ok(found)
}

/// Decodes a time to RFC 3339. The zero time, an empty message, is null.
fn time(message: &[u8]) -> Result<Value, Malformed> {
    let Some(seconds) = member(message, 1)? else {
        return Ok(Value::Null);
    };
    let time =
        Timestamp::from_second(seconds.varint()?.cast_signed()).map_err(|_| Malformed("it has a time out of range"))?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into())
}

/// Decodes an IntOrString. Its first field is 0 for a number, 1 for a string.
fn int_or_string(message: &[u8]) -> Result<Value, Malformed> {
    let varint = |number| {
        Ok(member(message, number)?
            .map(Scalar::varint)
            .transpose()?
            .unwrap_or_default())
    };
    if varint(1)? == 0 {
        return Ok(varint(2)?.cast_signed().into());
    }
    Ok(member(message, 3)?
        .map(Scalar::text)
        .transpose()?
        .unwrap_or_default()
        .into())
}

#[cfg(test)]
mod tests;

//! Decoder of JSON as a known type.
//!
//! - In the result, null is Go's zero value: nil, empty, 0, false.
//! - Guarantees: errors have v1.2's text and position, which is the number of bytes read so far; unknown fields are
//!   skipped.
//! - Limit: values of known types nest at most [`MAX_DEPTH`] levels.
//! - Source of the semantics: the ugorji codec of early 2016. It decodes a repeated name into the existing value:
//!   objects and maps are merged, lists are overwritten item by item.

use serde_json::{Map, Value};

use super::types::{Field, FieldType, StructType, Types};
use crate::compat::{
    json_cursor::{At, JsonCursor, Outcome},
    scalar, time,
};

const NOT_A_STRUCT: &str = "only encoded map or array can be decoded into a struct";

/// Maximum nesting of values of known types. Only kinds with recursive types nest so deep.
const MAX_DEPTH: usize = 100;

/// Names of fields in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Names of the version.
    Version,
    /// Names of v1.2's internal type.
    Internal,
}

/// Decodes the JSON `bytes` as the object type `of` of `types`.
pub(super) fn decode(bytes: &[u8], types: &Types, of: &StructType, names: Names) -> Result<Map<String, Value>, String> {
    let mut cursor = JsonCursor::new(bytes);
    let mut fields = Map::new();
    if !cursor.null()? {
        let decoder = Decoder { types, names, depth: 0 };
        decoder.structure(&mut cursor, of, &mut fields)?;
    }
    Ok(fields)
}

/// Decoder of values of known types.
#[derive(Clone, Copy)]
struct Decoder<'t> {
    types: &'t Types,
    names: Names,
    /// Number of values that contain the current one.
    depth: usize,
}

impl Decoder<'_> {
    /// Returns the decoder for the values in this one.
    fn inner(self) -> Result<Self, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("json: exceeded max depth of {MAX_DEPTH}"));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }

    /// Decodes the next value into `slot`. A null resets the slot if `nullable`; otherwise it is an error like any
    /// value of another type.
    fn value(self, cursor: &mut JsonCursor<'_>, of: &FieldType, slot: &mut Value, nullable: bool) -> Outcome {
        if nullable && cursor.null()? {
            *slot = Value::Null;
            return Ok(());
        }
        match of {
            FieldType::String { .. } => *slot = cursor.text()?.into(),
            FieldType::Int(bits) => *slot = cursor.integer(*bits)?.into(),
            FieldType::Bool => *slot = cursor.boolean()?.into(),
            FieldType::Bytes => {
                let text = cursor.text()?;
                match scalar::base64(&text) {
                    Ok(canonical) => *slot = canonical.into(),
                    Err(problem) => {
                        return cursor.error(format_args!("json: error decoding base64 binary '{text}': {problem}"));
                    }
                }
            }
            FieldType::Time => *slot = scalar::time_json(cursor.raw()?)?.into(),
            FieldType::Quantity => *slot = scalar::quantity_json(cursor.raw()?)?.into(),
            FieldType::IntOrString => *slot = scalar::int_or_string_json(cursor.raw()?)?,
            FieldType::Raw => *slot = serde_json::from_slice(cursor.raw()?).map_err(|e| e.to_string())?,
            FieldType::Struct(id) => self.inner()?.structure(cursor, self.types.get(*id), map_in(slot))?,
            FieldType::List(of) => self.inner()?.list(cursor, of, list_in(slot))?,
            FieldType::Map(of) => self.inner()?.map(cursor, of, map_in(slot))?,
            FieldType::Pointer(of) => {
                self.value(cursor, of, slot, false)?;
                if **of == FieldType::Time && *slot == time::ZERO {
                    *slot = Value::Null;
                }
            }
        }
        Ok(())
    }

    /// Decodes an object with known fields. A list is decoded as the values of the fields in order.
    fn structure(self, cursor: &mut JsonCursor<'_>, of: &StructType, fields: &mut Map<String, Value>) -> Outcome {
        match cursor.peek()? {
            b'{' => cursor.entries(|cursor, key| {
                let field = match self.names {
                    Names::Version => of.field(&key),
                    Names::Internal => of.internal_field(&key),
                };
                match field {
                    Some(field) => self.field(cursor, field, fields),
                    None => cursor.skip(),
                }
            }),
            b'[' => self.positional(cursor, of, fields),
            _ => Err(NOT_A_STRUCT.to_owned()),
        }
    }

    /// Decodes an object from a list of its values. If the list ends early, the next embedded pointer is set to an
    /// empty object: v1.2's decoder creates it before it checks for the end.
    fn positional(self, cursor: &mut JsonCursor<'_>, of: &StructType, fields: &mut Map<String, Value>) -> Outcome {
        cursor.open(b'[')?;
        let mut expected = of.fields_of_list();
        loop {
            let field = expected.next();
            if let Some(field) = field.filter(|field| field.is_embedded && field.field_type.is_pointer()) {
                map_in(fields.entry(&*field.name).or_insert(Value::Null));
            }
            if cursor.ends()? {
                return cursor.step(At::ListEnd);
            }
            cursor.step(At::Element)?;
            match field {
                Some(field) => self.field(cursor, field, fields)?,
                None => cursor.skip()?,
            }
        }
    }

    /// Decodes a field into its existing value.
    fn field(self, cursor: &mut JsonCursor<'_>, field: &Field, fields: &mut Map<String, Value>) -> Outcome {
        let slot = fields.entry(&*field.name).or_insert(Value::Null);
        self.value(cursor, &field.field_type, slot, true)
    }

    /// Decodes a list. An object is decoded as a list of its names and values in turn.
    fn list(self, cursor: &mut JsonCursor<'_>, of: &FieldType, items: &mut Vec<Value>) -> Outcome {
        let array = match cursor.peek()? {
            b'[' => true,
            b'{' => false,
            c => {
                let found = match c {
                    b'n' => 1,
                    b'"' => 6,
                    _ => 0,
                };
                return cursor.error(format_args!(
                    "only encoded map or array can be decoded into a slice ({found})"
                ));
            }
        };
        cursor.open(if array { b'[' } else { b'{' })?;
        let nullable = !matches!(
            of,
            FieldType::String { name: None } | FieldType::Int(_) | FieldType::Bool
        );
        let mut count = 0;
        while !cursor.ends()? {
            cursor.step(match (array, count % 2) {
                (true, _) => At::Element,
                (false, 0) => At::Key,
                (false, _) => At::Value,
            })?;
            if count == items.len() {
                items.push(Value::Null);
            }
            if let Some(slot) = items.get_mut(count) {
                self.value(cursor, of, slot, nullable)?;
            }
            count += 1;
        }
        items.truncate(count);
        cursor.step(if array { At::ListEnd } else { At::MapEnd })
    }

    fn map(self, cursor: &mut JsonCursor<'_>, of: &FieldType, entries: &mut Map<String, Value>) -> Outcome {
        let nullable = !matches!(of, FieldType::String { name: None });
        cursor.entries(|cursor, key| {
            let mut value = Value::Null;
            self.value(cursor, of, &mut value, nullable)?;
            // A null as a value of type bytes is an empty byte string.
            if matches!(of, FieldType::Bytes) && value.is_null() {
                value = "".into();
            }
            entries.insert(key, value);
            Ok(())
        })
    }
}

fn map_in(slot: &mut Value) -> &mut Map<String, Value> {
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

fn list_in(slot: &mut Value) -> &mut Vec<Value> {
    if !slot.is_array() {
        *slot = Value::Array(Vec::new());
    }
    match slot {
        Value::Array(list) => list,
        _ => unreachable!("made a list above"),
    }
}

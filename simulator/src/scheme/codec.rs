//! Reads JSON into a known type, as the reference's codec does.
//!
//! Promises: every refusal has the reference's words and its position, which counts the bytes read so far; unknown fields are passed over;
//! recursion goes no deeper than the types do.
//! In the tree that comes out, null stands for Go's zero value: nil, empty, 0, false.
//! Source of semantics: the ugorji codec of early 2016. What it does with a name that stands twice is to decode into what is already there:
//! objects and maps merge, lists are overwritten item by item.

use serde_json::{Map, Value};

use super::{
    cursor::{At, Cursor, Outcome},
    scalar,
    types::{Shape, Struct},
};

const NO_STRUCT: &str = "only encoded map or array can be decoded into a struct";

/// Decodes `bytes`, which are JSON, as the object type `of`.
pub(super) fn decode(bytes: &[u8], of: &Struct) -> Result<Map<String, Value>, String> {
    let mut cursor = Cursor::new(bytes);
    let mut fields = Map::new();
    if !cursor.null()? {
        cursor.structure(of, &mut fields)?;
    }
    Ok(fields)
}

impl Cursor<'_> {
    /// Decodes the next value into `slot`. A null resets it where `nullable`; elsewhere it is a value like any other, and a wrong one.
    fn value(&mut self, shape: &Shape, slot: &mut Value, nullable: bool) -> Outcome {
        if nullable && self.null()? {
            *slot = Value::Null;
            return Ok(());
        }
        match shape {
            Shape::Text { .. } => *slot = self.text()?.into(),
            Shape::Int(bits) => *slot = self.integer(*bits)?.into(),
            Shape::Bool => *slot = self.boolean()?.into(),
            Shape::Bytes => {
                let text = self.text()?;
                match scalar::base64(&text) {
                    Ok(canonical) => *slot = canonical.into(),
                    Err(problem) => {
                        return self.error(format_args!("json: error decoding base64 binary '{text}': {problem}"));
                    }
                }
            }
            Shape::Time => *slot = scalar::time_json(self.raw()?)?,
            Shape::Quantity => *slot = scalar::quantity_json(self.raw()?)?.into(),
            Shape::IntOrString => *slot = scalar::int_or_string_json(self.raw()?)?,
            Shape::Raw => *slot = serde_json::from_slice(self.raw()?).map_err(|e| e.to_string())?,
            Shape::Struct(of) => self.structure(of, map_in(slot))?,
            Shape::List(of) => self.list(of, list_in(slot))?,
            Shape::Map(of) => self.map(of, map_in(slot))?,
            Shape::Pointer(of) => self.value(of, slot, false)?,
        }
        Ok(())
    }

    /// An object with known fields; a list counts as their values in order.
    fn structure(&mut self, of: &Struct, fields: &mut Map<String, Value>) -> Outcome {
        match self.peek()? {
            b'{' => self.entries(|cursor, key| match of.field(&key) {
                Some(field) => cursor.field(&field.shape, field.name, fields),
                None => cursor.skip(),
            }),
            b'[' => {
                self.open(b'[')?;
                let mut expected = of.fields.iter();
                while !self.ends()? {
                    self.step(At::Element)?;
                    match expected.next() {
                        Some(field) => self.field(&field.shape, field.name, fields)?,
                        None => self.skip()?,
                    }
                }
                self.step(At::ListEnd)
            }
            _ => Err(NO_STRUCT.to_owned()),
        }
    }

    /// A field, decoded into what is there already.
    fn field(&mut self, shape: &Shape, name: &str, fields: &mut Map<String, Value>) -> Outcome {
        self.value(shape, fields.entry(name).or_insert(Value::Null), true)
    }

    /// A list; an object counts as a list of its names and values in turn.
    fn list(&mut self, of: &Shape, items: &mut Vec<Value>) -> Outcome {
        let array = match self.peek()? {
            b'[' => true,
            b'{' => false,
            c => {
                let found = match c {
                    b'n' => 1,
                    b'"' => 6,
                    _ => 0,
                };
                return self.error(format_args!(
                    "only encoded map or array can be decoded into a slice ({found})"
                ));
            }
        };
        self.open(if array { b'[' } else { b'{' })?;
        let mut count = 0;
        while !self.ends()? {
            self.step(match (array, count % 2) {
                (true, _) => At::Element,
                (false, 0) => At::Key,
                (false, _) => At::Value,
            })?;
            if count == items.len() {
                items.push(Value::Null);
            }
            if let Some(slot) = items.get_mut(count) {
                self.value(
                    of,
                    slot,
                    !matches!(of, Shape::Text { named: false } | Shape::Int(_) | Shape::Bool),
                )?;
            }
            count += 1;
        }
        items.truncate(count);
        self.step(if array { At::ListEnd } else { At::MapEnd })
    }

    fn map(&mut self, of: &Shape, entries: &mut Map<String, Value>) -> Outcome {
        self.entries(|cursor, key| {
            let mut value = Value::Null;
            cursor.value(of, &mut value, !matches!(of, Shape::Text { named: false }))?;
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

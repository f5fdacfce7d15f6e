//! Strategic merge patch: a partial document, merged by the types of the fields.
//!
//! - Objects are merged and null removes, as in a merge patch.
//! - A list whose field has a merge key is merged by item: a patch item changes the item with the same key, or is
//!   appended. Other lists are replaced.
//! - Directives in an object: `"$patch": "replace"` makes it the whole new value, `"$patch": "delete"` empties it.
//! - Directives in an item of a merged list: `"$patch": "replace"` discards the existing items, `"$patch": "delete"`
//!   with a key removes the item of that key.
//! - Guarantees: an empty patch changes nothing; items keep their order; new items come last.
//! - Limits, as in v1.2: a new value is stored unchanged, with its nulls and directives; a merged list contains
//!   either objects or scalars, and no lists.
//! - Source of the semantics: `util/strategicpatch` of Kubernetes v1.2, including error texts; `patches.har` of the
//!   recordings. Types are a [`Schema`].

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::{Map, Number, Value};

use super::PatchError;
use crate::{
    compat::{go_list, go_map, go_quote, go_value, strconv::format_float},
    profile::Profile,
    scheme::{FieldType, TypeRef},
};

/// Type of the wire format, reduced to what merging needs.
pub(crate) trait Schema: Copy {
    /// Type of the field `name` of an object, or of the values of a map. `None` if the type has no such field.
    fn field(self, name: &str) -> Option<FieldSchema<Self>>;
    /// Type of the items of a list.
    fn element(self) -> Option<Self>;
    /// Whether the type is a map or an object with known fields.
    fn is_mergeable(self) -> bool;
    /// Name of the type in error texts.
    fn name(self) -> String;
}

/// Type and merge key of a field.
#[derive(Clone, Debug)]
pub(crate) struct FieldSchema<S> {
    /// Type of the field.
    pub schema: S,
    /// Member that identifies the items of a merged list. Lists without one are replaced.
    pub merge_key: Option<Arc<str>>,
}

impl Schema for TypeRef<'_> {
    fn field(self, name: &str) -> Option<FieldSchema<Self>> {
        let field = self.field(name)?;
        Some(FieldSchema {
            schema: field.type_ref,
            merge_key: field.merge_key.cloned(),
        })
    }

    fn element(self) -> Option<Self> {
        self.element()
    }

    fn is_mergeable(self) -> bool {
        matches!(self.field_type(), FieldType::Struct(_) | FieldType::Map(_))
    }

    fn name(self) -> String {
        if let Some(of) = self.struct_type() {
            return of.name.to_string();
        }
        let name = match self.field_type() {
            FieldType::Map(_) => "map",
            FieldType::List(_) | FieldType::Bytes => "slice",
            FieldType::String { .. } => "string",
            FieldType::Bool => "bool",
            FieldType::Int(32) => "int32",
            FieldType::Int(_) => "int64",
            _ => "struct",
        };
        name.to_owned()
    }
}

/// Name of the directive.
const DIRECTIVE: &str = "$patch";

/// Merges `patch` into `document`, an object of type `schema`.
pub(crate) fn apply<S: Schema>(
    document: Value,
    patch: &[u8],
    schema: S,
    profile: Profile,
) -> Result<Value, PatchError> {
    let malformed = || PatchError::Malformed("Invalid JSON document".to_owned());
    let patch = match serde_json::from_slice(patch).map_err(|_| malformed())? {
        Value::Object(patch) => patch,
        Value::Null => Map::new(),
        _ => return Err(malformed()),
    };
    let Value::Object(document) = document else {
        return Err(malformed());
    };
    let mut merged = Value::Object(object(document, patch, Some(schema))?);
    if !profile.full_merge_patch() {
        as_floats(&mut merged);
    }
    Ok(merged)
}

/// Converts all numbers to floats, as v1.2 does here.
fn as_floats(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().unwrap_or_default();
            let whole = format!("{float}");
            *number = match (whole.parse::<u64>(), whole.parse::<i64>()) {
                (Ok(whole), _) => whole.into(),
                (_, Ok(whole)) => whole.into(),
                _ => Number::from_f64(float).unwrap_or_else(|| number.clone()),
            };
        }
        Value::Array(items) => items.iter_mut().for_each(as_floats),
        Value::Object(fields) => fields.values_mut().for_each(as_floats),
        _ => {}
    }
}

fn unknown_directive(directive: &Value, patch: &Map<String, Value>) -> PatchError {
    let shown = match directive {
        Value::String(text) => text.clone(),
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(value) => format!("%!s(bool={value})"),
        Value::Number(_) => format!("%!s(float64={})", go_value(directive)),
        other => go_value(other),
    };
    PatchError::Malformed(format!("unknown patch type: {shown} in map: {}", go_map(patch)))
}

fn object<S: Schema>(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    schema: Option<S>,
) -> Result<Map<String, Value>, PatchError> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            patch.shift_remove(DIRECTIVE);
            return Ok(patch);
        }
        Some(Value::String(directive)) if directive == "delete" => return Ok(Map::new()),
        Some(other) => return Err(unknown_directive(other, &patch)),
    }
    for (name, value) in patch {
        let Some(place) = original.get_mut(&name) else {
            if !value.is_null() {
                original.insert(name, value);
            }
            continue;
        };
        match (&mut *place, value) {
            (_, Value::Null) => {
                original.shift_remove(&name);
            }
            (Value::Object(old), Value::Object(new)) => {
                let field = lookup(schema, &name)?;
                *place = Value::Object(object(std::mem::take(old), new, Some(field.schema))?);
            }
            (Value::Array(old), Value::Array(new)) => {
                let field = lookup(schema, &name)?;
                *place = match field.merge_key {
                    Some(key) => list(std::mem::take(old), new, key, field.schema.element())?.into(),
                    None => new.into(),
                };
            }
            (_, other) => *place = other,
        }
    }
    Ok(original)
}

fn lookup<S: Schema>(schema: Option<S>, name: &str) -> Result<FieldSchema<S>, PatchError> {
    let Some(schema) = schema.filter(|s| s.is_mergeable()) else {
        let kind = schema.map_or_else(|| "invalid".to_owned(), Schema::name);
        return Err(PatchError::Inapplicable(format!(
            "merging an object in json but data type is not map or struct, instead is: {kind}"
        )));
    };
    let missing = || {
        PatchError::Inapplicable(format!(
            "unable to find api field in struct {} for the json field {}",
            schema.name(),
            go_quote(name)
        ))
    };
    schema.field(name).ok_or_else(missing)
}

/// Number of a list item's type, for v1.2's comparison.
fn item_type(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

fn list<S: Schema>(
    original: Vec<Value>,
    patch: Vec<Value>,
    key: Arc<str>,
    schema: Option<S>,
) -> Result<Vec<Value>, PatchError> {
    let mut items = original.iter().chain(&patch);
    let Some(first) = items.next() else { return Ok(original) };
    match first {
        Value::Null => return Err(PatchError::Crash),
        Value::Array(_) => return Err(PatchError::Inapplicable("Lists of lists are not supported".to_owned())),
        _ => {}
    }
    if items.any(|item| item_type(item) != item_type(first)) {
        let both = format!("[{} {}]", go_list(&original), go_list(&patch));
        return Err(PatchError::Inapplicable(format!(
            "list element types are not identical: {both}"
        )));
    }
    if first.is_object() {
        objects(original, patch, key, schema)
    } else {
        Ok(scalars(original, patch))
    }
}

/// Concatenates two lists of scalars. A duplicate is replaced by the last item.
fn scalars(mut items: Vec<Value>, patch: Vec<Value>) -> Vec<Value> {
    items.extend(patch);
    let mut seen = HashSet::new();
    let mut at = 0;
    while let Some(item) = items.get(at) {
        if seen.insert(identity(item)) {
            at += 1;
        } else {
            items.swap_remove(at);
        }
    }
    items
}

/// Text that is the same for equal values.
fn identity(value: &Value) -> String {
    match value {
        Value::Number(number) => format_float(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

/// List items indexed by their merge key.
struct Keyed {
    items: Vec<Option<Value>>,
    /// Positions of each key's items, in reverse order.
    places: HashMap<String, Vec<usize>>,
    key: Arc<str>,
}

impl Keyed {
    fn new(items: Vec<Value>, key: Arc<str>) -> Self {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, item) in items.iter().enumerate().rev() {
            if let Some(value) = item.get(&*key) {
                places.entry(identity(value)).or_default().push(at);
            }
        }
        Self {
            items: items.into_iter().map(Some).collect(),
            places,
            key,
        }
    }

    fn remove(&mut self, value: &Value) {
        let first = self.places.get_mut(&identity(value)).and_then(Vec::pop);
        if let Some(item) = first.and_then(|at| self.items.get_mut(at)) {
            *item = None;
        }
    }

    /// Merges `item` into the first item of its key, or appends it.
    fn merge<S: Schema>(&mut self, item: Map<String, Value>, schema: Option<S>) -> Result<(), PatchError> {
        let key = self.key.clone();
        let Some(value) = item.get(&*key) else {
            return Err(PatchError::Inapplicable(format!(
                "map: {} does not contain declared merge key: {key}",
                go_map(&item)
            )));
        };
        let places = self.places.entry(identity(value)).or_default();
        match places.last().and_then(|at| self.items.get_mut(*at)) {
            Some(Some(Value::Object(old))) => *old = object(std::mem::take(old), item, schema)?,
            _ => {
                places.push(self.items.len());
                self.items.push(Some(Value::Object(item)));
            }
        }
        Ok(())
    }

    fn into_list(self) -> Vec<Value> {
        self.items.into_iter().flatten().collect()
    }
}

fn objects<S: Schema>(
    items: Vec<Value>,
    patch: Vec<Value>,
    key: Arc<str>,
    schema: Option<S>,
) -> Result<Vec<Value>, PatchError> {
    let mut items = Keyed::new(items, key.clone());
    let mut changes = Vec::new();
    let mut replace = false;
    for item in patch {
        let Value::Object(item) = item else { continue };
        match item.get(DIRECTIVE) {
            None => changes.push(item),
            Some(Value::String(directive)) if directive == "delete" => {
                items.remove(
                    item.get(&*key).ok_or_else(|| {
                        PatchError::Malformed("delete patch type with no merge key defined".to_owned())
                    })?,
                );
            }
            Some(Value::String(directive)) if directive == "replace" => replace = true,
            Some(Value::String(directive)) if directive == "merge" => {
                return Err(PatchError::Malformed(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            Some(other) => return Err(unknown_directive(other, &item)),
        }
    }
    if replace {
        return Ok(changes.into_iter().map(Value::Object).collect());
    }
    changes.into_iter().try_for_each(|item| items.merge(item, schema))?;
    Ok(items.into_list())
}

#[cfg(test)]
pub(super) mod tests;

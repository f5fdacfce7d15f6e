//! Alterations of JSON values and of selectors.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One scalar of an object, by its position among all scalars.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Leaf {
    /// Pointer of the value that contains the scalar. `/own` is everything but type, metadata and status.
    pub(crate) under: String,
    /// Position, in percent of all scalars.
    pub(crate) at: usize,
    /// Whether it is removed rather than changed.
    #[serde(default)]
    pub(crate) drop: bool,
}

/// Fields that all kinds share.
const SHARED: [&str; 4] = ["kind", "apiVersion", "metadata", "status"];

/// Sets and removes values at JSON pointers. `*` matches any element.
pub(crate) fn alter(value: &mut Value, set: &BTreeMap<String, Value>, remove: &[String]) {
    for (pointer, new) in set {
        at_parents(value, pointer, &mut |parent, field| {
            if let Value::Object(fields) = parent {
                fields.insert(field.to_owned(), new.clone());
            }
        });
    }
    for pointer in remove {
        at_parents(value, pointer, &mut |parent, field| match parent {
            Value::Object(fields) => drop(fields.remove(field)),
            Value::Array(elements) => {
                if let Some(index) = field.parse::<usize>().ok().filter(|index| *index < elements.len()) {
                    elements.remove(index);
                }
            }
            _ => {}
        });
    }
}

/// Adds to numbers, or to strings of digits.
pub(crate) fn shift(value: &mut Value, by: &BTreeMap<String, i64>) {
    for (pointer, by) in by {
        at_parents(value, pointer, &mut |parent, field| match parent.get_mut(field) {
            Some(Value::String(text)) => {
                if let Ok(number) = text.parse::<i64>() {
                    *text = (number + by).to_string();
                }
            }
            Some(number) if number.is_i64() => {
                *number = (number.as_i64().unwrap_or_default() + by).into();
            }
            _ => {}
        });
    }
}

/// Replaces texts in strings.
pub(crate) fn replace(value: &mut Value, texts: &BTreeMap<String, BTreeMap<String, String>>) {
    for (pointer, texts) in texts {
        at_parents(value, pointer, &mut |parent, field| {
            if let Some(Value::String(text)) = parent.get_mut(field) {
                for (from, to) in texts {
                    *text = text.replace(from, to);
                }
            }
        });
    }
}

/// Calls a function with the parent and the last segment of every match of a pointer.
fn at_parents(value: &mut Value, pointer: &str, then: &mut dyn FnMut(&mut Value, &str)) {
    let mut segments = pointer.trim_start_matches('/').splitn(2, '/');
    let first = segments.next().unwrap_or_default().replace("~1", "/");
    let Some(rest) = segments.next() else {
        return then(value, &first);
    };
    match value {
        Value::Object(fields) if first == "*" => fields.values_mut().for_each(|each| at_parents(each, rest, then)),
        Value::Object(fields) => {
            if let Some(field) = fields.get_mut(&first) {
                at_parents(field, rest, then);
            }
        }
        Value::Array(elements) if first == "*" => elements.iter_mut().for_each(|each| at_parents(each, rest, then)),
        Value::Array(elements) => {
            if let Some(element) = first.parse::<usize>().ok().and_then(|index| elements.get_mut(index)) {
                at_parents(element, rest, then);
            }
        }
        _ => {}
    }
}

/// Changes or removes a scalar.
pub(crate) fn alter_leaf(value: &mut Value, leaf: &Leaf) {
    let mut found = Vec::new();
    if leaf.under == "/own" {
        for (key, each) in value.as_object().into_iter().flatten() {
            if !SHARED.contains(&key.as_str()) {
                leaves(each, &format!("/{key}"), &mut found);
            }
        }
    } else if let Some(part) = value.pointer(&leaf.under) {
        leaves(part, &leaf.under, &mut found);
    }
    let Some(pointer) = found.get((leaf.at * found.len() / 100).min(found.len().saturating_sub(1))) else {
        return;
    };
    if let Some(scalar) = value.pointer_mut(pointer).filter(|_| !leaf.drop) {
        *scalar = match &*scalar {
            Value::String(text) => format!("{text}x").into(),
            Value::Bool(yes) => (!yes).into(),
            Value::Number(number) => (number.as_i64().unwrap_or_default() + 1).into(),
            other => other.clone(),
        };
        return;
    }
    if let Some((parent, field)) = pointer.rsplit_once('/') {
        match value.pointer_mut(parent) {
            Some(Value::Object(fields)) => {
                fields.remove(&field.replace("~1", "/").replace("~0", "~"));
            }
            Some(Value::Array(elements)) => drop(field.parse::<usize>().map(|index| elements.remove(index))),
            _ => {}
        }
    }
}

fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, each)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            leaves(each, &format!("{at}/{key}"), found);
        }),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .for_each(|(index, each)| leaves(each, &format!("{at}/{index}"), found)),
        Value::Null => {}
        _ => found.push(at.to_owned()),
    }
}

/// Returns the first requirement of a selector.
pub(crate) fn first_requirement(selector: &str) -> String {
    let mut depth = 0;
    let end = selector.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    selector[..end.unwrap_or(selector.len())].to_owned()
}

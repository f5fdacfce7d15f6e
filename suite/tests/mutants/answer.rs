//! Alterations of response bodies.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

use crate::{
    alter::{alter, alter_leaf, replace, shift},
    memory::Memory,
    mutant::{Answer, Lines},
    when::has,
};

/// Alters the raw bytes of a body.
fn altered_text(mut body: Bytes, altered: &Answer) -> Bytes {
    if let Some(length) = altered.truncate {
        body.truncate(length);
    }
    if altered.as_text || !altered.body_replace.is_empty() {
        body = replaced(&body, &altered.body_replace);
    }
    if altered.lines != Lines::default() {
        body = altered_lines(&body, &altered.lines);
    }
    if !altered.append.is_empty() {
        body = [&body, altered.append.as_bytes()].concat().into();
    }
    body
}

/// Alters the lines of a text.
fn altered_lines(text: &[u8], altered: &Lines) -> Bytes {
    let lines = text.split_inclusive(|byte| *byte == b'\n').skip(altered.skip);
    let mut lines: Vec<&[u8]> = lines.take(altered.first.unwrap_or(usize::MAX)).collect();
    if altered.reverse {
        lines.reverse();
    }
    let mut text = lines.concat();
    if altered.unended && text.ends_with(b"\n") {
        text.pop();
    }
    text.into()
}

/// Replaces texts in a body.
pub(crate) fn replaced(body: &[u8], texts: &BTreeMap<String, String>) -> Bytes {
    let mut text = String::from_utf8_lossy(body).into_owned();
    for (from, to) in texts {
        text = text.replace(from, to);
    }
    text.into()
}

/// Alters a body. Its layout stays, unless that is altered.
pub(crate) fn altered_body(body: Bytes, altered: &Answer, path: &str, memory: &Memory) -> Bytes {
    if let Some(text) = &altered.text {
        return text.clone().into();
    }
    let body = altered_text(body, altered);
    let Ok(mut value) = serde_json::from_slice::<Value>(&body) else {
        return body;
    };
    if !altered.alters_value() && !altered.one_line && !altered.indent {
        return body;
    }
    if altered.lag {
        lag(&mut value, memory);
    }
    former(&mut value, &altered.former, memory);
    retain(&mut value, &altered.retains, memory);
    alter(&mut value, &altered.set, &altered.remove);
    shift(&mut value, &altered.shift);
    replace(&mut value, &altered.replace);
    if let Some(leaf) = &altered.leaf {
        alter_leaf(&mut value, leaf);
    }
    if let Some(Value::Array(hits)) = value.pointer_mut("/hits/hits") {
        if altered.reverse_hits {
            hits.reverse();
        }
        if altered.repeat_hits {
            hits.extend(hits.first().cloned());
        }
    }
    if let Some(Value::Array(items)) = value.get_mut("items") {
        if altered.undead {
            items.extend(memory.undead(path));
        }
        altered_items(items, altered);
    }
    let indented = (body.starts_with(b"{\n") || altered.indent) && !altered.one_line;
    match serde_json::to_vec_pretty(&value) {
        Ok(text) if indented => text.into(),
        _ => value.to_string().into(),
    }
}

/// Replaces objects by their state before the last write.
fn lag(value: &mut Value, memory: &Memory) {
    match value.get_mut("items").and_then(Value::as_array_mut) {
        Some(items) => items.iter_mut().for_each(|item| lag(item, memory)),
        None => {
            if let Some(previous) = memory.previous(value) {
                *value = previous;
            }
        }
    }
}

/// Restores the keys of maps that the last write removed.
fn retain(value: &mut Value, maps: &[String], memory: &Memory) {
    let Some(previous) = memory.previous(value).filter(|_| !maps.is_empty()) else {
        return;
    };
    for map in maps {
        let Some(Value::Object(earlier)) = previous.pointer(map) else {
            continue;
        };
        if value.pointer(map).is_none() {
            alter(value, &[(map.clone(), serde_json::json!({}))].into(), &[]);
        }
        if let Some(Value::Object(fields)) = value.pointer_mut(map) {
            for (key, each) in earlier {
                fields.entry(key.clone()).or_insert_with(|| each.clone());
            }
        }
    }
}

/// Replaces values of an object by those of the deleted object of the same name.
fn former(value: &mut Value, pointers: &[String], memory: &Memory) {
    let Some(earlier) = memory.former(value).filter(|_| !pointers.is_empty()) else {
        return;
    };
    for pointer in pointers {
        if let Some(old) = earlier.pointer(pointer) {
            alter(value, &[(pointer.clone(), old.clone())].into(), &[]);
        }
    }
}

/// Copies values of the request into a body.
pub(crate) fn keep(body: Bytes, pointers: &[String], sent: &[u8]) -> Bytes {
    let read = |body| serde_json::from_slice::<Value>(body).ok();
    let (Some(mut value), Some(sent)) = (read(&body), read(sent)) else {
        return body;
    };
    for pointer in pointers {
        if let Some(kept) = sent.pointer(pointer) {
            alter(&mut value, &[(pointer.clone(), kept.clone())].into(), &[]);
        }
    }
    value.to_string().into()
}

/// Alters the items of a list.
fn altered_items(items: &mut Vec<Value>, altered: &Answer) {
    if items.is_empty() {
        return;
    }
    if !altered.drop_items_with.is_empty() {
        items.retain(|item| !has(item, &altered.drop_items_with));
    }
    if altered.drop_items {
        items.remove(0);
    }
    if altered.drop_last_item {
        items.pop();
    }
    if altered.repeat_items {
        items.push(items[0].clone());
    }
    if altered.reverse_items {
        items.reverse();
    }
    if altered.of_one_namespace {
        let namespace = items[0].pointer("/metadata/namespace").cloned();
        items.retain(|item| item.pointer("/metadata/namespace") == namespace.as_ref());
    }
    items.truncate(altered.keep_items.unwrap_or(usize::MAX));
}
